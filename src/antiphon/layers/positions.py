"""Positions: how a Transformer learns where a word stands.

T places · S places that are read · D width · H heads · B batch · U buckets of distances
"""

import math
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

_BUCKETS, _FARTHEST = 32, 128


class Positions(Protocol):
    """Vectors that are added to the words' own."""

    def __call__(self, length: int, device: torch.device) -> Tensor:
        """The vectors of the first `length` places, T x D."""
        ...


class Sinusoidal(nn.Module):
    """sin and cos of place / 10000^(2i / D) (Vaswani et al., 2017)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, length: int, device: torch.device) -> Tensor:
        angles = _angles(torch.arange(length, device=device), self.width)
        return torch.cat([angles.sin(), angles.cos()], dim=1)[:, : self.width]


class Learned(nn.Module):
    """A vector a place, found in training (Gehring et al., 2017); there is none beyond the last."""

    def __init__(self, width: int, limit: int) -> None:
        super().__init__()
        self.table_TD = nn.Parameter(torch.empty(limit, width).normal_(std=width**-0.5))

    def forward(self, length: int, device: torch.device) -> Tensor:
        assert length <= len(self.table_TD), "the pipeline refuses inputs beyond the last learned position"
        return self.table_TD[:length]


class Rotary(nn.Module):
    """Turn each pair of a query's or key's numbers by place x rate: scores see only distances (Su et al., 2021).

    A pair is read as one complex number, so that a turn is one product.
    """

    def __init__(self, head_width: int) -> None:
        super().__init__()
        self.head_width = head_width

    def forward(self, x_BTD: Tensor, first: int) -> Tensor:
        """Turn the vectors, heads side by side, of the places `first`, `first` + 1, ..."""
        places_T = torch.arange(first, first + x_BTD.shape[1], device=x_BTD.device)
        angles = _angles(places_T, self.head_width).to(x_BTD.dtype)
        turns = torch.polar(torch.ones_like(angles), angles).repeat(1, x_BTD.shape[2] // self.head_width)
        pairs = torch.view_as_complex(x_BTD.unflatten(2, (-1, 2)))
        return torch.view_as_real(pairs * turns).flatten(2)


class Relative(nn.Module):
    """A learned number for each head and distance, added to the score (Raffel et al., 2020).

    Near distances have a bucket each; farther ones share buckets that widen as the logarithm of the distance does, and
    from 128 places on there is only one.
    """

    def __init__(self, width: int, heads: int, both_ways: bool) -> None:
        super().__init__()
        self.both_ways = both_ways  # False where no place reads what comes after it
        self.bias_UH = nn.Parameter(torch.empty(_BUCKETS, heads).normal_(std=width**-0.5))

    def forward(self, queries: int, length: int) -> Tensor:
        """For the last `queries` of `length` places and all that they read: H x T x S."""
        places_S = torch.arange(length, device=self.bias_UH.device)
        distances_TS = places_S - places_S[length - queries :].unsqueeze(1)
        return F.embedding(_buckets(distances_TS, self.both_ways), self.bias_UH).permute(2, 0, 1)


def _buckets(distances_TS: Tensor, both_ways: bool) -> Tensor:
    """0, 1, 2, ... for the places before, and the upper half of the buckets for those after where they are read."""
    count = _BUCKETS // 2 if both_ways else _BUCKETS
    near = count // 2
    growth = (_FARTHEST / near) ** (1 / (count - near))
    # Where each bucket but the first begins. A hair less, so that a whole number is not rounded up to the next.
    begins = [*range(1, near), *(math.ceil(near * growth**step - 1e-9) for step in range(count - near))]
    after_TS = distances_TS > 0
    away_TS = distances_TS.abs() if both_ways else distances_TS.clamp(max=0).neg()
    found_TS = torch.bucketize(away_TS, torch.tensor(begins, device=away_TS.device), right=True)
    return found_TS + count * after_TS if both_ways else found_TS


def _angles(places_T: Tensor, width: int) -> Tensor:
    """place / 10000^(2i / width), T x (width / 2): fast turns first, slow ones last."""
    turns = torch.arange(0, width, 2, device=places_T.device)
    return places_T.unsqueeze(1) * torch.exp(turns * (-math.log(10_000.0) / width))
