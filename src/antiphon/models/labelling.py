"""Models that give labels: n -> 1 and n -> n.

B batch · S, T source and target places · P texts or words that have a label
D width of a word · E what a head reads · M width of the memory · Y labels · W words of a sentence · V words
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from antiphon.attend.looks import Looks
from antiphon.attend.memory import Memory
from antiphon.attend.pool import Summing, mean_place
from antiphon.data.batch import Batch
from antiphon.data.vocab import END, SPECIAL, START
from antiphon.encode.letters import Letters, means
from antiphon.encode.tokens import Tokens
from antiphon.layers.once import once
from antiphon.layers.packing import Packing
from antiphon.models.contracts import Encoder
from antiphon.predict.chain import Chain
from antiphon.predict.heads import Between, Words


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
        read = self._pooled(source, mask, looks)
        if self.towers:
            one, other = read.chunk(2)
            read = torch.cat([one, other, (one - other).abs(), one * other], dim=-1)
        return self.between(read)

    def vectors(self, batch: Batch) -> Tensor:
        """What the pool gives of each text by itself, B x M."""
        return self._pooled(batch.source_BS, batch.mask_BS, None)

    def _pooled(self, source: Tensor, mask: Tensor, looks: Looks | None) -> Tensor:
        if self.front:
            source, mask = put_in_front(source, mask)
        with once():
            memory = self.encoder(self.source(source), mask, None if looks is None else looks.encoder)
        return self.pool(memory, None if looks is None else looks.cross)


def put_in_front(source_BS: Tensor, mask_BS: Tensor) -> tuple[Tensor, Tensor]:
    """`<s>` before every text."""
    return F.pad(source_BS, (1, 0), value=START), F.pad(mask_BS, (1, 0), value=True)


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

    A word of several symbols is its first, or with `whole` their mean. With `front` a place is put before the sentence.
    With `letters` a word is one symbol with its
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
        front: bool,
    ) -> None:
        super().__init__()
        self.source, self.letters, self.encoder = source, letters, encoder
        self.between, self.head, self.chain, self.whole, self.front = between, head, chain, whole, front

    def forward(self, batch: Batch, looks: Looks | None = None) -> Tensor:
        """What the head reads of every word, P x E."""
        first_BT, real_BT = batch.target_mask_BT, batch.mask_BS[:, 1:]  # without the end that every source has
        memory = self._read(batch, None if looks is None else looks.encoder)
        if self.letters is not None:
            states_PM = Packing.of(memory.mask_BS).pack(memory.states_BSM)
        else:
            states_BTM = memory.states_BSM[:, int(self.front) : -1]
            states_PM = means(states_BTM, first_BT, real_BT) if self.whole else states_BTM[first_BT]
        return self.between(states_PM)

    def vectors(self, batch: Batch) -> Tensor:
        """The mean of what the encoder leaves at the places of each sentence, B x M."""
        return mean_place(self._read(batch, None), None)

    def _read(self, batch: Batch, look: list[Tensor] | None) -> Memory:
        """A place a symbol; with letters a place a word."""
        with once():
            if self.letters is None:
                source, mask = batch.source_BS, batch.mask_BS
                if self.front:
                    source, mask = put_in_front(source, mask)
                return self.encoder(self.source(source), mask, look)
            first_BT, real_BT = batch.target_mask_BT, batch.mask_BS[:, 1:]
            mask_BW = _in_front(first_BT.sum(1))
            words_PD = self.letters(self.source, batch.source_BS[:, :-1], first_BT, real_BT)
            return self.encoder(Packing.of(mask_BW).unpack(words_PD), mask_BW, look)


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
