"""A model that points: n -> (start, end).

B windows · S places · P those that can be pointed at · M width of the memory, E what the head reads: the same
"""

import torch
from torch import Tensor, nn

from antiphon.attend.looks import Looks
from antiphon.data.batch import Batch
from antiphon.data.vocab import END, SPECIAL
from antiphon.encode.tokens import Tokens
from antiphon.layers.once import once
from antiphon.models.contracts import Encoder
from antiphon.models.labelling import put_in_front
from antiphon.predict.ends import Ends


class Spans(nn.Module):
    """P(start, end | question, paragraph) = P(start) P(end): encode both as one text, and point at two places.

    With `no_answer` the place in `front`, or without one the question's end, is pointed at where there is none.
    """

    def __init__(self, source: Tokens, encoder: Encoder, head: Ends, front: bool, no_answer: bool) -> None:
        super().__init__()
        self.source, self.encoder, self.head = source, encoder, head
        self.front, self.no_answer = front, no_answer

    def forward(self, batch: Batch, looks: Looks | None = None) -> Tensor:
        """What the head reads of every place that can be pointed at, P x E.

        What stands for no answer is counted as the question's end, wherever it was read.
        """
        source, mask = batch.source_BS, batch.mask_BS
        if self.front:
            source, mask = put_in_front(source, mask)
        with once():
            memory = self.encoder(self.source(source), mask, None if looks is None else looks.encoder)
        states = memory.states_BSM
        if self.front:
            states = torch.where(parts_of(batch)[1].unsqueeze(2), states[:, :1], states[:, 1:])
        return states[self.open(batch)]

    def open(self, batch: Batch) -> Tensor:
        """True where start and end can be: B x S."""
        paragraph_BS, ends_BS = parts_of(batch)
        return paragraph_BS | ends_BS if self.no_answer else paragraph_BS

    def logits(self, batch: Batch, states_PE: Tensor) -> Tensor:
        """Of start and end at every place of the source, B x 2 x S; where neither can be, minus infinity."""
        open_BS, logits_P2 = self.open(batch), self.head(states_PE)
        logits_BS2 = logits_P2.new_full((*open_BS.shape, 2), float("-inf"))
        return logits_BS2.index_put((open_BS,), logits_P2).transpose(1, 2)


def parts_of(batch: Batch) -> tuple[Tensor, Tensor]:
    """True at the paragraph's symbols, without its end; and at the end of the question: both B x S."""
    source_BS, mask_BS = batch.source_BS, batch.mask_BS
    places_S = torch.arange(source_BS.shape[1], device=source_BS.device)
    ends_B1 = (source_BS == END).int().argmax(dim=1, keepdim=True)
    paragraph_BS = (places_S > ends_B1) & (places_S < mask_BS.sum(1, keepdim=True) - 1)
    return paragraph_BS, places_S == ends_B1


def ends_of(batch: Batch) -> Tensor:
    """The true start and end of each window's answer, as places of the source: B x 2."""
    return batch.target_out_BT - len(SPECIAL)
