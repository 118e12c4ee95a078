"""Rules on the next word of a hypothesis: what may come alone, what may not come. Small values, in any number at once.

B sentences · N rows · V words · X words that are ruled out
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from antiphon.search.rules import IMPOSSIBLE


@dataclass(frozen=True)
class Only:
    """No other words may come; and these may, whatever another rule says."""

    words: Tensor


@dataclass(frozen=True)
class Never:
    """These words may not come."""

    words: Tensor


class Rule(Protocol):
    """Follows a hypothesis word by word. Its state is any value; one that was handed a word out of order says None."""

    def first(self, sentence: int) -> Any:
        """The state before the first word."""
        ...

    def then(self, state: Any, word: int) -> Any:
        """The state after one more word."""
        ...

    def judge(self, state: Any) -> Only | Never | None: ...


class Held:
    """The states of all rules in all rows of a search."""

    def __init__(self, rules: Sequence[Rule], sentences: Sequence[int]) -> None:
        self.rules = rules
        self.states = [[rule.first(sentence) for sentence in sentences] for rule in rules]
        self.forced: list[bool] = []  # the rows whose words are given, at the last step

    def hold(self, log_probabilities_NV: Tensor) -> Tensor:
        """The same with what may not come impossible; without rules, and where all agree, the same tensor."""
        if not self.rules:
            return log_probabilities_NV
        rows, words = [], []
        changed_NV, self.forced = log_probabilities_NV, [False] * len(log_probabilities_NV)
        for row, verdicts in enumerate(self._verdicts()):
            only = next((verdict for verdict in verdicts if isinstance(verdict, Only)), None)
            if only is not None:
                self.forced[row] = True
                changed_NV = changed_NV.clone() if changed_NV is log_probabilities_NV else changed_NV
                changed_NV[row] = IMPOSSIBLE
                changed_NV[row, only.words] = log_probabilities_NV[row, only.words]
                continue
            rows += [row] * len(verdicts)
            words += [verdict.words for verdict in verdicts]
        if words:
            changed_NV = changed_NV.clone() if changed_NV is log_probabilities_NV else changed_NV
            rows_X = torch.tensor(rows).repeat_interleave(torch.tensor([len(each) for each in words]))
            changed_NV[rows_X, torch.cat(words)] = IMPOSSIBLE
        return changed_NV

    def _verdicts(self) -> Iterator[list[Only | Never]]:
        for states in zip(*self.states, strict=True):
            judged = (rule.judge(state) for rule, state in zip(self.rules, states, strict=True))
            yield [verdict for verdict in judged if verdict is not None]

    def follow(self, rows_N: Tensor, words_N: Tensor) -> None:
        """Row n goes on from row rows_N[n] with the word words_N[n]."""
        if self.rules:
            steps = list(zip(rows_N.tolist(), words_N.tolist(), strict=True))
            for number, rule in enumerate(self.rules):
                states = self.states[number]
                self.states[number] = [rule.then(states[row], word) for row, word in steps]

    def keep(self, kept_B: Tensor, sentences: int) -> None:
        """Drop the rows of the sentences that are not named."""
        if self.rules and len(kept_B) < sentences:
            kept = kept_B.tolist()
            for number, states in enumerate(self.states):
                a = len(states) // sentences
                self.states[number] = [state for b in kept for state in states[b * a : (b + 1) * a]]


@dataclass(frozen=True)
class Prefix:
    """The words that every answer begins with."""

    words: Sequence[int]

    def first(self, sentence: int) -> int:
        return 0

    def then(self, state: int, word: int) -> int:
        return state + 1

    def judge(self, state: int) -> Only | None:
        return Only(torch.tensor([self.words[state]])) if state < len(self.words) else None


@dataclass(frozen=True)
class NoRepeat:
    """No n words are said twice in the same order (Paulus et al., 2018)."""

    n: int

    def first(self, sentence: int) -> tuple[int, ...]:
        return ()

    def then(self, state: tuple[int, ...], word: int) -> tuple[int, ...]:
        return (*state, word)

    def judge(self, state: tuple[int, ...]) -> Never | None:
        reach = self.n - 1
        last = state[len(state) - reach :]
        said = {state[i + reach] for i in range(len(state) - reach) if state[i : i + reach] == last}
        return Never(torch.tensor(sorted(said))) if said else None


@dataclass(frozen=True)
class NoLoop:
    """No words, however many, are said more than `times` times in a row."""

    times: int

    def first(self, sentence: int) -> tuple[int, ...]:
        return ()

    def then(self, state: tuple[int, ...], word: int) -> tuple[int, ...]:
        return (*state, word)

    def judge(self, state: tuple[int, ...]) -> Never | None:
        said = set()
        for length in range(1, (len(state) + 1) // (self.times + 1) + 1):
            tail = state[len(state) + 1 - length * (self.times + 1) :]
            if tail[:-length] == tail[length:]:
                said.add(tail[-length])
        return Never(torch.tensor(sorted(said))) if said else None


class Answers:
    """Nothing but these answers: their words as a tree, in which a hypothesis goes down."""

    def __init__(self, answers: Sequence[Sequence[int]], end: int) -> None:
        self.longest = max(map(len, answers))
        self.root: dict[int, Any] = {}
        for answer in answers:
            node = self.root
            for word in (*answer, end):
                node = node.setdefault(word, {})


@dataclass(frozen=True)
class AnswersOfEach:
    """The answers that each sentence may have."""

    trees: Sequence[Answers]

    def first(self, sentence: int) -> dict[int, Any]:
        return self.trees[sentence].root

    def then(self, state: dict[int, Any] | None, word: int) -> dict[int, Any] | None:
        return None if state is None else state.get(word)

    def judge(self, state: dict[int, Any] | None) -> Only | None:
        return Only(torch.tensor(list(state))) if state else None
