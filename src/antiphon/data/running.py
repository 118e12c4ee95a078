"""A running text: its lines end to end, a line break after each, and the windows that are learnt from or counted.

B rows · T places of a window · P real places of a batch · N windows
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from antiphon.data.batch import ORDER, PHASE, Batch, Part, empty_sources
from antiphon.data.store import PairStore
from antiphon.data.tokenize import Tokenizer
from antiphon.data.unmerge import keys
from antiphon.data.vocab import END, PAD

Places = NDArray[np.int64]
BREAK = END  # a line break; and what stands before the first line
STRETCH = 8  # windows that a recurrent model is counted over at once, after one that it only reads


@dataclass(frozen=True)
class RunningText:
    """The targets of a store, read as one text without ever being copied into one."""

    store: PairStore

    def __len__(self) -> int:
        return self.store.target_tokens

    @cached_property
    def begins(self) -> Places:
        """The place at which each line begins: its first symbol in the store, and a line break for each line before."""
        return np.asarray(self.store.offsets[1::2]) + np.arange(len(self.store))

    def read(self, places: Places) -> Places:
        """The symbols at these places, of any shape; before the first there is a line break."""
        lines = np.searchsorted(self.begins, places, side="right") - 1
        stored = places - lines
        breaks = (lines < 0) | (stored == self.store.offsets[2 * lines + 2])
        symbols: Places = self.store.tokens[np.where(breaks, 0, stored)].astype(np.int64)
        return np.where(breaks, BREAK, symbols)


@dataclass(frozen=True)
class Windows:
    """The windows of one batch, from `begins` up to `ends`; what stands before `counted` is only read."""

    begins_B: Places
    counted_B: Places
    ends_B: Places
    part: Part = "whole"

    @property
    def size(self) -> int:
        return len(self.begins_B) * int((self.ends_B - self.begins_B).max())


def load_windows(text: RunningText, windows: Windows) -> tuple[Batch, Tensor]:
    """The batch, and which of its real places count."""
    longest = int((windows.ends_B - windows.begins_B).max())
    places_BT = windows.begins_B[:, None] + np.arange(longest)
    real_BT = places_BT < windows.ends_B[:, None]
    inside_BT = np.minimum(places_BT, len(text) - 1)
    written_BT, read_BT = (np.where(real_BT, text.read(where), PAD) for where in (inside_BT, inside_BT - 1))
    counted_P = torch.from_numpy((places_BT >= windows.counted_B[:, None])[real_BT])
    read, written, real = (torch.from_numpy(part) for part in (read_BT, written_BT, real_BT))
    return Batch(*empty_sources(len(real_BT)), read, written, real, windows.part), counted_P


def plan_tracks(total: int, window: int, budget: int) -> list[Windows]:
    """The text as tracks side by side, each read from its left: a row goes on where it ended in the batch before.

    So a recurrent model carries its state along, and gradients end at the window (truncated backpropagation).
    """
    rows = max(1, min(budget, total) // window)
    bounds = np.linspace(0, total, rows + 1).astype(np.int64)
    begins_B, ends_B = bounds[:-1], bounds[1:]
    longest = int((ends_B - begins_B).max())
    starts = [np.minimum(begins_B + done, ends_B) for done in range(0, longest, window)]
    return [
        Windows(start_B, start_B, np.minimum(start_B + window, ends_B), "next" if number else "first")
        for number, start_B in enumerate(starts)
    ]


def plan_windows(total: int, window: int, budget: int, seed: int, epoch: int) -> list[Windows]:
    """Windows of one epoch: every place in one of them, cut and ordered as (seed, epoch) alone decide."""
    phase = int(keys(seed, epoch, PHASE, np.zeros(1, dtype=np.int64))[0] % window)
    cuts = np.unique(np.clip(np.arange(phase - window, total + window, window), 0, total))
    order = np.argsort(keys(seed, epoch, ORDER, np.arange(len(cuts) - 1)), kind="stable")
    return _cut(cuts[:-1][order], cuts[:-1][order], cuts[1:][order], max(1, budget // window))


def plan_counting(total: int, window: int, budget: int, recurrent: bool) -> list[Windows]:
    """Windows in which every place counts once, after enough that is only read to be predicted fairly.

    A Transformer reads half a window before those that count. A recurrent model counts over `STRETCH` windows at once,
    and reads one before them. The beginning of the text has nothing before it but the text's own beginning.
    """
    before, counted = (window, STRETCH * window) if recurrent else (window // 2, window - window // 2)
    counted_N = np.arange(0, total, counted)
    begins_N, ends_N = np.maximum(counted_N - before, 0), np.minimum(counted_N + counted, total)
    return _cut(begins_N, counted_N, ends_N, max(1, budget // (before + counted)))


def _cut(begins_N: Places, counted_N: Places, ends_N: Places, rows: int) -> list[Windows]:
    cuts = [slice(start, start + rows) for start in range(0, len(begins_N), rows)]
    return [Windows(begins_N[cut], counted_N[cut], ends_N[cut]) for cut in cuts]


def encode_lines(tokenizer: Tokenizer, text: str) -> list[int]:
    """The lines of a text with a break between two."""
    lines = [[BREAK, *tokenizer.encode(line)] for line in text.split("\n")]
    return [symbol for line in lines for symbol in line][1:]


def spell_lines(tokenizer: Tokenizer, symbols: Sequence[int]) -> str:
    """The text of these symbols, a line break for each break."""
    lines: list[list[int]] = [[]]
    for symbol in symbols:
        if symbol == BREAK:
            lines.append([])
        else:
            lines[-1].append(symbol)
    return "\n".join(map(tokenizer.decode, lines))
