"""Layers against numbers from elsewhere: torch's cells, attention and cross-entropy, and arithmetic by hand."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from antiphon.attend.memory import Memory
from antiphon.attend.multihead import CrossAttention, ScaledDot, SelfAttention
from antiphon.layers.cells import GRU, LSTM
from antiphon.layers.dropout import Dropout
from antiphon.layers.packing import Packing
from antiphon.layers.positions import Rotary, Sinusoidal
from antiphon.training.loss import cross_entropy


def test_lstm_step_is_torchs_lstm_cell():
    cell, torchs = LSTM(3, 5), nn.LSTMCell(3, 5)
    _share_weights(cell.kernel, torchs)
    x, h, c = torch.randn(2, 3), torch.randn(2, 5), torch.randn(2, 5)
    got = cell.step(cell.project(x), (h, c))
    for ours, theirs in zip(got, torchs(x, (h, c)), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_gru_step_is_torchs_gru_cell():
    cell, torchs = GRU(3, 5), nn.GRUCell(3, 5)
    _share_weights(cell.kernel, torchs)
    x, h = torch.randn(2, 3), torch.randn(2, 5)
    (got,) = cell.step(cell.project(x), (h,))
    torch.testing.assert_close(got, torchs(x, h))


def test_gru_by_hand():
    """One unit, all weights 1, biases 0, x = 0.5, h = 0.2: u = r = sigma(0.7), h^ = tanh(0.5 + r * 0.2)."""
    cell = GRU(1, 1)
    for name, parameter in cell.kernel.named_parameters():
        nn.init.constant_(parameter, 0.0 if "bias" in name else 1.0)
    gate = 1 / (1 + math.exp(-0.7))
    candidate = math.tanh(0.5 + gate * 0.2)
    (got,) = cell.step(cell.project(torch.tensor([[0.5]])), (torch.tensor([[0.2]]),))
    assert got.item() == pytest.approx(gate * 0.2 + (1 - gate) * candidate)


def _share_weights(kernel: nn.RNNBase, cell: nn.RNNCellBase) -> None:
    weight_ih, weight_hh, bias_ih, bias_hh = kernel.all_weights[0]
    cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh = weight_ih, weight_hh, bias_ih, bias_hh


@pytest.mark.parametrize("looking", [False, True])
def test_self_attention_is_torchs_multihead_attention(looking):
    width, heads = 12, 3
    ours, theirs = (
        SelfAttention(width, heads, heads, 0.0, None, None),
        nn.MultiheadAttention(width, heads, batch_first=True),
    )
    theirs.in_proj_weight, theirs.in_proj_bias = ours.projection.weight, ours.projection.bias
    theirs.out_proj.weight, theirs.out_proj.bias = ours.out.weight, ours.out.bias
    x_BSD = torch.randn(2, 5, width)
    mask_BS = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    packing, look = Packing.of(mask_BS), [] if looking else None
    got, _ = ours(packing.pack(x_BSD), packing, mask_BS, None, look)
    want, weights = theirs(x_BSD, x_BSD, x_BSD, key_padding_mask=~mask_BS, average_attn_weights=False)
    torch.testing.assert_close(got, want[mask_BS])
    if looking:
        torch.testing.assert_close(look[0][0], weights[0])
        torch.testing.assert_close(look[0][1, :, :3], weights[1, :, :3])


@pytest.mark.parametrize("causal", [False, True])
def test_weights_by_hand(causal):
    """Queries and keys (1, 0, 0, 0) and (2, 0, 0, 0), width 4: scores 0.5 and 1, then 1 and 2."""
    places_BHSC = torch.tensor([[[[1.0, 0, 0, 0], [2.0, 0, 0, 0]]]])
    look: list[torch.Tensor] = []
    read_BHTC = ScaledDot(0.0)(places_BHSC, places_BHSC, places_BHSC, None, None, causal, look)
    first, second = (0.0 if causal else 1 / (1 + math.exp(-0.5))), 1 / (1 + math.exp(-1))
    torch.testing.assert_close(look[0], torch.tensor([[[[1 - first, first], [1 - second, second]]]]))
    torch.testing.assert_close(read_BHTC[0, 0, :, 0], torch.tensor([1 + first, 1 + second]))


def test_a_masked_4_by_4_example_by_hand():
    """Keys 0, ln 2, ln 3 and one of padding, queries 1, width 1: weights in the proportion 1 : 2 : 3, then 0.

    No query reads a place behind its own; of the values 6, 3, 4 the four read 6, 12/3, 24/6 and 24/6.
    """
    keys_BHSC = torch.tensor([1.0, 2.0, 3.0, 99.0]).log().view(1, 1, 4, 1)
    values_BHSC, queries_BHTC = torch.tensor([6.0, 3.0, 4.0, 1e6]).view(1, 1, 4, 1), torch.ones(1, 1, 4, 1)
    mask_TS = torch.ones(4, 4, dtype=torch.bool).tril() & torch.tensor([True, True, True, False])
    look: list[torch.Tensor] = []
    read_BHTC = ScaledDot(0.0)(queries_BHTC, keys_BHSC, values_BHSC, mask_TS, None, False, look)
    want_TS = [[1, 0, 0, 0], [1 / 3, 2 / 3, 0, 0], [1 / 6, 2 / 6, 3 / 6, 0], [1 / 6, 2 / 6, 3 / 6, 0]]
    torch.testing.assert_close(look[0][0, 0], torch.tensor(want_TS))
    torch.testing.assert_close(read_BHTC.flatten(), torch.tensor([6.0, 4.0, 4.0, 4.0]))
    fused_BHTC = ScaledDot(0.0)(queries_BHTC, keys_BHSC, values_BHSC, mask_TS, None, False, None)
    torch.testing.assert_close(fused_BHTC, read_BHTC)


def test_cross_attention_is_torchs_multihead_attention():
    width, memory_width, heads = 8, 6, 2
    ours = CrossAttention(width, memory_width, heads, heads, 0.0)
    theirs = nn.MultiheadAttention(width, heads, kdim=memory_width, vdim=memory_width, batch_first=True)
    theirs.q_proj_weight = ours.query.weight
    keys, values = ours.memory.weight.chunk(2)
    theirs.k_proj_weight, theirs.v_proj_weight = nn.Parameter(keys), nn.Parameter(values)
    theirs.in_proj_bias = nn.Parameter(torch.cat([ours.query.bias, ours.memory.bias]))
    theirs.out_proj.weight, theirs.out_proj.bias = ours.out.weight, ours.out.bias
    mask_BS = torch.tensor([[True, True, False], [True, True, True]])
    memory_BSM, x_BTD = torch.randn(2, 3, memory_width), torch.randn(2, 4, width)
    memory = Memory(memory_BSM, mask_BS, memory_BSM.mean(1))
    rows = Packing(2, 4, None, None)
    got = rows.unpack(ours(rows.pack(x_BTD), rows, ours.prepare(memory, Packing.of(mask_BS)), None))
    want, _ = theirs(x_BTD, memory_BSM, memory_BSM, key_padding_mask=~mask_BS)
    torch.testing.assert_close(got, want)


def test_sinusoidal_positions_by_hand():
    table_TD = Sinusoidal(4)(3, torch.device("cpu"))
    assert table_TD[2].tolist() == pytest.approx([math.sin(2), math.sin(0.02), math.cos(2), math.cos(0.02)])


def test_rotary_scores_depend_on_distance_only():
    rotary, q, k = Rotary(8), torch.randn(1, 1, 8), torch.randn(1, 1, 8)
    near = (rotary(q, 5) * rotary(k, 3)).sum()
    far = (rotary(q, 105) * rotary(k, 103)).sum()
    torch.testing.assert_close(near, far, atol=1e-4, rtol=1e-4)
    assert not torch.allclose(near, (rotary(q, 6) * rotary(k, 3)).sum(), atol=1e-3)
    torch.testing.assert_close(rotary(q, 0), q)


def test_rotary_turns_every_head_alike_by_hand():
    x_D = torch.tensor([1.0, 0.0, 0.0, 2.0])
    turned = Rotary(4)(x_D.repeat(1, 3, 2), 1)
    for place in (1, 2, 3):
        slow = place / 100
        by_hand = [math.cos(place), math.sin(place), -2 * math.sin(slow), 2 * math.cos(slow)]
        assert turned[0, place - 1].tolist() == pytest.approx(2 * by_hand)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("places", [1, 7, 300])
def test_cross_entropy_is_torchs(places, smoothing, monkeypatch):
    monkeypatch.setattr("antiphon.training.loss._at_once", lambda *_: 13)
    x, weight, bias = torch.randn(places, 5), torch.randn(13, 5), torch.randn(13)
    parts = [part.requires_grad_() for part in (x, weight, bias)]
    words = torch.randint(0, 13, (places,))
    ours = cross_entropy(x, weight, bias, words, smoothing)
    theirs = F.cross_entropy(F.linear(x, weight, bias), words, reduction="sum", label_smoothing=smoothing)
    torch.testing.assert_close(ours, theirs)
    for own, other in zip(torch.autograd.grad(3 * ours, parts), torch.autograd.grad(3 * theirs, parts), strict=True):
        torch.testing.assert_close(own, other, atol=1e-5, rtol=1e-4)
    with torch.no_grad():
        torch.testing.assert_close(cross_entropy(x, weight, bias, words, smoothing), theirs)


def test_cross_entropy_of_the_most_unlikely_word_is_finite():
    x, weight, words = torch.tensor([[1.0]]), torch.tensor([[500.0], [-500.0]]), torch.tensor([1])
    assert cross_entropy(x, weight, torch.zeros(2), words, 0.0).item() == pytest.approx(1000.0)


def test_dropout_meets_its_rate_and_keeps_the_mean():
    torch.manual_seed(1)
    dropped = Dropout(0.3).train()(torch.ones(1001, 999))
    assert (dropped == 0).float().mean().item() == pytest.approx(0.3, abs=2e-3)
    assert dropped.mean().item() == pytest.approx(1.0, abs=3e-3)
    assert dropped.unique().tolist() == pytest.approx([0.0, 1 / 0.7], abs=1e-4)
    # No pattern along the four numbers that one draw gives.
    parts = (dropped.flatten()[: 999 * 1001 // 4 * 4].view(-1, 4) == 0).float()
    assert (torch.corrcoef(parts.t()) - torch.eye(4)).abs().max() < 0.01
    assert torch.equal(Dropout(0.3).eval()(torch.ones(3)), torch.ones(3))


def test_packing_drops_padding_and_its_gradient():
    mask_BT = torch.tensor([[True, True, False], [True, False, False]])
    x_BTD = torch.arange(12.0).view(2, 3, 2).requires_grad_()
    packing = Packing.of(mask_BT)
    packed_PD = packing.pack(x_BTD)
    assert packed_PD.tolist() == [[0, 1], [2, 3], [6, 7]]
    assert packing.places(torch.device("cpu")).tolist() == [0, 1, 0]
    again_BTD = packing.unpack(packed_PD)
    assert torch.equal(again_BTD[mask_BT], x_BTD[mask_BT])
    (again_BTD * mask_BT.unsqueeze(2)).sum().backward()
    assert torch.equal(x_BTD.grad, mask_BT.unsqueeze(2).expand(2, 3, 2).float())
