"""Windows: the part of the memory that a query may look at.

B batch · H heads · T queries · S places · Q width of the query
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

# From scores, query, its place and the real places: the scores, and where the query may look, both over S.
Window = Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]


def everywhere(scores_BHTS: Tensor, query_BTQ: Tensor, places_T: Tensor, mask_BS: Tensor) -> tuple[Tensor, Tensor]:
    """Every real place."""
    return scores_BHTS, mask_BS[:, None, None]


class Monotonic(nn.Module):
    """p = t: at most `reach` places away from the place that is being written (local-m of Luong et al., 2015).

    An answer that is longer than its source stays at the source's end.
    """

    def __init__(self, reach: int) -> None:
        super().__init__()
        self.reach = reach

    def forward(
        self, scores_BHTS: Tensor, query_BTQ: Tensor, places_T: Tensor, mask_BS: Tensor
    ) -> tuple[Tensor, Tensor]:
        centres_BT = torch.minimum(places_T, mask_BS.sum(1, keepdim=True) - 1)
        inside_BTS = _distances(centres_BT, mask_BS).abs() <= self.reach
        return scores_BHTS, (inside_BTS & mask_BS.unsqueeze(1)).unsqueeze(1)


class Predictive(nn.Module):
    """p = (S-1) sigma(v . tanh(W q)); score - (s-p)^2 / (2 (reach/2)^2) (local-p of Luong et al., 2015).

    There a normal curve multiplies the weights; in the exponent it is the same curve, the weights still sum to one,
    and sparse weights can have a window too.
    """

    def __init__(self, query_width: int, reach: int) -> None:
        super().__init__()
        self.reach = reach
        self.query = nn.Linear(query_width, query_width, bias=False)
        self.out = nn.Linear(query_width, 1, bias=False)

    def forward(
        self, scores_BHTS: Tensor, query_BTQ: Tensor, places_T: Tensor, mask_BS: Tensor
    ) -> tuple[Tensor, Tensor]:
        shares_BT = torch.sigmoid(self.out(torch.tanh(self.query(query_BTQ)))).squeeze(2)
        distances_BTS = _distances(shares_BT * (mask_BS.sum(1, keepdim=True) - 1), mask_BS)
        inside_BTS = (distances_BTS.abs() <= self.reach) & mask_BS.unsqueeze(1)
        nearness_BTS = distances_BTS.square() * (-2.0 / self.reach**2)
        return scores_BHTS + nearness_BTS.unsqueeze(1), inside_BTS.unsqueeze(1)


def _distances(centres_BT: Tensor, mask_BS: Tensor) -> Tensor:
    return torch.arange(mask_BS.shape[1], device=mask_BS.device) - centres_BT.unsqueeze(2)
