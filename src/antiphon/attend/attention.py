"""Attention of a recurrent decoder: score, choose where to look, weigh, read.

B batch · H heads · T queries · S places · Q, M widths of query and memory · C width that one head reads
"""

from torch import Tensor, nn

from antiphon.attend.memory import Keyed, Memory
from antiphon.attend.scores import Scorer
from antiphon.attend.weights import Weigh
from antiphon.attend.windows import Window


class Attention(nn.Module):
    """a = sum over places of alpha_s v(m_s), alpha = weigh(score(q, m)) (Bahdanau et al., 2015).

    The values v(m) are the memory itself, or learned apart from the keys (Daniluk et al., 2017). With several heads
    each has its own scores and its share of the values; what mixes them is the product that reads the result.
    """

    def __init__(self, scorer: Scorer, window: Window, weigh: Weigh, memory_width: int, values: int) -> None:
        super().__init__()
        self.scorer, self.window, self.weigh = scorer, window, weigh
        self.values = nn.Linear(memory_width, values, bias=False) if values else None
        self.width = values or memory_width  # of what is read

    def prepare(self, memory: Memory) -> Keyed:
        values_BSM = memory.states_BSM if self.values is None else self.values(memory.states_BSM)
        values_BHSC = values_BSM.unflatten(2, (self.scorer.heads, -1)).transpose(1, 2)
        return Keyed(self.scorer.keys(memory.states_BSM), values_BHSC, memory.mask_BS)

    def forward(
        self, query_BTQ: Tensor, keyed: Keyed, places_T: Tensor, last_BTS: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """What was read, B x T x width, and the weights, B x H x T x S, of queries made at the places T.

        `last_BTS` are the weights of the query before each of them, for a scorer that looks back.
        """
        scores_BHTS = self.scorer(query_BTQ, keyed.keys, last_BTS)
        scores_BHTS, mask = self.window(scores_BHTS, query_BTQ, places_T, keyed.mask_BS)
        weights_BHTS = self.weigh(scores_BHTS, mask)
        return (weights_BHTS @ keyed.values).transpose(1, 2).flatten(2), weights_BHTS
