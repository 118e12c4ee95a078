"""Subword dropout by un-merging: in training a piece falls into the two it was made of, anew in every epoch.

n pieces of a batch, one after another · R rows · V pieces of the vocabulary
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Keys = NDArray[np.uint64]


def mix(key: Keys) -> Keys:
    """splitmix64 (Steele et al., 2014): a number in, a well-stirred number out, and no state between."""
    key = key + np.uint64(0x9E3779B97F4A7C15)
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))


def keys(seed: int, epoch: int, purpose: int, index: NDArray[np.int64]) -> Keys:
    """One key for each index: a pure function of all four numbers."""
    key = np.zeros(1, dtype=np.uint64)
    for number in (seed, epoch, purpose):
        key = mix(key ^ np.uint64(number & 0xFFFF_FFFF_FFFF_FFFF))
    return mix(key ^ index.astype(np.uint64))


def uniform(key: Keys) -> NDArray[np.float64]:
    """A fraction in [0, 1) from each key: its 53 upper bits, as in every generator of uniform numbers."""
    return (key >> np.uint64(11)).astype(np.float64) * 2.0**-53


@dataclass(frozen=True)
class Unmerging:
    """How one side's pieces fall apart; a row that would outgrow `longest` stays whole in this epoch."""

    splits_V2: NDArray[np.int32]  # the two pieces of each piece, -1 where it cannot be split
    probability: float
    longest: int

    def apply(self, rows: Sequence[Ids], keys_R: Keys) -> list[Ids]:
        """Undoes each merge with the probability, then the merges below it; what the rows spell stays the same.

        BPE-dropout (Provilkov et al., 2020) skips merges from the bottom while it builds a word, which means to
        tokenise again in every epoch. Here finished pieces are undone from the top: a lower merge can only be undone
        when all above it are, so whole words stay whole more often at the same probability.
        """
        lengths = [len(row) for row in rows]
        row_n = np.repeat(np.arange(len(rows)), lengths)
        ids_n = np.concatenate(rows).astype(np.int64)
        place_n = np.concatenate([np.arange(length) for length in lengths])
        key_n = mix(keys_R[row_n] ^ place_n.astype(np.uint64))
        fresh_n = np.ones(len(ids_n), dtype=bool)
        while (falls_n := fresh_n & self._falls(ids_n, key_n)).any():
            parent = np.repeat(np.arange(len(ids_n)), 1 + falls_n)
            # 1 at the second of two halves: there the parent is the same as one place before.
            half = np.zeros(len(parent), dtype=np.int64)
            half[1:] = parent[1:] == parent[:-1]
            fresh_n, row_n = falls_n[parent], row_n[parent]
            ids_n = np.where(fresh_n, self.splits_V2[ids_n[parent], half], ids_n[parent])
            key_n = np.where(fresh_n, mix(key_n[parent] ^ (half + 1).astype(np.uint64)), key_n[parent])
        fallen = np.split(ids_n, np.cumsum(np.bincount(row_n, minlength=len(rows)))[:-1])
        return [new if len(new) <= self.longest else old for new, old in zip(fallen, rows, strict=True)]

    def _falls(self, ids_n: Ids, key_n: Keys) -> NDArray[np.bool_]:
        falls_n: NDArray[np.bool_] = (self.splits_V2[ids_n, 0] >= 0) & (uniform(mix(key_n)) < self.probability)
        return falls_n


def split_merges(piece: str, scores: Mapping[str, float]) -> list[str] | None:
    """The two halves of a byte-pair piece: its merges once more, the highest score first, up to the last but one."""
    parts = list(piece)
    while len(parts) > 2:
        best, place = max(
            (scores.get(left + right, -np.inf), -place) for place, (left, right) in enumerate(pairwise(parts))
        )
        if best == -np.inf:
            return None
        parts[-place : -place + 2] = [parts[-place] + parts[-place + 1]]
    return parts if len(parts) == 2 and all(part in scores for part in parts) else None


def split_unigrams(piece: str, scores: Mapping[str, float]) -> list[str] | None:
    """The two halves of a unigram piece: the likeliest cut of which the vocabulary holds both sides."""
    cuts = [(piece[:i], piece[i:]) for i in range(1, len(piece))]
    known = [(scores[left] + scores[right], left, right) for left, right in cuts if left in scores and right in scores]
    return list(max(known)[1:]) if known else None
