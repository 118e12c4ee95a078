"""`antiphon check`: what a run would be, before it is one."""

import resource
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

from antiphon.build.model import build_model
from antiphon.commands.lines import say, say_json
from antiphon.config.schema import Run
from antiphon.config.toml import dump_run
from antiphon.data.prepare import Prepared, prepare
from antiphon.store import weights_of
from antiphon.training.batches import batches_of
from antiphon.training.learner import Learner
from antiphon.training.log import duration
from antiphon.training.loop import resolve
from antiphon.training.objective import label_weights
from antiphon.training.starting import given_tokenizers

_TIMED = 5  # real steps, after one to warm up


@dataclass(frozen=True)
class Estimate:
    """What a few real steps say of the whole run."""

    parameters: int
    steps: int  # the run's, by the first of its limits in steps and epochs
    seconds_a_step: float
    tokens_a_second: float
    megabytes: float  # of memory, with the largest batch

    @property
    def seconds(self) -> float:
        return self.steps * self.seconds_a_step


def run_check(run: Run, as_json: bool) -> None:
    with tempfile.TemporaryDirectory() as place:
        tell = say if sys.stderr.isatty() else lambda phrase: None
        prepared = prepare(run.data, Path(place), tell, run.rows, given_tokenizers(run, None))
        run = resolve(run, prepared)
        found = estimate(run, prepared)
    minutes = min(found.seconds / 60, run.train.max_minutes or float("inf"))
    if as_json:
        say_json(
            {
                "config": run.model_dump(),
                "data": prepared.report.to_dict(),
                "parameters": found.parameters,
                "steps": found.steps,
                "tokens_per_second": round(found.tokens_a_second),
                "minutes": round(minutes, 2),
                "megabytes": round(found.megabytes),
            }
        )
        return
    print(dump_run(run))
    for line in prepared.report.lines():
        print(line)
    print(f"Model: {found.parameters:,} parameters ({4 * found.parameters / 1e6:,.1f} MB of weights)")
    print(
        f"Time: about {duration(60 * minutes)}, {found.steps:,} steps at {found.tokens_a_second:,.0f} target tokens/s; "
        "validations are not counted, and early stopping may end it sooner"
    )
    print(f"Memory: about {found.megabytes:,.0f} MB")


def estimate(run: Run, prepared: Prepared) -> Estimate:
    """Train a scratch model for a few batches of this run's own data: the first ones, and the largest."""
    model = build_model(run.model, prepared.source.size, prepared.target.size)
    learner = Learner(model, run.train, run.seed, label_weights(run, prepared.train, prepared.target.size))
    batches = batches_of(run, prepared)
    planned = batches.plan(0)
    largest, following = max(planned, key=batches.size), cycle(planned)
    steps = [[chosen for _, chosen in zip(range(run.train.accumulate), following, strict=False)] for _ in range(_TIMED)]
    seconds, tokens = [], []
    for number, chosen in enumerate([[largest] * run.train.accumulate, *steps]):
        group = [batches.load(one, 0) for one in chosen]
        started = time.perf_counter()
        update = learner.learn(group, number, number)
        seconds.append(time.perf_counter() - started)
        tokens.append(update.tokens)
    a_step = statistics.median(seconds[1:])
    steps_an_epoch = max(len(planned) // run.train.accumulate, 1)
    limits = [run.train.max_steps, run.train.max_epochs * steps_an_epoch]
    if run.train.max_minutes:
        limits.append(int(run.train.max_minutes * 60 / a_step))
    return Estimate(
        parameters=sum(value.numel() for value in weights_of(model).values()),
        steps=min(limit for limit in limits if limit),
        seconds_a_step=a_step,
        tokens_a_second=sum(tokens[1:]) / sum(seconds[1:]),
        megabytes=_peak_megabytes(),
    )


def _peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1024)
