"""Phrases: a glossary's terms found in a text, and how a phrase is spelt in symbols inside a sentence."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from antiphon.data.text import normalise
from antiphon.data.tokenize import Tokenizer
from antiphon.data.vocab import START, UNKNOWN
from antiphon.data.words import stands_alone
from antiphon.errors import AntiphonError

WORD = re.compile(r"\w+")


def read_glossary(lines: Iterable[str], name: str) -> list[list[str]]:
    """Source and target of every line that is not blank, TAB between them; further columns are notes."""
    terms = []
    for number, line in enumerate(lines, start=1):
        source, *rest = (normalise(column) for column in line.split("\t"))
        if not source and not any(rest):
            continue
        if not rest:
            raise AntiphonError(f"{name}:{number}: no TAB. A line of a glossary is a source term, TAB, a target term.")
        if not source or not rest[0]:
            side = "target" if source else "source"
            raise AntiphonError(f"{name}:{number}: its {side} term is empty. Fill it in, or delete the line.")
        terms.append([source, rest[0]])
    if not terms:
        raise AntiphonError(f"{name}: no term in it. A line of a glossary is a source term, TAB, a target term.")
    return terms


@dataclass(frozen=True)
class _Term:
    source: str
    target: str
    offset: int  # of its first word
    any_case: bool


class Glossary:
    """Terms by their first word. A term in small letters is found in any case, one with capitals as it is written."""

    def __init__(self, terms: Iterable[Sequence[str]]) -> None:
        self.by_word: dict[str, list[_Term]] = {}
        self.anywhere: list[_Term] = []
        for source, target in ((normalise(source), normalise(target)) for source, target in terms):
            word = WORD.search(source)
            term = _Term(source, target, word.start() if word else 0, source == source.lower())
            # In scripts without spaces a word has no edges to be found by.
            if word is None or stands_alone(source[0]):
                self.anywhere.append(term)
            else:
                self.by_word.setdefault(word[0].lower(), []).append(term)
        for terms_of_word in (*self.by_word.values(), self.anywhere):
            terms_of_word.sort(key=lambda term: -len(term.source))

    def targets(self, text: str) -> list[str]:
        """What the terms in this text are to be answered with, each once; of terms that overlap the longer counts."""
        text, end = normalise(text), 0
        found: dict[str, None] = {}
        for word in WORD.finditer(text):
            for term in self.by_word.get(word[0].lower(), ()):
                start = word.start() - term.offset
                if start >= end and _stands_at(text, start, term):
                    found[term.target], end = None, start + len(term.source)
                    break
        for term in self.anywhere:
            place = text.find(term.source)
            if place >= 0:
                found[term.target] = None
                text = text.replace(term.source, "\n")
        return list(found)


def _stands_at(text: str, start: int, term: _Term) -> bool:
    end = start + len(term.source)
    there = text[start:end]
    if there != term.source and not (term.any_case and there.lower() == term.source):
        return False
    return not (WORD.match(text[end : end + 1]) and WORD.match(term.source[-1]))


def spell(tokenizer: Tokenizer, phrase: str, key: str) -> list[tuple[int, ...]]:
    """The ways in which a phrase can stand in a sentence, in symbols: inside it and, where that differs, at its start.

    `key` is what asked for it, for the message where it cannot be written.
    """
    at_start = writable(tokenizer, phrase, key)
    before = "a" if stands_alone(normalise(phrase)[0]) else "a "
    inside = tuple(tokenizer.encode(before + phrase)[len(tokenizer.encode("a")) :])
    return [inside] if inside == at_start else [inside, (START, *at_start)]


def writable(tokenizer: Tokenizer, text: str, key: str) -> tuple[int, ...]:
    """The symbols of a text; an error where the model cannot write one of them."""
    symbols = tuple(tokenizer.encode(text))
    if not symbols:
        raise AntiphonError(f"{key}: a text is empty. Leave it out.")
    if UNKNOWN in symbols:
        unknown = " ".join(tokenizer.unknown(text))
        raise AntiphonError(
            f"{key}: {text!r}: this model cannot write {unknown}: never seen in training. "
            "Spell it otherwise, or leave it out."
        )
    return symbols
