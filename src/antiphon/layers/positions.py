"""Positions: how a Transformer learns where a word stands.

T places · D width · H heads · C width of one head · B batch
"""

import math
from typing import Protocol

import torch
from torch import Tensor, nn


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
    """Turn each pair of a query's or key's numbers by place x rate: scores see only distances (Su et al., 2021)."""

    def forward(self, x_BHTC: Tensor, first: int) -> Tensor:
        """Turn the vectors of the places `first`, `first` + 1, ..."""
        places = torch.arange(first, first + x_BHTC.shape[2], device=x_BHTC.device)
        angles = _angles(places, x_BHTC.shape[3])
        cos, sin = angles.cos(), angles.sin()
        left, right = x_BHTC.chunk(2, dim=-1)
        return torch.cat([left * cos - right * sin, right * cos + left * sin], dim=-1)


def _angles(places_T: Tensor, width: int) -> Tensor:
    """place / 10000^(2i / width), T x (width / 2): fast turns first, slow ones last."""
    turns = torch.arange(0, width, 2, device=places_T.device)
    return places_T.unsqueeze(1) * torch.exp(turns * (-math.log(10_000.0) / width))
