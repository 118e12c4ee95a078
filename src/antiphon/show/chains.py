"""Chains of states: how much of the gradient at the end of a recurrence reaches each place before it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

SPAN, LOST = 20, 0.1  # a sentence's worth of steps; what falls below a tenth is lost among the nearer words' gradients
_FEW = 5  # places: with fewer, one odd step would be the verdict
_FITTED = 400  # places that a factor is fitted to; of a longer chain, every second or third

Part = Literal["h", "c"]  # of a state
PARTS: tuple[Part, ...] = ("h", "c")
Verdict = Literal["vanishes", "stable", "explodes", "too short"]
Forecast = Literal["must vanish", "cannot explode", "can explode"]
_FORECASTS: Mapping[Verdict, Forecast] = {
    "vanishes": "must vanish", "stable": "cannot explode", "explodes": "can explode",
}  # fmt: skip


@dataclass(frozen=True)
class Chain:
    """The recurrence of one cell over a text: the norm of d h(T) / d h(t) for each place t, or of d c(T) / d c(t).

    It is the chain's own recurrence, with its inputs held as they were: what passes through other layers or through
    attention is left out. The norm is the largest singular value. Of an LSTM's state (h, c) it is that of the h-by-h
    block of the whole product, so the way through c is in it; of c it is the c-by-c block.
    """

    place: str  # in the model
    cell: str
    symbols: tuple[str, ...]  # as they were read
    log10_norms: tuple[float, ...]  # one a symbol; the last is 0, because d h(T) / d h(T) has norm 1
    matrices: Mapping[str, float]  # the largest singular value of each recurrent matrix; told with h
    part: Part = "h"

    @property
    def name(self) -> str:
        return self.place if self.part == "h" else f"{self.place}, {self.part}"

    @property
    def factor(self) -> float | None:
        """What one step further back multiplies the norm by: the median slope of all pairs of places (Theil-Sen).

        The median, because an LSTM's first step, out of h and into c, is unlike those that follow.
        """
        places = np.arange(len(self.log10_norms))[:: -(-len(self.log10_norms) // _FITTED)]
        if len(places) < 2:
            return None
        if -math.inf in self.log10_norms:
            return 0.0
        logs = np.array(self.log10_norms)[places]
        first, second = np.triu_indices(len(places), 1)
        slope = np.median((logs[second] - logs[first]) / (places[second] - places[first]))
        return float(10.0**-slope)

    @property
    def verdict(self) -> Verdict:
        few = len(self.log10_norms) < _FEW and self.factor != 0
        return "too short" if self.factor is None or few else judge(self.factor)

    @property
    def forecast(self) -> Forecast | None:
        """What the matrix alone tells where no gates come between: a step multiplies by its norm at the most."""
        return _FORECASTS[judge(self.matrices["U"])] if "U" in self.matrices else None

    def steps_to(self, share: float) -> float | None:
        """Steps until this share is left, or, above one, until it is so many times as much; None: never."""
        if not self.factor or math.isclose(self.factor, 1, abs_tol=1e-6) or (share < 1) != (self.factor < 1):
            return None
        return math.log(share) / math.log(self.factor)

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        if self.factor is None or self.verdict == "too short":
            return "too few places to tell" if self.factor else "one place: there is nothing to carry"
        if self.factor == 0:
            return f"nothing is left after {_steps(self.log10_norms[::-1].index(-math.inf))}"
        if self.verdict == "stable":
            return f"{self.factor**SPAN:.0%} of it after {SPAN} steps"
        share, words = (0.01, "a hundredth is left") if self.verdict == "vanishes" else (100, "a hundred times as much")
        return f"{words} after {_steps(math.ceil(self.steps_to(share) or 0))}"


@dataclass(frozen=True)
class Gradients:
    """The chains of a model on one text and its own answer to it."""

    text: str
    answer: str
    chains: tuple[Chain, ...]


def judge(factor: float) -> Verdict:
    """By what SPAN steps make of it."""
    if factor < LOST ** (1 / SPAN):
        return "vanishes"
    return "explodes" if factor > LOST ** (-1 / SPAN) else "stable"


def _steps(count: int) -> str:
    return "1 step" if count == 1 else f"{count:,} steps"
