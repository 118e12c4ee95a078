"""Pooling: one vector for the whole input.

B batch · S places · M width of the memory
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from antiphon.attend.weights import softmax

Pool = Callable[[Tensor, Tensor], Tensor]


def mean(states_BSM: Tensor, mask_BS: Tensor) -> Tensor:
    """The average of the real places."""
    real_BS1 = mask_BS.unsqueeze(2)
    return (states_BSM * real_BS1).sum(1) / real_BS1.sum(1)


def maximum(states_BSM: Tensor, mask_BS: Tensor) -> Tensor:
    """The highest value of each number over the real places."""
    return states_BSM.masked_fill(~mask_BS.unsqueeze(2), float("-inf")).amax(1)


class LearnedQuery(nn.Module):
    """sum alpha_s m_s, alpha = softmax(q . tanh(W m)), with a query q that is a parameter (Yang et al., 2016)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.key = nn.Linear(width, width)
        self.query_M = nn.Parameter(torch.empty(width).normal_(std=width**-0.5))

    def forward(self, states_BSM: Tensor, mask_BS: Tensor) -> Tensor:
        scores_BS = torch.tanh(self.key(states_BSM)) @ self.query_M
        weights_B1S = softmax(scores_BS, mask_BS).unsqueeze(1)
        return (weights_B1S @ states_BSM).squeeze(1)
