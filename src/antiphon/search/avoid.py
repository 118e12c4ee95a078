"""Texts that no answer may contain, however its symbols spell them.

V words · U states of an automaton · X bytes
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from antiphon.data.words import JOINS_NEXT
from antiphon.search.words import Never

SPACE = ord(" ")


@dataclass(frozen=True)
class Spellings:
    """What each word adds to the text, in UTF-8; a word that is followed without a space ends in JOINS_NEXT."""

    words: tuple[bytes, ...]

    @cached_property
    def bytes_VX(self) -> NDArray[np.int16]:
        """The bytes of each word, -1 behind its last."""
        longest = max(map(len, self.words), default=0)
        table = np.full((len(self.words), longest), -1, dtype=np.int16)
        for number, word in enumerate(self.words):
            table[number, : len(word)] = list(word)
        return table


class Avoid:
    """An automaton that reads the answer byte by byte (Aho & Corasick, 1975), and knows what would end a text in it.

    The answer counts as standing between two spaces, and several spaces as one, as in the text that is shown. So a text
    that is given with a space before and after it is avoided as a word, any other also inside words.
    """

    def __init__(self, texts: Sequence[str], spellings: Spellings, end: int) -> None:
        self.spellings, self.end = spellings, end
        self.steps_UX, self.bad_U = _automaton([text.encode() for text in texts])
        self._known: dict[int, tuple[NDArray[np.int32], NDArray[np.bool_], Tensor]] = {}

    def first(self, sentence: int) -> int:
        return int(self.steps_UX[0, SPACE])

    def then(self, state: int, word: int) -> int:
        return int(self._from(state)[0][word])

    def judge(self, state: int) -> Never | None:
        words = self._from(state)[2]
        return Never(words) if len(words) else None

    def allowed_V(self, state: int) -> NDArray[np.bool_]:
        return ~self._from(state)[1]

    def next_V(self, state: int) -> NDArray[np.int32]:
        return self._from(state)[0]

    def _from(self, state: int) -> tuple[NDArray[np.int32], NDArray[np.bool_], Tensor]:
        """For each word the state after it, and whether it ends an avoided text on the way; found once a state."""
        if state not in self._known:
            states_V = np.full(len(self.spellings.words), state, dtype=np.int32)
            bad_V = np.zeros(len(states_V), dtype=bool)
            for column_V in self.spellings.bytes_VX.T:
                real_V = column_V >= 0
                states_V = np.where(real_V, self.steps_UX[states_V, column_V], states_V)
                bad_V |= real_V & self.bad_U[states_V]
            if self.end >= 0:
                bad_V[self.end] = self.bad_U[self.steps_UX[state % (len(self.bad_U) // 2), SPACE]]
            self._known[state] = states_V, bad_V, torch.from_numpy(bad_V.nonzero()[0])
        return self._known[state]


def _automaton(texts: Sequence[bytes]) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """The state after each byte in each state, and which states have just read a whole text."""
    children: list[dict[int, int]] = [{}]
    whole, last = [False], [-1]
    for text in texts:
        node = 0
        for byte in text:
            if byte not in children[node]:
                children[node][byte] = len(children)
                children.append({})
                whole.append(False)
                last.append(byte)
            node = children[node][byte]
        whole[node] = True
    count = len(children)
    steps_UX, bad_U = np.zeros((2 * count, 256), dtype=np.int32), np.array([*whole, *whole])
    shorter, queue = [0] * count, [0]
    for node in queue:  # those nearer to the root first: `shorter` is the longest other end of what was read
        bad_U[node] |= bad_U[shorter[node]]
        steps_UX[node] = steps_UX[shorter[node]] if node else 0
        for byte, child in children[node].items():
            shorter[child] = int(steps_UX[node, byte]) if node else 0
            steps_UX[node, byte] = child
            queue.append(child)
        if last[node] == SPACE:
            steps_UX[node, SPACE] = node
    # A twin of each state stands behind a word that joins the next: there one space is none.
    steps_UX[count:] = steps_UX[:count]
    steps_UX[count:, SPACE] = np.arange(count)
    steps_UX[:, JOINS_NEXT] = np.tile(np.arange(count, 2 * count), 2)
    bad_U[count:] = False
    return steps_UX, bad_U
