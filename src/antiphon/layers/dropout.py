"""Dropout from cheap bits: one random number serves four places.

N rows · E width
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from antiphon.layers.draws import generator

_STEPS = 1 << 16


class Dropout(nn.Module):
    """Zero each number with probability `rate` and scale the others up (Srivastava et al., 2014).

    On a CPU torch draws a float for every place, which costs as much as the matrix product beside it. Here a
    64-bit draw is cut into four 16-bit numbers that are compared with the rate: three times as fast, and the rate
    is met to within 1/65536.
    """

    def __init__(self, rate: float, through_time: bool = False) -> None:
        super().__init__()
        self.rate = rate
        self.through_time = through_time  # one draw for all places of a sentence (Gal & Ghahramani, 2016)

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or not self.rate:
            return x
        shape = torch.Size((x.shape[0], 1, x.shape[2])) if self.through_time and x.dim() == 3 else x.shape
        return x * self._draw(x, shape)

    def held(self) -> Callable[[Tensor], Tensor]:
        """Dropout for one place after another: through time, the draw of the first serves them all."""
        if not self.training or not self.rate or not self.through_time:
            return self
        drawn: list[Tensor] = []

        def drop(x_NE: Tensor) -> Tensor:
            if not drawn:
                drawn.append(self._draw(x_NE, x_NE.shape))
            return x_NE * drawn[0]

        return drop

    def _draw(self, x: Tensor, shape: torch.Size) -> Tensor:
        if x.device.type != "cpu":
            return F.dropout(x.new_ones(shape), self.rate)
        return keep_scaled(shape, self.rate, x.dtype)


def keep_scaled(shape: torch.Size, rate: float, dtype: torch.dtype) -> Tensor:
    """Random zeros with probability `rate`, and 1 / (1 - rate) elsewhere."""
    count = shape.numel()
    drawn = torch.empty((count + 3) // 4, dtype=torch.int64).random_(-(1 << 63), None, generator=generator())
    bits = drawn.view(torch.int16)[:count]
    dropped = round(rate * _STEPS)
    kept = torch.ge(bits, dropped - _STEPS // 2, out=torch.empty(count, dtype=dtype))  # no detour through booleans
    return kept.mul_(_STEPS / (_STEPS - dropped)).view(shape)
