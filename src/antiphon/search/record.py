"""What a beam search weighed at each step, for those who want to see it; a search that is not asked records nothing.

B sentences, one here · J hypotheses before a step, K after it · W best words of each
"""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from antiphon.search.rules import IMPOSSIBLE, Last


@dataclass(frozen=True)
class Weighed:
    """One continuation that a step looked at."""

    parent: int  # the slot of the hypothesis that it continues
    word: int
    log_probability: float  # of the word alone
    total: float  # of all words so far
    slot: int | None  # where it was kept; None where it was cut


class Record:
    """The search of one sentence: `answers` are all that ended or that the limit cut, `best` the one that is given."""

    def __init__(self) -> None:
        self.steps: list[list[Weighed]] = []
        self.answers: list[Last] = []
        self.best: Last | None = None

    def add(
        self,
        totals_BJ: Tensor,
        proposed: tuple[Tensor, Tensor],
        totals_BK: Tensor,
        parents_BK: Tensor,
        words_BK: Tensor,
        log_probabilities_BK: Tensor,
    ) -> None:
        """A step: the hypotheses before it, the best words of each with their log-probabilities, and what was kept."""
        assert len(totals_BJ) == 1, "one sentence is recorded at a time"
        kept = (part[0].tolist() for part in (parents_BK, words_BK, log_probabilities_BK, totals_BK))
        step = [
            Weighed(parent, word, log, total, slot)
            for slot, (parent, word, log, total) in enumerate(zip(*kept, strict=True))
            if total > IMPOSSIBLE
        ]
        known = {(one.parent, one.word) for one in step}
        rows = zip(totals_BJ[0].tolist(), *(part.tolist() for part in proposed), strict=True)
        for parent, (total, logs_W, words_W) in enumerate(rows):
            for log, word in zip(logs_W, words_W, strict=True):
                if total + log > IMPOSSIBLE and (parent, word) not in known:
                    known.add((parent, word))
                    step.append(Weighed(parent, word, log, total + log, None))
        self.steps.append(step)

    def close(self, answers: Sequence[Last]) -> None:
        self.answers, self.best = list(answers), answers[0]
