"""Scores of labels against the true ones: plain functions on lists, each with the signature that repeats it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Literal

from antiphon.errors import AntiphonError
from antiphon.evaluate.metrics import Score

Labels = Sequence[str]  # of one text


@dataclass(frozen=True)
class Confusion:
    """How often a text of one label (a row) was given another (a column)."""

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]

    def shares(self) -> list[list[float]]:
        """Of each row; a label that no text has is a row of nothing."""
        return [[count / max(sum(row), 1) for count in row] for row in self.counts]


def confusion(said: Sequence[str], wanted: Sequence[str], order: Sequence[str]) -> Confusion:
    """The labels that occur on either side, as in `order`; those that are not in it come last."""
    _count(said, wanted)
    seen = {*said, *wanted}
    labels = [label for label in order if label in seen]
    labels += sorted(seen - {*labels})
    counts = Counter(zip(wanted, said, strict=True))
    return Confusion(tuple(labels), tuple(tuple(counts[true, one] for one in labels) for true in labels))


def label_accuracy(said: Sequence[Labels], wanted: Sequence[Labels]) -> Score:
    """The share of texts with exactly the right labels."""
    _count(said, wanted)
    right = sum({*one} == {*true} for one, true in zip(said, wanted, strict=True))
    return Score("accuracy", 100.0 * right / len(wanted), f"accuracy|labels:all|{_version()}", higher_is_better=True)


def label_f1(said: Sequence[Labels], wanted: Sequence[Labels], mean: Literal["macro", "micro"]) -> Score:
    """2 P R / (P + R): macro is the mean over the labels that occur on either side, micro that of all counts together.

    With exactly one label a text, micro is accuracy.
    """
    _count(said, wanted)
    hits, given, true = Counter[str](), Counter[str](), Counter[str]()
    for one, other in zip(said, wanted, strict=True):
        hits.update({*one} & {*other})
        given.update({*one})
        true.update({*other})
    labels = sorted(given.keys() | true.keys())
    each = [2 * hits[label] / (given[label] + true[label]) for label in labels]
    micro = 2 * hits.total() / max(given.total() + true.total(), 1)
    value = micro if mean == "micro" else sum(each) / max(len(each), 1)
    return Score(f"{mean} F1", 100.0 * value, f"f1|mean:{mean}|labels:occurring|{_version()}", higher_is_better=True)


def _count(said: Sequence[object], wanted: Sequence[object]) -> None:
    if len(said) != len(wanted) or not wanted:
        raise AntiphonError(
            f"evaluate: {len(said)} answers and {len(wanted)} labels; give as many of both, and at least one."
        )


def _version() -> str:
    return f"version:{version('antiphon')}"
