"""Recurrent encoders: read from the left, or from both ends, in fused kernels.

B batch · S source places · D width · M width of the memory · L layers
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from antiphon.attend.memory import Memory
from antiphon.layers.cells import Cell
from antiphon.layers.dropout import Dropout


class Recurrent(nn.Module):
    """Layers of one or two readers; the reader from the right gets each row turned round within its own length.

    So padding always stands behind the words, where a fused kernel over the padded batch cannot let it in, and that
    is faster than packing. Only a decoder that copies the last states (`carry`) needs packing, to stop at each end.
    """

    def __init__(self, layers: Sequence[Sequence[Cell]], dropout: float, carry: bool) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.ModuleList(readers) for readers in layers)  # type: ignore[arg-type]
        self.dropout = Dropout(dropout)
        self.carry = carry

    def forward(self, words_BSD: Tensor, mask_BS: Tensor, look: list[Tensor] | None = None) -> Memory:
        lengths_B = mask_BS.sum(1)
        turn = _turner(mask_BS, lengths_B)
        x, lasts = self.dropout(words_BSD), []
        for layer, readers in enumerate(self.layers):
            x = self.dropout(x) if layer else x
            x, last = _read(x, readers, turn, lengths_B if self.carry else None)  # type: ignore[arg-type]
            lasts.append(last)
        ends_B = (lengths_B - 1).view(-1, 1, 1)
        halves = x.chunk(len(self.layers[0]), dim=2)  # type: ignore[arg-type]
        # Each reader's last word is the other's first.
        ends = [halves[0].take_along_dim(ends_B, dim=1).squeeze(1)] + [half[:, 0] for half in halves[1:]]
        last = tuple(torch.stack(part, dim=1) for part in zip(*lasts, strict=True)) if self.carry else ()
        return Memory(self.dropout(x), mask_BS, torch.cat(ends, dim=1), last)


def _read(
    x_BSD: Tensor, readers: Sequence[Cell], turn: Callable[[Tensor], Tensor], lengths_B: Tensor | None
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """One layer: what each reader leaves at each place, side by side, and their last states, side by side."""
    forward_BSD, last = readers[0](x_BSD, None, lengths_B)
    if len(readers) == 1:
        return forward_BSD, last
    backward_BSD, other = readers[1](turn(x_BSD), None, lengths_B)
    joined = tuple(torch.cat(pair, dim=1) for pair in zip(last, other, strict=True))
    return torch.cat([forward_BSD, turn(backward_BSD)], dim=2), joined


def _turner(mask_BS: Tensor, lengths_B: Tensor) -> Callable[[Tensor], Tensor]:
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
