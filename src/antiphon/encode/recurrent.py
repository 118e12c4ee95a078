"""Recurrent encoders: read from the left, or from both ends, in fused kernels.

B batch · S source places · widths: D of what is read, E of one reader, M of what a layer leaves
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from antiphon.attend.memory import Memory
from antiphon.attend.pool import Pool
from antiphon.layers.cells import Cell, CellState
from antiphon.layers.dropout import Dropout

Turn = Callable[[Tensor], Tensor]
Join = Callable[[list[Tensor]], Tensor]


def side_by_side(parts: list[Tensor]) -> Tensor:
    return torch.cat(parts, dim=-1)


def average(parts: list[Tensor]) -> Tensor:
    return torch.stack(parts).mean(0)


def total(parts: list[Tensor]) -> Tensor:
    return torch.stack(parts).sum(0)


class Projected(nn.Module):
    """W [left; right]: a learned join."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.out = nn.Linear(2 * width, width)

    def forward(self, parts: list[Tensor]) -> Tensor:
        return self.out(torch.cat(parts, dim=-1))


class Layer(nn.Module):
    """One or two readers; the one from the right gets each row turned round within its own length."""

    def __init__(self, readers: Sequence[Cell], join: Join, residual: bool) -> None:
        super().__init__()
        self.readers = nn.ModuleList(readers)  # type: ignore[arg-type]
        self.join, self.residual = join, residual

    def forward(self, x_BSD: Tensor, lengths_B: Tensor, turn: Turn, carry: bool) -> tuple[Tensor, Tensor, CellState]:
        """What is left at each place, the state at the end of the reading, and where `carry`, all parts of it."""
        ends_B11 = (lengths_B - 1).view(-1, 1, 1)
        states, ends, lasts = [], [], []
        for number, reader in enumerate(self.readers):
            h_BSE, last = reader(turn(x_BSD) if number else x_BSD, None, lengths_B if carry else None)
            states.append(turn(h_BSE) if number else h_BSE)
            ends.append(h_BSE.take_along_dim(ends_B11, dim=1).squeeze(1))
            lasts.append(last)
        if len(states) == 1:
            joined_BSM, end_BM, carried = states[0], ends[0], lasts[0]
        else:
            joined_BSM, end_BM = self.join(states), self.join(ends)
            carried = tuple(self.join(list(part)) for part in zip(*lasts, strict=True))
        return joined_BSM + x_BSD if self.residual else joined_BSM, end_BM, carried if carry else ()


class Recurrent(nn.Module):
    """Layers of readers, and one vector for all they read.

    Padding always stands behind the words, where a fused kernel over the padded batch cannot let it in, and that is
    faster than packing. Only a decoder that copies the last states (`carry`) needs packing, to stop at each end.
    With `reverse` the source is read from its end (Sutskever et al., 2014); the memory keeps the order of the words.
    """

    def __init__(
        self, layers: Sequence[Layer], pool: Pool | None, dropout: Dropout, reverse: bool, carry: bool
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.pool = pool  # None: the summary is the state at the end of the reading
        self.dropout, self.reverse, self.carry = dropout, reverse, carry

    def forward(self, words_BSD: Tensor, mask_BS: Tensor, look: list[Tensor] | None = None) -> Memory:
        lengths_B = mask_BS.sum(1)
        turn = _turner(mask_BS, lengths_B)
        x, lasts = turn(words_BSD) if self.reverse else words_BSD, []
        for layer in self.layers:
            x, end, last = layer(self.dropout(x), lengths_B, turn, self.carry)
            lasts.append(last)
        states_BSM = self.dropout(turn(x) if self.reverse else x)
        summary_BM = end if self.pool is None else self.pool(states_BSM, mask_BS)
        return Memory(states_BSM, mask_BS, summary_BM, tuple(lasts) if self.carry else ())


def _turner(mask_BS: Tensor, lengths_B: Tensor) -> Turn:
    """A function that reverses the real places of each row and leaves the padding behind them."""
    batch, length = mask_BS.shape
    places_BS = torch.arange(length, device=mask_BS.device).expand(batch, length)
    turned_BS = torch.where(mask_BS, lengths_B.unsqueeze(1) - 1 - places_BS, places_BS)
    order = (turned_BS + torch.arange(batch, device=mask_BS.device).unsqueeze(1) * length).flatten()

    def turn(x_BSD: Tensor) -> Tensor:
        turned: Tensor = _Turn.apply(x_BSD.flatten(0, 1), order)  # type: ignore[no-untyped-call]
        return turned.view_as(x_BSD)

    return turn


class _Turn(torch.autograd.Function):
    """A reordering that undoes itself, so its gradient is the same reordering: two copies, no sums."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, order: Tensor) -> Tensor:
        ctx.save_for_backward(order)
        return x.index_select(0, order)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (order,) = ctx.saved_tensors
        return grad.index_select(0, order), None
