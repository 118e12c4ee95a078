"""Heads: from what a decoder hands over to words.

E what a decoder hands its head · V words
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Words(nn.Module):
    """softmax(W x + b) over the vocabulary; W may be the embedding itself (Press & Wolf, 2017)."""

    def __init__(self, width: int, size: int, tied: nn.Parameter | None) -> None:
        super().__init__()
        self.weight_VE = nn.Parameter(torch.empty(size, width).normal_(std=width**-0.5)) if tied is None else tied
        self.bias_V = nn.Parameter(torch.zeros(size))

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight_VE, self.bias_V)
