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
    best_NX = log_probabilities_NV.gather(1, words_NX.clamp(min=0)).masked_fill(words_NX == nothing, IMPOSSIBLE)
    return torch.cat([best_NW, best_NX], dim=1), torch.cat([words_NW, words_NX.clamp(min=0)], dim=1)


def meet_demands(
    totals_BK: Tensor, chosen_BK: Tensor, sums_BX: Tensor, words_BX: Tensor, left_B: Tensor, end: int, held: Held
) -> None:
    """Choose anew for the sentences that have demands."""
    states = held.states[-1]
    hypotheses, beam = len(states) // len(sums_BX), totals_BK.shape[1]
    for row, left in enumerate(left_B.tolist()):
        own = states[row * hypotheses : (row + 1) * hypotheses]
        if own[0] is not None:
            kept = the_best_of_each_stage(sums_BX[row].tolist(), words_BX[row].tolist(), own, left, beam, end)
            totals_BK[row], chosen_BK[row] = IMPOSSIBLE, 0
            chosen_BK[row, : len(kept)] = torch.tensor(kept, dtype=torch.long)
            totals_BK[row, : len(kept)] = sums_BX[row, kept]


def the_best_of_each_stage(
    sums: Sequence[float],
    words: Sequence[int],
    states: Sequence[tuple[Demand, Place] | None],
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
    seen = set()
    for x in sorted((x for x, total in enumerate(sums) if total > IMPOSSIBLE), key=lambda x: -sums[x]):
        state, key = states[x // width], (x // width, words[x])
        if key in seen or state is None:
            continue
        seen.add(key)
        demand, place = state
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
