"""Products that go place by place, while the gradient of their weights is one product for all places.

N rows · D width of the input · G of the output
"""

from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from antiphon.layers.once import in_once, kept

_Debts = dict[int, tuple[Tensor, Tensor]]  # of each product: the gradient of what was made, and what it was made from


class Onto(nn.Linear):
    """W x, added to what is there already."""

    def __init__(self, width: int, to: int) -> None:
        super().__init__(width, to, bias=False)

    def onto(self, sums_NG: Tensor, x_ND: Tensor) -> Tensor:
        return add_product(sums_NG, x_ND, self.weight, self)


def add_product(sums: Tensor, x_ND: Tensor, weight_GD: Tensor, of: object) -> Tensor:
    """Sums (N x G, or G for all rows) + W x. Where `of` is asked again and again, W's gradient waits for the last."""
    if not (torch.is_grad_enabled() and in_once()):
        return torch.addmm(sums, x_ND, weight_GD.t())
    owing_GD, debts = kept(of, lambda: _owing(weight_GD))
    return cast(Tensor, _Product.apply(sums, x_ND, owing_GD, debts))  # type: ignore[no-untyped-call]


def _owing(weight_GD: Tensor) -> tuple[Tensor, _Debts]:
    debts: _Debts = {}
    return _Owing.apply(weight_GD, debts), debts  # type: ignore[no-untyped-call]


class _Owing(torch.autograd.Function):
    """W itself. On the way back it comes after all the products that were made with it, and pays for all."""

    @staticmethod
    def forward(ctx: Any, weight_GD: Tensor, debts: _Debts) -> Tensor:
        ctx.debts = debts
        ctx.set_materialize_grads(False)
        return weight_GD.view_as(weight_GD)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, _: None) -> tuple[Tensor | None, None]:
        if not ctx.debts:
            return None, None
        grads, read = (torch.cat(parts) for parts in zip(*ctx.debts.values(), strict=True))
        ctx.debts.clear()
        return grads.t() @ read, None


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, sums: Tensor, x_ND: Tensor, owing_GD: Tensor, debts: _Debts) -> Tensor:
        ctx.save_for_backward(x_ND, owing_GD)
        ctx.debts, ctx.shared = debts, sums.dim() == 1
        return torch.addmm(sums, x_ND, owing_GD.t())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_NG: Tensor) -> tuple[Tensor, Tensor, None, None]:
        x_ND, owing_GD = ctx.saved_tensors
        if ctx.needs_input_grad[2]:
            ctx.debts[id(ctx)] = grad_NG, x_ND  # once, even where an earlier way back did not come as far as W
        return grad_NG.sum(0) if ctx.shared else grad_NG, grad_NG @ owing_GD, None, None
