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
    """The search of one sentence: `answers` are all that ended or that the limit cut, `given` those that are given."""

    def __init__(self) -> None:
        self.steps: list[list[Weighed]] = []
        self.left: list[
            set[int]
        ] = []  # slots of the step before that this one did not look at: they ended, or could not win
        self.answers: list[Last] = []
        self.given: list[Last] = []

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
        totals_J = totals_BJ[0].tolist()
        rows = zip(totals_J, *(part.tolist() for part in proposed), strict=True)
        for parent, (total, logs_W, words_W) in enumerate(rows):
            for log, word in zip(logs_W, words_W, strict=True):
                if total + log > IMPOSSIBLE and (parent, word) not in known:
                    known.add((parent, word))
                    step.append(Weighed(parent, word, log, total + log, None))
        self.steps.append(step)
        self.left.append({slot for slot, total in enumerate(totals_J) if total == IMPOSSIBLE})

    def close(self, answers: Sequence[Last]) -> None:
        self.answers, self.given = list(answers), list(answers[:1])

    def give(self, chosen: Sequence[tuple[Sequence[int], bool]]) -> None:
        """The answers that are given, best first: the symbols of each, and whether it ended."""
        found = {(tuple(one.word for one in self.path(last)), last.ended): last for last in reversed(self.answers)}
        by_symbols = {(words[: len(words) - ended], ended): last for (words, ended), last in found.items()}
        self.given = [by_symbols[tuple(symbols), ended] for symbols, ended in chosen]

    def path(self, last: Last) -> list[Weighed]:
        """Every continuation on the way to an answer, the first one first."""
        found: list[Weighed] = []
        slot: int | None = last.slot
        for step in reversed(self.steps[: last.step]):
            found.append(next(one for one in step if one.slot == slot))
            slot = found[-1].parent
        return found[::-1]
