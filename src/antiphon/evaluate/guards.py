"""Signs that an answer went wrong, however likely: it repeats itself, gives the source back, leaves things out.

T answer places · S source places
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

REPEATS = 8  # symbols of a stretch that repeats itself, from which on it is taken for a loop
_LONGEST = 40  # symbols of what is repeated
_RARE = 0.01  # copies are no sign of anything where more of the true pairs are copies than this
_ENOUGH = 100  # true pairs; of fewer it is not known how much of a source may go unread
_NAMED = 10  # unread words that a warning names
_UNREAD = 0.1  # a source word that got less attention than this in all was not read


@dataclass(frozen=True)
class Usual:
    """What the true pairs of a task look like: an answer that is far from it has gone wrong."""

    repeats: int  # symbols of the longest stretch that repeats itself
    copies: float  # the share of pairs whose target is their source
    shortest: float  # target symbols a source symbol, ends counted: no pair has fewer
    unread: float  # the share of a source's words that get no attention: no pair has more; 1 where it is not known


UNKNOWN_TASK = Usual(repeats=0, copies=0.0, shortest=0.0, unread=1.0)


def longest_repeat(symbols: Sequence[int]) -> int:
    """The length of the longest stretch that says one thing three times or more in a row."""
    longest = 0
    for period in range(1, min(len(symbols) // 3, _LONGEST) + 1):
        run = 0
        for before, symbol in zip(symbols, symbols[period:], strict=False):
            run = run + 1 if symbol == before else 0
            if run >= 2 * period:
                longest = max(longest, run + period)
    return longest


def is_copy(source: str, answer: str) -> bool:
    return " ".join(source.casefold().split()) == " ".join(answer.casefold().split())


def unread_words(weights_TS: NDArray[np.float32], words: Sequence[int]) -> list[int]:
    """Which words of the source had next to no attention in all; `words` says how many symbols each takes."""
    read_S = weights_TS.sum(0)[: sum(words)]
    starts = np.cumsum([0, *words[:-1]])
    return np.flatnonzero(np.add.reduceat(read_S, starts) < _UNREAD).tolist() if words else []


def usual(repeats: Sequence[int], copies: float, ratios: Sequence[float], unread: Sequence[float]) -> Usual:
    """From what true pairs show; `unread` is empty where there is no attention."""
    return Usual(max(repeats), copies, min(ratios), max(unread) if len(unread) >= _ENOUGH else 1.0)


def warnings(
    source: Sequence[int], answer: Sequence[int], texts: tuple[str, str], unread: Sequence[str], words: int, task: Usual
) -> tuple[str, ...]:
    """What is wrong with an answer; `unread` are the words of the source, of so many, that nothing looked at."""
    found = []
    repeated = longest_repeat(answer)
    if repeated >= REPEATS and repeated > max(task.repeats, longest_repeat(source)):
        found.append(f"repeats itself: {repeated} symbols of one thing said again and again")
    if is_copy(*texts) and task.copies <= _RARE:
        found.append("gives the source back")
    if len(answer) + 1 < task.shortest / 2 * (len(source) + 1):
        found.append(f"too short: {len(answer)} symbols for {len(source)}")
    if words and len(unread) / words > task.unread:
        more = f" and {len(unread) - _NAMED} more" if len(unread) > _NAMED else ""
        found.append(f"left out: nothing looked at {' '.join(unread[:_NAMED])}{more}")
    return tuple(found)
