"""ROUGE: shared n-grams, and the longest common subsequence, of an answer and its reference (Lin, 2004)."""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Literal

from antiphon.evaluate.metrics import Reference, Score, lines_of, several, sign

Kind = Literal["1", "2", "L"]


def rouge(answers: Sequence[str], references: Sequence[Reference], kind: Kind) -> Score:
    """The mean F1 of all lines; of several references the one that is best for the answer counts.

    Words are runs of letters and digits of any script, in lower case: on English text those of the package rouge-score,
    which drops all letters but a to z.
    """
    lines = lines_of(answers, references)
    total = 0.0
    for answer, line in zip(answers, lines, strict=True):
        said = words_of(answer)
        total += max(_f1(said, words_of(reference), kind) for reference in line)
    how = ("f1", "mean:lines", "tok:letters-digits", "stem:no", *several(lines))
    signature = sign(f"rouge_{kind.lower()}", True, *how)
    return Score(f"ROUGE-{kind}", 100.0 * total / len(answers), signature, higher_is_better=True)


def words_of(text: str) -> list[str]:
    runs = groupby(unicodedata.normalize("NFC", text.lower()), key=lambda char: unicodedata.category(char)[0] in "LNM")
    return ["".join(chars) for inside, chars in runs if inside]


def _f1(said: Sequence[str], wanted: Sequence[str], kind: Kind) -> float:
    if kind == "L":
        shared, counts = common_length(said, wanted), (len(said), len(wanted))
    else:
        one, other = (_grams(words, int(kind)) for words in (said, wanted))
        shared, counts = (one & other).total(), (one.total(), other.total())
    return 2 * shared / sum(counts) if shared else 0.0


def _grams(words: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(words[start:] for start in range(order)), strict=False))


def common_length(one: Sequence[str], other: Sequence[str]) -> int:
    """The longest common subsequence, a row of the table in one integer (Hyyrö, 2004)."""
    places: dict[str, int] = {}
    for place, symbol in enumerate(one):
        places[symbol] = places.get(symbol, 0) | 1 << place
    full = (1 << len(one)) - 1
    row = full
    for symbol in other:
        matched = row & places.get(symbol, 0)
        row = ((row + matched) | (row - matched)) & full
    return (~row & full).bit_count()
