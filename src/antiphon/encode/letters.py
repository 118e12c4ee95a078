"""Words by their letters: a small reader goes over each word, and leaves one vector of it.

B sentences · T symbols · P words · C letters of the longest · D width of a word · M width of the reader's summary
"""

import torch
from torch import Tensor, nn

from antiphon.encode.recurrent import Recurrent
from antiphon.encode.tokens import Tokens


class Letters(nn.Module):
    """w + W [left; right]: the word's own vector, and what two readers of its letters end with (Ling et al., 2015)."""

    def __init__(self, reader: Recurrent, read: int, width: int) -> None:
        super().__init__()
        self.reader = reader
        self.out = nn.Linear(read, width)

    def forward(self, source: Tokens, symbols_BT: Tensor, first_BT: Tensor, real_BT: Tensor) -> Tensor:
        """`first_BT` is True at the symbol of each word itself; its letters stand behind it: P x D."""
        flat = symbols_BT.flatten()
        starts_P = first_BT.flatten().nonzero().squeeze(1)
        counts_P = pieces(first_BT, real_BT) - 1
        places_C = torch.arange(int(counts_P.max()), device=flat.device)
        mask_PC = places_C < counts_P.unsqueeze(1)
        places_PC = (starts_P.unsqueeze(1) + 1 + places_C).clamp(max=len(flat) - 1)
        letters_PC = flat[places_PC]
        summary_PM = self.reader(source(letters_PC), mask_PC).summary_BM
        words_PD: Tensor = source(flat[starts_P]) + self.out(summary_PM)
        return words_PD


def pieces(first_BT: Tensor, real_BT: Tensor) -> Tensor:
    """How many symbols each word takes: P."""
    words = first_BT.flatten().cumsum(0)[real_BT.flatten()] - 1
    return torch.bincount(words, minlength=int(first_BT.sum()))


def means(states_BTM: Tensor, first_BT: Tensor, real_BT: Tensor) -> Tensor:
    """The mean of the states of each word's symbols: P x M."""
    words = first_BT.flatten().cumsum(0)[real_BT.flatten()] - 1
    counts_P = pieces(first_BT, real_BT)
    sums_PM = states_BTM.new_zeros(len(counts_P), states_BTM.shape[2]).index_add(0, words, states_BTM[real_BT])
    return sums_PM / counts_P.unsqueeze(1)
