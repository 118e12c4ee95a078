"""Which training pairs validate when no file is named for it: the same however the file is reordered or grows.

N pairs
"""

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]

SHARE, MOST = 0.05, 1_000


def hold_out(sources: Hashes, pairs: Hashes) -> NDArray[np.bool_]:
    """True for the pairs to be held out: those whose sources have the smallest hashes, about 5 %, at most 1,000.

    All pairs of a source fall on one side, or validation would ask for what was trained on. Where that cannot be, as
    with one source for all, the pairs themselves are drawn; where all pairs are the same, none is held out.
    """
    goal = min(MOST, max(1, round(SHARE * len(pairs))))
    for hashes in (sources, pairs):
        groups, group_N, counts = np.unique(hashes, return_inverse=True, return_counts=True)
        chosen = _fill(counts.tolist(), goal)
        if chosen and len(groups) > 1:
            return np.isin(group_N, chosen)
    return group_N == counts.argmin() if len(groups) > 1 else np.zeros(len(pairs), dtype=np.bool_)


def hold_out_end(lines: int) -> NDArray[np.bool_]:
    """True for the last lines of a running text, about 5 %: what follows is what nothing before has seen."""
    return np.arange(lines) >= min(lines - 1, round((1 - SHARE) * lines)) if lines > 1 else np.zeros(lines, np.bool_)


def _fill(counts: list[int], goal: int) -> list[int]:
    """The first groups that fit into the goal together; one too large is passed over."""
    chosen, room = [], goal
    for group, count in enumerate(counts):
        if count <= room:
            chosen.append(group)
            room -= count
        if not room:
            break
    return chosen
