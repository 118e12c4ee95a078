"""What Python hands over to be answered or scored: lists, tuples and iterators are alike, and a text is no list."""

from collections.abc import Iterable
from typing import TypeVar

from antiphon.config.suggest import shown
from antiphon.errors import AntiphonError

_One = TypeVar("_One")


def given_texts(texts: Iterable[str], verb: str) -> list[str]:
    """All of them; a text by itself would be taken for a list of letters."""
    found = listed(texts, verb, "texts")
    for number, text in enumerate(found, start=1):
        if not isinstance(text, str):
            raise AntiphonError(f"{verb}: text {number} is {shown(text)}, and not a text. Give a str.")
    return found


def given_pairs(pairs: Iterable[tuple[str, str]], verb: str) -> list[tuple[str, str]]:
    """All of them, as tuples."""
    found = listed(pairs, verb, "pairs")
    for number, pair in enumerate(found, start=1):
        whole = isinstance(pair, list | tuple) and len(pair) == 2 and all(isinstance(half, str) for half in pair)
        if not whole:
            what = shown(list(pair) if isinstance(pair, tuple) else pair)
            raise AntiphonError(f"{verb}: pair {number} is {what}, and not a source and a target. Give two texts.")
    return [(source, target) for source, target in found]


def listed(given: Iterable[_One], verb: str, what: str) -> list[_One]:
    """A list of what is given, which may be gone through only once."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise AntiphonError(f"{verb}: {shown(given)} is given, and {what} are expected. Put it into a list.")
    return list(given)
