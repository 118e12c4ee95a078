"""Weights: scores become shares that sum to one over the real places.

B batch · T queries · S places
"""

from torch import Tensor


def softmax(scores_BTS: Tensor, mask_BS: Tensor) -> Tensor:
    """exp(score) / sum exp(score); padding gets exactly nothing."""
    return scores_BTS.masked_fill(~mask_BS.unsqueeze(1), float("-inf")).softmax(dim=-1)
