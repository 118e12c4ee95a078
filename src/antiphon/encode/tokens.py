"""Words as vectors: where symbols enter a model.

V words · D width · K texts that are told apart
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from antiphon.data.vocab import END


class Tokens(nn.Module):
    """A learned vector a symbol, times `scale`, so that positions do not drown it and gates hear it.

    With `segments`, a vector is added that tells the text a symbol belongs to: each ends with its end.
    """

    def __init__(self, size: int, width: int, scale: float, segments: int = 0) -> None:
        super().__init__()
        self.weight_VD = nn.Parameter(torch.empty(size, width).normal_(std=width**-0.5))
        self.scale = scale
        self.segments_KD = nn.Parameter(torch.empty(segments, width).normal_(std=width**-0.5)) if segments else None

    def forward(self, words: Tensor) -> Tensor:
        vectors = F.embedding(words, self.weight_VD)
        vectors = vectors * self.scale if self.scale != 1.0 else vectors
        if self.segments_KD is None:
            return vectors
        ends = (words == END).long()
        texts = (ends.cumsum(-1) - ends).clamp(max=len(self.segments_KD) - 1)
        return vectors + F.embedding(texts, self.segments_KD)
