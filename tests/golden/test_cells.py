"""Cells that torch has no kernel for, against steps written out by hand, finite differences, and what they promise."""

import math

import pytest
import torch
from torch import nn

from antiphon.layers.cells import LSTM, Elman
from antiphon.layers.steps import CoupledLSTM, Orthogonal, PeepholeLSTM

SMALL_CELLS = {
    "peephole": lambda: PeepholeLSTM(3, 4, "diagonal"),
    "full_peephole": lambda: PeepholeLSTM(3, 4, "full"),
    "coupled": lambda: CoupledLSTM(3, 4),
    "orthogonal": lambda: Orthogonal(3, 4),
}


def sigma(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def ones(cell: nn.Module) -> nn.Module:
    """All weights 1, all biases 0: sums can be done in the head."""
    for name, parameter in cell.named_parameters():
        nn.init.constant_(parameter, 0.0 if "bias" in name else 1.0)
    return cell


def one_step(cell: nn.Module, x: float, *state: float) -> list[float]:
    after = cell.step(cell.project(torch.tensor([[x]])), tuple(torch.tensor([[part]]) for part in state))
    return [part.item() for part in after]


def test_elman_by_hand():
    assert one_step(ones(Elman(1, 1)), 0.5, 0.2) == pytest.approx([math.tanh(0.7)])


def test_elman_is_torchs_rnn_cell():
    cell, torchs = Elman(3, 5), nn.RNNCell(3, 5)
    torchs.weight_ih, torchs.weight_hh, torchs.bias_ih, torchs.bias_hh = cell.kernel.all_weights[0]
    x, h = torch.randn(2, 3), torch.randn(2, 5)
    (got,) = cell.step(cell.project(x), (h,))
    torch.testing.assert_close(got, torchs(x, h))


def test_lstm_by_hand():
    """x = 0.5, h = 0.2, c = 0.3: gates sigma(0.7), candidate tanh(0.7)."""
    gate = sigma(0.7)
    c = gate * 0.3 + gate * math.tanh(0.7)
    assert one_step(ones(LSTM(1, 1)), 0.5, 0.2, 0.3) == pytest.approx([gate * math.tanh(c), c])


@pytest.mark.parametrize("kind", ["diagonal", "full"])
def test_peephole_by_hand(kind):
    """x = 0.5, h = 0.2, c = 0.3: gates sigma(1.0), candidate tanh(0.7)."""
    gate = sigma(1.0)
    c = gate * 0.3 + gate * math.tanh(0.7)
    assert one_step(ones(PeepholeLSTM(1, 1, kind)), 0.5, 0.2, 0.3) == pytest.approx([gate * math.tanh(c), c])


def test_a_full_peephole_sees_the_other_units():
    cell, (h, c) = PeepholeLSTM(1, 2, "full"), (torch.zeros(1, 2), torch.tensor([[0.0, 1.0]]))
    nn.init.zeros_(cell.peephole)
    with torch.no_grad():
        cell.peephole[0, 1] = 100.0  # unit 0's input gate opens when unit 1's cell is full
    gates = torch.zeros(1, 8)
    gates[0, 6] = 1.0  # unit 0's candidate
    nn.init.zeros_(cell.carry.weight)
    _, after = cell.step(gates, (h, c))
    assert after[0, 0].item() == pytest.approx(math.tanh(1.0))


def test_coupled_by_hand():
    forget = sigma(0.7)
    c = forget * 0.3 + (1 - forget) * math.tanh(0.7)
    assert one_step(ones(CoupledLSTM(1, 1)), 0.5, 0.2, 0.3) == pytest.approx([sigma(0.7) * math.tanh(c), c])


def test_coupled_gates_save_a_quarter_of_the_parameters():
    def weights(cell: nn.Module) -> int:
        return sum(part.numel() for part in cell.parameters() if part.dim() > 1)

    assert weights(CoupledLSTM(64, 64)) == 0.75 * weights(LSTM(64, 64))


def test_orthogonal_by_hand():
    """U turns by an orthogonal matrix of one unit, +1 or -1; b = -0.1: sign(z) relu(|z| - 0.1)."""
    cell = Orthogonal(1, 1)
    nn.init.ones_(cell.input.weight)
    nn.init.constant_(cell.threshold, -0.1)
    z = 0.5 + cell.carry.weight.item() * 0.2
    assert abs(cell.carry.weight.item()) == pytest.approx(1.0)
    assert one_step(cell, 0.5, 0.2) == pytest.approx([math.copysign(max(abs(z) - 0.1, 0), z)])


@pytest.mark.parametrize("name", SMALL_CELLS)
def test_gradients_are_those_of_finite_differences(name):
    torch.manual_seed(1)
    cell = SMALL_CELLS[name]().double()
    x_NTD = torch.randn(2, 5, 3, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: cell(x, None)[0], (x_NTD,), atol=1e-5)


@pytest.mark.parametrize("name", SMALL_CELLS)
def test_whole_sequences_are_steps_in_value_and_in_every_gradient(name):
    """The gradients written by hand against those that autograd finds for `step`, of inputs, start and all weights."""
    torch.manual_seed(1)
    cell, lengths_N = SMALL_CELLS[name]().double(), torch.tensor([5, 2, 3])
    x_NTD = torch.randn(3, 5, 3, dtype=torch.double, requires_grad=True)
    start = tuple(torch.randn(3, 4, dtype=torch.double, requires_grad=True) for _ in range(cell.parts))
    with torch.no_grad():
        for parameter in cell.parameters():  # a threshold of zero, for one, would hide its sign
            parameter += 0.3 * torch.randn_like(parameter)
    directions = [torch.randn(3, 5, 4, dtype=torch.double), *(torch.randn_like(part) for part in start)]

    def by_steps():
        state, hs, ends = start, [], [None] * cell.parts
        for place, gates_NG in enumerate(cell.project(x_NTD).unbind(1)):
            state = cell.step(gates_NG, state)
            hs.append(state[0])
            here_N1 = (lengths_N == place + 1).unsqueeze(1)
            ends = [
                now if end is None else torch.where(here_N1, now, end) for now, end in zip(state, ends, strict=True)
            ]
        return torch.stack(hs, dim=1), *ends

    def at_once():
        h_NTD, ends = cell(x_NTD, start, lengths_N)
        return h_NTD, *ends

    found = []
    for compute in (by_steps, at_once):
        values = compute()
        total = sum((value * direction).sum() for value, direction in zip(values, directions, strict=True))
        gradients = torch.autograd.grad(total, [x_NTD, *start, *cell.parameters()])
        found.append([*values, *gradients])
    for stepped, whole in zip(*found, strict=True):
        torch.testing.assert_close(whole, stepped)


def test_singular_values_stay_at_one_through_training():
    """A thousand steps with a large rate, which would tear any free matrix away from where it began."""
    torch.manual_seed(1)
    cell = Orthogonal(4, 16)
    optimizer = torch.optim.Adam(cell.parameters(), lr=1e-2)
    for _ in range(1000):
        x_NTD = torch.randn(8, 6, 4)
        h_NTD, _ = cell(x_NTD, None)
        loss = (h_NTD[:, -1].mean(1) - x_NTD[:, 0, 0]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert (torch.linalg.svdvals(cell.carry.weight.detach()) - 1).abs().max() < 1e-4


def gradient_through(cell: nn.Module, steps: int) -> float:
    """The norm of d h(T) / d h(0), in a direction, relative to where it began."""
    h = torch.randn(1, cell.width).requires_grad_()
    _, (last, *_) = cell(0.1 * torch.randn(1, steps, 4), (h,))
    direction = torch.nn.functional.normalize(torch.randn(1, cell.width))
    (grad,) = torch.autograd.grad((last * direction).sum(), h)
    return grad.norm().item()


def test_a_gradient_survives_500_orthogonal_steps_and_not_500_elman_steps():
    torch.manual_seed(1)
    assert 0.5 < gradient_through(Orthogonal(4, 32), 500) < 2
    assert gradient_through(Elman(4, 32), 500) < 1e-6
