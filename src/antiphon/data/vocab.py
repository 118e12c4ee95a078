"""The vocabulary: which symbol has which number, with the same four special symbols in front everywhere."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from antiphon.data.text import normalise

PAD, START, END, UNKNOWN = 0, 1, 2, 3
SPECIAL = ("<pad>", "<s>", "</s>", "<unk>")
HOLE = UNKNOWN  # a word that is hidden is one that is not known
SILENT = frozenset((PAD, START, END))
FORMAT = 1


@dataclass(frozen=True)
class Vocabulary:
    """Learnt symbols, numbered from 4 on; a text that spells `<pad>` or `</s>` never gets a special number."""

    learnt: tuple[str, ...]

    @property
    def size(self) -> int:
        return len(SPECIAL) + len(self.learnt)

    @cached_property
    def ids(self) -> dict[str, int]:
        return {symbol: number for number, symbol in enumerate(self.learnt, start=len(SPECIAL))}

    def look_up(self, symbols: Iterable[str]) -> list[int]:
        ids = self.ids
        return [ids.get(symbol, UNKNOWN) for symbol in symbols]

    def missing(self, symbols: Iterable[str]) -> list[str]:
        """The symbols that have no number, each once, in their order."""
        return [symbol for symbol in dict.fromkeys(symbols) if symbol not in self.ids]

    def symbols(self, ids: Sequence[int]) -> list[str]:
        return [SPECIAL[i] if i < len(SPECIAL) else self.learnt[i - len(SPECIAL)] for i in ids]

    def spoken(self, ids: Sequence[int]) -> list[str]:
        """The symbols that belong to the text: no padding, start or end."""
        return self.symbols([i for i in ids if i not in SILENT])


def to_json(content: dict[str, Any]) -> bytes:
    """What the file of a tokeniser holds, if it is not sentencepiece's."""
    return json.dumps({"format": FORMAT, **content}, ensure_ascii=False, indent=0).encode()


def most_frequent(counts: Counter[str], size: int) -> Vocabulary:
    """The `size` most frequent symbols; of equally frequent ones the first by code point, whatever the file's order."""
    ranked = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    return Vocabulary(tuple(symbol for symbol, _ in ranked[:size]))


def read_texts(content: dict[str, Any]) -> Vocabulary:
    """The symbols of a tokeniser's file; ValueError where they cannot be any."""
    symbols = content.get("symbols")
    if not isinstance(symbols, list) or not all(isinstance(symbol, str) and symbol for symbol in symbols):
        raise ValueError("its symbols are not texts")
    if len(set(symbols)) != len(symbols):
        raise ValueError("a symbol stands in it twice")
    return Vocabulary(tuple(symbols))


def read_symbols(content: dict[str, Any]) -> Vocabulary:
    """The same, of symbols that are normalised text."""
    vocabulary = read_texts(content)
    # A line break or half a surrogate pair in an answer would spoil what the user reads.
    if any(symbol not in (" ", normalise(symbol)) for symbol in vocabulary.learnt):
        raise ValueError("its symbols are not normalised text")
    return vocabulary


def read_hole(content: dict[str, Any], vocabulary: Vocabulary) -> int:
    """The number of the symbol that a tokeniser's file keeps for hidden words."""
    symbol = content.get("hole")
    number = HOLE if symbol == SPECIAL[HOLE] else vocabulary.ids.get(str(symbol))
    if number is None:
        raise ValueError("its symbol of a hidden word is no symbol")
    return number
