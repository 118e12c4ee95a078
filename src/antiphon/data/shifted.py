"""Stretches of shifted pairs: a line was lost on one side, so lengths fit no longer, but do again a few lines on.

M windows · W lines of a window
"""

from itertools import pairwise

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Lengths = NDArray[np.uint32]
Floats = NDArray[np.float64]

WINDOW, HOP, FARTHEST = 80, 20, 3
CLEAR = 0.6  # a correlation that chance does not reach in millions of windows of 80 lines
BROKEN = 0.3
EQUAL = 0.3  # translations have the very same length less often, even in a window of short ones
CHUNK = 4096


def find_shifts(source: Lengths, target: Lengths) -> list[tuple[int, int, int]]:
    """(start, stop, shift) of each stretch in which source line i fits target line i + shift, and not line i.

    Lengths that have nothing to do with each other fit at no shift, so such data raises no alarm. Nor do the turns
    of a conversation, where every source is the target of the line before: there the lengths are exactly equal.
    """
    if len(source) < WINDOW + HOP + 2 * FARTHEST:
        return []
    starts_M = np.arange(FARTHEST, len(source) - WINDOW - FARTHEST + 1, HOP)
    chunks = [_look(source, target, chunk) for chunk in np.array_split(starts_M, 1 + len(starts_M) // CHUNK)]
    level, best, shift, equal = (np.concatenate(parts) for parts in zip(*chunks, strict=True))
    turns = (equal > EQUAL) & (np.median(level) < BROKEN)
    alarm_M = (best >= CLEAR) & (level <= BROKEN) & ~turns
    return _stretches(starts_M, np.where(alarm_M, shift, 0))


def _look(source: Lengths, target: Lengths, starts_M: NDArray[np.int64]) -> tuple[Floats, Floats, Floats, Floats]:
    """Of each window: the correlation in place, the best at a shift, that shift, and the share of equal lengths."""
    source_MW = sliding_window_view(source, WINDOW)[starts_M]
    targets = sliding_window_view(target, WINDOW)
    shifts = [shift for shift in range(-FARTHEST, FARTHEST + 1) if shift]
    level = _correlate(source_MW, targets[starts_M])
    shifted = np.stack([_correlate(source_MW, targets[starts_M + shift]) for shift in shifts])
    shift_M = np.array(shifts)[shifted.argmax(0)]
    equal = (source_MW == targets[starts_M + shift_M]).mean(1)
    return level, shifted.max(0), shift_M.astype(np.float64), equal


def _correlate(left_MW: Lengths, right_MW: Lengths) -> Floats:
    left, right = np.log1p(left_MW), np.log1p(right_MW)
    left, right = left - left.mean(1, keepdims=True), right - right.mean(1, keepdims=True)
    spread = np.sqrt((left**2).sum(1) * (right**2).sum(1))
    # Lines of one length tell nothing.
    together: Floats = np.where(spread > 1e-6, (left * right).sum(1) / np.maximum(spread, 1e-6), 0.0)
    return together


def _stretches(starts_M: NDArray[np.int64], shift_M: Floats) -> list[tuple[int, int, int]]:
    """Neighbouring windows of one shift as one stretch; a single window may be chance."""
    found: list[tuple[int, int, int]] = []
    borders = np.flatnonzero(np.diff(shift_M, prepend=np.nan, append=np.nan) != 0)
    for first, end in pairwise(borders.tolist()):
        start, stop, shift = int(starts_M[first]), int(starts_M[end - 1]) + WINDOW, int(shift_M[first])
        if shift and end - first > 1:
            # A window that just misses the mark does not end a stretch.
            joins = found and found[-1][1] >= start and found[-1][2] == shift
            found.append((found.pop()[0] if joins else start, stop, shift))
    return found
