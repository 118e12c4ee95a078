"""The contract between search and whatever proposes the next word. Search knows nothing else of a model.

B sentences · K hypotheses a sentence · N rows = B x K, hypothesis k of sentence b in row b x K + k · V words
S source places
"""

from dataclasses import dataclass
from typing import Protocol, Self

from torch import Tensor


class State(Protocol):
    """Where a stepper stands: a frozen value, a row a hypothesis; what was encoded keeps a row a sentence."""

    def select(self, rows_N: Tensor) -> Self:
        """The state whose row n is row rows_N[n] of this one; all rows of a sentence stay rows of that sentence."""
        ...

    def keep(self, sentences_B: Tensor) -> Self:
        """Drop the sentences that are not named, in what is kept a row a sentence; hypotheses go by `select`."""
        ...


class Stepper(Protocol):
    """Anything that says how likely each word comes next."""

    def step(self, words_N: Tensor, state: State, look: list[Tensor] | None = None) -> tuple[Tensor, State]:
        """Take the last word of every row; give log-probabilities N x V of the next and the state after it.

        N is a multiple of the number of sentences B that the state holds: K = N / B. On demand a model with attention
        adds to `look` how much each row looked at each source place, N x S; one without adds nothing.
        """
        ...


@dataclass(frozen=True)
class Hypothesis:
    """One answer: its symbols without start and end, and how likely it was."""

    symbols: tuple[int, ...]
    log_probability: float  # of all symbols, the end included
    score: float  # log_probability / length ^ exponent, the end counted; or as the search was told to score
    log_probabilities: tuple[float, ...]  # one a symbol, and one for the end where there is one
    ended: bool  # False where the length limit cut it
