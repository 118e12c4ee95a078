"""Attention of a recurrent decoder: score, weigh, read.

B batch · T queries · S places · Q, M widths of query and memory
"""

from torch import Tensor, nn

from antiphon.attend.memory import Keyed, Memory
from antiphon.attend.scores import Scorer
from antiphon.attend.weights import Weigh


class Attention(nn.Module):
    """a = sum over places of alpha_s v(m_s), alpha = weigh(score(q, m)) (Bahdanau et al., 2015).

    The values v(m) are the memory itself, or learned apart from the keys (Daniluk et al., 2017).
    """

    def __init__(self, scorer: Scorer, weigh: Weigh, memory_width: int, values: int) -> None:
        super().__init__()
        self.scorer, self.weigh = scorer, weigh
        self.values = nn.Linear(memory_width, values, bias=False) if values else None
        self.width = values or memory_width  # of what is read

    def prepare(self, memory: Memory) -> Keyed:
        values = memory.states_BSM if self.values is None else self.values(memory.states_BSM)
        return Keyed(self.scorer.keys(memory.states_BSM), values, memory.mask_BS)

    def forward(self, query_BTQ: Tensor, keyed: Keyed) -> tuple[Tensor, Tensor]:
        """What was read, B x T x width, and the weights, B x T x S."""
        weights_BTS = self.weigh(self.scorer(query_BTQ, keyed.keys), keyed.mask_BS)
        return weights_BTS @ keyed.values, weights_BTS
