"""Attention of a recurrent decoder: score, weigh, read.

B batch · T queries · S places · Q, M widths of query and memory
"""

from torch import Tensor, nn

from antiphon.attend.memory import Keyed, Memory
from antiphon.attend.scores import Scorer
from antiphon.attend.weights import softmax


class Attention(nn.Module):
    """a = sum over places of alpha_s m_s, alpha = softmax(score(q, m)) (Bahdanau et al., 2015)."""

    def __init__(self, scorer: Scorer) -> None:
        super().__init__()
        self.scorer = scorer

    def prepare(self, memory: Memory) -> Keyed:
        return Keyed(self.scorer.keys(memory.states_BSM), memory.states_BSM, memory.mask_BS)

    def forward(self, query_BTQ: Tensor, keyed: Keyed) -> tuple[Tensor, Tensor]:
        """What was read, B x T x M, and the weights, B x T x S."""
        weights_BTS = softmax(self.scorer(query_BTQ, keyed.keys), keyed.mask_BS)
        return weights_BTS @ keyed.values, weights_BTS
