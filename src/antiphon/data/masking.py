"""Hidden words: which symbols of a text are to be guessed, and what stands in their place.

B texts · S places · V words
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from antiphon.config.schema import Masked
from antiphon.data.batch import FATE, HOLES, STRANGE, Batch, Indices, make_sources
from antiphon.data.stretches import Stretches
from antiphon.data.text import normalise
from antiphon.data.tokenize import Borrowed, Tokenizer
from antiphon.data.unmerge import Keys, keys, mix, uniform
from antiphon.data.vocab import SPECIAL
from antiphon.data.words import WORD_START

WRITTEN = "[MASK]"  # how a person writes a hole
_STAND_IN = "\ufffc"  # what no text holds: the hole while the rest of its text is cut into symbols
Marks_BS = NDArray[np.bool_]


@dataclass(frozen=True)
class Masking:
    """15 % of the words, or as `choice` says: of these 80 % become holes, 10 % other words, 10 % stay (Devlin et al.).

    Every draw is a function of (seed, epoch, index of the text, place), so the holes are others in every epoch.
    """

    choice: Masked
    begins_V: NDArray[np.bool_]  # which symbols begin a word
    hole: int

    @staticmethod
    def of(choice: Masked, tokenizer: Tokenizer) -> "Masking":
        begins_V = np.array([spelt[:1] in (b" ", b"") for spelt in tokenizer.spellings()])
        return Masking(choice, begins_V, tokenizer.hole)

    def load(self, texts: Stretches, indices: Indices, seed: int, epoch: int) -> Batch:
        """The batch of these texts: read with holes, to be written where they are."""
        source_BS, mask_BS = make_sources([texts.row(index) for index in indices.tolist()])
        ids_BS = source_BS.numpy()
        draws = [keys(seed, epoch, purpose, indices) for purpose in (HOLES, FATE, STRANGE)]
        hidden_BS = self._hidden(ids_BS, draws[0])
        read_BS = np.where(hidden_BS, self._instead(ids_BS, draws[1], draws[2]), ids_BS)
        follows_B = torch.from_numpy(texts.follows_N[indices]).long() if self.choice.next_sentence else None
        marked_BS = torch.from_numpy(hidden_BS)
        return Batch(torch.from_numpy(read_BS), mask_BS, source_BS, source_BS, marked_BS, follows_B=follows_B)

    def _hidden(self, ids_BS: NDArray[np.int64], keys_B: Keys) -> Marks_BS:
        """True at the symbols to be guessed; where chance hides none of a text, the word that came nearest is."""
        words_BS = ids_BS >= len(SPECIAL)
        chances_BS = _uniform(keys_B, ids_BS.shape[1])
        if self.choice.whole_words:
            begins_BS = self.begins_V[ids_BS]
            begins_BS[:, 0] = True
            first_BS = np.maximum.accumulate(np.where(begins_BS, np.arange(ids_BS.shape[1]), 0), axis=1)
            chances_BS = np.take_along_axis(chances_BS, first_BS, axis=1)
        chances_BS = np.where(words_BS, chances_BS, np.inf)
        nearest_B1 = chances_BS.min(axis=1, keepdims=True)
        return words_BS & ((chances_BS < self.choice.hide) | (chances_BS == nearest_B1))

    def _instead(self, ids_BS: NDArray[np.int64], fate_B: Keys, strange_B: Keys) -> NDArray[np.int64]:
        fates_BS, draws_BS = _uniform(fate_B, ids_BS.shape[1]), _uniform(strange_B, ids_BS.shape[1])
        size = len(self.begins_V)
        strange_BS = len(SPECIAL) + (draws_BS * (size - len(SPECIAL))).astype(np.int64)
        hole, strange = self.choice.holes, self.choice.holes + self.choice.strange
        return np.where(fates_BS < hole, self.hole, np.where(fates_BS < strange, strange_BS, ids_BS))


def _uniform(keys_B: Keys, places: int) -> NDArray[np.float64]:
    return uniform(mix(keys_B[:, None] ^ np.arange(places, dtype=np.uint64)))


def encode_with_holes(tokenizer: Tokenizer, text: str) -> list[int]:
    """The symbols of a text, one hole for each `[MASK]` in it."""
    text = normalise(text)
    if WRITTEN not in text:
        return tokenizer.encode(text)
    if isinstance(tokenizer, Borrowed):
        return tokenizer.encode_around(text, WRITTEN)
    stand_in = tokenizer.encode(_STAND_IN)
    space = stand_in[:1] if tokenizer.pieces(stand_in[:1]) == [WORD_START] else []
    core = stand_in[len(space) :]
    symbols, found = tokenizer.encode(text.replace(_STAND_IN, " ").replace(WRITTEN, _STAND_IN)), []
    place = 0
    while place < len(symbols):
        for spelt in ([*space, *core], core):
            if spelt and symbols[place : place + len(spelt)] == spelt:
                found.append(tokenizer.hole)
                place += len(spelt)
                break
        else:
            found.append(symbols[place])
            place += 1
    return found


def hide_word(text: str) -> str:
    """A text with its middle word as a hole, to be guessed."""
    words = text.split()
    return " ".join([*words[: len(words) // 2], WRITTEN, *words[len(words) // 2 + 1 :]])


def holes_in(symbols: Sequence[int], hole: int) -> list[int]:
    return [place for place, symbol in enumerate(symbols) if symbol == hole]
