"""Weights: scores become shares that sum to one over the real places.

B batch · T queries · S places
"""

from collections.abc import Callable

import torch
from torch import Tensor

Weigh = Callable[[Tensor, Tensor], Tensor]


def softmax(scores_BTS: Tensor, mask_BS: Tensor) -> Tensor:
    """exp(score) / sum exp(score); padding gets exactly nothing."""
    return scores_BTS.masked_fill(~mask_BS.unsqueeze(1), float("-inf")).softmax(dim=-1)


def sparsemax(scores_BTS: Tensor, mask_BS: Tensor) -> Tensor:
    """The shares nearest to the scores: max(score - threshold, 0), so that most places get exactly nothing.

    The threshold is found among the sorted scores, the k highest of which get a share (Martins & Astudillo, 2016).
    """
    # Low enough that padding never gets a share, and finite, because a difference of infinities is no number.
    lowest = scores_BTS.detach().amin(dim=-1, keepdim=True) - 2
    scores_BTS = torch.where(mask_BS.unsqueeze(1), scores_BTS, lowest)
    sorted_BTS, _ = scores_BTS.sort(dim=-1, descending=True)
    ranks_S = torch.arange(1, scores_BTS.shape[-1] + 1, device=scores_BTS.device)
    sums_BTS = sorted_BTS.cumsum(dim=-1) - 1
    count_BT1 = (ranks_S * sorted_BTS > sums_BTS).sum(dim=-1, keepdim=True)
    threshold_BT1 = sums_BTS.gather(-1, count_BT1 - 1) / count_BT1
    return (scores_BTS - threshold_BT1).clamp(min=0)
