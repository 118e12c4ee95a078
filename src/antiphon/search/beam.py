"""Beam search: of all continuations of a sentence's hypotheses keep the best K, and set those aside that end.

B sentences still searched · J hypotheses of each before a step, K after it · N rows = B x J · V words
W best words of one hypothesis · X = J x W continuations of a sentence · G groups of hypotheses · S source places
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from antiphon.errors import AntiphonError
from antiphon.search.choose import allowed, each_once, group_by_group, the_best, the_best_apart
from antiphon.search.coverage import Coverage
from antiphon.search.demands import Demands
from antiphon.search.record import Record
from antiphon.search.rules import IMPOSSIBLE, DeadEnd, Last, Trail, follow, length_penalty, refuse_nan
from antiphon.search.stages import meet_demands, propose
from antiphon.search.step import Hypothesis, State, Stepper
from antiphon.search.words import Held, Rule


@dataclass(frozen=True)
class Beam:
    """How wide to search, how many answers to give, and how much length counts."""

    beam: int  # 1 is greedy search
    n_best: int
    length_exponent: float
    gnmt: bool = False  # the length penalty of Wu et al. (2016) instead of a plain power
    groups: int = 1  # that the beam is divided into, to keep apart
    diversity: float = 0.0  # what a word costs for each group that took it before, in this step

    @property
    def width(self) -> int:
        """Hypotheses of one group."""
        return self.beam // self.groups

    def penalty(self, length: int) -> float:
        return length_penalty(length, self.length_exponent, self.gnmt)


@dataclass(frozen=True)
class Guide:
    """What a search is held to beside the model's own probabilities; as it stands, to nothing."""

    rules: Sequence[Rule] = ()
    demands: Demands | None = None
    coverage: Coverage | None = None


FREE = Guide()


@dataclass(frozen=True)
class _Open:
    """The sentences still searched. A hypothesis with a total of -inf is an empty slot."""

    sentences_B: Tensor  # which sentence of the caller each one is
    limits_B: Tensor
    bars_BG: Tensor  # the score an open hypothesis has to beat; -inf until enough of its group have ended
    totals_BK: Tensor  # summed log-probability
    covered_BKS: Tensor | None = None  # summed attention, where it counts

    def keep(self, kept_B: Tensor) -> "_Open":
        return _Open(
            self.sentences_B[kept_B], self.limits_B[kept_B], self.bars_BG[kept_B], self.totals_BK[kept_B],
            None if self.covered_BKS is None else self.covered_BKS[kept_B],
        )  # fmt: skip


@dataclass(frozen=True)
class _Continued:
    """The best K continuations of each sentence, best first."""

    totals_BK: Tensor
    parents_BK: Tensor  # which of the J hypotheses each one continues
    words_BK: Tensor
    log_probabilities_BK: Tensor  # of the new word alone


def beam_search(
    stepper: Stepper,
    state: State,
    limits: Sequence[int],
    options: Beam,
    start: int,
    end: int,
    forbidden: Sequence[int],
    record: Record | None = None,
    guide: Guide = FREE,
) -> list[list[Hypothesis]]:
    """For every sentence its best answers, best first; those that the limit (end included) cut come after all others.

    The bookkeeping is done on the CPU: a stepper that lives elsewhere moves the words and rows it is handed.
    """
    size = len(limits)
    still = _Open(
        sentences_B=torch.arange(size),
        limits_B=torch.tensor(limits, dtype=torch.long),
        bars_BG=torch.full((size, options.groups), IMPOSSIBLE, dtype=torch.float64),
        totals_BK=torch.zeros(size, 1, dtype=torch.float64),
    )
    words_N, step = torch.full((size,), start), 0
    trail, found = Trail(), [list[Last]() for _ in limits]
    held = Held([*guide.rules, *([guide.demands] if guide.demands else [])], range(size))
    while len(still.sentences_B):
        step += 1
        look: list[Tensor] = []
        log_probabilities_NV, state = (
            stepper.step(words_N, state, look) if guide.coverage else stepper.step(words_N, state)
        )
        proposed = allowed(held.hold(log_probabilities_NV), forbidden, options.beam)
        if guide.demands:
            proposed = propose(log_probabilities_NV, proposed, held.states[-1], held.forced)
        best = _continue(still, *proposed, step, options, end, held if guide.demands else None)
        if record is not None:
            record.add(
                still.totals_BK, proposed, best.totals_BK, best.parents_BK, best.words_BK, best.log_probabilities_BK
            )
        trail.add(still.sentences_B, best.parents_BK, best.words_BK, best.log_probabilities_BK)
        sentences, hypotheses = still.totals_BK.shape
        rows_BK = torch.arange(sentences).unsqueeze(1) * hypotheses + best.parents_BK
        held.follow(rows_BK.flatten(), best.words_BK.flatten())
        still = _with_coverage(still, best, look) if guide.coverage else still
        still = _set_aside(best, still, found, options, step, end, guide.coverage)
        kept_B, still = _go_on(still, found, options, step, guide, held)
        still = still.keep(kept_B)
        if len(kept_B):
            state = follow(state, rows_BK[kept_B], kept_B, sentences, hypotheses)
            words_N = best.words_BK[kept_B].flatten()
            held.keep(kept_B, sentences)
    return _rank(trail, found, options, record)


def _continue(
    still: _Open, best_NW: Tensor, words_NW: Tensor, step: int, options: Beam, end: int, demanding: Held | None
) -> _Continued:
    sentences, width = len(still.totals_BK), best_NW.shape[1]
    best_BX = best_NW.double().cpu().view(sentences, -1)
    totals_BX = still.totals_BK.repeat_interleave(width, dim=1)
    # Whatever the stepper says of an empty slot, it stays empty.
    sums_BX = (totals_BX + best_BX).masked_fill(totals_BX == IMPOSSIBLE, IMPOSSIBLE)
    refuse_nan(sums_BX, step)
    words_BX = words_NW.cpu().view(sentences, -1)
    if options.groups > 1:
        hypotheses = still.totals_BK.shape[1]
        totals_BK, chosen_BK = the_best_apart(
            sums_BX, words_BX, hypotheses, options.beam, options.groups, options.diversity
        )
    else:
        totals_BK, chosen_BK = the_best(sums_BX, options.beam)
    if demanding is not None:
        meet_demands(totals_BK, chosen_BK, sums_BX, words_BX, still.limits_B - step, end, demanding)
    return _Continued(totals_BK, chosen_BK // width, words_BX.gather(1, chosen_BK), best_BX.gather(1, chosen_BK))


def _with_coverage(still: _Open, best: _Continued, look: Sequence[Tensor]) -> _Open:
    """The attention of each continuation, summed over its words."""
    if not look:
        raise AntiphonError(
            "search.coverage: this model has no attention to its source, so nothing tells what it has read. "
            "Leave it at 0, or take a model with attention."
        )
    sentences, hypotheses = still.totals_BK.shape
    covered_BJS = look[0].cpu().view(sentences, hypotheses, -1)
    if still.covered_BKS is not None:
        covered_BJS = covered_BJS + still.covered_BKS
    parents_BKS = best.parents_BK.unsqueeze(2).expand(-1, -1, covered_BJS.shape[2])
    return replace(still, covered_BKS=covered_BJS.gather(1, parents_BKS))


def _set_aside(
    best: _Continued,
    still: _Open,
    found: list[list[Last]],
    options: Beam,
    step: int,
    end: int,
    coverage: Coverage | None,
) -> _Open:
    """Move the hypotheses that ended to their sentence's answers, and leave their slots empty."""
    ended_BK = (best.words_BK == end) & (best.totals_BK > IMPOSSIBLE)
    bars_BG = still.bars_BG.clone()
    now = replace(still, totals_BK=best.totals_BK)
    for row, slot in ended_BK.nonzero().tolist():
        answers, group = found[int(still.sentences_B[row])], slot // options.width
        answers.append(_last(now, row, slot, step, options, coverage, ended=True))
        scores = [answer.score for answer in answers if answer.slot // options.width == group]
        if len(scores) >= options.width:
            bars_BG[row, group] = heapq.nlargest(min(options.n_best, options.width), scores)[-1]
    return replace(still, bars_BG=bars_BG, totals_BK=best.totals_BK.masked_fill(ended_BK, IMPOSSIBLE))


def _go_on(
    still: _Open, found: list[list[Last]], options: Beam, step: int, guide: Guide, held: Held
) -> tuple[Tensor, _Open]:
    """The sentences with an open hypothesis that may still win; at its limit a sentence takes the open ones as cut."""
    cut_B = still.limits_B <= step
    sentences, hypotheses = still.totals_BK.shape
    for row in cut_B.nonzero().flatten().tolist():
        for slot in (still.totals_BK[row] > IMPOSSIBLE).nonzero().flatten().tolist():
            demanded = held.states[-1][row * hypotheses + slot] if guide.demands else None
            if demanded is None or not demanded[1][1]:
                cut = _last(still, row, slot, step, options, guide.coverage, ended=False)
                found[int(still.sentences_B[row])].append(cut)
    # With coverage what is unread may still be read, so it does not count against an open one.
    leaders_BG = still.totals_BK.view(sentences, options.groups, -1).amax(2) / options.penalty(step)
    open_BG = leaders_BG > still.bars_BG
    if options.groups > 1:
        closed_BK = ~open_BG.repeat_interleave(options.width, dim=1)
        still = replace(still, totals_BK=still.totals_BK.masked_fill(closed_BK, IMPOSSIBLE))
    return (~cut_B & open_BG.any(1)).nonzero().flatten(), still


def _last(still: _Open, row: int, slot: int, step: int, options: Beam, coverage: Coverage | None, ended: bool) -> Last:
    total = float(still.totals_BK[row, slot])
    score = total / options.penalty(step)
    if coverage is not None and still.covered_BKS is not None:
        score += coverage.worth(still.covered_BKS[row, slot], int(still.sentences_B[row]))
    return Last(step, slot, total, score, ended)


def _rank(trail: Trail, found: list[list[Last]], options: Beam, record: Record | None) -> list[list[Hypothesis]]:
    """The best answers of every sentence; of groups first the best of each, then the second, and each answer once."""
    for sentence, answers in enumerate(found):
        if not answers:
            raise DeadEnd(sentence)
        answers.sort(key=lambda answer: (answer.ended, answer.score), reverse=True)
    if record is not None:
        record.close(found[0])
    if options.groups == 1:
        return trail.spell([answers[: options.n_best] for answers in found])
    in_turns = [group_by_group(answers, options.width) for answers in found]
    return [each_once(spelt, options.n_best) for spelt in trail.spell(in_turns)]
