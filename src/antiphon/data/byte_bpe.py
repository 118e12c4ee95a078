"""Byte-level byte-pair encoding: a text is UTF-8 bytes, and a list of merges says which grow together.

V pieces
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from heapq import heapify, heappop, heappush
from typing import Any
from unicodedata import category

import numpy as np
from numpy.typing import NDArray

from antiphon.data.text import normalise
from antiphon.data.vocab import SILENT, SPECIAL, UNKNOWN, Vocabulary, read_hole, read_symbols, to_json
from antiphon.data.words import WORD_START, gather, show_byte

_REMEMBERED = 65_536  # stretches of text; most come again
_FLAGS = ("prefix_space", "wide_hole")
_SPACES = re.compile(r"\s+")
# English endings, or a run of letters, of numbers or of other signs, each with the space before it; or a space alone.
_STRETCH = re.compile(r"'(?:[stmd]|re|ve|ll)| ?[A-Za-z]+| ?[0-9]+| ?[^ A-Za-z0-9]+| ")


def _alphabet() -> dict[int, str]:
    """A visible letter for every byte: its own in Latin-1, and from U+0100 on for those that have none to be seen."""
    seen = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    unseen = [byte for byte in range(256) if byte not in seen]
    return {byte: chr(byte) for byte in seen} | {byte: chr(0x100 + n) for n, byte in enumerate(unseen)}


LETTERS = _alphabet()
BYTES = {letter: byte for byte, letter in LETTERS.items()}


@dataclass(frozen=True)
class ByteBpeTokenizer:
    """Pieces of bytes, merged in the order in which the merges were learnt (Radford et al., 2019): nothing is unknown.

    Symbols are spelt in letters that stand for bytes. Those that no merge makes, such as that of a hidden word, are
    never found in a text. With `prefix_space` a text is read as though a space stood before it; with `wide_hole` a hole
    takes the space before it along.
    """

    vocabulary: Vocabulary
    merges: tuple[str, ...]  # both halves, a space between them
    hole: int  # the symbol that stands for a hidden word; `<unk>` where there is none
    prefix_space: bool
    wide_hole: bool

    file_ending = "json"

    @property
    def size(self) -> int:
        return self.vocabulary.size

    @cached_property
    def ranks(self) -> dict[tuple[str, str], int]:
        halves = (merge.split(" ") for merge in self.merges)
        return {(left, right): rank for rank, (left, right) in enumerate(halves)}

    @cached_property
    def spelt(self) -> list[bytes]:
        """What each piece adds to the text."""
        learnt = [_bytes_of(symbol) for symbol in self.vocabulary.learnt]
        return [b""] * UNKNOWN + [SPECIAL[UNKNOWN].encode(), *learnt]

    @cached_property
    def labels(self) -> list[str]:
        return [*SPECIAL, *map(_show, self.spelt[len(SPECIAL) :])]

    @cached_property
    def numbers(self) -> Callable[[str], tuple[int, ...]]:
        """The numbers of one stretch of text, remembered."""
        return lru_cache(_REMEMBERED)(self._merge)

    def encode(self, text: str) -> list[int]:
        return self._numbers(normalise(text))

    def encode_around(self, text: str, mark: str) -> list[int]:
        """The same with a hole wherever `mark` stands."""
        cut = normalise(text).split(mark)
        parts = [self._numbers(part.rstrip() if self.wide_hole else part) for part in cut]
        return parts[0] + [number for part in parts[1:] for number in (self.hole, *part)]

    def _numbers(self, text: str) -> list[int]:
        spaced = f" {text}" if self.prefix_space and text and text[0] != " " else text
        return [number for stretch in cut_stretches(spaced) for number in self.numbers(stretch)]

    def _merge(self, stretch: str) -> tuple[int, ...]:
        """The pair that was learnt first is merged first, the leftmost of equal ones; so on until none is left."""
        units = [LETTERS[byte] for byte in stretch.encode()]
        before, after = list(range(-1, len(units) - 1)), list(range(1, len(units) + 1))
        found = (self._pair(units, place, place + 1) for place in range(len(units) - 1))
        waiting = [pair for pair in found if pair]
        heapify(waiting)
        while waiting:
            _, left, right, whole = heappop(waiting)
            if not units[left] or after[left] != right or units[left] + units[right] != whole:
                continue  # one of the two has grown since
            units[left], units[right], after[left] = whole, "", after[right]
            if after[left] < len(units):
                before[after[left]] = left
            for one, other in ((before[left], left), (left, after[left])):
                if one >= 0 and other < len(units) and (pair := self._pair(units, one, other)):
                    heappush(waiting, pair)
        return tuple(self.vocabulary.ids[unit] for unit in units if unit)

    def _pair(self, units: Sequence[str], left: int, right: int) -> tuple[int, int, int, str] | None:
        rank = self.ranks.get((units[left], units[right]))
        return None if rank is None else (rank, left, right, units[left] + units[right])

    def decode(self, ids: Sequence[int]) -> str:
        spelt = self.spelt
        return normalise(b"".join(spelt[i] for i in ids if i not in SILENT).decode(errors="replace"))

    def spellings(self) -> list[bytes]:
        texts = (spelt.decode(errors="surrogateescape") for spelt in self.spelt)
        return [_SPACES.sub(" ", text).encode(errors="surrogateescape") for text in texts]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [self.labels[i] for i in ids]

    def words(self, ids: Sequence[int]) -> list[int]:
        return gather([None if i < len(SPECIAL) else self._part_of_word(i) for i in ids])

    def _part_of_word(self, number: int) -> str:
        """Its label, in which only a space before it looks like one."""
        starts = self.spelt[number].startswith(b" ")
        return WORD_START * starts + self.labels[number][starts:].replace(WORD_START, "_")

    def unknown(self, text: str) -> list[str]:
        return []

    def splits(self) -> NDArray[np.int32]:
        splits_V2, ids = np.full((self.size, 2), -1, dtype=np.int32), self.vocabulary.ids
        for left, right in reversed(self.ranks):  # a piece that two merges make is split as the first says
            splits_V2[ids[left + right]] = ids[left], ids[right]
        return splits_V2

    def to_bytes(self) -> bytes:
        hole = self.vocabulary.symbols([self.hole])[0]
        content = {"symbols": self.vocabulary.learnt, "merges": self.merges, "hole": hole}
        flags = {flag: getattr(self, flag) for flag in _FLAGS}
        return to_json({"kind": "byte_bpe", **flags, **content})


def cut_stretches(text: str) -> Iterator[str]:
    """GPT-2's stretches of a normalised text, which merges never cross.

    Python's patterns know no classes of letters and numbers. So the pattern reads a text of the same length in which
    every letter beyond ASCII is an `a`, which is in no ending of English words, every number 0, and the rest a dot.
    """
    plain = text if text.isascii() else "".join(letter if letter < "\x80" else _plain(letter) for letter in text)
    return (text[found.start() : found.end()] for found in _STRETCH.finditer(plain))


@lru_cache(_REMEMBERED)
def _plain(letter: str) -> str:
    return {"L": "a", "N": "0"}.get(category(letter)[0], ".")


def _bytes_of(symbol: str) -> bytes:
    """Of a symbol in the alphabet of bytes; one that somebody added may be written in any other."""
    return bytes(map(BYTES.__getitem__, symbol)) if BYTES.keys() >= set(symbol) else symbol.encode()


def _show(spelt: bytes) -> str:
    try:
        text = spelt.decode()
    except UnicodeDecodeError:
        return "".join(map(show_byte, spelt))
    return "".join(letter if letter.isprintable() and letter != " " else _show_bytes(letter) for letter in text)


def _show_bytes(letter: str) -> str:
    return "".join(map(show_byte, letter.encode()))


def open_byte_bpe(content: dict[str, Any]) -> ByteBpeTokenizer:
    """A tokeniser from what its file holds; ValueError where that cannot cut every text."""
    vocabulary, merges = read_symbols(content), content.get("merges")
    if not isinstance(merges, list) or not all(isinstance(merge, str) and merge.count(" ") == 1 for merge in merges):
        raise ValueError("its merges are not pairs of symbols")
    if missing := vocabulary.missing(LETTERS.values()):
        raise ValueError(f"no symbol for byte {BYTES[missing[0]]}")
    for merge in merges:
        if missing := vocabulary.missing([*merge.split(" "), merge.replace(" ", "")]):
            raise ValueError(f"{merge[:40]!r} is merged, and {missing[0][:40]!r} is no symbol")
    flags = [content.get(flag) for flag in _FLAGS]
    if not all(isinstance(flag, bool) for flag in flags):
        raise ValueError("it does not say how it reads spaces")
    return ByteBpeTokenizer(vocabulary, tuple(merges), read_hole(content, vocabulary), *map(bool, flags))
