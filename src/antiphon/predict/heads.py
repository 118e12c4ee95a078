"""Heads: from what is handed over to words, or to labels.

E what a head reads · V words or labels · M width of what was pooled
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from antiphon.layers.dropout import Dropout


class Words(nn.Module):
    """softmax(W x + b) over the vocabulary; W may be the embedding itself (Press & Wolf, 2017)."""

    def __init__(self, width: int, size: int, tied: nn.Parameter | None) -> None:
        super().__init__()
        self.weight_VE = nn.Parameter(torch.empty(size, width).normal_(std=width**-0.5)) if tied is None else tied
        self.bias_V = nn.Parameter(torch.zeros(size))

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight_VE, self.bias_V)


class Between(nn.Module):
    """What stands before a head of labels: dropout, and a layer tanh(W x + b) where it has a width."""

    def __init__(self, read: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.hidden = nn.Linear(read, hidden) if hidden else None
        self.dropout = Dropout(dropout)
        self.width = hidden or read  # E

    def forward(self, x: Tensor) -> Tensor:
        x = self.dropout(x)
        return x if self.hidden is None else self.dropout(torch.tanh(self.hidden(x)))
