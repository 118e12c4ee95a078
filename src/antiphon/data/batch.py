"""Batches: which pairs go together, and how they become padded tensors. Padding is made here and nowhere else.

B batch · S source places · T target places · R places of a row that holds both · N pairs, rows of a batch
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from antiphon.config.schema import Denoise
from antiphon.data.denoise import dig_all
from antiphon.data.store import PairStore
from antiphon.data.unmerge import Unmerging, keys
from antiphon.data.vocab import END, PAD, START

Ids = Sequence[int] | NDArray[Any]
Indices = NDArray[np.int64]
Part = Literal["whole", "first", "next"]  # a row by itself; or of longer texts, whose rows go on batch after batch

# What a draw is for: two draws with the same seed, epoch and index must not be the same number.
ORDER, BATCHES, SOURCE, TARGET, DROPOUT = range(5)
FORCING, OWN, HIDDEN, SWAP, REPLACE, REPLACEMENT, DROP, PHASE = range(5, 13)
SPLIT, EXCHANGE, HOLES, FATE, STRANGE, SPANS = range(13, 19)
PIECE = 1024  # symbols that one thread learns at once, padding included: fewer are slower, more leave threads idle
WINDOW = 100  # batches whose pairs are sorted by length together: more pad less, fewer mix better


@dataclass(frozen=True)
class Batch:
    """Padded pairs. The decoder reads `target_in` from `<s>` on and learns to write `target_out` up to `</s>`."""

    source_BS: Tensor
    mask_BS: Tensor  # True where there is a real symbol
    target_in_BT: Tensor
    target_out_BT: Tensor
    target_mask_BT: Tensor
    part: Part = "whole"
    follows_B: Tensor | None = None  # of two texts, whether the second stands behind the first

    @property
    def target_tokens(self) -> int:
        """Symbols to be predicted, ends included."""
        return int(self.target_mask_BT.sum())

    def shorter(self) -> "Batch":
        """Without the last target place: of an answer that has no end."""
        read, written, real = (part[:, :-1] for part in (self.target_in_BT, self.target_out_BT, self.target_mask_BT))
        return Batch(self.source_BS, self.mask_BS, read, written, real, self.part)

    def some(self, rows_N: Tensor) -> "Batch":
        """These rows of it."""
        source, mask = self.source_BS[rows_N], self.mask_BS[rows_N]
        read, written, real = (part[rows_N] for part in (self.target_in_BT, self.target_out_BT, self.target_mask_BT))
        return Batch(
            source, mask, read, written, real, self.part, None if self.follows_B is None else self.follows_B[rows_N]
        )

    def cut(self) -> "list[Batch]":
        """Pieces of about `PIECE` symbols; of n pieces each has every n-th row, and so like work.

        Rows that go on in the next batch stay together.
        """
        rows, symbols = len(self.source_BS), max(self.source_BS.numel(), self.target_in_BT.numel())
        count = min(rows, round(symbols / PIECE)) if self.part == "whole" else 1
        return [self.some(torch.arange(first, rows, count)) for first in range(count)] if count > 1 else [self]


def make_batch(sources: Sequence[Ids], targets: Sequence[Ids], ended: bool = True) -> Batch:
    """Pads both sides and adds the special symbols; labels are no text, and are not `ended`."""
    source_BS, mask_BS = make_sources(sources)
    target_out_BT, target_mask_BT = _end_and_pad(targets)
    if not ended:
        target_mask_BT = target_mask_BT[:, 1:]  # which is one shorter, as every row is
        target_out_BT = target_out_BT[:, :-1].masked_fill(~target_mask_BT, PAD)
        target_mask_BT = target_mask_BT & (target_out_BT != START)  # which stands where a word goes on
        return Batch(source_BS, mask_BS, target_out_BT, target_out_BT, target_mask_BT)
    # What is read is what is to be written, one place later; the end is written but never read.
    target_in_BT = torch.full_like(target_out_BT, PAD)
    target_in_BT[:, 0] = START
    target_in_BT[:, 1:] = target_out_BT[:, :-1].masked_fill(~target_mask_BT[:, 1:], PAD)
    return Batch(source_BS, mask_BS, target_in_BT, target_out_BT, target_mask_BT)


def make_sources(sources: Sequence[Ids]) -> tuple[Tensor, Tensor]:
    """The padded sources, each with its end, and the mask of what is real."""
    return _end_and_pad(sources)


def empty_sources(rows: int) -> tuple[Tensor, Tensor]:
    """The sources of texts: nothing but an end."""
    return torch.full((rows, 1), END), torch.ones(rows, 1, dtype=torch.bool)


def _end_and_pad(rows: Sequence[Ids]) -> tuple[Tensor, Tensor]:
    lengths_B = np.array([len(row) for row in rows])
    places_T = np.arange(lengths_B.max() + 1)
    ids_BT = np.full((len(rows), len(places_T)), PAD, dtype=np.int64)
    ids_BT[places_T < lengths_B[:, None]] = np.concatenate([np.asarray(row, dtype=np.int64) for row in rows])
    ids_BT[places_T == lengths_B[:, None]] = END
    return torch.from_numpy(ids_BT), torch.from_numpy(places_T <= lengths_B[:, None])


@dataclass(frozen=True)
class Joined:
    """Pairs, each as one row without a gap: `<s>` source `</s>` target."""

    words_BR: Tensor
    mask_BR: Tensor  # True where there is a real symbol
    learnt_BR: Tensor  # True where the next symbol is one of the target, or its end: the target's real places, in order


def join(batch: Batch) -> Joined:
    """The end of the source parts it from the target, and stands where the target had its start."""
    (rows, sources), targets = batch.source_BS.shape, batch.target_in_BT.shape[1]
    before_B1, after_B1 = batch.mask_BS.sum(1, keepdim=True), batch.target_mask_BT.sum(1, keepdim=True)
    device = batch.source_BS.device
    words = torch.full((rows, sources + targets), PAD, device=device)
    places_BT = before_B1 + torch.arange(targets, device=device)
    words.scatter_(1, places_BT, batch.target_in_BT.masked_fill(~batch.target_mask_BT, PAD))
    words[:, 0] = START
    words[:, 1 : sources + 1] = torch.where(batch.mask_BS, batch.source_BS, words[:, 1 : sources + 1])
    places_R = torch.arange(int((before_B1 + after_B1).max()), device=device)
    mask_BR = places_R < before_B1 + after_B1
    return Joined(words[:, : len(places_R)], mask_BR, mask_BR & (places_R >= before_B1))


def joined_lengths(lengths_N2: NDArray[np.int32]) -> NDArray[np.int32]:
    """Symbols of both sides and the end between them, as those of a target without a source."""
    return np.stack([np.zeros_like(lengths_N2[:, 0]), lengths_N2.sum(1, dtype=np.int32) + 1], axis=1)


def load_batch(
    store: PairStore,
    indices: Indices,
    seed: int = 0,
    epoch: int = 0,
    source: Unmerging | None = None,
    target: Unmerging | None = None,
    ended: bool = True,
    denoise: Denoise | None = None,
) -> Batch:
    """The batch of these pairs: with un-merging as they are spelt in this epoch, of texts with its holes."""
    sources = [store.source(index) for index in indices.tolist()]
    targets = [store.target(index) for index in indices.tolist()]
    if source:
        sources = source.apply(sources, keys(seed, epoch, SOURCE, indices))
    if target:
        targets = target.apply(targets, keys(seed, epoch, TARGET, indices))
    if denoise:
        sources, targets = dig_all(targets, denoise, keys(seed, epoch, SPANS, indices))
    return make_batch(sources, targets, ended)


def plan(lengths_N2: NDArray[np.int32], budget: int, seed: int, epoch: int) -> list[Indices]:
    """The batches of one epoch, as indices of pairs: each pair once, in an order that (seed, epoch) alone decide.

    A batch holds pairs of similar length, and at most `budget` symbols on its longer side, padding and ends included;
    a pair longer than that is a batch of its own.
    """
    order = np.argsort(keys(seed, epoch, ORDER, np.arange(len(lengths_N2))), kind="stable")
    pairs = max(1, int(WINDOW * budget / (1 + lengths_N2.max(1).mean())))
    windows_N = np.arange(len(order)) // pairs
    by_length = np.lexsort((lengths_N2[order, 0], lengths_N2[order, 1], windows_N))
    batches = _cut(order[by_length], lengths_N2, budget, np.arange(0, len(order), pairs))
    shuffled = np.argsort(keys(seed, epoch, BATCHES, np.arange(len(batches))), kind="stable")
    return [batches[i] for i in shuffled]


def plan_in_order(lengths_N2: NDArray[np.int32], budget: int) -> list[Indices]:
    """Batches of similar length, the shortest first, for validation and answering."""
    order = np.lexsort((lengths_N2[:, 0], lengths_N2[:, 1]))
    return _cut(order, lengths_N2, budget, np.zeros(1, dtype=np.int64))


def _cut(order: Indices, lengths_N2: NDArray[np.int32], budget: int, windows: Indices) -> list[Indices]:
    """Cuts where the next pair would break the budget, and where a new window begins."""
    longest = (1 + lengths_N2[order].max(1)).tolist()
    fresh = frozenset(windows.tolist())
    starts, widest = [0], 0
    for place, length in enumerate(longest):
        widest = max(widest, length)
        if place > starts[-1] and ((place + 1 - starts[-1]) * widest > budget or place in fresh):
            starts.append(place)
            widest = length
    return np.split(order, starts[1:]) if longest else []
