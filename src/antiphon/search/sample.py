"""Ancestral sampling: draw word after word, by chances that are a pure function of (seed, draw, step), in any batch.

B sentences still drawn for · J draws of each before a step, K after it · N rows = B x J · V words · W likely words
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from antiphon.search.rules import IMPOSSIBLE, DeadEnd, Last, Trail, follow, forbid, refuse_nan
from antiphon.search.step import Hypothesis, State, Stepper
from antiphon.search.words import Held, Rule


@dataclass(frozen=True)
class Sampling:
    """Which words may be drawn, and how boldly; temperature 1 with neither limit is an exact sample of the model."""

    temperature: float
    top_k: int  # of the k likeliest words only; 0: of all
    top_p: float  # of the likeliest words that hold this much probability; 1: of all
    min_p: float = 0.0  # of words at least this much as likely as the likeliest; 0: of all


@dataclass(frozen=True)
class _Open:
    """The sentences still drawn for."""

    sentences_B: Tensor  # which sentence of the caller each one is
    draws_BK: Tensor  # which of its draws stands in each slot
    parents_BK: Tensor  # in which slot that draw stood a step before
    totals_BK: Tensor  # summed log-probability
    done_BK: Tensor


def sample(
    stepper: Stepper,
    state: State,
    limits: Sequence[int],
    options: Sampling,
    seeds: Sequence[int],
    start: int,
    end: int,
    forbidden: Sequence[int],
    n: int = 1,
    rules: Sequence[Rule] = (),
) -> list[list[Hypothesis]]:
    """For every sentence n answers in the order of drawing, with the model's own log-probability as their score."""
    size, step = len(limits), 0
    limits_B, hashed_B = torch.tensor(limits, dtype=torch.long), _hash_seeds(seeds)
    still, words_N = _everyone(size, n), torch.full((size * n,), start)
    rows_BK = still.sentences_B.unsqueeze(1).expand(size, n)
    state = follow(state, rows_BK, still.sentences_B, sentences=size, hypotheses=1)
    held = Held(rules, rows_BK.flatten().tolist())
    trail, found = Trail(), [dict[int, Last]() for _ in limits]
    while len(still.sentences_B):
        step += 1
        log_probabilities_NV, state = stepper.step(words_N, state)
        log_probabilities_NV = held.hold(forbid(log_probabilities_NV.double().cpu(), forbidden))
        _refuse_the_impossible(log_probabilities_NV, still, step)
        chances_BK = _uniform(hashed_B[still.sentences_B.numpy()], still.draws_BK, step)
        words_BK = draw_words(_weights(log_probabilities_NV, options), chances_BK).masked_fill(still.done_BK, end)
        each_BK = log_probabilities_NV.gather(1, words_BK.view(-1, 1)).view_as(words_BK)
        trail.add(still.sentences_B, still.parents_BK, words_BK, each_BK)
        limit_B1 = limits_B[still.sentences_B].unsqueeze(1) <= step
        still = _set_aside(still, words_BK == end, limit_B1, each_BK, found, step)
        still, state, words_N, rows_N = _close_ranks(still, state, words_BK)
        held.follow(rows_N, words_N)
    return trail.spell([[answers[draw] for draw in range(n)] for answers in found])


def _everyone(sentences: int, draws: int) -> _Open:
    slots_BK = torch.arange(draws).repeat(sentences, 1)
    totals_BK = torch.zeros(sentences, draws, dtype=torch.float64)
    return _Open(torch.arange(sentences), slots_BK, slots_BK, totals_BK, totals_BK > 0.0)


def _refuse_the_impossible(log_probabilities_NV: Tensor, still: _Open, step: int) -> None:
    # What the stepper says of a draw that is done does not matter any more.
    best_BK = log_probabilities_NV.amax(1).view_as(still.done_BK).masked_fill(still.done_BK, 0.0)
    refuse_nan(best_BK, step)
    stuck_B = (best_BK == IMPOSSIBLE).any(1)
    if stuck_B.any():
        raise DeadEnd(int(still.sentences_B[stuck_B][0]))


def _weights(log_probabilities_NV: Tensor, options: Sampling) -> Tensor:
    """What each word's share of the draw is; words that may not be drawn have none."""
    weights_NV = (log_probabilities_NV / options.temperature).softmax(1)
    if options.min_p:
        least_N1 = weights_NV.amax(1, keepdim=True) * options.min_p
        weights_NV = weights_NV.masked_fill(weights_NV < least_N1, 0.0)
    if not options.top_k and options.top_p == 1.0:
        return weights_NV
    words = weights_NV.shape[1]
    likeliest_NW, words_NW = weights_NV.topk(min(options.top_k or words, words))
    if options.top_p < 1.0:
        shares_NW = likeliest_NW / likeliest_NW.sum(1, keepdim=True)
        # A word belongs if those before it do not hold enough yet: so the first always does.
        ahead_NW = shares_NW.cumsum(1).roll(1, dims=1)
        ahead_NW[:, 0] = 0.0
        likeliest_NW = likeliest_NW.masked_fill(ahead_NW >= options.top_p, 0.0)
    return torch.zeros_like(weights_NV).scatter(1, words_NW, likeliest_NW)


def draw_words(weights_NV: Tensor, chances_BK: Tensor) -> Tensor:
    """The word in whose stretch of the summed weights the chance falls."""
    # In the vocabulary's order: sorted by weight, words that are nearly as likely could change places with the batch.
    sums_NV = weights_NV.cumsum(1)
    places_N1 = chances_BK.view(-1, 1) * sums_NV[:, -1:]
    return torch.searchsorted(sums_NV, places_N1, right=True).view_as(chances_BK)


def _set_aside(
    still: _Open, ended_BK: Tensor, limit_B1: Tensor, each_BK: Tensor, found: list[dict[int, Last]], step: int
) -> _Open:
    """Note the draws that are done with this word."""
    totals_BK = still.totals_BK + each_BK
    over_BK = ended_BK | limit_B1
    for row, slot in (over_BK & ~still.done_BK).nonzero().tolist():
        total, ended = float(totals_BK[row, slot]), bool(ended_BK[row, slot])
        answers = found[int(still.sentences_B[row])]
        answers[int(still.draws_BK[row, slot])] = Last(step, slot, total, total, ended)
    return _Open(still.sentences_B, still.draws_BK, still.parents_BK, totals_BK, still.done_BK | over_BK)


def _close_ranks(still: _Open, state: State, words_BJ: Tensor) -> tuple[_Open, State, Tensor, Tensor]:
    """Draws that are done leave: a sentence without open ones whole, the others as far as all keep equally many.

    What goes on: its last words, and the rows in which it stood.
    """
    sentences, draws = still.done_BK.shape
    kept_B = (~still.done_BK).any(1).nonzero().flatten()
    done_BJ = still.done_BK[kept_B]
    width = int((~done_BJ).sum(1).max()) if len(kept_B) else 0
    order_BK = done_BJ.int().argsort(dim=1, stable=True)[:, :width]
    rows_BK = kept_B.unsqueeze(1) * draws + order_BK
    if len(kept_B):
        state = follow(state, rows_BK, kept_B, sentences, draws)
    still = _Open(
        sentences_B=still.sentences_B[kept_B],
        draws_BK=still.draws_BK[kept_B].gather(1, order_BK),
        parents_BK=order_BK,
        totals_BK=still.totals_BK[kept_B].gather(1, order_BK),
        done_BK=done_BJ.gather(1, order_BK),
    )
    return still, state, words_BJ[kept_B].gather(1, order_BK).flatten(), rows_BK.flatten()


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _mix(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The finaliser of splitmix64 (Steele et al., 2014): any change of the input changes half of the bits."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def _hash_seeds(seeds: Sequence[int]) -> npt.NDArray[np.uint64]:
    return _mix(np.array([seed % 2**64 for seed in seeds], dtype=np.uint64) + _GOLDEN)


def _uniform(hashed_B: npt.NDArray[np.uint64], draws_BK: Tensor, step: int) -> Tensor:
    """A number in [0, 1) for each draw: 53 bits of a hash of (seed, draw, step)."""
    draws = draws_BK.numpy().astype(np.uint64) + np.uint64(1)
    hashed_BK = _mix(hashed_B[:, None] + draws * _GOLDEN)
    hashed_BK = _mix(hashed_BK + np.array([step], dtype=np.uint64) * _GOLDEN)
    return torch.from_numpy((hashed_BK >> np.uint64(11)).astype(np.float64) * 2.0**-53)
