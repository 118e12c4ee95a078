"""Where an answer begins and ends: two learned vectors, each compared with every state; and the best legal spans.

P places that can be pointed at · E width of a state · S places of a window · L symbols of the longest answer
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from antiphon.layers.dropout import Dropout


class Ends(nn.Module):
    """s . h_i and e . h_i at every place i; their softmaxes are P(start) and P(end) (Devlin et al., 2019)."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.weight_2E = nn.Parameter(torch.empty(2, width).normal_(std=width**-0.5))

    def forward(self, states_PE: Tensor) -> Tensor:
        """Logits, P x 2: that of the start first."""
        return F.linear(self.dropout(states_PE), self.weight_2E)


def span_scores(logs_2S: Tensor, longest: int) -> Tensor:
    """log P(start) + log P(end) of every span of at most `longest` places: S x L, by its start and its further places.

    All are weighed at once: an end that lies behind the last place is minus infinity.
    """
    starts_S, ends = logs_2S
    ends_SL = F.pad(ends, (0, longest - 1), value=float("-inf")).unfold(0, longest, 1)
    return starts_S.unsqueeze(1) + ends_SL
