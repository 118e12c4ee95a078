"""Calibration: a temperature that makes probabilities mean what they say, and how far they are from it.

P places, C of them at a time · V words
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from antiphon.evaluate.metrics import Score

BINS = 15
LEAST, MOST = 0.25, 4.0  # temperatures; one beyond them would say that a model is broken, not that it is too sure
_CLOSE, _TRIES = 1e-4, 30

Spoken = Callable[[], Iterable[tuple[Tensor, Tensor]]]  # at every call anew: logits C x V, and the true words C


@dataclass(frozen=True)
class Fit:
    """Logits divided by `temperature` have the least loss; before and after it, the loss and the calibration error."""

    temperature: float
    loss_before: float
    loss_after: float
    error_before: float
    error_after: float
    symbols: int


def expected_calibration_error(
    confidences: Sequence[float] | NDArray[np.float64], right: Sequence[bool] | NDArray[np.bool_], bins: int = BINS
) -> float:
    """sum |B| / n x |accuracy(B) - confidence(B)| over equal bins of confidence (Guo et al., 2017)."""
    sure, true = np.asarray(confidences, dtype=np.float64), np.asarray(right, dtype=np.float64)
    assert len(sure) == len(true) > 0, "a confidence and a verdict for each of at least one"
    # A bin holds its upper edge: the surest of all is in the last one.
    bin_of = np.clip(np.ceil(sure * bins).astype(int) - 1, 0, bins - 1)
    gaps = np.bincount(bin_of, true - sure, bins)
    return float(np.abs(gaps).sum() / len(sure))


def fit_temperature(spoken: Spoken) -> Fit | None:
    """Newton's method on b = 1 / temperature, in which the loss is convex; None where a number is not finite.

    The derivative of log sum exp(b z) - b z_y is E[z] - z_y, and the derivative of that is the variance of z. To the
    sum over all places (b - 1)^2 / 2 is added, a prior worth next to nothing, so that few places, or places that are
    all right, do not make a model certain. What lowers the loss may raise the calibration error, most often of a model
    that learnt from smoothed labels; then the temperature stays 1.
    """
    low, high, b = 1 / MOST, 1 / LEAST, 1.0
    here = before = _measure(spoken, b)
    if not math.isfinite(here.loss + here.slope + here.curve):
        return None
    for _ in range(_TRIES):
        slope, curve = here.slope + (b - 1) / here.symbols, here.curve + 1 / here.symbols
        low, high = (low, b) if slope > 0 else (b, high)
        newton = b - slope / curve
        # A step beyond the bracket is halved into it, by ratio because temperatures are ratios.
        following = newton if low < newton < high else math.sqrt(low * high)
        if abs(following - b) <= _CLOSE * b:
            break
        b, here = following, _measure(spoken, following)
    if here.error > before.error:
        b, here = 1.0, before
    return Fit(1 / b, before.loss, here.loss, before.error, here.error, before.symbols)


def calibration_errors(parts: Iterable[tuple[Tensor, Tensor]], temperatures: Sequence[float], unit: str) -> list[Score]:
    """The expected calibration error of the likeliest symbol at each place, the true ones before it given; per cent.

    One score a temperature, from one pass over the parts.
    """
    tallies = [_Tally(1 / temperature) for temperature in temperatures]
    for logits_CV, words_C in parts:
        for tally in tallies:
            tally.add(logits_CV, words_C)
    measured = zip(temperatures, tallies, strict=True)
    return [error_score(tally.measured().error, temperature, unit) for temperature, tally in measured]


def error_score(error: float, temperature: float, unit: str, of: str = "", *signed: str) -> Score:
    """In per cent, under a name that tells what is judged and whether a temperature is fitted."""
    name = f"calibration error {of}".strip() + (", raw" if temperature == 1 else "")
    parts = ["ece", f"bins:{BINS}", f"unit:{unit}", *signed, f"temperature:{temperature:.4g}"]
    return Score(name, 100 * error, "|".join([*parts, f"version:{version('antiphon')}"]), higher_is_better=False)


@dataclass(frozen=True)
class _Measured:
    """At one temperature: the mean loss, its first and second derivative by b, and the calibration error."""

    loss: float
    slope: float
    curve: float
    error: float
    symbols: int


class _Tally:
    """What adds up to that, part by part."""

    def __init__(self, b: float) -> None:
        self.b = b
        self.loss = self.slope = self.curve = 0.0
        self.sure: list[NDArray[np.float64]] = []
        self.true: list[NDArray[np.bool_]] = []

    def add(self, logits_CV: Tensor, words_C: Tensor) -> None:
        # Below the highest, so that nothing overflows: neither loss nor derivatives change by that.
        below_CV = logits_CV.float() - logits_CV.float().amax(-1, keepdim=True)
        chances_CV = (self.b * below_CV).exp_()
        sums_C = chances_CV.sum(-1)
        weighted_CV = chances_CV * below_CV
        means_C = weighted_CV.sum(-1) / sums_C
        squares_C = torch.linalg.vecdot(weighted_CV, below_CV) / sums_C
        own_C = below_CV.gather(1, words_C.unsqueeze(1)).squeeze(1)
        self.loss += (sums_C.log() - self.b * own_C).double().sum().item()
        self.slope += (means_C - own_C).double().sum().item()
        self.curve += (squares_C - means_C.square()).clamp(min=0).double().sum().item()
        # The likeliest word stands at the maximum, and its chance before division is exp(0).
        self.sure.append((1 / sums_C).double().cpu().numpy())
        self.true.append((logits_CV.argmax(-1) == words_C).cpu().numpy())

    def measured(self) -> _Measured:
        symbols = sum(map(len, self.sure))
        assert symbols, "at least one place to be measured at"
        sure_P = np.concatenate(self.sure)
        finite = np.isfinite(sure_P).all()
        error = expected_calibration_error(sure_P, np.concatenate(self.true)) if finite else math.nan
        return _Measured(self.loss / symbols, self.slope / symbols, self.curve / symbols, error, symbols)


def _measure(spoken: Spoken, b: float) -> _Measured:
    tally = _Tally(b)
    for logits_CV, words_C in spoken():
        tally.add(logits_CV, words_C)
    return tally.measured()
