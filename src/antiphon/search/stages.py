"""Beam search under demands: hypotheses that are equally far on compete with each other only.

B sentences · J hypotheses of each · N rows = B x J · W words of each hypothesis · X = J x W continuations · K kept
V words
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from antiphon.search.demands import Demand, Place
from antiphon.search.rules import IMPOSSIBLE
from antiphon.search.words import Held


def propose(
    log_probabilities_NV: Tensor,
    proposed: tuple[Tensor, Tensor],
    states: Sequence[tuple[Demand, Place] | None],
    forced: Sequence[bool],
) -> tuple[Tensor, Tensor]:
    """The best words of every row, and beside them those that bring its demands further, however unlikely."""
    best_NW, words_NW = proposed
    onward = [
        [] if state is None or is_forced else state[0].onward(state[1])
        for state, is_forced in zip(states, forced, strict=True)
    ]
    more = max(map(len, onward))
    if not more:
        return proposed
    nothing = -1
    words_NX = torch.tensor([words + [nothing] * (more - len(words)) for words in onward], device=words_NW.device)
    idle_NX = (words_NX == nothing) | _among(words_NX, words_NW.masked_fill(best_NW == IMPOSSIBLE, nothing))
    words_NX = words_NX.clamp(min=0)
    best_NX = log_probabilities_NV.gather(1, words_NX).masked_fill(idle_NX, IMPOSSIBLE)
    return torch.cat([best_NW, best_NX], dim=1), torch.cat([words_NW, words_NX], dim=1)


def _among(words_NX: Tensor, words_NW: Tensor) -> Tensor:
    return (words_NX.unsqueeze(2) == words_NW.unsqueeze(1)).any(2)


def meet_demands(
    totals_BK: Tensor, chosen_BK: Tensor, sums_BX: Tensor, words_BX: Tensor, left_B: Tensor, end: int, held: Held
) -> None:
    """Choose anew for the sentences that have demands."""
    states = held.states[-1]
    hypotheses, beam = len(states) // len(sums_BX), totals_BK.shape[1]
    rows, places, counts = [], [], []
    for row, (sums, words, left) in enumerate(zip(sums_BX.tolist(), words_BX.tolist(), left_B.tolist(), strict=True)):
        own = states[row * hypotheses : (row + 1) * hypotheses]
        if own[0] is not None:
            kept = the_best_of_each_stage(sums, words, own, left, beam, end)
            rows.append(row)
            places.append(kept + [0] * (beam - len(kept)))
            counts.append(len(kept))
    if rows:
        chosen_BK[rows] = torch.tensor(places)
        empty_BK = torch.arange(beam) >= torch.tensor(counts).unsqueeze(1)
        totals_BK[rows] = sums_BX[rows].gather(1, chosen_BK[rows]).masked_fill(empty_BK, IMPOSSIBLE)


def the_best_of_each_stage(
    sums: Sequence[float],
    words: Sequence[int],
    states: Sequence[tuple[Demand, Place]],
    left: int,
    beam: int,
    end: int,
) -> list[int]:
    """Of one sentence with demands: where those stand that are kept, the best first.

    Continuations with as many words to go stand at the same stage, and stages take turns, the nearest to its goal
    first: so those that are far on are not crowded out by those that put it off (after Post & Vilar, 2018). What
    could not say the rest and end within the words that are left is dropped.
    """
    width = len(sums) // len(states)
    stages: dict[int, list[int]] = {}
    late: list[int] = []
    for x in sorted(range(len(sums)), key=sums.__getitem__, reverse=True):
        if sums[x] == IMPOSSIBLE:
            break
        demand, place = states[x // width]
        plan = () if words[x] == end else demand.plan(demand.then(place, words[x]))
        if plan is not None:
            fits = words[x] == end or len(plan) + 1 <= left
            (stages.setdefault(len(plan), []) if fits else late).append(x)
    if not stages:
        return late[:beam]
    kept: list[int] = []
    queues = [stages[stage] for stage in sorted(stages)]
    for turn in range(max(map(len, queues))):
        kept += [queue[turn] for queue in queues if turn < len(queue)]
        if len(kept) >= beam:
            break
    return sorted(kept[:beam], key=lambda x: -sums[x])
