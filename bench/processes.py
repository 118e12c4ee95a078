"""What processes that share a step are worth beside torch's threads: `python bench/processes.py`.

A Transformer of width 128 with Muon and R-Drop, as `transformer-best` trains, and an attentive LSTM; the same symbols a
step in one batch and all threads, in one batch and one thread, or in a batch a process.
"""

import argparse
import time
from contextlib import ExitStack
from functools import partial

import torch
from work import VOCABULARY, begin, interleaved, some_batches, tell

from antiphon.build.model import build_model
from antiphon.config.schema import Model, RecurrentDecoder, RecurrentEncoder, Seq2Seq, Train, TransformerStack
from antiphon.data.batch import Batch
from antiphon.training.learner import Learner

STACK = TransformerStack(width=128, layers=4, feedforward=256, positions="rotary", dropout=0.3)
MODELS = {
    "Transformer": (Seq2Seq(encoder=STACK, decoder=STACK, tie="output"), Train(optimizer="muon", r_drop=3.0)),
    "LSTM": (
        Seq2Seq(
            encoder=RecurrentEncoder(width=256, embedding=256, dropout=0.3),
            decoder=RecurrentDecoder(width=256, embedding=256, dropout=0.3),
        ),
        Train(),
    ),
}


class Side:
    """A model that learns steps, with so many threads; its processes live as long as `stack`."""

    def __init__(self, model: Model, choice: Train, processes: int, threads: int, stack: ExitStack) -> None:
        torch.manual_seed(1)
        torch.set_num_threads(threads)
        make = partial(build_model, model, VOCABULARY, VOCABULARY)
        self.threads, self.learner, self.steps = threads, Learner(make(), choice, 1), iter(range(1_000_000))
        stack.enter_context(self.learner.crew.of(processes, make))

    def learn(self, steps: list[list[Batch]]) -> None:
        torch.set_num_threads(self.threads)
        for batches in steps:
            number = next(self.steps)
            self.learner.learn(batches, number, number)


def compare(name: str, symbols: int, processes: int, count: int, rounds: int) -> None:
    model, choice = MODELS[name]
    parts = some_batches(False, count * processes, symbols // processes)
    shared = [parts[first : first + processes] for first in range(0, len(parts), processes)]
    whole = [[batch] for batch in some_batches(False, count, symbols)]
    tokens = {id(steps): sum(batch.target_tokens for step in steps for batch in step) for steps in (shared, whole)}
    with ExitStack() as stack:
        sides = {
            "processes": (Side(model, choice, processes, processes, stack), shared),
            "threads": (Side(model, choice, 1, processes, stack), whole),
            "one thread": (Side(model, choice, 1, 1, stack), whole),
        }
        work = {side: partial(to.learn, steps) for side, (to, steps) in sides.items()}
        print(f"{name}, {symbols:,} symbols a step, {processes} processes or threads:")
        seconds = interleaved(work, rounds, time.perf_counter)
    # A step of two batches has not quite the words of one batch, so seconds are told for equal words.
    equal = tokens[id(shared)] / tokens[id(whole)]
    tell(
        {
            side: taken if side == "processes" else [second * equal for second in taken]
            for side, taken in seconds.items()
        },
        tokens[id(shared)],
        "target tokens/s",
        "processes",
    )


def main() -> None:
    asking = argparse.ArgumentParser(description=__doc__)
    asking.add_argument("--rounds", type=int, default=5)
    asking.add_argument("--steps", type=int, default=6)
    asking.add_argument("--processes", type=int, default=torch.get_num_threads())
    chosen = asking.parse_args()
    begin(argparse.Namespace(rounds=chosen.rounds, cpu_time=False))
    for name in MODELS:
        for symbols in (1024, 2048, 4096):
            compare(name, symbols, chosen.processes, chosen.steps, chosen.rounds)


if __name__ == "__main__":
    main()
