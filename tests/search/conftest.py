"""Steppers small enough to know everything about: no model is needed to test a search."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from torch import Tensor

PAD, START, END, UNKNOWN = 0, 1, 2, 3
FORBIDDEN = (PAD, START, UNKNOWN)
WORDS = 7  # the four above and three real words
PLACES = 5
Table = Callable[[int, tuple[int, ...]], Sequence[float]]


@dataclass(frozen=True)
class Prefixes:
    """A state that is the prefix itself, and a memory of one number a sentence."""

    prefix_NT: Tensor
    memory_B: Tensor
    calls: list[str] = field(default_factory=list)

    def select(self, rows_N: Tensor) -> "Prefixes":
        assert rows_N.tolist() != list(range(len(self.prefix_NT))), "rows that stay where they are need no select"
        self.calls.append("select")
        return Prefixes(self.prefix_NT[rows_N], self.memory_B, self.calls)

    def keep(self, sentences_B: Tensor) -> "Prefixes":
        assert 0 < len(sentences_B) < len(self.memory_B)
        self.calls.append("keep")
        return Prefixes(self.prefix_NT, self.memory_B[sentences_B], self.calls)


def prefixes(*memory: int) -> Prefixes:
    """The state before the first word: one row a sentence."""
    return Prefixes(torch.zeros(len(memory), 0, dtype=torch.long), torch.tensor(memory))


class Oracle:
    """Gives table(memory, prefix) to every row, and holds the state to the contract at every step."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.rows: list[int] = []
        self.known: dict[tuple[int, tuple[int, ...]], list[float]] = {}

    def logs(self, memory: int, prefix: tuple[int, ...]) -> list[float]:
        """Log-probabilities after this prefix, the start word included in it."""
        key = (memory, prefix)
        if key not in self.known:
            self.known[key] = list(self.table(memory, prefix))
        return self.known[key]

    def step(self, words_N: Tensor, state: Prefixes, look: list[Tensor] | None = None) -> tuple[Tensor, Prefixes]:
        rows, sentences = len(words_N), len(state.memory_B)
        assert rows == len(state.prefix_NT)
        assert rows % sentences == 0
        self.rows.append(rows)
        prefix_NT = torch.cat([state.prefix_NT, words_N.unsqueeze(1)], dim=1)
        memory = state.memory_B.repeat_interleave(rows // sentences).tolist()
        logs = [self.logs(key, tuple(prefix)) for key, prefix in zip(memory, prefix_NT.tolist(), strict=True)]
        if look is not None:
            looks = [looked_at(key, tuple(prefix)) for key, prefix in zip(memory, prefix_NT.tolist(), strict=True)]
            look.append(torch.tensor(looks, dtype=torch.float64))
        return torch.tensor(logs, dtype=torch.float64), Prefixes(prefix_NT, state.memory_B, state.calls)


def places(memory: int) -> int:
    """How many source places a sentence has, of PLACES in the padded batch."""
    return 2 + memory % (PLACES - 1)


def looked_at(memory: int, prefix: tuple[int, ...]) -> list[float]:
    """The attention of one step: random, all given away, nothing to padding; the first place may get exactly 0."""
    real = places(memory)
    logits = np.random.default_rng([77, memory, *prefix]).normal(size=real) * 3
    weights = np.exp(logits) / np.exp(logits).sum()
    if len(prefix) % 2:
        weights = np.where(np.arange(real) == 0, 0.0, weights / weights[1:].sum())
    return [*weights.tolist(), *([0.0] * (PLACES - real))]


def random_table(seed: int, sharpness: float = 1.5) -> Table:
    """Any prefix of any sentence has its own random distribution."""

    def table(memory: int, prefix: tuple[int, ...]) -> Sequence[float]:
        logits = np.random.default_rng([seed, memory, *prefix]).normal(size=WORDS) * sharpness
        return torch.tensor(logits).log_softmax(0).tolist()

    return table


def fixed_table(*probabilities: float) -> Table:
    """The same distribution everywhere: pad, start, end, unknown, and the words."""
    return lambda memory, prefix: [math.log(p) if p > 0 else -math.inf for p in probabilities]


def everything(oracle: Oracle, memory: int, limit: int) -> list[tuple[tuple[int, ...], float]]:
    """All answers there are: (words, summed log-probability)."""
    open_ones, answers = [((START,), 0.0)], []
    for _ in range(limit):
        continued = [
            ((*prefix, word), total + oracle.logs(memory, prefix)[word])
            for prefix, total in open_ones
            for word in range(WORDS)
            if word not in FORBIDDEN
        ]
        answers += [one for one in continued if one[0][-1] == END]
        open_ones = [one for one in continued if one[0][-1] != END]
    return [(prefix[1:], total) for prefix, total in answers + open_ones]


@dataclass(frozen=True)
class Tools:
    """What the tests of a search are made of."""

    Oracle = staticmethod(Oracle)
    prefixes = staticmethod(prefixes)
    random_table = staticmethod(random_table)
    fixed_table = staticmethod(fixed_table)
    looked_at = staticmethod(looked_at)
    places = staticmethod(places)
    everything = staticmethod(everything)
    START, END, FORBIDDEN, WORDS, PLACES = START, END, FORBIDDEN, WORDS, PLACES


@pytest.fixture
def tools() -> Tools:
    return Tools()
