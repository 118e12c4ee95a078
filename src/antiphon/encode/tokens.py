"""Words as vectors: where symbols enter a model.

V words · D width
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Tokens(nn.Module):
    """A learned vector a symbol; scaled by sqrt(D) for a Transformer, so that positions do not drown it."""

    def __init__(self, size: int, width: int, scaled: bool) -> None:
        super().__init__()
        self.weight_VD = nn.Parameter(torch.empty(size, width).normal_(std=width**-0.5))
        self.scale = math.sqrt(width) if scaled else 1.0

    def forward(self, words: Tensor) -> Tensor:
        vectors = F.embedding(words, self.weight_VD)
        return vectors * self.scale if self.scale != 1.0 else vectors
