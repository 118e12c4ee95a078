"""Synonyms out of WordNet's own database files, in a folder that the user names; nothing of it is part of Antiphon."""

from collections.abc import Hashable, Iterator
from pathlib import Path

from antiphon.errors import AntiphonError

_PARTS = ("noun", "verb", "adj", "adv")
# How an ending is taken off, the first that gives a known word; WordNet's own rules of detachment, in METEOR's order.
_ENDINGS = (
    ("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man"), ("ies", "y"),
    ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", ""), ("er", ""), ("est", ""), ("er", "e"),
    ("est", "e"),
)  # fmt: skip


# A synset's number is its place in a file, and Debian mends lines of Princeton's files. From the first to the last of
# these numbers, all are larger by so many bytes than those that METEOR knows.
_MOVED = {"verb": (613_036, 2_422_681, 18), "adj": (1_681_478, 3_155_307, 1)}


class Wordnet:
    """The synsets of a word: of itself, and of the words that it may be a form of.

    They are told apart by number alone, as in the reference program: a noun's and a verb's whose numbers are equal by
    chance count as one (standing, down).
    """

    def __init__(self, folder: Path) -> None:
        self._synsets: dict[str, set[Hashable]] = {}
        self._bases: dict[str, list[str]] = {}
        self._known: dict[str, frozenset[Hashable]] = {}
        for part in _PARTS:
            found: dict[str, list[int]] = {}
            for number, fields in _read(folder, f"index.{part}"):
                try:
                    count = int(fields[2])  # lemma, part of speech, how many synsets, ..., their places in data.PART
                    found[fields[0]] = [int(place) for place in fields[-count:]]
                except (ValueError, IndexError):
                    raise AntiphonError(
                        f"{folder / f'index.{part}'}:{number}: not a line of WordNet's database. Is the file whole?"
                    ) from None
            for word, numbers in _as_published(part, found).items():
                self._synsets.setdefault(word, set()).update(numbers)
            for _, (form, *bases) in _read(folder, f"{part}.exc"):
                self._bases.setdefault(form, []).extend(bases)

    def synsets(self, word: str) -> frozenset[Hashable]:
        if word not in self._known:
            found = set(self._synsets.get(word, ()))
            for base in self._bases.get(word) or self._base(word):
                found |= self._synsets.get(base, set())
            self._known[word] = frozenset(found)
        return self._known[word]

    def _base(self, word: str) -> list[str]:
        if len(word) <= 2 or word.endswith("ss"):
            return []
        bases = (word.removesuffix(ending) + instead for ending, instead in _ENDINGS if word.endswith(ending))
        return next(([base] for base in bases if base in self._synsets), [])


def _as_published(part: str, found: dict[str, list[int]]) -> dict[str, list[int]]:
    """The numbers of Princeton's WordNet 3.0, also where the files are Debian's, which have one that those lack."""
    first, last, by = _MOVED.get(part, (0, -1, 0))
    if not any(first in numbers for numbers in found.values()):
        return found
    return {word: [n - by if first <= n <= last else n for n in numbers] for word, numbers in found.items()}


def _read(folder: Path, name: str) -> Iterator[tuple[int, list[str]]]:
    """The lines of a database file, by number and field; a licence in indented lines comes first."""
    try:
        with (folder / name).open(encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, start=1):
                if line.strip() and not line.startswith(" "):
                    yield number, line.split()
    except OSError as error:
        raise AntiphonError(
            f"wordnet: {folder / name} cannot be read ({error.strerror}). Name the folder of WordNet's database files, "
            "such as /usr/share/wordnet of Debian's wordnet-base."
        ) from None
