"""People's judgements: means, who wins how often, and whether judges agree."""

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

_SURE = 1.959964  # standard errors on either side hold 95 of 100


@dataclass(frozen=True)
class Mark:
    """What one judge says of one system's answer to one pair; rank 1 is best, and ties are allowed."""

    judge: str
    pair: int
    system: int
    adequacy: int  # 1 to 5: how much of the meaning is there
    fluency: int  # 1 to 5: how well it reads
    rank: int


@dataclass(frozen=True)
class Mean:
    """A mean with the interval that holds it in 95 of 100 cases; no interval where there is but one value."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Standing:
    """What all judges say of one system."""

    name: str
    marks: int
    adequacy: Mean
    fluency: Mean
    rank: Mean


@dataclass(frozen=True)
class Wins:
    """How often judges put one system above another: the share of wins where they are not tied, with its interval."""

    one: str
    other: str
    wins: int
    ties: int
    losses: int
    share: Mean | None  # None where all are ties


@dataclass(frozen=True)
class Agreement:
    """1 where judges agree always, 0 where they agree as often as by chance; None where too few judged the same."""

    pairs: int  # judged by more than one
    adequacy: float | None  # Krippendorff's alpha, of intervals
    fluency: float | None
    ranking: float | None  # kappa of better, tied and worse


@dataclass(frozen=True)
class Verdict:
    """The report on a study."""

    judges: tuple[tuple[str, int], ...]  # and how many pairs each has judged
    standings: tuple[Standing, ...]
    wins: tuple[Wins, ...]
    agreement: Agreement


def judge_all(marks: Sequence[Mark], systems: Sequence[str]) -> Verdict:
    """Of judges who may have judged different pairs; the better system stands first."""
    done: defaultdict[str, set[int]] = defaultdict(set)
    ranks: defaultdict[tuple[str, int], dict[int, int]] = defaultdict(dict)
    for mark in marks:
        done[mark.judge].add(mark.pair)
        ranks[mark.judge, mark.pair][mark.system] = mark.rank
    standings = [_standing(name, [m for m in marks if m.system == n]) for n, name in enumerate(systems)]
    wins = [_wins(one, other, systems, ranks.values()) for one, other in combinations(range(len(systems)), 2)]
    return Verdict(
        tuple((judge, len(pairs)) for judge, pairs in sorted(done.items())),
        tuple(sorted(standings, key=lambda one: one.rank.value)),
        tuple(wins),
        _agreement(marks, ranks),
    )


def _standing(name: str, marks: Sequence[Mark]) -> Standing:
    columns = ([getattr(mark, key) for mark in marks] for key in ("adequacy", "fluency", "rank"))
    return Standing(name, len(marks), *(mean_of(column) for column in columns))


def mean_of(values: Sequence[float]) -> Mean:
    count = len(values)
    mean = sum(values) / count if count else math.nan
    if count < 2:
        return Mean(mean, mean, mean)
    error = math.sqrt(sum((value - mean) ** 2 for value in values) / (count - 1) / count)
    return Mean(mean, mean - _SURE * error, mean + _SURE * error)


def _wins(one: int, other: int, systems: Sequence[str], ranks: Iterable[dict[int, int]]) -> Wins:
    sides = [_side(held[one], held[other]) for held in ranks if one in held and other in held]
    wins, ties, losses = (sides.count(side) for side in (1, 0, -1))
    return Wins(systems[one], systems[other], wins, ties, losses, share_of(wins, wins + losses))


def _side(one: int, other: int) -> int:
    """1 where the first is ranked above the second, 0 where they are tied, -1 below."""
    return (one < other) - (one > other)


def share_of(wins: int, total: int) -> Mean | None:
    """A share with Wilson's interval (1927), which stays between 0 and 1 however few were counted."""
    if not total:
        return None
    share, square = wins / total, _SURE**2 / total
    middle = (share + square / 2) / (1 + square)
    half = math.sqrt(share * (1 - share) * square + square**2 / 4) / (1 + square)
    return Mean(share, max(0.0, middle - half), min(1.0, middle + half))


def _agreement(marks: Sequence[Mark], ranks: dict[tuple[str, int], dict[int, int]]) -> Agreement:
    judges: defaultdict[int, set[str]] = defaultdict(set)
    marked: defaultdict[str, defaultdict[Hashable, list[float]]] = defaultdict(lambda: defaultdict(list))
    sides: defaultdict[Hashable, list[int]] = defaultdict(list)
    for mark in marks:
        judges[mark.pair].add(mark.judge)
        for key in ("adequacy", "fluency"):
            marked[key][mark.pair, mark.system].append(getattr(mark, key))
    for (_, pair), held in ranks.items():
        for one, other in combinations(sorted(held), 2):
            sides[pair, one, other].append(_side(held[one], held[other]))
    shared = sum(len(names) > 1 for names in judges.values())
    adequacy, fluency = (alpha([*marked[key].values()]) for key in ("adequacy", "fluency"))
    return Agreement(shared, adequacy, fluency, kappa([*sides.values()]))


def alpha(units: Sequence[Sequence[float]]) -> float | None:
    """Krippendorff's alpha of interval values: 1 - disagreement within units / disagreement of all values."""
    paired = [unit for unit in units if len(unit) > 1]
    values = [value for unit in paired for value in unit]
    count = len(values)
    expected = _apart(values) / (count * (count - 1)) if count else 0
    if not expected:
        return None
    within = sum(_apart(unit) / (len(unit) - 1) for unit in paired)
    return 1 - within / count / expected


def _apart(values: Sequence[float]) -> float:
    """sum (x - y)^2 over all pairs of values, which is n sum (x - mean)^2."""
    mean = sum(values) / len(values)
    return len(values) * sum((value - mean) ** 2 for value in values)


def kappa(units: Sequence[Sequence[Hashable]]) -> float | None:
    """Agreement of any two judges beyond chance, where chance draws from all that was said (Scott, 1955)."""
    pairs = [pair for unit in units for pair in combinations(unit, 2)]
    said = [claim for unit in units if len(unit) > 1 for claim in unit]
    if not pairs:
        return None
    chance = sum((said.count(claim) / len(said)) ** 2 for claim in set(said))
    agreed = sum(one == other for one, other in pairs) / len(pairs)
    return (agreed - chance) / (1 - chance) if chance < 1 else None
