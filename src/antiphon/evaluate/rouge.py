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
    """Of the longest common subsequence."""
    return (~_rows(one, other)[-1] & (1 << len(one)) - 1).bit_count()


def in_common(one: Sequence[str], other: Sequence[str]) -> list[bool]:
    """Which symbols of the first are in a longest common subsequence with the other; of equal ones the later."""
    rows, found = _rows(one, other), [False] * len(one)
    place, row = len(one) - 1, len(other)
    while place >= 0 and row > 0:
        if rows[row] >> place & 1:
            place -= 1
        elif not rows[row - 1] >> place & 1:
            row -= 1
        else:
            found[place] = True
            place, row = place - 1, row - 1
    return found


def _rows(one: Sequence[str], other: Sequence[str]) -> list[int]:
    """The table of lengths, each row in one integer: a bit is 0 where the length grows at that place (Hyyrö, 2004)."""
    places: dict[str, int] = {}
    for place, symbol in enumerate(one):
        places[symbol] = places.get(symbol, 0) | 1 << place
    full = (1 << len(one)) - 1
    rows = [full]
    for symbol in other:
        matched = rows[-1] & places.get(symbol, 0)
        rows.append(((rows[-1] + matched) | (rows[-1] - matched)) & full)
    return rows
