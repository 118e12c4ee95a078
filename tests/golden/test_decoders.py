"""Recurrent decoders put together by hand from the same cells, attention and products."""

import pytest
import torch

from antiphon.attend.attention import Attention
from antiphon.attend.memory import Memory
from antiphon.attend.scores import Bilinear
from antiphon.attend.weights import softmax
from antiphon.attend.windows import everywhere
from antiphon.layers.cells import GRU, LSTM, Elman
from antiphon.layers.dropout import Dropout
from antiphon.predict.bridge import Copy, Transform, Zero
from antiphon.predict.recurrent import Feeding, Recurrent

PLACES = torch.arange(3)


def a_memory(width: int = 4) -> Memory:
    torch.manual_seed(3)
    states_BSM = torch.randn(2, 5, width)
    return Memory(states_BSM, torch.ones(2, 5, dtype=torch.bool), states_BSM.mean(1))


def a_decoder(cells, feeding, query="current", attention=None, residual=False) -> Recurrent:
    return Recurrent(
        cells, Transform(4, cells), attention, query, feeding, every_step=False, residual=residual, dropout=Dropout(0.0)
    )


def test_what_was_read_goes_to_the_layers_above():
    """h1 = R1(word), a = attend(h1), h2 = R2([h1; a]); the read-out sees h2 alone."""
    torch.manual_seed(1)
    attention = Attention(Bilinear(6, 4), everywhere, softmax, memory_width=4, values=0)
    cells = [GRU(3, 6), GRU(6 + 4, 7)]
    decoder = a_decoder(cells, Feeding(next_input=False, layers_above=True, readout=False), attention=attention)
    words_BTD, state = torch.randn(2, 3, 3), decoder.start(a_memory())
    out_BTE, _ = decoder(words_BTD, state, torch.ones(2, 3, dtype=torch.bool))
    lower, _ = cells[0](words_BTD, state.cells[0])
    read_BTM, _ = attention(lower, state.keyed, PLACES, None)
    upper, _ = cells[1](torch.cat([lower, read_BTM], dim=2), state.cells[1])
    torch.testing.assert_close(out_BTE, torch.tanh(decoder.readout(upper)))


def test_the_first_layers_last_state_asks_for_the_layers_above():
    torch.manual_seed(1)
    attention = Attention(Bilinear(6, 4), everywhere, softmax, memory_width=4, values=0)
    cells = [GRU(3, 6), GRU(6 + 4, 7)]
    feeding = Feeding(next_input=False, layers_above=True, readout=True)
    decoder = a_decoder(cells, feeding, query="previous", attention=attention)
    words_BTD, state = torch.randn(2, 3, 3), decoder.start(a_memory())
    out_BTE, _ = decoder(words_BTD, state, torch.ones(2, 3, dtype=torch.bool))
    lower, _ = cells[0](words_BTD, state.cells[0])
    asking = torch.cat([state.cells[0][0].unsqueeze(1), lower[:, :2]], dim=1)
    read_BTM, _ = attention(asking, state.keyed, PLACES, None)
    upper, _ = cells[1](torch.cat([lower, read_BTM], dim=2), state.cells[1])
    torch.testing.assert_close(out_BTE, torch.tanh(decoder.readout(torch.cat([upper, read_BTM], dim=2))))


def test_residuals_add_what_a_layer_reads_to_what_it_leaves():
    """The first layer adds nothing; the states themselves stay as the cells left them."""
    torch.manual_seed(1)
    cells = [Elman(3, 6), Elman(6, 6), Elman(6, 6)]
    decoder = a_decoder(cells, Feeding(False, False, True), residual=True)
    words_BTD, state = torch.randn(2, 3, 3), decoder.start(a_memory())
    out_BTE, after = decoder(words_BTD, state, torch.ones(2, 3, dtype=torch.bool))
    first, _ = cells[0](words_BTD, state.cells[0])
    second, _ = cells[1](first, state.cells[1])
    third, _ = cells[2](first + second, state.cells[2])
    torch.testing.assert_close(out_BTE, torch.tanh(decoder.readout(first + second + third)))
    torch.testing.assert_close(after.cells[2][0], third[:, -1])


def test_copied_states_go_layer_by_layer():
    """Widths 4 and 6 below widths 4, 6 and 6: the third layer begins with the topmost."""
    bottom, top = torch.randn(2, 4), torch.randn(2, 6)
    memory = Memory(torch.randn(2, 5, 6), torch.ones(2, 5, dtype=torch.bool), top, ((bottom,), (top,)))
    cells = [GRU(3, 4), GRU(4, 6), GRU(6, 6)]
    assert [state[0].tolist() for state in Copy(cells)(memory)] == [bottom.tolist(), top.tolist(), top.tolist()]


def test_a_copied_state_fills_every_part():
    """An LSTM's c begins with a GRU's h; after an encoder without a state both begin with the summary."""
    top = torch.randn(2, 6)
    for last in (((top,),), ()):
        memory = Memory(torch.randn(2, 5, 6), torch.ones(2, 5, dtype=torch.bool), top, last)
        ((h, c),) = Copy([LSTM(3, 6)])(memory)
        assert torch.equal(h, top)
        assert torch.equal(c, top)


def test_a_transformed_summary_by_hand():
    """tanh(W c): an LSTM of width 1 takes the first row for h and the second for c, a GRU of width 2 the other two."""
    cells = [LSTM(3, 1), GRU(1, 2)]
    bridge = Transform(2, cells)
    bridge.out.weight.data = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0]])
    bridge.out.bias.data = torch.zeros(4)
    summary = torch.tensor([[0.5, 0.2]])
    (h, c), (upper,) = bridge(Memory(summary.unsqueeze(1), torch.ones(1, 1, dtype=torch.bool), summary))
    want = torch.tensor([0.5, 0.2, 0.7, 0.3]).tanh()
    torch.testing.assert_close(torch.cat([h, c, upper], dim=1)[0], want)


def test_what_was_read_is_part_of_the_next_input():
    """h = R(h', W word + F a'), a = attend(h), out = tanh(V [h; a]), and before the first word nothing was read."""
    torch.manual_seed(1)
    attention, cells = Attention(Bilinear(6, 4), everywhere, softmax, memory_width=4, values=0), [GRU(3, 6)]
    decoder = a_decoder(cells, Feeding(next_input=True, layers_above=False, readout=True), attention=attention)
    words_BTD, state = torch.randn(2, 3, 3), decoder.start(a_memory())
    out_BTE, _ = decoder(words_BTD, state, torch.ones(2, 3, dtype=torch.bool))
    read_BM, cell, keyed = torch.zeros(2, 4), state.cells[0], state.keyed
    for place, word_BD in enumerate(words_BTD.unbind(1)):
        cell = cells[0].step(cells[0].project(word_BD) + read_BM @ decoder.feed.weight.t(), cell)
        read_B1M, _ = attention(cell[0].unsqueeze(1), keyed, torch.tensor([place]), None)
        read_BM = read_B1M.squeeze(1)
        want_BE = torch.tanh(decoder.readout(torch.cat([cell[0], read_BM], dim=1)))
        torch.testing.assert_close(out_BTE[:, place], want_BE)


def test_the_summary_is_part_of_every_input():
    """s = R(s', [word; c])."""
    torch.manual_seed(1)
    cells, memory = [GRU(3 + 4, 6)], a_memory()
    decoder = Recurrent(
        cells, Zero(cells), None, "current", Feeding(False, False, False), every_step=True, residual=False,
        dropout=Dropout(0.0),
    )  # fmt: skip
    words_BTD = torch.randn(2, 3, 3)
    out_BTE, _ = decoder(words_BTD, decoder.start(memory), torch.ones(2, 3, dtype=torch.bool))
    h_BTE, _ = cells[0](torch.cat([words_BTD, memory.summary_BM.unsqueeze(1).expand(-1, 3, -1)], dim=2), None)
    torch.testing.assert_close(out_BTE, torch.tanh(decoder.readout(h_BTE)))


def test_a_zero_bridge_has_a_width_a_layer():
    shapes = [tuple(state[0].shape) for state in Zero([GRU(3, 4), GRU(4, 6)])(a_memory())]
    assert shapes == [(2, 4), (2, 6)]


@pytest.mark.parametrize("through_time", [False, True])
def test_what_is_held_through_time_is_drawn_once(through_time):
    torch.manual_seed(1)
    dropout = Dropout(0.5, through_time).train()
    drop = dropout.held()
    first, second = drop(torch.ones(7, 11)), drop(torch.ones(7, 11))
    assert torch.equal(first, second) == through_time
    assert not torch.equal(first, dropout.held()(torch.ones(7, 11)))
    places = dropout(torch.ones(7, 5, 11))
    assert torch.equal(places[:, 0], places[:, 4]) == through_time


def test_a_decoder_drops_the_same_numbers_at_every_step():
    """Two layers that pass the word through unchanged show the draw between them: the same at all places."""
    cells = [Elman(8, 8), Elman(8, 8)]
    for cell in cells:
        for name, parameter in cell.kernel.named_parameters():
            parameter.data = torch.eye(8) * 0.1 if name == "weight_ih_l0" else torch.zeros_like(parameter)
    attention = Attention(Bilinear(8, 4), everywhere, softmax, memory_width=4, values=0)
    decoder = Recurrent(
        cells, Zero(cells), attention, "current", Feeding(True, False, False), every_step=False, residual=False,
        dropout=Dropout(0.5, through_time=True),
    )  # fmt: skip
    torch.nn.init.zeros_(decoder.feed.weight)
    decoder.readout.weight.data, decoder.readout.bias.data = torch.eye(8), torch.zeros(8)
    torch.manual_seed(2)
    out_BTE, _ = decoder.train()(torch.ones(2, 6, 8), decoder.start(a_memory()), torch.ones(2, 6, dtype=torch.bool))
    kept = out_BTE != 0
    assert torch.equal(kept, kept[:, :1].expand_as(kept))
    assert 0 < kept.float().mean() < 0.5
