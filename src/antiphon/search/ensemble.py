"""Several steppers as one: each says how likely a word comes next, and the mean of what they say counts.

B sentences · N rows · V words
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from antiphon.search.step import State, Stepper


@dataclass(frozen=True)
class EnsembleState:
    """Where each of them stands."""

    states: tuple[State, ...]

    def select(self, rows_N: Tensor) -> "EnsembleState":
        return EnsembleState(tuple(state.select(rows_N) for state in self.states))

    def keep(self, sentences_B: Tensor) -> "EnsembleState":
        return EnsembleState(tuple(state.keep(sentences_B) for state in self.states))


@dataclass(frozen=True)
class Ensemble:
    """log (1 / n) sum P_i(word): the mean of the probabilities of steppers with the same words."""

    steppers: Sequence[Stepper]

    def step(self, words_N: Tensor, state: State, look: list[Tensor] | None = None) -> tuple[Tensor, State]:
        """What is looked at, on demand, is what the first one looks at: the others may read other source symbols."""
        assert isinstance(state, EnsembleState)
        logs, states = [], []
        for number, (stepper, own) in enumerate(zip(self.steppers, state.states, strict=True)):
            log_NV, own = stepper.step(words_N, own, look if look is not None and not number else None)
            logs.append(log_NV)
            states.append(own)
        return mean_probability(logs), EnsembleState(tuple(states))


def mean_probability(logs: Sequence[Tensor]) -> Tensor:
    """Its logarithm, from the logarithms of several; of one it is that one, bit for bit."""
    return logs[0] if len(logs) == 1 else torch.stack([*logs]).logsumexp(0) - math.log(len(logs))
