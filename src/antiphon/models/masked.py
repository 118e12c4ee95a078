"""A model that guesses hidden words: n -> n, learnt from plain text, for other models to start from.

B texts · S places · P hidden places · M width of the memory · E what the head reads
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from antiphon.attend.looks import Looks
from antiphon.attend.pool import mean_place
from antiphon.data.batch import Batch
from antiphon.encode.tokens import Tokens
from antiphon.models.contracts import Encoder
from antiphon.predict.heads import Words


class Masked(nn.Module):
    """P(s_i | s without i) at every hidden place i (BERT; Devlin et al., 2019): norm(gelu(W h_i)), then all words.

    With a `pair` part, P(the second text follows the first | tanh(W h_0)) too, from the place of `<s>`.
    """

    def __init__(self, source: Tokens, encoder: Encoder, between: nn.Linear, norm: nn.Module, head: Words,
                 pair: "Pair | None") -> None:  # fmt: skip
        super().__init__()
        self.source, self.encoder, self.between, self.norm, self.head = source, encoder, between, norm, head
        self.pair = pair

    def forward(self, batch: Batch, looks: Looks | None = None) -> Tensor:
        """What the head reads of every hidden place, P x E; behind it, where texts are pairs, a row for each."""
        look = None if looks is None else looks.encoder
        states_BSM = self.encoder(self.source(batch.source_BS), batch.mask_BS, look).states_BSM
        read_PE = self.norm(F.gelu(self.between(states_BSM[batch.target_mask_BT])))
        if self.pair is None or batch.follows_B is None:
            return read_PE
        return torch.cat([read_PE, self.pair.pool(states_BSM[:, 0])])

    def vectors(self, batch: Batch) -> Tensor:
        """The mean of what the encoder leaves at the places of each text, B x M."""
        return mean_place(self.encoder(self.source(batch.source_BS), batch.mask_BS), None)


class Pair(nn.Module):
    """Whether one text follows the other, from what stands at the place in front of both."""

    def __init__(self, read: int, width: int) -> None:
        super().__init__()
        self.hidden, self.out = nn.Linear(read, width), nn.Linear(width, 2)

    def pool(self, front_BM: Tensor) -> Tensor:
        return torch.tanh(self.hidden(front_BM))

    def forward(self, pooled_BE: Tensor) -> Tensor:
        """The logits of no and yes."""
        logits: Tensor = self.out(pooled_BE)
        return logits


def part_pairs(batch: Batch, read: Tensor) -> tuple[Tensor, Tensor]:
    """What `Masked.forward` gives, parted into hidden places and texts."""
    words = batch.target_tokens
    return read[:words], read[words:]
