"""Real places only: a padded batch as one long row without its padding, and back.

B batch · T places · P real places of the whole batch · D width
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class Packing:
    """Which places of a padded batch are real. Linear layers then compute nothing for padding."""

    batch: int
    length: int
    real_P: Tensor | None  # their numbers among the B x T places; None where all are real
    rows: Tensor | None  # for each of the B x T places, laid out in one, the packed row to copy; padding copies row 0

    @classmethod
    def of(cls, mask_BT: Tensor) -> "Packing":
        batch, length = mask_BT.shape
        if bool(mask_BT.all()):
            return cls(batch, length, None, None)
        flat = mask_BT.flatten()
        return cls(batch, length, flat.nonzero().squeeze(1), (flat.cumsum(0) - 1).clamp_(min=0).mul_(flat))

    def pack(self, x_BTD: Tensor) -> Tensor:
        flat = x_BTD.flatten(0, 1)
        return flat if self.real_P is None else _Pack.apply(flat, self.real_P)  # type: ignore[no-untyped-call]

    def unpack(self, x_PD: Tensor) -> Tensor:
        """Padding holds a copy of some real row: finite, and for the mask to hide."""
        flat = x_PD if self.real_P is None else _Unpack.apply(x_PD, self.real_P, self.rows)  # type: ignore[no-untyped-call]
        return flat.unflatten(0, (self.batch, self.length))

    def places(self, device: torch.device) -> Tensor:
        """The place of each packed row within its sentence."""
        places = torch.arange(self.length, device=device).repeat(self.batch)
        return places if self.real_P is None else places.index_select(0, self.real_P)


class _Pack(torch.autograd.Function):
    """Row selection whose gradient is a copy, since no row is selected twice; torch would add into zeros."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, real_P: Tensor) -> Tensor:
        ctx.save_for_backward(real_P)
        ctx.rows = x.shape[0]
        return x.index_select(0, real_P)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (real_P,) = ctx.saved_tensors
        return grad.new_zeros(ctx.rows, *grad.shape[1:]).index_copy_(0, real_P, grad), None


class _Unpack(torch.autograd.Function):
    """The inverse. What padding received carries no gradient, because a mask hides it."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, real_P: Tensor, rows: Tensor) -> Tensor:
        ctx.save_for_backward(real_P)
        return x.index_select(0, rows)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (real_P,) = ctx.saved_tensors
        return grad.index_select(0, real_P), None, None
