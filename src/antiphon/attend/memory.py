"""What passes from the half that reads to the half that writes, and what is prepared of it once a sentence.

B batch · S source places · M width of the memory · A width of the keys
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Memory:
    """What the encoder leaves behind. Nothing else passes between the two halves."""

    states_BSM: Tensor
    mask_BS: Tensor  # True where there is a real position
    summary_BM: Tensor  # one vector for the whole input
    last: tuple[tuple[Tensor, ...], ...] = ()  # a recurrent encoder's, layer by layer, where a decoder copies it

    @staticmethod
    def of_nothing(rows: int, like: Tensor, last: tuple[tuple[Tensor, ...], ...] = ()) -> "Memory":
        """What a language model remembers of its input; `last` is where the text before was left."""
        empty = like.new_zeros(rows, 0, dtype=torch.bool)
        return Memory(like.new_zeros(rows, 0, 0), empty, like.new_zeros(rows, 0), last)


@dataclass(frozen=True)
class Keyed:
    """A memory made ready for one attention: the half of its work that does not depend on the query.

    Values are B x H x S x width, and so are the keys where there are several heads; else B x S x width.
    """

    keys: Tensor
    values: Tensor
    mask_BS: Tensor

    def keep(self, sentences_B: Tensor) -> "Keyed":
        return Keyed(*(part.index_select(0, sentences_B) for part in (self.keys, self.values, self.mask_BS)))
