"""Phrases that an answer must contain: an automaton over words that knows what is said, and how the rest can be.

A hypothesis carries (node, unmet, avoiding): where it stands in the automaton, a bit for each phrase that is still to
be said, and where it stands among the texts to be avoided.
"""

from collections import deque
from collections.abc import Collection, Iterator, Sequence

import numpy as np
import torch

from antiphon.search.avoid import Avoid
from antiphon.search.words import Never

Place = tuple[int, int, int]
EXACT = 6  # so many phrases are planned as short as can be; more, one after the other, the nearest first
FILLERS = 8  # words tried between two phrases


class Demand:
    """The phrases of one sentence, each in one or more spellings: tuples of words, one of which must be said.

    A spelling that begins with the start word stands at the beginning of the answer only.
    """

    def __init__(
        self,
        phrases: Sequence[Sequence[Sequence[int]]],
        avoid: Avoid | None,
        start: int,
        end: int,
        forbidden: Collection[int],
    ) -> None:
        self.avoid, self.start, self.end, self.forbidden = avoid, start, end, frozenset(forbidden)
        self.children: list[dict[int, int]] = [{}]
        self.ends, self.below = [0], [0]  # phrases that end at a node, and that pass through it: a bit each
        for number, spellings in enumerate(phrases):
            for spelling in spellings:
                self._add(spelling, 1 << number)
        self.all = (1 << len(phrases)) - 1
        self.shorter = self._shorter()
        self._plans: dict[Place, tuple[int, ...] | None] = {}
        self._fillers: dict[int, list[int]] = {}
        self.own = sorted({word for children in self.children for word in children} - {start})

    def _add(self, spelling: Sequence[int], bit: int) -> None:
        node = 0
        for word in spelling:
            if word not in self.children[node]:
                self.children[node][word] = len(self.children)
                self.children.append({})
                self.ends.append(0)
                self.below.append(0)
            node = self.children[node][word]
            self.below[node] |= bit
        self.ends[node] |= bit

    def _shorter(self) -> list[int]:
        """For each node the longest other one that ends alike (Aho & Corasick, 1975)."""
        shorter, queue = [0] * len(self.children), deque([0])
        while queue:
            node = queue.popleft()
            self.ends[node] |= self.ends[shorter[node]]
            for word, child in self.children[node].items():
                back = shorter[node]
                while back and word not in self.children[back]:
                    back = shorter[back]
                shorter[child] = self.children[back].get(word, 0) if node else 0
                queue.append(child)
        return shorter

    def first(self) -> Place:
        avoiding = self.avoid.first(0) if self.avoid else 0
        return self.children[0].get(self.start, 0), self.all, avoiding

    def then(self, place: Place, word: int) -> Place:
        node, unmet, avoiding = place
        while node and word not in self.children[node]:
            node = self.shorter[node]
        node = self.children[node].get(word, 0)
        return node, unmet & ~self.ends[node], self.avoid.then(avoiding, word) if self.avoid else 0

    def onward(self, place: Place) -> list[int]:
        """The words worth trying here: those that begin or go on with a phrase, and the next of the plan or the end."""
        node, unmet, avoiding = place
        words = dict.fromkeys(self._advancing(node, unmet))
        words |= dict.fromkeys((*(self.plan(place) or ()), self.end)[:1])
        allowed = self.avoid.allowed_V(avoiding) if self.avoid else None
        return [word for word in words if allowed is None or allowed[word]]

    def _advancing(self, node: int, unmet: int) -> Iterator[int]:
        while True:
            yield from (
                word for word, child in self.children[node].items() if self.below[child] & unmet and word != self.start
            )
            if not node:
                return
            node = self.shorter[node]

    def plan(self, place: Place) -> tuple[int, ...] | None:
        """The shortest way to say all that is unmet, so that the end may follow; None where there is none.

        Each place on a plan has the rest of it as its own or a shorter one: so a hypothesis that follows one arrives.
        """
        if place not in self._plans:
            found = self._plans[place] = self._search(place)
            after = place
            for said, word in enumerate(found or (), start=1):
                after = self.then(after, word)
                known, rest = self._plans.get(after), (found or ())[said:]
                if known is None or len(rest) < len(known):
                    self._plans[after] = rest
        return self._plans[place]

    def _may_end(self, place: Place) -> bool:
        return not place[1] and (self.avoid is None or bool(self.avoid.allowed_V(place[2])[self.end]))

    def _search(self, place: Place) -> tuple[int, ...] | None:
        words: tuple[int, ...] = ()
        while not self._may_end(place):
            exact = place[1].bit_count() <= EXACT
            found = self._nearest(place, exact)
            if found is None:
                return None
            words += found
            for word in found:
                place = self.then(place, word)
        return words

    def _nearest(self, start: Place, everything: bool) -> tuple[int, ...] | None:
        """The fewest words after which all is said, or after which some more is; breadth first."""
        before: dict[Place, tuple[Place, int] | None] = {start: None}
        queue = deque([start])
        while queue:
            place = queue.popleft()
            for word in self._worth_a_step(place):
                after = self.then(place, word)
                if after in before:
                    continue
                before[after] = place, word
                if self._may_end(after) or (not everything and after[1] != start[1]):
                    return _way(before, after)
                queue.append(after)
        return None

    def _worth_a_step(self, place: Place) -> Iterator[int]:
        node, unmet, avoiding = place
        if self.avoid is None:
            yield from self._advancing(node, unmet)
            return
        allowed = self.avoid.allowed_V(avoiding)
        yield from (word for word in self.own if allowed[word])
        yield from self._fillers_after(avoiding)

    def _fillers_after(self, avoiding: int) -> list[int]:
        """Words of no phrase, which can stand between two that may not touch: one for each state they lead to."""
        assert self.avoid is not None
        if avoiding not in self._fillers:
            usable = self.avoid.allowed_V(avoiding).copy()
            usable[[*self.own, *self.forbidden, self.end]] = False
            words = usable.nonzero()[0]
            _, first = np.unique(self.avoid.next_V(avoiding)[words], return_index=True)
            self._fillers[avoiding] = words[first[:FILLERS]].tolist()
        return self._fillers[avoiding]


def _way(before: dict[Place, tuple[Place, int] | None], place: Place) -> tuple[int, ...]:
    words = []
    while (step := before[place]) is not None:
        place, word = step
        words.append(word)
    return tuple(words[::-1])


class Demands:
    """The demands of every sentence as a rule: until all is said, no answer ends."""

    def __init__(self, demands: Sequence[Demand | None], end: int) -> None:
        self.demands, self.end = demands, end
        self.no_end = Never(torch.tensor([end]))

    def first(self, sentence: int) -> tuple[Demand, Place] | None:
        demand = self.demands[sentence]
        return None if demand is None else (demand, demand.first())

    def then(self, state: tuple[Demand, Place] | None, word: int) -> tuple[Demand, Place] | None:
        if state is None or word == self.end:
            return state
        demand, place = state
        return demand, demand.then(place, word)

    def judge(self, state: tuple[Demand, Place] | None) -> Never | None:
        return self.no_end if state is not None and state[1][1] else None
