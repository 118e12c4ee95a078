"""The vocabulary: which symbol has which number, with the same four special symbols in front everywhere."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

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
