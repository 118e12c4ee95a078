"""Muon: a matrix moves in all its directions alike.

M matrices of one shape · R their rows, the shorter side · C their columns
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

_MEMORY = 0.95  # of the gradients
# Jordan et al. chose these three for five rounds: singular values end near one, small ones too.
_LINEAR, _CUBIC, _QUINTIC, _ROUNDS = 3.4445, -4.7750, 2.0315, 5


class Muon(torch.optim.Optimizer):
    """W - rate x 0.2 sqrt(C) polar(mean of gradients) (Jordan et al., 2024; the factor: Liu et al., 2025).

    With that factor a weight moves about as far as AdamW would move it, so that one rate serves both. Torch's own Muon
    goes matrix by matrix and in bfloat16, which few CPUs compute in; here those of one shape go together, in float32.
    """

    def __init__(self, groups: list[dict[str, Any]]) -> None:
        super().__init__(groups, {"lr": 0.0, "weight_decay": 0.0})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            learnt = [weight for weight in group["params"] if weight.grad is not None]
            if not learnt:
                continue  # every layer was skipped
            gradients = [weight.grad for weight in learnt]
            for weight in learnt:
                if "exp_avg" not in self.state[weight]:
                    self.state[weight]["exp_avg"] = torch.zeros_like(weight)
            means = [self.state[weight]["exp_avg"] for weight in learnt]
            torch._foreach_lerp_(means, gradients, 1 - _MEMORY)
            ahead = torch._foreach_lerp(gradients, means, _MEMORY)  # Nesterov's: the mean as it would be a step on
            torch._foreach_mul_(learnt, 1 - group["lr"] * group["weight_decay"])
            for weights, ways_MRC in _of_one_shape(learnt, ahead):
                far = group["lr"] * 0.2 * math.sqrt(ways_MRC.shape[2])
                torch._foreach_add_(weights, polar(ways_MRC).unbind(), alpha=-far)


def polar(x_MRC: Tensor) -> Tensor:
    """U V^T of each U S V^T, roughly: an odd polynomial, round after round, drives every singular value towards one."""
    x_MRC = x_MRC / x_MRC.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)
    for _ in range(_ROUNDS):
        gram_MRR = x_MRC @ x_MRC.mT
        bent_MRR = torch.baddbmm(gram_MRR, gram_MRR, gram_MRR, beta=_CUBIC, alpha=_QUINTIC)
        x_MRC = torch.baddbmm(x_MRC, bent_MRR, x_MRC, beta=_LINEAR)
    return x_MRC


def _of_one_shape(weights: Sequence[Tensor], ways: Sequence[Tensor]) -> list[tuple[list[Tensor], Tensor]]:
    """Views of the weights, and where they are to go."""
    found: dict[torch.Size, list[tuple[Tensor, Tensor]]] = {}
    for weight, way in zip(weights, ways, strict=True):
        for pair in zip(_matrices(weight), _matrices(way), strict=True):
            found.setdefault(pair[0].shape, []).append(pair)
    return [([weight for weight, _ in pairs], torch.stack([way for _, way in pairs])) for pairs in found.values()]


def _matrices(weight: Tensor) -> Sequence[Tensor]:
    """Queries, keys and values, or the gates of a cell, stand in one tall matrix: each square is one by itself.

    Where fewer heads have keys and values, these are less than a square each, and are turned with what fills it up.
    """
    rows, columns = weight.shape
    if rows <= columns:
        return [weight]
    return [weight.mT] if rows % columns else weight.split(columns)
