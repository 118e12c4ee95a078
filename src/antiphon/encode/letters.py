"""Words by their letters: a small reader goes over each word, and leaves one vector of it.

B sentences · T symbols · P words · U spellings, each once · C letters of the longest · D width of a word
N spellings of about one length · M width of the reader's summary
"""

import torch
from torch import Tensor, nn

from antiphon.data.vocab import PAD
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
        places_PC = (starts_P.unsqueeze(1) + 1 + places_C).clamp(max=len(flat) - 1)
        letters_PC = flat[places_PC].masked_fill(places_C >= counts_P.unsqueeze(1), PAD)
        # Most words of a text are there more than once: each spelling is read once.
        letters_UC, spelling_P = letters_PC.unique(dim=0, return_inverse=True)
        summary_PM = self._summaries(source, letters_UC)[spelling_P]
        words_PD: Tensor = source(flat[starts_P]) + self.out(summary_PM)
        return words_PD

    def _summaries(self, source: Tokens, letters_UC: Tensor) -> Tensor:
        """Spellings of about the same length are read together, so that a long one pads only a few: U x M."""
        mask_UC = letters_UC != PAD
        size_U = mask_UC.sum(1).log2().ceil()
        places, summaries = [], []
        for size in size_U.unique():
            rows = (size_U == size).nonzero().squeeze(1)
            mask_NC = mask_UC[rows][:, : 2 ** int(size)]
            summaries.append(self.reader(source(letters_UC[rows][:, : 2 ** int(size)]), mask_NC).summary_BM)
            places.append(rows)
        return torch.cat(summaries)[torch.cat(places).argsort()]


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
