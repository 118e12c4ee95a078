"""Noise on what is read in training: source words swapped, replaced or dropped, decoder inputs hidden.

B batch · S, T source and target places
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from antiphon.config.schema import Corruption
from antiphon.data.batch import DROP, HIDDEN, REPLACE, REPLACEMENT, SWAP, Batch, make_sources
from antiphon.data.unmerge import keys, mix, uniform
from antiphon.data.vocab import END, SPECIAL, UNKNOWN

Ids = NDArray[np.int64]
Claims = NDArray[np.bool_]


@dataclass(frozen=True)
class Draws:
    """The random numbers of one batch: pure functions of (seed, step, part), what they are for, row and place."""

    seed: int
    step: int
    part: int  # of an accumulated step

    def uniform(self, purpose: int, rows: int, places: int) -> NDArray[np.float64]:
        """In [0, 1), for every place of every row; a place keeps its number when the padding grows."""
        key = keys(self.seed, self.step, purpose, np.array([self.part]))
        key_B = mix(key ^ np.arange(rows, dtype=np.uint64))
        return uniform(mix(key_B[:, None] ^ np.arange(places, dtype=np.uint64)))


def corrupt(batch: Batch, choice: Corruption, size: int, draws: Draws) -> Batch:
    """Swaps, then replaces, then drops source words; `size` is that of the vocabulary replacements come from."""
    if not (choice.swap or choice.replace or choice.drop):
        return batch
    ids_BS = batch.source_BS.cpu().numpy().copy()
    shape = ids_BS.shape
    # The last real symbol is the end, so a place holds a word where the next one is real.
    word_BS = np.zeros(shape, dtype=bool)
    word_BS[:, :-1] = batch.mask_BS.cpu().numpy()[:, 1:]
    _swap(ids_BS, word_BS, draws.uniform(SWAP, *shape) < choice.swap)
    strange_BS = len(SPECIAL) + (draws.uniform(REPLACEMENT, *shape) * (size - len(SPECIAL))).astype(np.int64)
    replaced_BS = word_BS & (draws.uniform(REPLACE, *shape) < choice.replace)
    ids_BS = np.where(replaced_BS, strange_BS, ids_BS)
    stays_BS = _stays(word_BS, draws.uniform(DROP, *shape), choice.drop)
    source, mask = make_sources([ids[stays] for ids, stays in zip(ids_BS, stays_BS, strict=True)])
    device = batch.source_BS.device
    return replace(batch, source_BS=source.to(device), mask_BS=mask.to(device))


def _swap(ids_BS: Ids, word_BS: Claims, swaps_BS: Claims) -> None:
    """From the left, in place: a word that has just come from the left stays where it is."""
    moved_B = np.zeros(len(ids_BS), dtype=bool)
    for place in range(ids_BS.shape[1] - 1):
        moved_B = swaps_BS[:, place] & word_BS[:, place + 1] & ~moved_B
        ids_BS[moved_B, place : place + 2] = ids_BS[moved_B, place : place + 2][:, ::-1]


def _stays(word_BS: Claims, chances_BS: NDArray[np.float64], drop: float) -> Claims:
    chances_BS = np.where(word_BS, chances_BS, -1.0)
    # The word with the largest number is the last to go, and never goes.
    kept_BS: Claims = (chances_BS >= drop) | (chances_BS == chances_BS.max(1, keepdims=True))
    return kept_BS & word_BS


def hide_source(batch: Batch, share: float, draws: Draws, tagged: bool) -> Batch:
    """Word dropout where nothing is written: words of the source become `<unk>` here and there, its ends never.

    Of tagged words only the first symbol is hidden: a letter stays where it is.
    """
    if not share:
        return batch
    hidden_BS = torch.from_numpy(draws.uniform(HIDDEN, *batch.source_BS.shape) < share).to(batch.source_BS.device)
    hidden_BS &= batch.mask_BS & (batch.source_BS != END)
    if tagged:
        hidden_BS &= F.pad(batch.target_mask_BT, (0, 1))
    return replace(batch, source_BS=batch.source_BS.masked_fill(hidden_BS, UNKNOWN))


def hide_words(batch: Batch, share: float, draws: Draws) -> Batch:
    """Word dropout: what the decoder reads becomes `<unk>` here and there; the start symbol never does."""
    if not share:
        return batch
    hidden_BT = torch.from_numpy(draws.uniform(HIDDEN, *batch.target_in_BT.shape) < share)
    hidden_BT[:, 0] = False
    hidden_BT = hidden_BT.to(batch.target_in_BT.device) & batch.target_mask_BT
    return replace(batch, target_in_BT=batch.target_in_BT.masked_fill(hidden_BT, UNKNOWN))
