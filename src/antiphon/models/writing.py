"""Models that write: n -> m and 1 -> m.

B batch · N rows = batch x beam · S, T source and target places · P real target places
R places of a row that holds both · V words · D width of a word · M, E what the encoder, the decoder leaves
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from antiphon.attend.looks import Looks, aligning
from antiphon.attend.memory import Memory
from antiphon.attend.pool import mean, mean_place
from antiphon.data.batch import Batch, join
from antiphon.data.vocab import START
from antiphon.encode.tokens import Tokens
from antiphon.layers.cells import CellState
from antiphon.layers.once import once
from antiphon.layers.packing import Packing
from antiphon.models.contracts import Decoder, Encoder
from antiphon.predict.heads import Words
from antiphon.search.step import State


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
        with once():
            state = self.start(batch.source_BS, batch.mask_BS, looks)
            out_BTE, _ = self.decoder(self.target(batch.target_in_BT), state, batch.target_mask_BT, looks)
        return Packing.of(batch.target_mask_BT).pack(out_BTE)

    def vectors(self, batch: Batch) -> Tensor:
        """The mean of what the encoder leaves at the places of each source, B x M."""
        with once():
            return mean_place(self.encoder(self.source(batch.source_BS), batch.mask_BS), None)

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
    """P(t) = prod P(t_j | t_<j): predict a text word by word. Its source is nothing, and is never read.

    With `pairs` it reads `<s>` source `</s>` target as one text and predicts the target: P(t | s) without an encoder,
    the source a prompt (Radford et al., 2018).
    """

    def __init__(self, target: Tokens, decoder: Decoder, head: Words, pairs: bool) -> None:
        super().__init__()
        self.target, self.decoder, self.head, self.pairs = target, decoder, head, pairs

    def forward(self, batch: Batch, looks: Looks | None = None) -> Tensor:
        """What the head reads at every real target place, P x E, with the true words before it."""
        if not self.pairs:
            return self.go_on(batch, (), looks)[0]
        joined = join(batch)
        out_BRE = self._read(joined.words_BR, joined.mask_BR, looks)
        return Packing.of(joined.learnt_BR).pack(out_BRE)

    def vectors(self, batch: Batch) -> Tensor:
        """The mean of the decoder's states at the places of each text, its start and a source's end included, B x E."""
        words_BR, mask_BR = batch.target_in_BT, batch.target_mask_BT
        if self.pairs:
            joined = join(batch)
            words_BR, mask_BR = joined.words_BR, joined.mask_BR
        return mean(self._read(words_BR, mask_BR), mask_BR)

    def _read(self, words_BR: Tensor, mask_BR: Tensor, looks: Looks | None = None) -> Tensor:
        """What the decoder hands its head at every place, B x R x E."""
        with once():
            words_BRD = self.target(words_BR)
            out_BRE, _ = self.decoder(words_BRD, self.begin(len(words_BRD)), mask_BR, looks)
        return out_BRE

    def go_on(self, batch: Batch, last: tuple[CellState, ...], looks: Looks | None = None) -> tuple[Tensor, Any]:
        """The same from where a text before was left, and the state in which this one is left."""
        with once():
            words_BTD = self.target(batch.target_in_BT)
            state = self.decoder.start(Memory.of_nothing(len(words_BTD), words_BTD, last))
            out_BTE, state = self.decoder(words_BTD, state, batch.target_mask_BT, looks)
        return Packing.of(batch.target_mask_BT).pack(out_BTE), state

    def start(self, source_BS: Tensor, mask_BS: Tensor, looks: Looks | None = None) -> Any:
        """The state before the first word; where pairs are read, after sources that are all equally long."""
        if not self.pairs:
            return self.begin(len(source_BS))
        assert bool(mask_BS.all()), "padding behind a source would stand before its answer"
        return self.after(F.pad(source_BS[:, :-1], (1, 0), value=START), source_BS[:, -1])

    def begin(self, rows: int) -> Any:
        """The state before anything is read."""
        return self.decoder.start(Memory.of_nothing(rows, self.target.weight_VD))

    def after(self, words_BT: Tensor, last_B: Tensor) -> State:
        """The state after a prompt, all rows equally long; its last word is read by the first step."""
        state = self.begin(len(words_BT))
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


def _normalised(logits_NV: Tensor) -> Tensor:
    """Log-probabilities; in search they are written where the logits stand, for a copy takes longer than the sums."""
    if torch.is_grad_enabled():
        return logits_NV.log_softmax(dim=-1)
    return torch.ops.aten._log_softmax.out(logits_NV, 1, False, out=logits_NV)
