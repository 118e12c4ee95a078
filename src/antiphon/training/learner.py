"""One update of the weights, and what is remembered between two (Y labels)."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from antiphon.config.schema import Train
from antiphon.data.batch import DROPOUT, Batch
from antiphon.data.unmerge import keys
from antiphon.layers.products import quick_products
from antiphon.models.model import Model
from antiphon.store import fill, weights_of
from antiphon.training.crew import Crew
from antiphon.training.exposure import forcing
from antiphon.training.groups import freeze, make_optimizers
from antiphon.training.lesson import Lesson, Task
from antiphon.training.noise import Draws
from antiphon.training.objective import places
from antiphon.training.schedule import learning_rate

# What an optimiser keeps of a weight, and what it is called in a checkpoint.
_REMEMBERED = {"exp_avg": "mean.", "exp_avg_sq": "square.", "step": "updates."}


@dataclass(frozen=True)
class Update:
    """What one step did."""

    loss: float  # a target symbol, smoothing included
    tokens: int
    gradient_norm: float  # before clipping
    clipped: bool
    rate: float
    forcing: float  # how often the decoder read the true word before
    taken: bool  # False where loss or gradient was not finite, and the weights stayed as they were


class Learner:
    """The model, what its optimisers remember, the moving average of its weights, and a state carried along."""

    def __init__(self, model: Model, choice: Train, seed: int, weights_Y: Tensor | None = None) -> None:
        """`weights_Y` are those of labels that do not count alike."""
        self.model, self.choice, self.seed = model, choice, seed
        self.lesson = Lesson(model, choice, weights_Y)
        self.crew = Crew(self.lesson)
        self.names: dict[Tensor, str] = {parameter: name for name, parameter in model.named_parameters()}
        freeze(self.names, choice.freeze)
        self.optimizers = make_optimizers(self.names, choice)
        self.ema = {name: value.clone() for name, value in weights_of(model).items()} if choice.ema else {}

    @quick_products()
    def learn(self, batches: Sequence[Batch], step: int, updates: int) -> Update:
        """Step number `step` of the run; `updates` counts the ones that were taken."""
        rate, p = learning_rate(updates, self.choice), forcing(updates, self.choice.teacher_forcing)
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate * group["speed"]
            optimizer.zero_grad()
        self.model.train()
        tokens = sum(places(self.model, batch) for batch in batches)
        read = [self.lesson.disturb(batch, p, Draws(self.seed, step, part)) for part, batch in enumerate(batches)]
        pieces = [piece for batch in read for piece in batch.cut()]
        # What is dropped is a function of (seed, step, piece), so there is no random state to save.
        seeds = keys(self.seed, step, DROPOUT, np.arange(len(pieces))) >> np.uint64(1)
        tasks = [Task(piece, int(seed), tokens) for piece, seed in zip(pieces, seeds, strict=True)]
        loss = self.crew.learn(tasks)
        limit = self.choice.clip or math.inf
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), limit).item()
        taken = math.isfinite(loss) and math.isfinite(norm)
        if taken:
            for optimizer in self.optimizers:
                optimizer.step()
            self._follow(updates)
        else:
            self.lesson.carried = ()  # it may hold what was not finite
        return Update(loss, tokens, norm, norm > limit, rate, p, taken)

    def _follow(self, updates: int) -> None:
        if self.ema:
            # A short memory at first, so that the random start is soon forgotten.
            memory = min(self.choice.ema, (1 + updates) / (10 + updates))
            torch._foreach_lerp_(list(self.ema.values()), list(weights_of(self.model).values()), 1 - memory)

    @contextmanager
    def judged(self) -> Iterator[Model]:
        """The model as it is validated and kept: with the moving average where there is one."""
        trained = {name: value.clone() for name, value in weights_of(self.model).items()} if self.ema else {}
        if self.ema:
            fill(self.model, self.ema)
        try:
            yield self.model.eval()
        finally:
            if trained:
                fill(self.model, trained)

    def tensors(self) -> dict[str, Tensor]:
        """All that a checkpoint holds."""
        tensors = {f"model.{name}": value for name, value in weights_of(self.model).items()}
        tensors |= {f"ema.{name}": value for name, value in self.ema.items()}
        for layer, cell in enumerate(self.lesson.carried):
            tensors |= {f"carried.{layer:03}.{part}": value for part, value in enumerate(cell)}
        for optimizer in self.optimizers:
            for parameter, state in optimizer.state.items():
                tensors |= {f"{_REMEMBERED[part]}{self.names[parameter]}": value for part, value in state.items()}
        return tensors

    def fits(self, tensors: Mapping[str, Tensor]) -> bool:
        """Whether a checkpoint holds this model's weights: another version may have named or cut them otherwise."""
        kept = {name: value.shape for name, value in _below("model.", tensors).items()}
        return kept == {name: value.shape for name, value in weights_of(self.model).items()}

    def restore(self, tensors: Mapping[str, Tensor], updates: int) -> None:
        fill(self.model, _below("model.", tensors))
        ema = _below("ema.", tensors)
        self.ema = {name: ema[name] for name in self.ema}  # in the weights' own order, which `_follow` goes by
        carried: dict[str, list[Tensor]] = {}
        for name, value in sorted(_below("carried.", tensors).items()):
            carried.setdefault(name.partition(".")[0], []).append(value)
        self.lesson.carried = tuple(map(tuple, carried.values()))
        remembered = {part: _below(prefix, tensors) for part, prefix in _REMEMBERED.items()}
        for optimizer in self.optimizers:
            for parameter in [parameter for group in optimizer.param_groups for parameter in group["params"]]:
                name = self.names[parameter]
                kept = {part: values[name] for part, values in remembered.items() if name in values}
                if not kept:
                    continue  # its layer was skipped every time
                if isinstance(optimizer, torch.optim.AdamW):
                    # A layer that was skipped has fewer; checkpoints from before that could happen do not tell.
                    kept.setdefault("step", torch.tensor(float(updates)))
                optimizer.state[parameter] = kept


def _below(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
