"""Scores by source length: pairs in bins, the same bins for every system, a score a bin."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from antiphon.data.text import normalise
from antiphon.errors import AntiphonError
from antiphon.evaluate import rows
from antiphon.evaluate.metrics import Reference, Score
from antiphon.evaluate.rows import Measured, Metric
from antiphon.evaluate.scores import PLAIN, Scoring

Unit = Literal["words", "characters"]

MOST_BINS = 5
FEWEST_PAIRS = 25  # a score of fewer is mostly chance


@dataclass(frozen=True)
class Bin:
    """The pairs with sources of `shortest` to `longest` units, by their numbers from 0."""

    shortest: int
    longest: int
    pairs: tuple[int, ...]

    @property
    def label(self) -> str:
        return f"{self.shortest}-{self.longest}" if self.shortest < self.longest else str(self.shortest)


@dataclass(frozen=True)
class Lengths:
    """All pairs of a test by source length, the shortest first; no bin is empty."""

    unit: Unit
    bins: tuple[Bin, ...]


@dataclass(frozen=True)
class System:
    """What one system scores on all pairs, and on those of each bin."""

    name: str
    answers: tuple[str, ...]
    measured: Measured
    by_length: tuple[Score, ...]

    @property
    def overall(self) -> Score:
        return self.measured.score


@dataclass(frozen=True)
class Comparison:
    """Several systems on the same pairs."""

    lengths: Lengths
    systems: tuple[System, ...]

    @property
    def pairs(self) -> int:
        return sum(len(one.pairs) for one in self.lengths.bins)

    @property
    def score(self) -> Score:
        """The first system's, for what all of them share: name and signature."""
        return self.systems[0].overall


def measure(sources: Sequence[str], edges: Sequence[int] | None = None) -> Lengths:
    """Sources in bins; `edges` are the longest lengths of all bins but the last, by default chosen from the data.

    A model's own symbols would give each model other bins, so words between spaces are counted; where most sources
    have but one (characters, words to be pronounced), characters are.
    """
    if not sources:
        raise AntiphonError("compare: no pairs are given, and there is no score of nothing. Give at least one.")
    words = [len(source.split()) for source in sources]
    unit: Unit = "characters" if 2 * words.count(1) > len(words) else "words"
    lengths = words if unit == "words" else [len(normalise(source)) for source in sources]
    if edges is None:
        edges = _choose_edges(lengths)
    elif not edges or any(low >= high for low, high in pairwise([0, *edges])):
        raise edges_refused(",".join(map(str, edges)))
    return Lengths(unit, tuple(_fill(lengths, edges, unit)))


def edges_refused(given: str) -> AntiphonError:
    return AntiphonError(f"bins: {given!r} is not allowed: whole numbers above 0 that rise, such as 10,15,20")


def _choose_edges(lengths: Sequence[int]) -> list[int]:
    """Edges between bins of about as many pairs each; equal lengths stay together."""
    counts = Counter(lengths)
    rising = sorted(counts)
    left, bins = len(lengths), max(1, min(MOST_BINS, len(lengths) // FEWEST_PAIRS))
    edges: list[int] = []
    held = 0
    for length, following in pairwise(rising):
        held += counts[length]
        # Half of those to come: the bin ends where it is nearest to its share of what is left.
        near = held + counts[following] / 2 >= left / bins
        if bins > 1 and near and min(held, left - held) >= FEWEST_PAIRS:
            edges.append(length)
            left, bins, held = left - held, bins - 1, 0
    return edges


def _fill(lengths: Sequence[int], edges: Sequence[int], unit: Unit) -> list[Bin]:
    """The first bin begins with the shortest source, the last ends with the longest."""
    shortest, longest = min(lengths), max(lengths)
    # An edge at or beyond the longest source is the end of the last bin.
    ends = [*edges] if edges and edges[-1] >= longest else [*edges, longest]
    bins: list[Bin] = []
    low = 0
    for end in ends:
        pairs = tuple(number for number, length in enumerate(lengths) if low <= length <= end)
        if not pairs:
            span = f"{low} to {end}" if 0 < low < end else f"{end}" if low else f"at most {end}"
            raise AntiphonError(
                f"bins: no source has {span} {unit}; these {len(lengths):,} have {shortest:,} to {longest:,}. "
                "Leave an edge out."
            )
        bins.append(Bin(max(low, shortest), min(end, longest), pairs))
        low = end + 1
    return bins


def compare(
    answers: Mapping[str, Sequence[str]],
    targets: Sequence[Reference],
    lengths: Lengths,
    metric: Metric = "bleu",
    scoring: Scoring = PLAIN,
) -> Comparison:
    """The answers of every system, by its name, scored on all pairs and in each bin."""
    if not answers:
        raise AntiphonError("compare: no systems are given, and there is nothing to compare. Give at least one.")
    systems = []
    for name, lines in answers.items():
        if len(lines) != len(targets):
            raise AntiphonError(
                f"compare: {name} has {len(lines):,} answers to {len(targets):,} pairs; "
                "answer N belongs to pair N, so give as many of both."
            )
        measured = rows.measure(lines, targets, metric, scoring)
        parts = tuple(replace(measured.score, value=measured.of(one.pairs)) for one in lengths.bins)
        systems.append(System(name, tuple(lines), measured, parts))
    return Comparison(lengths, tuple(systems))
