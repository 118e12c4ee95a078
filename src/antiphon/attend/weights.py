"""Weights: scores become shares that sum to one over the places where a query may look.

S places, the last axis of everything here
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

Weigh = Callable[[Tensor, Tensor], Tensor]  # scores, and a mask that spreads over them: True where to look


def softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """exp(score) / sum exp(score); padding gets exactly nothing."""
    return scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)


def sparsemax(scores: Tensor, mask: Tensor) -> Tensor:
    """The shares nearest to the scores: max(score - threshold, 0), so that most places get exactly nothing.

    The threshold is found among the sorted scores, the k highest of which get a share (Martins & Astudillo, 2016).
    """
    # Low enough that padding never gets a share, and finite, because a difference of infinities is no number.
    lowest = scores.detach().amin(dim=-1, keepdim=True) - 2
    scores = torch.where(mask, scores, lowest)
    ordered, _ = scores.sort(dim=-1, descending=True)
    ranks_S = torch.arange(1, scores.shape[-1] + 1, device=scores.device)
    sums = ordered.cumsum(dim=-1) - 1
    count = (ranks_S * ordered > sums).sum(dim=-1, keepdim=True)
    threshold = sums.gather(-1, count - 1) / count
    return (scores - threshold).clamp(min=0)


class Hard(nn.Module):
    """In training the softmax, which has a gradient; in answers all weight on the highest score."""

    def forward(self, scores: Tensor, mask: Tensor) -> Tensor:
        if self.training:
            return softmax(scores, mask)
        best = scores.masked_fill(~mask, float("-inf")).argmax(dim=-1, keepdim=True)
        return torch.zeros_like(scores).scatter_(-1, best, 1.0)
