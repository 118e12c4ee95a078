"""Norms: every place brought to the same size.

P places · D width
"""

from typing import Any

import torch
from torch import Tensor, nn


class RMSNorm(nn.Module):
    """g x / sqrt(mean(x^2) + epsilon): a layer norm without mean and bias (Zhang & Sennrich, 2019).

    On a CPU torch has no kernel for it and makes a tensor of every step on the way; this one makes two, and is three
    times as fast in training.
    """

    def __init__(self, width: int, epsilon: float) -> None:
        super().__init__()
        self.epsilon = epsilon
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return _RMSNorm.apply(x, self.weight, self.epsilon)  # type: ignore[no-untyped-call]


class _RMSNorm(torch.autograd.Function):
    """With s = 1 / sqrt(mean(x^2) + epsilon) and h = grad g, the gradient by x is s h - x s^3 mean(h x)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
        size = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        scale = size.square_().div_(x.shape[-1]).add_(epsilon).rsqrt_()
        ctx.save_for_backward(x, weight, scale)
        return (x * scale).mul_(weight)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        x, weight_D, scale = ctx.saved_tensors
        x_PD, grad_PD, scale_P1 = (part.flatten(0, -2) for part in (x, grad, scale))
        work_PD = grad_PD * x_PD
        grad_weight_D = (scale_P1.t() @ work_PD).squeeze(0)
        pull_P1 = (work_PD @ weight_D).unsqueeze(1).mul_(scale_P1.pow(3)).div_(-x.shape[-1])
        torch.mul(grad_PD, weight_D, out=work_PD).mul_(scale_P1).addcmul_(x_PD, pull_P1)
        return work_PD.view_as(x), grad_weight_D, None
