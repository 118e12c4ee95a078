"""Recurrent decoders put together by hand from the same cells, attention and products."""

import pytest
import torch

from antiphon.attend.attention import Attention
from antiphon.attend.memory import Memory
from antiphon.attend.scores import Bilinear
from antiphon.attend.weights import softmax
from antiphon.attend.windows import everywhere
from antiphon.layers.cells import GRU, Elman
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
    """Widths 4 and 6 below widths 4, 6 and 6: the third layer begins with the topmost, and an LSTM's c with an h."""
    bottom, top = torch.randn(2, 4), torch.randn(2, 6)
    memory = Memory(torch.randn(2, 5, 6), torch.ones(2, 5, dtype=torch.bool), top, ((bottom,), (top,)))
    cells = [GRU(3, 4), GRU(4, 6), GRU(6, 6)]
    assert [state[0].tolist() for state in Copy(cells)(memory)] == [bottom.tolist(), top.tolist(), top.tolist()]


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
