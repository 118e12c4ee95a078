"""Cutting text into words, joining it again, and gathering pieces into words."""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Literal

from antiphon.data.text import normalise

Split = Literal["spaces", "punctuation"]
WORD_START = "\u2581"  # sentencepiece writes a space like this
JOINER = "\uffed"  # stands where a punctuation mark touches its neighbour
JOINS_NEXT = 0xFF  # no byte of UTF-8: ends the spelling of a word that the next one follows without a space
# A joiner in the user's own text is a mark, with up to two of ours around it: it could not be told from them.
AMBIGUOUS = frozenset((JOINER, JOINER * 2, JOINER * 3))


def cut_words(text: str, split: Split) -> Iterator[str]:
    """Words between spaces; or words and single marks, where a mark that touches its neighbour carries a joiner."""
    for word in normalise(text).split():
        if split == "spaces":
            yield word
        else:
            yield from _cut_marks(word)


def _cut_marks(word: str) -> Iterator[str]:
    parts = [part for in_word, run in groupby(word, _in_word) for part in (["".join(run)] if in_word else run)]
    marks = [not _in_word(part[0]) for part in parts]
    for i, part in enumerate(parts):
        # Of two neighbours the later carries the joiner if it is a mark, else the earlier, which must be one.
        left = JOINER if i and marks[i] else ""
        right = JOINER if marks[i] and i + 1 < len(parts) and not marks[i + 1] else ""
        yield left + part + right


@lru_cache(maxsize=65_536)
def _in_word(character: str) -> bool:
    # Letters, marks and numbers, and the two joiners that Persian and Indic words are written with.
    return unicodedata.category(character)[0] in "LMN" or character in "\u200c\u200d"


def join_words(words: Iterable[str], split: Split) -> str:
    """The text whose words these are."""
    text = " ".join(words)
    if split == "punctuation":
        for seam in (f"{JOINER} {JOINER}", f"{JOINER} ", f" {JOINER}", JOINER):
            text = text.replace(seam, "")
    return text


def spell_words(symbols: Iterable[str], split: Split) -> list[bytes]:
    """What each word adds to a text: a space before it, unless it is joined to the word before."""
    if split == "spaces":
        return [f" {symbol}".encode() for symbol in symbols]
    return [
        ("" if symbol.startswith(JOINER) else " ").encode()
        + symbol.strip(JOINER).encode()
        + (bytes([JOINS_NEXT]) if symbol.endswith(JOINER) else b"")
        for symbol in symbols
    ]


def show_byte(byte: int) -> str:
    """The label of a byte, for pictures."""
    if byte == ord(" "):
        return WORD_START
    return chr(byte) if 32 < byte < 127 else f"<0x{byte:02X}>"


# What the names of their letters in Unicode begin with.
_WITHOUT_SPACES = ("CJK UNIFIED", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN")


def gather(pieces: Sequence[str | None]) -> list[int]:
    """How many pieces each word takes; None is a piece that stands alone.

    A word begins at a space. Marks at its edges are words of their own, as in alignments by hand; in scripts that are
    written without spaces every piece is one.
    """
    counts: list[int] = []
    start = 0
    for place in range(1, len(pieces) + 1):
        if place == len(pieces) or _begins(pieces[place - 1], pieces[place]):
            counts += _set_marks_apart(pieces[start:place])
            start = place
    return counts


def _begins(before: str | None, piece: str | None) -> bool:
    if before is None or piece is None or piece.startswith(WORD_START):
        return True
    return not unicodedata.category(piece[0]).startswith("M") and any(map(stands_alone, (before[-1], piece[0])))


def stands_alone(letter: str) -> bool:
    """Whether it belongs to a script that is written without spaces."""
    return unicodedata.name(letter, "").startswith(_WITHOUT_SPACES)


def _set_marks_apart(word: Sequence[str | None]) -> list[int]:
    marks = [piece not in (None, WORD_START) and not any(map(_in_word, piece or "")) for piece in word]
    if all(marks) or (word[0] == WORD_START and all(marks[1:])):
        return [len(word)]
    first = marks.index(False)
    last = len(marks) - marks[::-1].index(False)
    return [1] * first + [last - first] + [1] * (len(marks) - last)
