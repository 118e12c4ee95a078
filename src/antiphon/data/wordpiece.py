"""WordPiece: words and marks, and words in pieces, the longest that is known first."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from antiphon.data.text import LONE_SURROGATE, normalise
from antiphon.data.vocab import SPECIAL, UNKNOWN, Vocabulary, read_hole, read_texts, to_json
from antiphon.data.words import WORD_START, gather

GLUE = "##"  # begins a piece that goes on with the word before it
_LONGEST = 100  # letters; a longer word is unknown
_FLAGS = ("lower", "strip_accents", "part_ideographs")
# Ideographs are words by themselves: the blocks of Unicode 8 that hold them.
_IDEOGRAPH = re.compile(
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002ceaf\U0002f800-\U0002fa1f]"
)


@dataclass(frozen=True)
class WordPieceTokenizer:
    """Of each word the longest known piece, then of what is left (Wu et al., 2016; Devlin et al., 2019).

    A word that pieces cannot spell is unknown. Text comes back as the pieces have it: a space around every mark, and
    small letters and no accents where the vocabulary has none.
    """

    vocabulary: Vocabulary
    hole: int
    lower: bool
    strip_accents: bool
    part_ideographs: bool

    file_ending = "json"

    @property
    def size(self) -> int:
        return self.vocabulary.size

    def encode(self, text: str) -> list[int]:
        return [number for word in self.cut(text) for number in self._pieces(word) or [UNKNOWN]]

    def encode_around(self, text: str, mark: str) -> list[int]:
        """The same with a hole wherever `mark` stands."""
        parts = [self.encode(part) for part in text.split(mark)]
        return parts[0] + [number for part in parts[1:] for number in (self.hole, *part)]

    def cut(self, text: str) -> Iterator[str]:
        """Words and marks, as the vocabulary writes them."""
        text = normalise(text)
        if self.part_ideographs:
            text = _IDEOGRAPH.sub(r" \g<0> ", text)
        for word in "".join(map(self.written, text)).split():
            start = 0
            for place, letter in enumerate(word):
                if _is_mark(letter):
                    yield from (part for part in (word[start:place], letter) if part)
                    start = place + 1
            if word[start:]:
                yield word[start:]

    def written(self, letter: str) -> str:
        """A letter as the vocabulary writes it, by itself: a sigma at the end of a word is like any other."""
        text = _clean(letter)
        if self.strip_accents:
            text = "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")
        return "".join(map(str.lower, text)) if self.lower else text

    def lengths(self, text: str) -> list[int]:
        """How many letters each number of `encode(text)` stands for; all of its word where that is unknown."""
        cut = [(word, self._pieces(word)) for word in self.cut(text)]
        spelt = [[word] if not ids else [_spell(s).strip() for s in self.vocabulary.symbols(ids)] for word, ids in cut]
        return [len(piece) for pieces in spelt for piece in pieces]

    def _pieces(self, word: str) -> list[int]:
        """Nothing where the word cannot be spelt."""
        found: list[int] = []
        ids, start = self.vocabulary.ids, 0
        while start < len(word) <= _LONGEST:
            glue = GLUE if start else ""
            end = next((end for end in range(len(word), start, -1) if glue + word[start:end] in ids), None)
            if end is None:
                return []
            found.append(ids[glue + word[start:end]])
            start = end
        return found

    def decode(self, ids: Sequence[int]) -> str:
        return normalise("".join(map(_spell, self.vocabulary.spoken(ids))))

    def spellings(self) -> list[bytes]:
        return [b""] * UNKNOWN + [_spell(symbol).encode() for symbol in (SPECIAL[UNKNOWN], *self.vocabulary.learnt)]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return self.vocabulary.symbols(ids)

    def words(self, ids: Sequence[int]) -> list[int]:
        spelt = [_spell(symbol).replace(" ", WORD_START) for symbol in self.vocabulary.symbols(ids)]
        return gather([None if i < len(SPECIAL) else name for i, name in zip(ids, spelt, strict=True)])

    def unknown(self, text: str) -> list[str]:
        return list(dict.fromkeys(word for word in self.cut(text) if not self._pieces(word)))

    def splits(self) -> None:
        return None

    def to_bytes(self) -> bytes:
        hole = self.vocabulary.symbols([self.hole])[0]
        flags = {flag: getattr(self, flag) for flag in _FLAGS}
        return to_json({"kind": "wordpiece", **flags, "symbols": self.vocabulary.learnt, "hole": hole})


@lru_cache(65_536)
def _clean(letter: str) -> str:
    """Nothing for what cannot be seen: controls, formats, private letters, and what stands for broken ones."""
    return "" if letter == "\ufffd" or unicodedata.category(letter) in ("Cc", "Cf", "Co", "Cs") else letter


@lru_cache(65_536)
def _is_mark(letter: str) -> bool:
    """Punctuation, and all of ASCII that is neither letter, number nor space."""
    if letter.isascii():
        return letter.isprintable() and not letter.isalnum() and letter != " "
    return unicodedata.category(letter).startswith("P")


def _spell(symbol: str) -> str:
    return symbol.removeprefix(GLUE) if symbol.startswith(GLUE) and symbol != GLUE else f" {symbol}"


def open_wordpiece(content: dict[str, Any]) -> WordPieceTokenizer:
    """A tokeniser from what its file holds; ValueError where that is none."""
    vocabulary = read_texts(content)
    if any(symbol.split() != [symbol] or LONE_SURROGATE.search(symbol) for symbol in vocabulary.learnt):
        raise ValueError("its symbols are not words")
    flags = [content.get(flag) for flag in _FLAGS]
    if not all(isinstance(flag, bool) for flag in flags):
        raise ValueError("it does not say how it writes letters")
    return WordPieceTokenizer(vocabulary, read_hole(content, vocabulary), *map(bool, flags))
