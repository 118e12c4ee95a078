"""Stretches of plain text: what a masked model reads at once, one text or two.

N stretches · L pieces of lines
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from antiphon.data.batch import EXCHANGE, PHASE, SPLIT
from antiphon.data.store import PairStore
from antiphon.data.unmerge import keys
from antiphon.data.vocab import END, START

Places = NDArray[np.int64]
Symbols = NDArray[np.int64]


@dataclass(frozen=True)
class Stretches:
    """Where the texts of one epoch begin and end among the symbols of a store.

    The second text of a pair is empty where there is only one.
    """

    tokens: NDArray[np.generic]
    begins_N: Places
    ends_N: Places
    second_begins_N: Places
    second_ends_N: Places
    follows_N: NDArray[np.bool_]  # whether the second text stands behind the first

    def __len__(self) -> int:
        return len(self.begins_N)

    @cached_property
    def lengths(self) -> NDArray[np.int32]:
        """As those of pairs, N x 2: the symbols of a row without its last end."""
        second_N = self.second_ends_N - self.second_begins_N
        row_N = 1 + self.ends_N - self.begins_N + np.where(second_N > 0, 1 + second_N, 0)
        return np.stack([row_N, row_N], axis=1).astype(np.int32)

    def row(self, number: int) -> Symbols:
        """`<s>`, the first text, and behind an end the second; the last end is put to it as to every source."""
        first = self.tokens[self.begins_N[number] : self.ends_N[number]]
        second = self.tokens[self.second_begins_N[number] : self.second_ends_N[number]]
        parts = [[START], first, *([[END], second] if len(second) else [])]
        return np.concatenate([np.asarray(part, dtype=np.int64) for part in parts])


def stretches(store: PairStore, window: int, pairs: bool, seed: int, epoch: int) -> Stretches:
    """The texts of one epoch: windows of neighbouring lines, in `pairs` or not; without a window, every line."""
    return _windows(store, window, pairs, seed, epoch) if window else _lines(store)


def _lines(store: PairStore) -> Stretches:
    """Every line by itself, the empty ones left out."""
    begins_N, ends_N = store.offsets[1:-1:2], store.offsets[2::2]
    filled = begins_N < ends_N
    return _alone(store, np.asarray(begins_N)[filled], np.asarray(ends_N)[filled])


def _windows(store: PairStore, window: int, pairs: bool, seed: int, epoch: int) -> Stretches:
    """Neighbouring lines of a document, as many as a window holds with `<s>` and its ends; empty lines part documents.

    The first stretch of each document is shorter by a draw, so that cuts fall elsewhere in every epoch. In `pairs` a
    stretch is split in two between lines; then half of the second texts change places among themselves, so that each
    text is still read once, and every other pair does not belong together.
    """
    room = window - 2 - pairs
    begins_N, ends_N, first_N, last_N, cuts_L = _pack(store, room, seed, epoch)
    if not pairs:
        return _alone(store, begins_N, ends_N)
    middles_N = _split(begins_N, ends_N, first_N, last_N, cuts_L, keys(seed, epoch, SPLIT, np.arange(len(begins_N))))
    torn = np.argsort(keys(seed, epoch, EXCHANGE, np.arange(len(begins_N))), kind="stable")[: len(begins_N) // 2]
    second_begins_N, second_ends_N, follows_N = middles_N.copy(), ends_N.copy(), np.ones(len(begins_N), dtype=bool)
    if len(torn) > 1:  # one alone has nothing to change places with
        moved = np.roll(torn, 1)
        second_begins_N[torn], follows_N[torn] = middles_N[moved], False
        second_ends_N[torn] = np.minimum(ends_N[moved], middles_N[moved] + room - (middles_N - begins_N)[torn])
    return Stretches(store.tokens, begins_N, middles_N, second_begins_N, second_ends_N, follows_N)


def _alone(store: PairStore, begins_N: Places, ends_N: Places) -> Stretches:
    nothing = np.zeros_like(begins_N)
    return Stretches(store.tokens, begins_N, ends_N, nothing, nothing, nothing.astype(bool))


def _pack(store: PairStore, room: int, seed: int, epoch: int) -> tuple[Places, Places, Places, Places, Places]:
    """Begin and end of each stretch, its first and last piece of a line, and where every piece begins."""
    lengths = store.lengths[:, 1].tolist()
    document = np.cumsum(store.lengths[:, 1] == 0)
    shorter = keys(seed, epoch, PHASE, document) % np.uint64(room)
    stretches: list[tuple[int, int, int, int]] = []
    cuts: list[int] = []
    place, begin, first, limit = 0, 0, 0, room
    for number, length in enumerate(lengths):
        if not length or not number:
            if place > begin:
                stretches.append((begin, place, first, len(cuts)))
            begin, first, limit = place, len(cuts), room - int(shorter[number])
        end = place + length
        while place < end:
            piece = min(end - place, room)
            if place + piece - begin > limit:
                if place > begin:
                    stretches.append((begin, place, first, len(cuts)))
                    begin, first = place, len(cuts)
                limit = room
            cuts.append(place)
            place += piece
    if place > begin:
        stretches.append((begin, place, first, len(cuts)))
    columns = np.array(stretches, dtype=np.int64).reshape(-1, 4).T
    return columns[0], columns[1], columns[2], columns[3], np.array(cuts, dtype=np.int64)


def _split(
    begins_N: Places, ends_N: Places, first_N: Places, last_N: Places, cuts_L: Places, draws_N: NDArray[np.uint64]
) -> Places:
    """Where the second text begins: with one of the lines but the first, or where there is one line, within it."""
    inner_N = last_N - first_N - 1
    between_N = cuts_L[np.minimum(first_N + 1 + (draws_N % np.maximum(inner_N, 1).astype(np.uint64)).astype(np.int64),
                                  len(cuts_L) - 1)]  # fmt: skip
    within_N = begins_N + 1 + (draws_N % np.maximum(ends_N - begins_N - 1, 1).astype(np.uint64)).astype(np.int64)
    middles_N: Places = np.where(inner_N > 0, between_N, np.minimum(within_N, ends_N))
    return middles_N
