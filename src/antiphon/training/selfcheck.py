"""The first-minute self-check: a model that cannot learn one small batch by heart will learn nothing.

Shifted targets, a wrong mask or a forgotten start symbol let the loss fall and the answers be rubbish; here they show
within seconds, because answers written freely must agree with those written with the true words given.

B pairs · T target places · P real ones
"""

import copy
import math
from dataclasses import dataclass

import numpy as np
import torch

from antiphon.config.schema import Search, Train
from antiphon.data.batch import load_batch
from antiphon.data.store import PairStore
from antiphon.data.vocab import END
from antiphon.labelling.filling import Filling
from antiphon.labelling.opening import Answering, open_pipeline
from antiphon.layers.products import inference
from antiphon.models.masked import Masked
from antiphon.models.model import Labeller, Writer
from antiphon.models.pointing import Spans
from antiphon.pipeline import Pipeline
from antiphon.search.wishes import Asked, Wish, Wishes
from antiphon.training.objective import places, summed_loss

_PAIRS, _STEPS, _LEARNT = 8, 300, 0.05


@dataclass(frozen=True)
class Verdict:
    """What happened to the scratch copy."""

    first_loss: float
    last_loss: float
    steps: int
    agreement: float  # share of symbols equal in free-running and teacher-forced answers, up to the first mistake
    pairs: int

    @property
    def well(self) -> bool:
        return self.last_loss < max(0.5, 0.2 * self.first_loss) and self.agreement >= 0.9

    def line(self) -> str:
        rows = "1 text" if self.pairs == 1 else f"{self.pairs} pairs"
        what = f"loss {self.first_loss:.2f} -> {self.last_loss:.2f} in {self.steps} steps on {rows}"
        if self.well:
            return f"Self-check: one batch is learnt by heart ({what}), and free answers agree with forced ones."
        if self.agreement < 0.9 and self.last_loss < 0.5:
            return (
                f"Self-check FAILED: one batch is learnt by heart ({what}), but only {self.agreement:.0%} of the "
                "freely written symbols agree with the forced ones. Training and search disagree: please report it."
            )
        return (
            f"Self-check FAILED: one batch cannot be learnt by heart ({what}). "
            "Look at the model's width, and whether the targets belong to their sources."
        )


def self_check(pipeline: Answering, store: PairStore, learning_rate: float) -> Verdict:
    """Overfit a few short pairs in a copy of the model; the model itself is not touched."""
    chosen = _short_pairs(store)
    if isinstance(pipeline, Filling):
        store = PairStore.of([([], store.target(int(i)).tolist()) for i in _of_common_length(store)[:_PAIRS]])
        chosen = np.arange(len(store))
    elif pipeline.run.rows == "running":  # a line, or as much of it as a window holds with its end
        line = store.target(int(chosen[0]))[: pipeline.run.data.window - 1]
        store, chosen = PairStore.of([([], line.tolist())]), np.zeros(1, dtype=np.int64)
    if isinstance(pipeline, Pipeline):
        batch = pipeline.begun(load_batch(store, chosen))
    elif isinstance(pipeline, Filling):
        batch = next(pipeline.examples(store))
    else:
        batch = load_batch(store, chosen, ended=False)
    model = copy.deepcopy(pipeline.model).eval().requires_grad_(True)  # without dropout: by heart is the point
    optimizer = torch.optim.Adam(model.parameters(), lr=min(max(learning_rate, 1e-3), 3e-3))
    plain = Train(label_smoothing=0.0)
    losses: list[float] = []
    # When all losses together are below log 2, every symbol is the likeliest, and all of each answer is compared.
    enough = min(_LEARNT, math.log(2) / places(model, batch))
    for _ in range(_STEPS):
        loss = summed_loss(model, batch, model(batch), None, plain, None) / places(model, batch)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        if losses[-1] < enough:
            break
    if not isinstance(pipeline, Pipeline) or isinstance(model, Labeller | Masked | Spans):
        again = open_pipeline(model, pipeline.source, pipeline.target, pipeline.run)
        alone = list(again.losses(PairStore.of(zip(*_rows(store, chosen), strict=True)), 1))  # each by itself
        right = sum(right for _, _, right in alone) / sum(count for _, count, _ in alone)
        return Verdict(losses[0], losses[-1], len(losses), right, len(chosen))
    return Verdict(losses[0], losses[-1], len(losses), _agreement(model, pipeline, store, chosen), len(chosen))


def _rows(store: PairStore, chosen: np.ndarray) -> tuple[list[list[int]], list[list[int]]]:
    return [store.source(int(i)).tolist() for i in chosen], [store.target(int(i)).tolist() for i in chosen]


def _short_pairs(store: PairStore) -> np.ndarray:
    """A few pairs of common length, each with its own source, so that nothing contradicts itself: of texts, one."""
    chosen: dict[bytes, int] = {}
    for index in _of_common_length(store)[:200]:
        chosen.setdefault(store.source(int(index)).tobytes(), int(index))
    return np.array(list(chosen.values())[:_PAIRS])


def _of_common_length(store: PairStore) -> np.ndarray:
    """The pairs whose length is nearest to the most common first."""
    lengths = store.lengths.sum(1)[:10_000].astype(np.int64)
    return np.argsort(np.abs(lengths - np.median(lengths[lengths > 0])), kind="stable")


def _agreement(model: Writer, pipeline: Pipeline, store: PairStore, chosen: np.ndarray) -> float:
    """Write freely and greedily, and compare with what the model says when the true words stand before."""
    batch = pipeline.begun(load_batch(store, chosen))
    free = Pipeline(model, pipeline.source, pipeline.target, pipeline.run)
    limit = int(store.lengths[chosen].max()) + 10
    greedy = Search(beam=1, max_length=limit)
    sources, wishes = _rows(store, chosen)[0], Wishes(greedy, pipeline.target, pipeline.end)
    asked = [Asked("", one, n, Wish(free.limit(len(one), greedy)), wishes) for n, one in enumerate(sources)]
    groups = [(group, free.write(group, greedy)) for group in free.batches(asked)]
    found = {one.number: best for group, answers in groups for one, best in zip(group, answers, strict=True)}
    written = [found[number] for number in range(len(asked))]
    with inference():
        forced_BT = torch.zeros_like(batch.target_out_BT)
        forced_BT[batch.target_mask_BT] = model.head(model(batch)).argmax(dim=-1)
    same = total = 0
    for row, true, mask, (answer,) in zip(forced_BT, batch.target_out_BT, batch.target_mask_BT, written, strict=True):
        forced = _while_true(row[mask].tolist(), true[mask].tolist())
        free_run = [*answer.symbols, END][: len(forced)]
        total += len(forced)
        same += sum(a == b for a, b in zip(forced, free_run, strict=False))
    return same / max(total, 1)


def _while_true(forced: list[int], true: list[int]) -> list[int]:
    """Up to the first word that is not the true one, and with it: from there on a free answer goes its own way."""
    wrong = (place for place, pair in enumerate(zip(forced, true, strict=True)) if pair[0] != pair[1])
    return forced[: next(wrong, len(forced)) + 1]
