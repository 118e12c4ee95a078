"""Recurrent cells with a fused kernel in torch: one step, or a whole sequence, with the same weights.

N rows · T places · D width of the input · E of the state, a tuple of tensors N x E · G of all gates
"""

from typing import Any, Literal, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from antiphon.layers.owed import add_product

CellState = tuple[Tensor, ...]  # (h, c) for an LSTM, (h,) for most others; h comes first


class Cell(Protocol):
    """s' = R(s, x). What the input adds to the gates does not depend on the state, so it is projected ahead."""

    parts: int  # tensors in the state
    gates: int  # G
    width: int

    def project(self, x: Tensor) -> Tensor:
        """The input's share of the gates, for all places in one product."""
        ...

    def step(self, gates_NG: Tensor, state: CellState) -> CellState:
        """One place on."""
        ...

    def __call__(
        self, x_NTD: Tensor, state: CellState | None, lengths_N: Tensor | None = None
    ) -> tuple[Tensor, CellState]:
        """All places at once. With lengths, the state returned is the one at each row's own end."""
        ...


class Product(Protocol):
    """W x + b, a part of a cell's gates."""

    def __call__(self, x: Tensor) -> Tensor: ...

    def onto(self, gates_NG: Tensor, x_ND: Tensor) -> Tensor:
        """The same added to what is there already, without another pass over the gates."""
        ...


class KernelPart:
    """One of the two products of a fused kernel, for those who go step by step; the weights stay the kernel's."""

    def __init__(
        self, kernel: nn.RNNBase, part: Literal["input", "carry"], biases: Literal["own", "both", "none"]
    ) -> None:
        self.kernel, self.part, self.biases = kernel, part, biases

    @property
    def weight(self) -> Tensor:
        input_GD, carry_GE, *_ = self.kernel.all_weights[0]
        return input_GD if self.part == "input" else carry_GE

    @property
    def bias(self) -> Tensor | None:
        *_, input_G, carry_G = self.kernel.all_weights[0]
        if self.biases == "both":
            return input_G + carry_G
        return None if self.biases == "none" else input_G if self.part == "input" else carry_G

    def __call__(self, x: Tensor) -> Tensor:
        if self.part == "carry" and self.bias is not None:
            return add_product(self.bias, x, self.weight, self)
        return F.linear(x, self.weight, self.bias)

    def onto(self, gates_NG: Tensor, x_ND: Tensor) -> Tensor:
        assert self.biases == "none"
        return add_product(gates_NG, x_ND, self.weight, self)


class Elman(nn.Module):
    """h' = tanh(W x + U h + b) (Elman, 1990)."""

    parts = 1

    def __init__(self, input_width: int, width: int) -> None:
        super().__init__()
        self.width = self.gates = width
        self.kernel = nn.RNN(input_width, width, batch_first=True)
        self.input: Product = KernelPart(self.kernel, "input", "both")
        self.carry: Product = KernelPart(self.kernel, "carry", "none")

    def project(self, x: Tensor) -> Tensor:
        return self.input(x)

    def step(self, gates_NG: Tensor, state: CellState) -> CellState:
        (h,) = state
        return (torch.tanh(self.carry.onto(gates_NG, h)),)

    def forward(
        self, x_NTD: Tensor, state: CellState | None, lengths_N: Tensor | None = None
    ) -> tuple[Tensor, CellState]:
        h_NTE, h = _run(self.kernel, x_NTD, None if state is None else state[0].unsqueeze(0), lengths_N)
        return h_NTE, (h[0],)


class LSTM(nn.Module):
    """f, i, o = sigma(W x + U h + b); c' = f*c + i*tanh(W x + U h + b); h' = o*tanh(c').

    Hochreiter & Schmidhuber (1997), with the forget gate of Gers et al. (2000).
    """

    parts = 2

    def __init__(self, input_width: int, width: int) -> None:
        super().__init__()
        self.width, self.gates = width, 4 * width
        self.kernel = nn.LSTM(input_width, width, batch_first=True)
        self.input: Product = KernelPart(self.kernel, "input", "both")
        self.carry: Product = KernelPart(self.kernel, "carry", "none")

    def project(self, x: Tensor) -> Tensor:
        return self.input(x)

    def step(self, gates_NG: Tensor, state: CellState) -> CellState:
        h, c = state
        input_gate, forget_gate, candidate, output_gate = self.carry.onto(gates_NG, h).chunk(4, dim=1)
        c = torch.sigmoid(forget_gate) * c + torch.sigmoid(input_gate) * torch.tanh(candidate)
        return torch.sigmoid(output_gate) * torch.tanh(c), c

    def forward(
        self, x_NTD: Tensor, state: CellState | None, lengths_N: Tensor | None = None
    ) -> tuple[Tensor, CellState]:
        start = None if state is None else (state[0].unsqueeze(0), state[1].unsqueeze(0))
        h_NTE, (h, c) = _run(self.kernel, x_NTD, start, lengths_N)
        return h_NTE, (h[0], c[0])


class GRU(nn.Module):
    """u, r = sigma(W x + U h + b); h^ = tanh(W x + b + r*(U h + d)); h' = u*h + (1-u)*h^ (Cho et al., 2014)."""

    parts = 1

    def __init__(self, input_width: int, width: int) -> None:
        super().__init__()
        self.width, self.gates = width, 3 * width
        self.kernel = nn.GRU(input_width, width, batch_first=True)
        # What the state adds to the candidate passes a gate with its bias, so each product keeps its own.
        self.input: Product = KernelPart(self.kernel, "input", "own")
        self.carry: Product = KernelPart(self.kernel, "carry", "own")

    def project(self, x: Tensor) -> Tensor:
        return self.input(x)

    def step(self, gates_NG: Tensor, state: CellState) -> CellState:
        (h,) = state
        reset_x, update_x, candidate_x = gates_NG.chunk(3, dim=1)
        reset_h, update_h, candidate_h = self.carry(h).chunk(3, dim=1)
        update = torch.sigmoid(update_x + update_h)
        candidate = torch.tanh(candidate_x + torch.sigmoid(reset_x + reset_h) * candidate_h)
        return (candidate + update * (h - candidate),)

    def forward(
        self, x_NTD: Tensor, state: CellState | None, lengths_N: Tensor | None = None
    ) -> tuple[Tensor, CellState]:
        h_NTE, h = _run(self.kernel, x_NTD, None if state is None else state[0].unsqueeze(0), lengths_N)
        return h_NTE, (h[0],)


def _run(kernel: nn.RNNBase, x_NTD: Tensor, start: Any, lengths_N: Tensor | None) -> tuple[Tensor, Any]:
    """The fused kernel over the padded batch, or over each row's own length where its last state is wanted."""
    if lengths_N is None:
        return kernel(x_NTD, start)
    packed = pack_padded_sequence(x_NTD, lengths_N, batch_first=True, enforce_sorted=False)
    out, last = kernel(packed, start)
    h_NTE, _ = pad_packed_sequence(out, batch_first=True, total_length=x_NTD.shape[1])
    return h_NTE, last
