"""A comparison with all that belongs to it: certainty, tables, and lines side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from antiphon.evaluate.differences import Line, Row, by_habit, by_rarity, largest
from antiphon.evaluate.lengths import Comparison
from antiphon.evaluate.significance import Difference, check_draws, difference, interval


@dataclass(frozen=True)
class Certainty:
    """How corpora are drawn, and when a difference is taken for more than luck."""

    samples: int = 1000
    seed: int = 1
    level: float = 0.05

    def __post_init__(self) -> None:
        check_draws(self.samples, self.seed, self.level)


SURE = Certainty()


@dataclass(frozen=True)
class Against:
    """The first system beside another: how far apart they are, and where most."""

    other: str
    difference: Difference
    gains: tuple[Line, ...]
    losses: tuple[Line, ...]


@dataclass(frozen=True)
class Report:
    """Several systems on the same pairs, the first of them beside each of the others."""

    comparison: Comparison
    sources: tuple[str, ...]
    targets: tuple[tuple[str, ...], ...]
    certainty: Certainty
    intervals: tuple[tuple[float, float], ...]  # of each system's score, 95 of 100
    against: tuple[Against, ...]
    rarity: tuple[Row, ...]
    counted: str  # the text whose words were counted
    habits: tuple[Row, ...]  # a number a system, and one for the references

    def worse(self) -> list[Against]:
        """The systems that the first is significantly worse than."""
        return [one for one in self.against if one.difference.worse(self.certainty.level)]


def report(
    comparison: Comparison,
    sources: Sequence[str],
    targets: Sequence[Sequence[str]],
    certainty: Certainty = SURE,
    counts: Mapping[str, int] | None = None,
    lines: int = 10,
) -> Report:
    """All about a comparison; `counts` are words of a training text, `lines` how many gains and losses are shown."""
    first, *others = comparison.systems
    samples, seed = certainty.samples, certainty.seed
    against = []
    for other in others:
        gains, losses = largest(first, other, lines)
        apart = difference(first.measured, other.measured, samples, seed)
        against.append(Against(other.name, apart, tuple(gains), tuple(losses)))
    own = [target for target, *_ in targets]
    return Report(
        comparison, tuple(sources), tuple(tuple(line) for line in targets), certainty,
        tuple(interval(system.measured, samples, seed) for system in comparison.systems), tuple(against),
        tuple(by_rarity(comparison, own, counts)), "references" if counts is None else "training text",
        tuple(by_habit(comparison, sources, own)),
    )  # fmt: skip
