"""Scores as sums: what each line adds to its corpus, and the score of any sum of lines.

A corpus that is drawn from the lines, or put together from two systems, is scored by adding rows: that is how thousands
of them are scored in seconds. N lines · M numbers a line · any axes before M are corpora
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, assert_never, get_args

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from antiphon.errors import AntiphonError
from antiphon.evaluate import metrics
from antiphon.evaluate.meteor import meteor, rows_of
from antiphon.evaluate.metrics import Reference, Score
from antiphon.evaluate.scores import Scoring

Metric = Literal["bleu", "chrf", "ter", "meteor", "wer", "exact_match"]
Rows = NDArray[np.float64]
_ORDER = 4
_TOKEN = re.compile(r"\w+|[^\w\s]")


def _too_short(references: Sequence[Reference], tokenize: metrics.Tokens) -> bool:
    """Whether no right answer is long enough for BLEU, which is 0 of whatever is shorter."""
    each = [one for some in references for one in ([some] if isinstance(some, str) else some)]
    return tokenize not in ("char", "zh") and not any(len(_TOKEN.findall(one)) >= _ORDER for one in each)


def usual_metric(references: Sequence[Reference], tokenize: metrics.Tokens) -> Metric:
    """What texts are compared by where nothing is asked for."""
    return "chrf" if _too_short(references, tokenize) else "bleu"


def bleu_doubt(targets: Sequence[str], answers: Iterable[Sequence[str]], tokenize: metrics.Tokens) -> str | None:
    """Why BLEU may not mean what it seems to, where a look at the right answers and at those of systems can tell."""
    if _too_short(targets, tokenize):
        return "No target has four words, and BLEU counts by four: look at chrF instead."
    if tokenize in ("none", "char", "zh"):
        return None
    for noun, lines in [("targets", targets), *(("answers", each) for each in answers)]:
        cut = sum(line.endswith(" .") for line in lines)
        if cut * 10 > len(lines):
            share = f"{cut:,} of {len(lines):,} {noun} end in a full stop with a space before it"
            return f"{share}: tokenised already? --tokenize none counts words as they stand."
    return None


class Formula(Protocol):
    """The score, per cent, of sums of rows."""

    def __call__(self, sums: Rows, /) -> Rows: ...


@dataclass(frozen=True)
class Measured:
    """A system's lines under one metric, and its score on all of them, signed."""

    score: Score
    rows_NM: Rows
    formula: Formula

    def of(self, lines: Sequence[int] | NDArray[np.intp]) -> float:
        """The score of a part of the lines."""
        return float(self.formula(self.rows_NM[np.asarray(lines)].sum(axis=0)))

    def by_line(self) -> Rows:
        """Each line as a corpus of its own; BLEU counts one more there, or most would have 0 (Lin and Och, 2004)."""
        if self.formula is _bleu:
            return _bleu_of_lines(self.rows_NM)
        return self.formula(self.rows_NM)


def measure(answers: Sequence[str], references: Sequence[Reference], metric: Metric, chosen: Scoring) -> Measured:
    """Every line's row under a metric, and the score of them all, which is that of `evaluate`."""
    _refuse_unknown(metric)
    targets, lowercase = metrics.lines_of(answers, references), chosen.lowercase
    streams = metrics.streams_of(answers, references)
    match metric:
        case "bleu":
            score = metrics.bleu(answers, targets, chosen.tokenize, lowercase)
            rows = BLEU(lowercase, True, chosen.tokenize)._extract_corpus_statistics(answers, streams)
            return Measured(score, np.array(rows, dtype=np.float64), _bleu)
        case "chrf":
            score = metrics.chrf(answers, targets, lowercase)
            rows = CHRF(lowercase=lowercase)._extract_corpus_statistics(answers, streams)
            return Measured(score, np.array(rows, dtype=np.float64), _chrf)
        case "ter":
            score = metrics.ter(answers, targets, lowercase)
            rows = TER(case_sensitive=not lowercase)._extract_corpus_statistics(answers, streams)
            return Measured(score, np.array(rows, dtype=np.float64), _share)
        case "meteor":
            judge = chosen.meteor()
            if judge is None:
                raise AntiphonError("compare.metric: meteor needs a language. Name it: --language de")
            rows_NM = rows_of(judge, answers, targets, chosen.tokenize)
            score = meteor(answers, targets, judge, chosen.tokenize, rows_NM)
            return Measured(score, rows_NM, lambda sums: 100 * judge.scores(sums))
        case "wer":
            counts = [metrics.edits_of(*pair, lowercase=lowercase) for pair in zip(answers, targets, strict=True)]
            score = metrics.word_error_rate(answers, targets, lowercase=lowercase)
            return Measured(score, np.array(counts, dtype=np.float64), _share)
        case "exact_match":
            score = metrics.exact_match(answers, targets, lowercase)
            right = [metrics.is_right(*pair, lowercase=lowercase) for pair in zip(answers, targets, strict=True)]
            return Measured(score, np.array([[one, 1] for one in right], dtype=np.float64), _share)
        case _:
            assert_never(metric)


def _refuse_unknown(metric: str) -> None:
    if metric not in get_args(Metric):
        raise AntiphonError(f"compare.metric: no such choice as {metric!r}. Known: {', '.join(get_args(Metric))}.")


def _bleu(sums: Rows) -> Rows:
    """sacrebleu's BLEU with its exponential smoothing: an order without matches counts 1/2, the next 1/4, and so on."""
    said, wanted = sums[..., 0], sums[..., 1]
    matches, totals = sums[..., 2 : 2 + _ORDER], sums[..., 2 + _ORDER :]
    with np.errstate(divide="ignore", invalid="ignore"):
        halvings = np.cumsum((matches == 0) & (totals > 0), axis=-1)
        shares = np.where(matches > 0, matches, 0.5**halvings) / totals
        mean = np.exp(np.log(shares).mean(axis=-1))
        brief = np.exp(np.minimum(0, 1 - wanted / said))
        # Nothing of any order matches, or no n-gram is as long as the longest.
        empty = (matches.sum(axis=-1) == 0) | (totals == 0).any(axis=-1)
        return np.where(empty, 0.0, 100 * brief * mean)


def _bleu_of_lines(rows_NM: Rows) -> Rows:
    """Orders above the first with one match and one n-gram more."""
    more = np.array([0.0, *[1.0] * (_ORDER - 1)])
    said, wanted = rows_NM[:, 0], rows_NM[:, 1]
    matches, totals = rows_NM[:, 2 : 2 + _ORDER] + more, rows_NM[:, 2 + _ORDER :] + more
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.exp(np.log(matches / totals).mean(axis=-1))
        score = 100 * np.exp(np.minimum(0, 1 - wanted / said)) * mean
    return np.nan_to_num(score, nan=0.0, neginf=0.0)


def _chrf(sums: Rows) -> Rows:
    """F2 = 5 P R / (4 P + R) of the mean precision and recall of the orders that both sides have."""
    said, wanted, matches = (sums[..., start::3] for start in range(3))
    counted = (said > 0) & (wanted > 0)
    orders = np.maximum(counted.sum(axis=-1), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        precision, recall = (np.where(counted, matches / side, 0.0).sum(axis=-1) / orders for side in (said, wanted))
        score = 100 * 5 * precision * recall / (4 * precision + recall)
    return np.nan_to_num(score, nan=0.0)


def _share(sums: Rows) -> Rows:
    with np.errstate(divide="ignore", invalid="ignore"):
        found = 100 * sums[..., 0] / sums[..., 1]
    # Edits where nothing is wanted: all of the line is wrong.
    return np.where(sums[..., 1] > 0, found, 100.0 * (sums[..., 0] > 0))
