"""Holes in texts as a person writes them, where a model reads and writes holes: `[MASK]`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from antiphon.config.schema import Data, Denoise
from antiphon.data.batch import SPANS
from antiphon.data.denoise import dig
from antiphon.data.masking import WRITTEN, encode_with_holes
from antiphon.data.text import normalise
from antiphon.data.tokenize import Tokenizer
from antiphon.data.unmerge import keys
from antiphon.data.vocab import HOLE


@dataclass(frozen=True)
class Holed:
    """A tokeniser to which `[MASK]` is one symbol, a hole."""

    inner: Tokenizer

    hole = HOLE

    @property
    def file_ending(self) -> str:
        return self.inner.file_ending

    @property
    def size(self) -> int:
        return self.inner.size

    @cached_property
    def _spelt(self) -> list[bytes]:
        return self.inner.spellings()

    @cached_property
    def _before(self) -> str:
        """What stands before a hole: a space, where symbols begin words and a hole counts as one."""
        return " " if any(len(spelt) > 1 and spelt.startswith(b" ") for spelt in self._spelt) else ""

    def encode(self, text: str) -> list[int]:
        # What is dug and what is asked is the same symbol, also where a masked model has one of its own for it.
        return [HOLE if one == self.inner.hole else one for one in encode_with_holes(self.inner, text)]

    def decode(self, ids: Sequence[int]) -> str:
        text = ""
        for run in _runs(ids):
            if HOLE in run:
                text += self._before + WRITTEN
                continue
            spaces = [
                " " if self._spelt[one][edge:].startswith(b" ") else "" for one, edge in ((run[0], 0), (run[-1], -1))
            ]
            text += spaces[0] + self.inner.decode(run) + spaces[1]
        return normalise(text)

    def spellings(self) -> list[bytes]:
        return [*self._spelt[:HOLE], f"{self._before}{WRITTEN}".encode(), *self._spelt[HOLE + 1 :]]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [WRITTEN if one == HOLE else piece for one, piece in zip(ids, self.inner.pieces(ids), strict=True)]

    def words(self, ids: Sequence[int]) -> list[int] | None:
        counts = [[1] if HOLE in run else self.inner.words(run) for run in _runs(ids)]
        return None if None in counts or self.inner.words([]) is None else [n for each in counts for n in each or []]

    def unknown(self, text: str) -> list[str]:
        parts = normalise(text).split(WRITTEN)
        return list(dict.fromkeys(symbol for part in parts for symbol in self.inner.unknown(part)))

    def splits(self) -> NDArray[np.int32] | None:
        return self.inner.splits()

    def to_bytes(self) -> bytes:
        return self.inner.to_bytes()


def _runs(ids: Sequence[int]) -> Iterator[list[int]]:
    """Holes one by one, and what stands between them."""
    for hole, run in groupby(ids, lambda one: one == HOLE):
        found = list(run)
        yield from ([one] for one in found) if hole else [found]


def opened(tokenizer: Tokenizer, data: Data) -> Tokenizer:
    """The tokeniser, which knows holes where the run learns from them."""
    return Holed(tokenizer) if data.denoise.on else tokenizer


def judged(text: Sequence[int], choice: Denoise, number: int) -> tuple[list[int], list[int]]:
    """Source and target of text `number` where it is not learnt from: its holes are the same in every run and epoch."""
    source, target = dig(np.array(text, dtype=np.int64), choice, keys(0, 0, SPANS, np.array([number]))[0])
    return source.tolist(), target.tolist()
