"""Recurrent cells that torch has no kernel for: `step` says what they are, `layers.unrolled` does whole sequences.

N rows · T places · D width of the input · E of the state, a tuple of tensors N x E · G of all gates
"""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.parametrizations import orthogonal

from antiphon.layers.cells import CellState
from antiphon.layers.once import kept
from antiphon.layers.owed import Onto
from antiphon.layers.unrolled import unroll_gated, unroll_turned


class PeepholeLSTM(nn.Module):
    """f, i, o = sigma(W x + U h + P c + b): the gates see the cell too (Gers & Schmidhuber, 2000).

    P is diagonal, one weight a unit, or a full matrix.
    """

    parts = 2

    def __init__(self, input_width: int, width: int, peephole: Literal["diagonal", "full"]) -> None:
        super().__init__()
        self.width, self.gates = width, 4 * width
        self.input = nn.Linear(input_width, 4 * width)
        self.carry = Onto(width, 4 * width)
        full = peephole == "full"
        self.peephole = nn.Parameter(torch.empty(3 * width, width) if full else torch.empty(3, width))
        _start_small(self, width)

    def project(self, x: Tensor) -> Tensor:
        return self.input(x)

    def step(self, gates_NG: Tensor, state: CellState) -> CellState:
        h, c = state
        gates_NG = self.carry.onto(gates_NG, h)
        diagonal = len(self.peephole) == 3
        seen = (c.unsqueeze(1) * self.peephole).flatten(1) if diagonal else F.linear(c, self.peephole)
        opened = torch.sigmoid(gates_NG[:, : 3 * self.width] + seen)
        input_gate, forget_gate, output_gate = opened.chunk(3, dim=1)
        c = forget_gate * c + input_gate * torch.tanh(gates_NG[:, 3 * self.width :])
        return output_gate * torch.tanh(c), c

    def forward(
        self, x_NTD: Tensor, state: CellState | None, lengths_N: Tensor | None = None
    ) -> tuple[Tensor, CellState]:
        h, c = _begin(x_NTD, state, self.parts, self.width)
        parts = unroll_gated(self.project(x_NTD), h, c, self.carry.weight, self.peephole)
        return parts[0], _ends(parts, lengths_N)


class CoupledLSTM(nn.Module):
    """c' = f*c + (1-f)*tanh(W x + U h + b): what is forgotten makes room for what is new (Greff et al., 2017).

    One gate less than the LSTM, so a quarter fewer parameters; the cell is an average and cannot count upwards.
    """

    parts = 2

    def __init__(self, input_width: int, width: int) -> None:
        super().__init__()
        self.width, self.gates = width, 3 * width
        self.input = nn.Linear(input_width, 3 * width)
        self.carry = Onto(width, 3 * width)
        _start_small(self, width)

    def project(self, x: Tensor) -> Tensor:
        return self.input(x)

    def step(self, gates_NG: Tensor, state: CellState) -> CellState:
        h, c = state
        forget_gate, output_gate, candidate = self.carry.onto(gates_NG, h).chunk(3, dim=1)
        c = torch.lerp(torch.tanh(candidate), c, torch.sigmoid(forget_gate))
        return torch.sigmoid(output_gate) * torch.tanh(c), c

    def forward(
        self, x_NTD: Tensor, state: CellState | None, lengths_N: Tensor | None = None
    ) -> tuple[Tensor, CellState]:
        h, c = _begin(x_NTD, state, self.parts, self.width)
        parts = unroll_gated(self.project(x_NTD), h, c, self.carry.weight, None)
        return parts[0], _ends(parts, lengths_N)


class Orthogonal(nn.Module):
    """h' = modReLU(W x + U h) with U orthogonal: every singular value of U is one.

    After Arjovsky et al. (2016) and Helfrich et al. (2018). modReLU(z) = sign(z) relu(|z| + b) passes gradients on
    unchanged where it is open, so that over hundreds of steps they neither vanish nor explode.
    """

    parts = 1

    def __init__(self, input_width: int, width: int) -> None:
        super().__init__()
        self.width = self.gates = width
        self.input = nn.Linear(input_width, width, bias=False)
        # Cayley's (I - A)^-1 (I + A) of a skew matrix A: torch's default, exp(2 A), takes 15 times as long. Alone: with
        # trivialisation there is a random base that is no parameter, and would not be saved.
        self.carry = orthogonal(_Turn(width, width, bias=False), orthogonal_map="cayley", use_trivialization=False)
        self.threshold = nn.Parameter(torch.zeros(width))

    def project(self, x: Tensor) -> Tensor:
        return self.input(x)

    def step(self, gates_NG: Tensor, state: CellState) -> CellState:
        (h,) = state
        z = gates_NG + self.carry(h)
        return (z.sign() * F.relu(z.abs() + self.threshold),)

    def forward(
        self, x_NTD: Tensor, state: CellState | None, lengths_N: Tensor | None = None
    ) -> tuple[Tensor, CellState]:
        (h,) = _begin(x_NTD, state, self.parts, self.width)
        h_NTE = unroll_turned(self.project(x_NTD), h, self.carry.weight, self.threshold)  # type: ignore[arg-type]
        return h_NTE, _ends((h_NTE,), lengths_N)


class _Turn(nn.Linear):
    """A product whose matrix is computed from parameters."""

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, kept(self, lambda: self.weight))


def _begin(x_NTD: Tensor, state: CellState | None, parts: int, width: int) -> CellState:
    return tuple(x_NTD.new_zeros(len(x_NTD), width) for _ in range(parts)) if state is None else state


def _ends(parts: CellState, lengths_N: Tensor | None) -> CellState:
    """The state at the last place, or at each row's own."""
    if lengths_N is None:
        return tuple(part_NTE[:, -1] for part_NTE in parts)
    ends_N11 = (lengths_N - 1).view(-1, 1, 1)
    return tuple(part_NTE.take_along_dim(ends_N11, dim=1).squeeze(1) for part_NTE in parts)


def _start_small(cell: nn.Module, width: int) -> None:
    """The start of torch's own cells, so that a comparison with them is about the cell."""
    for parameter in cell.parameters():
        nn.init.uniform_(parameter, -(width**-0.5), width**-0.5)
