"""The four shapes of a sequence model, a screenful each. n -> m, 1 -> m, n -> 1 and n -> n.

B batch · N rows = batch x beam · S, T source and target places · P real target places
V words · D width of a word · E output · M width of the memory · Y labels · W words of a sentence
"""

from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.parametrize import cached

from antiphon.attend.looks import Looks, aligning
from antiphon.attend.memory import Memory
from antiphon.attend.pool import Summing
from antiphon.data.batch import Batch
from antiphon.data.vocab import END, SPECIAL, START
from antiphon.encode.letters import Letters, means
from antiphon.encode.tokens import Tokens
from antiphon.layers.cells import CellState
from antiphon.layers.packing import Packing
from antiphon.predict.chain import Chain
from antiphon.predict.heads import Between, Words
from antiphon.search.step import State


class Encoder(Protocol):
    def __call__(self, words_BSD: Tensor, mask_BS: Tensor, look: list[Tensor] | None = None) -> Memory: ...


class Decoder(Protocol):
    """`forward` for all words at once and `step` for one give the same numbers."""

    width: int  # E

    def start(self, memory: Memory) -> Any: ...

    def __call__(
        self, words_BTD: Tensor, state: Any, mask_BT: Tensor, looks: Looks | None = None
    ) -> tuple[Tensor, Any]: ...

    def step(self, word_ND: Tensor, state: Any, look: list[Tensor] | None = None) -> tuple[Tensor, Any]: ...


class Seq2Seq(nn.Module):
    """P(t | s) = prod P(t_j | t_<j, s): encode the source, attend to it, predict the target word by word."""

    def __init__(self, source: Tokens, encoder: Encoder, target: Tokens, decoder: Decoder, head: Words) -> None:
        super().__init__()
        self.source, self.encoder, self.target, self.decoder, self.head = source, encoder, target, decoder, head

    def forward(self, batch: Batch, looks: Looks | None = None) -> Tensor:
        """What the head reads at every real target place, P x E, with the true words before it.

        With `looks` the weights of every attention are kept in it.
        """
        # A matrix that is computed from its parameters is computed once a batch, not once a step.
        with cached():
            state = self.start(batch.source_BS, batch.mask_BS, looks)
            out_BTE, _ = self.decoder(self.target(batch.target_in_BT), state, batch.target_mask_BT, looks)
        return Packing.of(batch.target_mask_BT).pack(out_BTE)

    def start(self, source_BS: Tensor, mask_BS: Tensor, looks: Looks | None = None) -> Any:
        """Read the source; the state before the first word."""
        look = None if looks is None else looks.encoder
        return self.decoder.start(self.encoder(self.source(source_BS), mask_BS, look))

    def step(self, words_N: Tensor, state: State, look: list[Tensor] | None = None) -> tuple[Tensor, State]:
        """The contract of search: log-probabilities of the next word, and the state after these.

        What is looked at, on demand, is the mean over the heads of the layer that aligns.
        """
        cross: list[Tensor] | None = None if look is None else []
        out_NE, state = self.decoder.step(self.target(words_N), state, cross)
        if look is not None and cross:
            look.append(cross[aligning(len(cross))].mean(1).flatten(0, 1))
        return _normalised(self.head(out_NE)), state


class LanguageModel(nn.Module):
    """P(t) = prod P(t_j | t_<j): predict a text word by word. Its source is nothing, and is never read."""

    def __init__(self, target: Tokens, decoder: Decoder, head: Words) -> None:
        super().__init__()
        self.target, self.decoder, self.head = target, decoder, head

    def forward(self, batch: Batch, looks: Looks | None = None) -> Tensor:
        """What the head reads at every real place, P x E, with the true words before it."""
        return self.go_on(batch, (), looks)[0]

    def go_on(self, batch: Batch, last: tuple[CellState, ...], looks: Looks | None = None) -> tuple[Tensor, Any]:
        """The same from where a text before was left, and the state in which this one is left."""
        with cached():
            words_BTD = self.target(batch.target_in_BT)
            state = self.decoder.start(Memory.of_nothing(len(words_BTD), words_BTD, last))
            out_BTE, state = self.decoder(words_BTD, state, batch.target_mask_BT, looks)
        return Packing.of(batch.target_mask_BT).pack(out_BTE), state

    def start(self, source_BS: Tensor, mask_BS: Tensor, looks: Looks | None = None) -> Any:
        """The state before the first word."""
        return self.decoder.start(Memory.of_nothing(len(source_BS), self.target.weight_VD))

    def after(self, words_BT: Tensor, last_B: Tensor) -> State:
        """The state after a prompt, all rows equally long; its last word is read by the first step."""
        state = self.decoder.start(Memory.of_nothing(len(words_BT), self.target.weight_VD))
        if words_BT.shape[1]:
            _, state = self.decoder(self.target(words_BT), state, torch.ones_like(words_BT, dtype=torch.bool))
        return Prompted(state, last_B)

    def step(self, words_N: Tensor, state: State, look: list[Tensor] | None = None) -> tuple[Tensor, State]:
        """The contract of search, as above; there is no source to look at."""
        if isinstance(state, Prompted):
            words_N, state = state.last_N, state.before
        out_NE, state = self.decoder.step(self.target(words_N), state)
        return _normalised(self.head(out_NE)), state


@dataclass(frozen=True)
class Prompted:
    """A state whose next word is known: the last of a prompt, whatever word the search begins with."""

    before: State
    last_N: Tensor

    def select(self, rows_N: Tensor) -> "Prompted":
        return Prompted(self.before.select(rows_N), self.last_N.index_select(0, rows_N))

    def keep(self, sentences_B: Tensor) -> "Prompted":
        return Prompted(self.before.keep(sentences_B), self.last_N)


class Classifier(nn.Module):
    """P(y | s): encode the text, pool it into one vector, predict its label; or P(y | s) of each label by itself.

    With `front` a place is put before the text for the pool to read. In `towers` two texts are read by one encoder,
    each by itself, and what it leaves of them is compared: [u; v; |u - v|; u v] (Conneau et al., 2017).
    """

    def __init__(
        self,
        source: Tokens,
        encoder: Encoder,
        pool: Summing,
        between: Between,
        head: Words,
        towers: bool,
        front: bool,
        several: bool,
    ) -> None:
        super().__init__()
        self.source, self.encoder, self.pool, self.between, self.head = source, encoder, pool, between, head
        self.towers, self.front, self.several = towers, front, several

    def forward(self, batch: Batch, looks: Looks | None = None) -> Tensor:
        """What the head reads of every text, B x E."""
        source, mask = batch.source_BS, batch.mask_BS
        if self.towers:
            source, mask = part_texts(source, mask)
        if self.front:
            source, mask = F.pad(source, (1, 0), value=START), F.pad(mask, (1, 0), value=True)
        with cached():
            memory = self.encoder(self.source(source), mask, None if looks is None else looks.encoder)
        read = self.pool(memory, None if looks is None else looks.cross)
        if self.towers:
            one, other = read.chunk(2)
            read = torch.cat([one, other, (one - other).abs(), one * other], dim=-1)
        return self.between(read)


def part_texts(source_BS: Tensor, mask_BS: Tensor) -> tuple[Tensor, Tensor]:
    """Rows that hold two texts, each with its end, as twice as many rows: all first texts, then all second ones."""
    places_S = torch.arange(source_BS.shape[1], device=source_BS.device)
    ends_B1 = (source_BS == END).int().argmax(dim=1, keepdim=True)
    moved_BS = places_S + ends_B1 + 1
    second_BS = source_BS.gather(1, moved_BS.clamp(max=len(places_S) - 1))
    real = torch.cat([places_S <= ends_B1, moved_BS < mask_BS.sum(1, keepdim=True)])
    longest = int(real.sum(1).max())
    return torch.cat([source_BS, second_BS])[:, :longest], real[:, :longest]


class Tagger(nn.Module):
    """P(y_1 ... y_n | s): encode the sentence, and predict a tag at the state of each word.

    A word of several symbols is its first, or with `whole` their mean. With `letters` a word is one symbol with its
    letters behind it, and the encoder reads words, each made of both. A `chain` knows which tag follows which.
    """

    def __init__(
        self,
        source: Tokens,
        letters: Letters | None,
        encoder: Encoder,
        between: Between,
        head: Words,
        chain: Chain | None,
        whole: bool,
    ) -> None:
        super().__init__()
        self.source, self.letters, self.encoder = source, letters, encoder
        self.between, self.head, self.chain, self.whole = between, head, chain, whole

    def forward(self, batch: Batch, looks: Looks | None = None) -> Tensor:
        """What the head reads of every word, P x E."""
        first_BT, real_BT = batch.target_mask_BT, batch.mask_BS[:, 1:]  # without the end that every source has
        look = None if looks is None else looks.encoder
        with cached():
            if self.letters is not None:
                mask_BW = _in_front(first_BT.sum(1))
                packing = Packing.of(mask_BW)
                words_PD = self.letters(self.source, batch.source_BS[:, :-1], first_BT, real_BT)
                states_PM = packing.pack(self.encoder(packing.unpack(words_PD), mask_BW, look).states_BSM)
            else:
                states_BTM = self.encoder(self.source(batch.source_BS), batch.mask_BS, look).states_BSM[:, :-1]
                states_PM = means(states_BTM, first_BT, real_BT) if self.whole else states_BTM[first_BT]
        return self.between(states_PM)


def _in_front(counts_B: Tensor) -> Tensor:
    """True at so many places of each row: B x W."""
    return torch.arange(int(counts_B.max()), device=counts_B.device) < counts_B.unsqueeze(1)


def labels_of(batch: Batch) -> Tensor:
    """The true label of each text, or tag of each word, counted as a head counts them."""
    return batch.target_out_BT[batch.target_mask_BT] - len(SPECIAL)


def each_label(batch: Batch, labels: int) -> Tensor:
    """1 for every label that a text has, 0 for every other: B x Y."""
    hot_BV = torch.zeros(len(batch.target_out_BT), labels + len(SPECIAL))
    return hot_BV.scatter_(1, batch.target_out_BT, 1.0)[:, len(SPECIAL) :]


def _normalised(logits_NV: Tensor) -> Tensor:
    """Log-probabilities; in search they are written where the logits stand, for a copy takes longer than the sums."""
    if torch.is_grad_enabled():
        return logits_NV.log_softmax(dim=-1)
    return torch.ops.aten._log_softmax.out(logits_NV, 1, False, out=logits_NV)


Writer = Seq2Seq | LanguageModel
Labeller = Classifier | Tagger
Model = Writer | Labeller
