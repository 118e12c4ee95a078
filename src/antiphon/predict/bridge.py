"""Bridges: how a recurrent decoder begins from what the encoder left.

B batch · M width of the memory
"""

from typing import Protocol

import torch
from torch import nn

from antiphon.attend.memory import Memory
from antiphon.layers.cells import Cell, CellState


class Bridge(Protocol):
    def __call__(self, memory: Memory) -> tuple[CellState, ...]:
        """The first state of every layer."""
        ...


class Transform(nn.Module):
    """h_0 = tanh(W summary), for every layer and every part of its state (Bahdanau et al., 2015)."""

    def __init__(self, memory_width: int, cells: list[Cell]) -> None:
        super().__init__()
        self.shape = [(cell.parts, cell.width) for cell in cells]
        self.out = nn.Linear(memory_width, sum(parts * width for parts, width in self.shape))

    def forward(self, memory: Memory) -> tuple[CellState, ...]:
        states = torch.tanh(self.out(memory.summary_BM)).split([parts * width for parts, width in self.shape], dim=1)
        return tuple(state.chunk(parts, dim=1) for state, (parts, _) in zip(states, self.shape, strict=True))


class Copy(nn.Module):
    """The encoder's last state, layer by layer (Sutskever et al., 2014).

    A decoder with more layers repeats the topmost; a part that the encoder lacks (an LSTM's c after a GRU) is its
    h; an encoder without a state (a Transformer) gives its summary.
    """

    def __init__(self, cells: list[Cell]) -> None:
        super().__init__()
        self.parts = [cell.parts for cell in cells]

    def forward(self, memory: Memory) -> tuple[CellState, ...]:
        last = memory.last or ((memory.summary_BM,),)
        copied = [last[min(layer, len(last) - 1)] for layer in range(len(self.parts))]
        return tuple(
            tuple(state[part if part < len(state) else 0] for part in range(parts))
            for state, parts in zip(copied, self.parts, strict=True)
        )


class Zero(nn.Module):
    """Nothing: only attention tells the decoder of the input."""

    def __init__(self, cells: list[Cell]) -> None:
        super().__init__()
        self.shape = [(cell.parts, cell.width) for cell in cells]

    def forward(self, memory: Memory) -> tuple[CellState, ...]:
        rows = memory.summary_BM.shape[0]
        return tuple(
            tuple(memory.summary_BM.new_zeros(rows, width) for _ in range(parts)) for parts, width in self.shape
        )


class Onward(nn.Module):
    """Where there is no input: zero, or the state in which the text before was left."""

    def __init__(self, cells: list[Cell]) -> None:
        super().__init__()
        self.zero = Zero(cells)

    def forward(self, memory: Memory) -> tuple[CellState, ...]:
        return memory.last or self.zero(memory)
