"""A linear chain over tags: which tag follows which (Lafferty et al., 2001), all sentences of a batch at once.

B sentences · W words of the longest · P real words · Y tags
"""

import torch
from torch import Tensor, nn

from antiphon.layers.packing import Packing


class Chain(nn.Module):
    """score(y) = start(y_1) + sum logit(y_i) + sum move(y_i-1, y_i) + end(y_n); P(y) = exp(score(y)) / Z."""

    def __init__(self, tags: int) -> None:
        super().__init__()
        self.start_Y = nn.Parameter(torch.zeros(tags))
        self.end_Y = nn.Parameter(torch.zeros(tags))
        self.moves_YY = nn.Parameter(torch.zeros(tags, tags))  # from the row to the column

    def log_probability(self, logits_PY: Tensor, tags_P: Tensor, lengths_B: Tensor) -> Tensor:
        """log P(tags) of each sentence, whose words stand one after the other: B."""
        packing, mask_BW = _packing(lengths_B)
        logits_BWY = packing.unpack(logits_PY)
        tags_BW = packing.unpack(tags_P.unsqueeze(1)).squeeze(2)
        own_BW = logits_BWY.gather(2, tags_BW.unsqueeze(2)).squeeze(2)
        moved_BW = self.moves_YY[tags_BW[:, :-1], tags_BW[:, 1:]]
        ends_B1 = (lengths_B - 1).unsqueeze(1)
        score_B = (own_BW * mask_BW).sum(1) + (moved_BW * mask_BW[:, 1:]).sum(1)
        score_B = score_B + self.start_Y[tags_BW[:, 0]] + self.end_Y[tags_BW.gather(1, ends_B1).squeeze(1)]
        return score_B - self.normaliser(logits_BWY, mask_BW)

    def normaliser(self, logits_BWY: Tensor, mask_BW: Tensor) -> Tensor:
        """log Z of each sentence: the sum over all ways of tagging it, word by word from the left."""
        reached_BY = self.start_Y + logits_BWY[:, 0]
        for word in range(1, logits_BWY.shape[1]):
            onward_BY = (reached_BY.unsqueeze(2) + self.moves_YY).logsumexp(1) + logits_BWY[:, word]
            reached_BY = torch.where(mask_BW[:, word : word + 1], onward_BY, reached_BY)
        return (reached_BY + self.end_Y).logsumexp(1)

    def marginals(self, logits_PY: Tensor, lengths_B: Tensor) -> Tensor:
        """log P(y_i = y) of every word, over all ways of tagging the rest: P x Y.

        It is the gradient of log Z by the logit of that tag there.
        """
        packing, mask_BW = _packing(lengths_B)
        with torch.inference_mode(False), torch.enable_grad():
            free_PY = logits_PY.detach().clone().double().requires_grad_()
            log_z_B = self.double_copy().normaliser(packing.unpack(free_PY), mask_BW.clone())
            (shares_PY,) = torch.autograd.grad(log_z_B.sum(), free_PY)
        return shares_PY.clamp(min=1e-30).log()

    def double_copy(self) -> "Chain":
        """The same in double precision, outside of any inference mode."""
        copy = Chain(len(self.start_Y)).double().requires_grad_(False)
        for mine, theirs in zip(copy.parameters(), self.parameters(), strict=True):
            mine.copy_(theirs.detach())
        return copy

    def best(self, logits_PY: Tensor, lengths_B: Tensor) -> Tensor:
        """The likeliest tags of every sentence together (Viterbi, 1967): P."""
        packing, mask_BW = _packing(lengths_B)
        logits_BWY = packing.unpack(logits_PY)
        reached_BY, came = self.start_Y + logits_BWY[:, 0], []
        stay_BY = torch.arange(len(self.start_Y)).expand_as(reached_BY)
        for word in range(1, logits_BWY.shape[1]):
            highest_BY, from_BY = (reached_BY.unsqueeze(2) + self.moves_YY).max(1)
            real_B1 = mask_BW[:, word : word + 1]
            reached_BY = torch.where(real_B1, highest_BY + logits_BWY[:, word], reached_BY)
            came.append(torch.where(real_B1, from_BY, stay_BY))  # behind its end a sentence stands still
        tags_B = (reached_BY + self.end_Y).argmax(1)
        tags = [tags_B]
        for from_BY in reversed(came):
            tags_B = from_BY.gather(1, tags_B.unsqueeze(1)).squeeze(1)
            tags.append(tags_B)
        return torch.stack(tags[::-1], dim=1)[mask_BW]


def _packing(lengths_B: Tensor) -> tuple[Packing, Tensor]:
    mask_BW = torch.arange(int(lengths_B.max()), device=lengths_B.device) < lengths_B.unsqueeze(1)
    return Packing.of(mask_BW), mask_BW
