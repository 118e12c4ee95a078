"""Is one system better than another, or was it luck? Two tests on the same lines, by drawing thousands of corpora.

N lines · M numbers a line · R drawn corpora
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from antiphon.errors import AntiphonError
from antiphon.evaluate.rows import Measured, Rows

_CELLS = 4_000_000  # lines x corpora drawn at once: 32 MB


@dataclass(frozen=True)
class Difference:
    """The first system's score less another's, and how sure it is."""

    points: float
    low: float  # 95 of 100 drawn corpora have a difference between these
    high: float
    bootstrap: float  # p of the paired bootstrap (Koehn, 2004)
    randomisation: float  # p of approximate randomisation (Riezler and Maxwell, 2005)
    better: float  # the points, so that above 0 is always better, errors too

    def worse(self, level: float) -> bool:
        """Whether the first system is worse, and not by luck: by both tests."""
        return self.better < 0 and max(self.bootstrap, self.randomisation) < level


def check_draws(samples: int, seed: int, level: float) -> None:
    if seed < 0:
        raise AntiphonError(f"compare.seed: {seed} is not allowed: at least 0.")
    if samples < 100:
        raise AntiphonError(f"compare.samples: {samples} is not allowed: at least 100, or p says nothing.")
    if not 0 < level < 1:
        raise AntiphonError(f"compare.level: {level} is not allowed: between 0 and 1, such as 0.05.")


def interval(measured: Measured, samples: int, seed: int) -> tuple[float, float]:
    """Between which scores 95 of 100 corpora lie that are drawn from these lines."""
    (scores_R,) = _drawn(_weights(len(measured.rows_NM), samples, seed), [measured])
    low, high = np.percentile(scores_R, [2.5, 97.5])
    return float(low), float(high)


def difference(first: Measured, other: Measured, samples: int, seed: int) -> Difference:
    """Both tests, on the same drawn corpora for both systems; p counts the true difference among the drawn ones."""
    points = first.score.value - other.score.value
    count = len(first.rows_NM)
    one_R, two_R = _drawn(_weights(count, samples, seed), [first, other])
    drawn_R = one_R - two_R
    # Around their own mean the differences are what luck makes of no difference.
    lucky = int((abs(drawn_R - drawn_R.mean()) >= abs(points) - 1e-12).sum())
    low, high = np.percentile(drawn_R, [2.5, 97.5])
    swapped_R = _swapped(first, other, _swaps(count, samples, seed))
    as_far = int((abs(swapped_R) >= abs(points) - 1e-12).sum())
    better = points if first.score.higher_is_better else -points
    return Difference(
        points, float(low), float(high), (lucky + 1) / (samples + 1), (as_far + 1) / (samples + 1), better
    )


def _weights(count: int, samples: int, seed: int) -> Iterator[Rows]:
    """How often each line is drawn into each of some corpora of as many lines, some at a time."""
    draws = np.random.default_rng([seed, 1])
    for size in _slices(count, samples):
        places_RN = draws.integers(count, size=(size, count))
        places_RN += np.arange(size)[:, None] * count
        yield np.bincount(places_RN.ravel(), minlength=size * count).reshape(size, count).astype(np.float64)


def _swaps(count: int, samples: int, seed: int) -> Iterator[Rows]:
    """Which lines change sides in each of some trials."""
    draws = np.random.default_rng([seed, 2])
    for size in _slices(count, samples):
        yield draws.integers(2, size=(size, count)).astype(np.float64)


def _slices(count: int, samples: int) -> Iterator[int]:
    most = max(1, _CELLS // count)
    while samples > 0:
        yield min(most, samples)
        samples -= most


def _drawn(weights: Iterator[Rows], systems: list[Measured]) -> list[NDArray[np.float64]]:
    """The scores of drawn corpora, the same for every system."""
    parts = [[one.formula(weights_RN @ one.rows_NM) for one in systems] for weights_RN in weights]
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def _swapped(first: Measured, other: Measured, swaps: Iterator[Rows]) -> NDArray[np.float64]:
    """The differences between two systems that have exchanged some of their lines."""
    exchange_NM = other.rows_NM - first.rows_NM
    one_M, two_M = first.rows_NM.sum(axis=0), other.rows_NM.sum(axis=0)
    moved = (swaps_RN @ exchange_NM for swaps_RN in swaps)
    return np.concatenate([first.formula(one_M + moved_RM) - first.formula(two_M - moved_RM) for moved_RM in moved])
