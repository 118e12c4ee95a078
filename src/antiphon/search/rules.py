"""What every search shares: which words are possible, how length counts, and how answers are read back.

B sentences still searched · J hypotheses of each before a step, K after it · N rows = B x J · V words
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from antiphon.errors import AntiphonError
from antiphon.search.step import Hypothesis, State

IMPOSSIBLE = float("-inf")


def length_penalty(length: int, exponent: float, gnmt: bool = False) -> float:
    """What a log-probability is divided by; without it every further word would speak against an answer.

    A power of the length, or of (5 + length) / 6, which counts less in short answers (Wu et al., 2016).
    """
    return math.pow((5 + length) / 6 if gnmt else length, exponent)


def forbid(log_probabilities_NV: Tensor, forbidden: Sequence[int]) -> Tensor:
    """The same with the forbidden words impossible; the stepper's own tensor stays as it was."""
    columns = torch.tensor(forbidden, dtype=torch.long, device=log_probabilities_NV.device)
    return log_probabilities_NV.index_fill(1, columns, IMPOSSIBLE)


def refuse_nan(values: Tensor, step: int) -> None:
    """Stop at the first sign of broken weights instead of answering with noise."""
    if values.isnan().any():
        raise broken(f"at word {step} of an answer")


def broken(where: str) -> AntiphonError:
    return AntiphonError(
        f"the model gave a probability that is not a number {where}: its weights are damaged "
        "or its training diverged. Take an earlier checkpoint, or train again with a lower train.learning_rate."
    )


class DeadEnd(AntiphonError):
    """No word can follow a sentence that has no answer yet."""

    def __init__(self, sentence: int, name: str = "") -> None:
        super().__init__(
            f"{name or f'sentence {sentence + 1} of the batch'}: the model gave every allowed word the probability 0, "
            "so there is no answer. Allow more words, or train again with a lower train.learning_rate."
        )
        self.sentence = sentence


def follow(state: State, rows_BK: Tensor, kept_B: Tensor, sentences: int, hypotheses: int) -> State:
    """The state of what goes on, out of one with so many sentences and hypotheses of each."""
    rows_N = rows_BK.flatten()
    # Selecting copies every row, so rows that stay where they are stay untouched.
    if len(rows_N) != sentences * hypotheses or not torch.equal(rows_N, torch.arange(len(rows_N))):
        state = state.select(rows_N)
    return state if len(kept_B) == sentences else state.keep(kept_B)


@dataclass(frozen=True)
class Last:
    """Where the last word of an answer stands in the trail, and what the answer is worth."""

    step: int  # counted from 1, so it is the answer's length as well
    slot: int  # which of the sentence's hypotheses
    log_probability: float
    score: float
    ended: bool


@dataclass(frozen=True)
class _Step:
    sentences_B: Tensor
    parents_BK: Tensor  # which hypothesis of the step before each one continues
    words_BK: Tensor
    log_probabilities_BK: Tensor  # of the word alone


class Trail:
    """All words that were ever kept, with pointers backwards: only the answers that are given are ever spelt out."""

    def __init__(self) -> None:
        self._steps: list[_Step] = []

    def add(self, sentences_B: Tensor, parents_BK: Tensor, words_BK: Tensor, log_probabilities_BK: Tensor) -> None:
        self._steps.append(_Step(sentences_B, parents_BK, words_BK, log_probabilities_BK))

    def spell(self, answers: Sequence[Sequence[Last]]) -> list[list[Hypothesis]]:
        """The answers of every sentence, word by word."""
        # Python lists once, because an element of a tensor costs a microsecond each.
        rows = [{sentence: row for row, sentence in enumerate(step.sentences_B.tolist())} for step in self._steps]
        parents = [step.parents_BK.tolist() for step in self._steps]
        words = [step.words_BK.tolist() for step in self._steps]
        logs = [step.log_probabilities_BK.tolist() for step in self._steps]

        def one(sentence: int, last: Last) -> Hypothesis:
            slot, symbols, each = last.slot, [], []
            for step in reversed(range(last.step)):
                row = rows[step][sentence]
                symbols.append(words[step][row][slot])
                each.append(logs[step][row][slot])
                slot = parents[step][row][slot]
            spoken = symbols[::-1][: last.step - last.ended]
            return Hypothesis(tuple(spoken), last.log_probability, last.score, tuple(each[::-1]), last.ended)

        return [[one(sentence, last) for last in lasts] for sentence, lasts in enumerate(answers)]
