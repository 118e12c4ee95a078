"""Cutting text into words and joining it again."""

import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import groupby
from typing import Literal

from antiphon.data.text import normalise

Split = Literal["spaces", "punctuation"]
JOINER = "\uffed"  # stands where a punctuation mark touches its neighbour
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
