"""From what a user asks of the answers, in words, to what a search is held to, in symbols.

B sentences · S source places
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from torch import Tensor

from antiphon.config.schema import Search
from antiphon.data.phrases import Glossary, spell, writable
from antiphon.data.text import normalise
from antiphon.data.tokenize import Tokenizer
from antiphon.data.vocab import PAD, START, UNKNOWN
from antiphon.errors import AntiphonError
from antiphon.search.avoid import Avoid, Spellings
from antiphon.search.beam import Guide
from antiphon.search.coverage import Coverage
from antiphon.search.demands import Demand, Demands
from antiphon.search.words import Answers, AnswersOfEach, NoLoop, NoRepeat, Prefix, Rule

FORBIDDEN = (PAD, START, UNKNOWN)


@dataclass(frozen=True)
class Wish:
    """What is asked of the answer to one text."""

    limit: int  # symbols at the most, the end counted
    demand: Demand | None = None
    answers: Answers | None = None


class Wishes:
    """What [search] asks of every answer."""

    def __init__(self, search: Search, target: Tokenizer, end: int) -> None:
        """`end` is the word that ends an answer; below 0 where none does."""
        self.search, self.target, self.end = search, target, end
        self.prefix = writable(target, search.prefix, "search.prefix") if search.prefix else ()
        self.avoided = [_with_edges(text) for text in search.avoid]
        self.avoid = Avoid(self.avoided, Spellings(tuple(target.spellings())), end) if search.avoid else None
        self.terms = Glossary([*search.glossary, *([term, term] for term in search.keep)])
        self.demands: dict[tuple[str, ...], Demand] = {}
        self.trees: dict[tuple[tuple[str, ...], int], Answers] = {}
        if self.avoid:
            self._check_prefix(self.avoid)

    def of(self, text: str, place: str, usual: int, most: int) -> Wish:
        """For one text. Its answer takes `usual` symbols at the most, or more where more is asked, up to `most`."""
        if len(self.prefix) >= most:
            raise AntiphonError(
                f"search.prefix: {self.search.prefix!r} takes {len(self.prefix) + 1:,} symbols, an end counted, and "
                f"{most:,} are allowed. Shorten it, or raise search.max_length where the model can."
            )
        phrases = tuple(dict.fromkeys([*map(normalise, self.search.contain), *self.terms.targets(text)]))
        if self.end < 0 and (phrases or self.search.answers):
            raise AntiphonError(
                f"{place}: this model writes running text, which comes to no end by itself, so nothing can be demanded "
                "of the whole. Leave out search.contain, keep, glossary and answers."
            )
        if self.search.answers:
            return self._of_answers(phrases, place, most)
        if not phrases:
            return Wish(min(usual + len(self.prefix), most))
        if phrases not in self.demands:
            spellings = [spell(self.target, phrase, f"{place}: search.{self._asks(phrase)}") for phrase in phrases]
            self.demands[phrases] = Demand(spellings, self.avoid, START, self.end, FORBIDDEN)
        demand = self.demands[phrases]
        after = demand.first()
        for word in self.prefix:
            after = demand.then(after, word)
        plan = demand.plan(after)
        if plan is None:
            raise AntiphonError(
                f"{place}: no answer contains {_quoted(phrases)} and avoids {_quoted(self.search.avoid)}. Ask for less."
            )
        needed = len(self.prefix) + len(plan) + 1
        if needed > most:
            raise AntiphonError(
                f"{place}: an answer with {_quoted(phrases)} takes at least {needed:,} symbols, its end counted, and "
                f"{most:,} are allowed. Raise search.max_length where the model can, or ask for less."
            )
        return Wish(min(usual + needed, most), demand)

    def _asks(self, phrase: str) -> str:
        """The key that demands a phrase."""
        listed = {"contain": self.search.contain, "keep": self.search.keep}
        return next((key for key, texts in listed.items() if phrase in map(normalise, texts)), "glossary")

    def _of_answers(self, phrases: tuple[str, ...], place: str, most: int) -> Wish:
        if (phrases, most) not in self.trees:
            kept = [
                symbols
                for text, symbols in self._answers.items()
                if len(symbols) < most
                and text.startswith(normalise(self.search.prefix))
                and all(phrase in text for phrase in phrases)
                and not any(avoided in f" {text} " for avoided in self.avoided)
            ]
            if not kept:
                raise AntiphonError(
                    f"{place}: none of the {len(self._answers):,} allowed answers keeps to everything else that is "
                    f"asked, in at most {most:,} symbols. Allow more answers, or ask for less."
                )
            self.trees[phrases, most] = Answers(kept, self.end)
        tree = self.trees[phrases, most]
        return Wish(tree.longest + 1, answers=tree)

    @cached_property
    def _answers(self) -> dict[str, tuple[int, ...]]:
        texts = dict.fromkeys(map(normalise, self.search.answers))
        return {text: writable(self.target, text, "search.answers") for text in texts}

    def guide(self, wishes: Sequence[Wish], real_BS: Tensor) -> Guide:
        """For a batch of texts; `real_BS` tells their places."""
        search = self.search
        rules: list[Rule] = []
        if search.answers:
            rules.append(AnswersOfEach([wish.answers for wish in wishes if wish.answers]))
        else:
            rules += [Prefix(self.prefix)] if self.prefix else []
            rules += [self.avoid] if self.avoid else []
        rules += [NoRepeat(search.no_repeat)] if search.no_repeat else []
        rules += [NoLoop(search.max_repeats)] if search.max_repeats else []
        demands = [wish.demand for wish in wishes]
        return Guide(
            rules,
            Demands(demands, self.end) if any(demands) else None,
            Coverage(search.coverage, real_BS) if search.coverage else None,
        )

    def _check_prefix(self, avoid: Avoid) -> None:
        state = avoid.first(0)
        for word in self.prefix:
            if not avoid.allowed_V(state)[word]:
                raise AntiphonError(
                    f"search.prefix: {self.search.prefix!r} contains what is to be avoided, "
                    f"{_quoted(self.search.avoid)}. Drop one of them."
                )
            state = avoid.then(state, word)


@dataclass(frozen=True)
class Asked:
    """A text that is to be answered."""

    text: str
    symbols: Sequence[int]
    number: int  # among all that are asked for, which seeds its draws
    wish: Wish
    wishes: Wishes  # that all texts share


def _with_edges(text: str) -> str:
    """Normalised, but a space at an edge stays: it asks for the edge of a word."""
    kept = normalise(text)
    if not kept:
        raise AntiphonError("search.avoid: a text is empty. Leave it out.")
    return " " * text[0].isspace() + kept + " " * text[-1].isspace()


def _quoted(texts: Sequence[str]) -> str:
    shown = ", ".join(map(repr, texts[:5]))
    return shown if len(texts) <= 5 else f"{shown} and {len(texts) - 5} more"
