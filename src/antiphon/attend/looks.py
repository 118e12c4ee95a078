"""Where a model looked: the weights of every attention of one pass, each among its own kind.

B batch · H heads · T queries · S places
"""

from dataclasses import dataclass, field

from torch import Tensor


@dataclass(frozen=True)
class Looks:
    """Weights B x H x T x S, a layer each, the first layer first; every attention adds its own as it looks.

    A kind that a model does not have stays empty, and a recurrent decoder has one layer of `cross`.
    """

    encoder: list[Tensor] = field(default_factory=list)  # the source at itself
    decoder: list[Tensor] = field(default_factory=list)  # the target at what was read of it before
    cross: list[Tensor] = field(default_factory=list)  # the target at the source


def aligning(layers: int) -> int:
    """The layer whose cross-attention aligns best, counted from 0: of several the last but one (Garg et al., 2019)."""
    return max(layers - 2, 0)
