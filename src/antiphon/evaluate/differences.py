"""Where systems differ: rare words, repetition and copying, and the lines with the largest gains and losses."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from antiphon.evaluate.lengths import Comparison, System

# How often a word stands in the text that is counted: from each number up to the next.
_RARITIES = (0, 1, 2, 5, 10, 100, 1000)
_ORDER = 3  # words in a row that count as repeated


@dataclass(frozen=True)
class Row:
    """A row of a table: how many of what it counts, and a number a system."""

    label: str
    count: int | None
    values: tuple[float, ...]


@dataclass(frozen=True)
class Line:
    """A pair that two systems answer differently, by its number from 0, and what each answer scores on its own."""

    number: int
    first: float
    other: float

    @property
    def gain(self) -> float:
        return self.first - self.other


def by_rarity(comparison: Comparison, targets: Sequence[str], counts: Mapping[str, int] | None = None) -> list[Row]:
    """How well systems have the words of the references, F1, by how often a word stands in the training text.

    Without a training text the references themselves are counted. Words stand between spaces.
    """
    wanted = [Counter(target.split()) for target in targets]
    known = sum(wanted, Counter()) if counts is None else counts
    total = _by_rarity(wanted, known)
    shares = []
    for system in comparison.systems:
        said = [Counter(answer.split()) for answer in system.answers]
        shared = _by_rarity([one & other for one, other in zip(said, wanted, strict=True)], known)
        written = _by_rarity(said, known)
        shares.append([200.0 * shared[place] / (written[place] + total[place]) for place in sorted(total)])
    labels = [_span(place) for place in sorted(total)]
    return [
        Row(label, total[place], tuple(values))
        for label, place, *values in zip(labels, sorted(total), *shares, strict=True)
    ]


def _by_rarity(lines: Iterable[Counter[str]], known: Mapping[str, int]) -> Counter[int]:
    """How many words are of each rarity, by its place in the list of them."""
    found: Counter[int] = Counter()
    for line in lines:
        for word, count in line.items():
            found[bisect_right(_RARITIES, known.get(word, 0)) - 1] += count
    return found


def _span(place: int) -> str:
    low = _RARITIES[place]
    if place == len(_RARITIES) - 1:
        return f"{low:,} or more"
    high = _RARITIES[place + 1] - 1
    return f"{low}" if high == low else f"{low}-{high}"


def by_habit(comparison: Comparison, sources: Sequence[str], targets: Sequence[str]) -> list[Row]:
    """Repetition and copying, of each system, and last of the references: what is usual for the task."""
    everyone = [*(system.answers for system in comparison.systems), tuple(targets)]
    return [
        Row(f"words in a row ({_ORDER}) that came before", None, tuple(map(_repeated, everyone))),
        Row("words that stand in the source", None, tuple(_copied(texts, sources) for texts in everyone)),
        Row("answers that are their source", None, tuple(_same(texts, sources) for texts in everyone)),
        Row("empty answers", None, tuple(_share(not text.strip() for text in texts) for texts in everyone)),
    ]


def _repeated(texts: Sequence[str]) -> float:
    """The share of runs of words that were in the same answer already (Welleck et al., 2020)."""
    grams = [Counter(zip(*(text.split()[start:] for start in range(_ORDER)), strict=False)) for text in texts]
    total = sum(gram.total() for gram in grams)
    return 100.0 * sum(gram.total() - len(gram) for gram in grams) / total if total else 0.0


def _copied(texts: Sequence[str], sources: Sequence[str]) -> float:
    return _share(word in held for text, held in zip(texts, map(_words, sources), strict=True) for word in text.split())


def _words(text: str) -> set[str]:
    return set(text.split())


def _same(texts: Sequence[str], sources: Sequence[str]) -> float:
    return _share(text.split() == source.split() for text, source in zip(texts, sources, strict=True))


def _share(claims: Iterable[bool]) -> float:
    found = list(claims)
    return 100.0 * sum(found) / len(found) if found else 0.0


def largest(first: System, other: System, most: int) -> tuple[list[Line], list[Line]]:
    """The lines that the first system has better, and those it has worse: the largest differences first."""
    scores = zip(first.measured.by_line().tolist(), other.measured.by_line().tolist(), strict=True)
    lines = [Line(number, *pair) for number, pair in enumerate(scores)]
    sign = 1 if first.overall.higher_is_better else -1
    gains = sorted((line for line in lines if sign * line.gain > 0), key=lambda line: -abs(line.gain))
    losses = sorted((line for line in lines if sign * line.gain < 0), key=lambda line: -abs(line.gain))
    return gains[:most], losses[:most]
