"""What every bench here does: batches of random ids, our side of the work, turns taken in one run, and the ratios."""

import argparse
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor

from antiphon.build.model import build_model
from antiphon.config.schema import Seq2Seq, Train
from antiphon.data.batch import Batch, make_batch, make_sources, plan
from antiphon.data.vocab import END, PAD, START, UNKNOWN
from antiphon.layers import products
from antiphon.layers.once import once
from antiphon.layers.products import are_large, inference, quick_products
from antiphon.predict.quantize import quantize
from antiphon.search.beam import FREE, Beam, Guide, beam_search
from antiphon.search.demands import Demand, Demands
from antiphon.search.step import State
from antiphon.training.learner import Learner

MARKS = (PAD, START, END, UNKNOWN)
VOCABULARY, BEAM, SMOOTHING, ROWS = 10_000, 5, 0.1, 32  # ROWS sentences are searched at once

Given = TypeVar("Given")


class Learning(Protocol):
    def learn(self, batch: Batch) -> object: ...


class Peer(Learning, Protocol):
    """A toolkit that can do the work which is timed."""

    def write(self, sources: list[list[int]], length: int) -> object:
        """Beam search over answers of exactly `length` words, so that all do equal work."""
        ...


class Ours:
    """Antiphon's side: it learns a batch, and answers with words of a given number, so that all sides do equal work."""

    def __init__(self, choice: Seq2Seq, int8: bool = False, phrases: int = 0, size: int = VOCABULARY) -> None:
        torch.manual_seed(1)
        self.phrases = phrases  # that every answer must contain, of two words each
        self.model, self.steps = build_model(choice, size, size), iter(range(1_000_000))
        self.learner = Learner(self.model, Train(label_smoothing=SMOOTHING, clip=1.0, weight_decay=0.01), 1)
        if int8:
            quantize(self.model)

    def learn(self, batch: Batch) -> object:
        number = next(self.steps)
        return self.learner.learn([batch], number, number)

    def write(self, sources: list[list[int]], length: int) -> object:
        self.model.eval()
        with inference(are_large(self.model, len(sources) * BEAM)), once():
            state = self.model.start(*make_sources(sources))
            limits, options = [length] * len(sources), Beam(BEAM, 1, 1.0)
            return beam_search(self, state, limits, options, START, END, MARKS, guide=self._guide(len(sources)))

    def step(self, words_N: Tensor, state: State) -> tuple[Tensor, State]:
        """The model's own, but that no answer ends."""
        log_probabilities_NV, state = self.model.step(words_N, state)
        log_probabilities_NV[:, END] = float("-inf")
        return log_probabilities_NV, state

    def _guide(self, rows: int) -> Guide:
        draw = np.random.default_rng(1)
        said = draw.integers(len(MARKS), VOCABULARY, (rows, self.phrases, 1, 2)).tolist()
        return (
            Guide(demands=Demands([Demand(phrases, None, START, END, MARKS) for phrases in said], END))
            if self.phrases
            else FREE
        )


def some_batches(mixed: bool, count: int, tokens: int, size: int = VOCABULARY) -> list[Batch]:
    """Random ids with lengths of about 14 +- 5, in buckets of like length or in no order."""
    draw = np.random.default_rng(1)
    pairs = 30_000
    lengths = np.clip(draw.normal(14, 5, (pairs, 2)).round(), 3, 40).astype(np.int32)
    lengths[:, 1] = np.clip(lengths[:, 0] + draw.normal(0, 1.5, pairs).round(), 3, 40)
    if mixed:
        rows = tokens // 15
        planned = [np.arange(start, start + rows) for start in range(0, rows * count, rows)]
    else:
        planned = plan(lengths, int(tokens * 1.03), 1, 0)[:count]
    return [
        make_batch(*([draw.integers(4, size, lengths[i, side]) for i in indices] for side in (0, 1)))
        for indices in planned
    ]


def some_sources(rows: int, count: int) -> list[list[list[int]]]:
    """`count` times as many sources as there are rows."""
    given = []
    for batch in some_batches(mixed=True, count=count, tokens=ROWS * 15):
        lengths = batch.mask_BS.sum(1).tolist()
        words = zip(batch.source_BS.tolist(), lengths, strict=True)
        given.append([source[: length - 1] for source, length in words][:rows])
    return given


def peak(seconds: float = 1.0) -> float:
    """The machine's best matrix product just now, operations a second."""
    a, b, best = torch.randn(2048, 2048), torch.randn(2048, 2048), float("inf")
    end = time.perf_counter() + seconds
    with quick_products():
        while time.perf_counter() < end:
            started = time.perf_counter()
            torch.mm(a, b)
            best = min(best, time.perf_counter() - started)
    return 2 * 2048**3 / best


def interleaved(
    work: dict[str, Callable[[Given], object]], given: Sequence[Given], clock: Callable[[], float]
) -> dict[str, list[float]]:
    """Seconds of each, round by round, and in each round something of new shapes; the first round warms up."""
    seconds: dict[str, list[float]] = {name: [] for name in work}
    for number, share in enumerate(given):
        for name, do in work.items():
            started = clock()
            do(share)
            if number:
                seconds[name].append(clock() - started)
    return seconds


def in_rounds(batches: Sequence[Batch], count: int) -> list[Sequence[Batch]]:
    return [batches[start : start + count] for start in range(0, len(batches), count)]


def share_of_peak(
    operations: Callable[[Batch], float], given: Sequence[Sequence[Batch]], seconds: list[float]
) -> float:
    """Of the machine's best matrix product, what learning these batches reached in the median round."""
    needed = [sum(map(operations, batches)) for batches in given[1:]]
    return statistics.median(each / taken for each, taken in zip(needed, seconds, strict=True)) / peak()


def target_tokens(given: Sequence[Sequence[Batch]]) -> list[int]:
    """Of every round but the first."""
    return [sum(batch.target_tokens for batch in batches) for batches in given[1:]]


def tell(seconds: dict[str, list[float]], amounts: Sequence[float], unit: str, base: str = "antiphon") -> None:
    """How fast each is, and how many times as fast `base` is, round by round."""
    for name, taken in seconds.items():
        speed = statistics.median(amount / each for amount, each in zip(amounts, taken, strict=True))
        ratios = [other / own for other, own in zip(taken, seconds[base], strict=True)]
        times = f"{statistics.median(ratios):6.2f}x ({min(ratios):.2f} to {max(ratios):.2f})"
        told = "" if name == base else f"   {base} is {times} as fast"
        print(f"  {name:<12} {speed:10,.0f} {unit}{told}", flush=True)


def time_training(
    what: str,
    sides: Mapping[str, Learning],
    given: Sequence[Sequence[Batch]],
    operations: Callable[[Batch], float],
    clock: Callable[[], float],
) -> None:
    work = {name: lambda batches, side=side: [side.learn(batch) for batch in batches] for name, side in sides.items()}
    seconds = interleaved(work, given, clock)
    share = share_of_peak(operations, given, seconds["antiphon"])
    print(f"training, {what}: antiphon at {share:.2f} of the matrix-product peak")
    tell(seconds, target_tokens(given), "target tokens/s")


def time_search(
    what: str,
    sides: Mapping[str, Peer],
    given: Sequence[list[list[int]]],
    words: int,
    clock: Callable[[], float],
    bases: Sequence[str] = ("antiphon",),
) -> None:
    """Answers of so many words each, and how many times as fast each of the `bases` is."""
    rows = len(given[0])
    print(f"beam {BEAM}, {rows} sentences at once, {what}:")
    seconds = interleaved({name: partial(side.write, length=words) for name, side in sides.items()}, given, clock)
    for base in bases:
        tell(seconds, [rows] * (len(given) - 1), "sentences/s", base)


def options(about: str | None) -> argparse.ArgumentParser:
    """What every comparison can be asked for."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=["training", "search"])
    parser.add_argument("--mkl", action="store_true", help="leave our products to MKL, as the others do")
    parser.add_argument("--cpu-time", action="store_true", help="for one thread on a machine that is not idle")
    return parser


def begin(rounds: int, mkl: bool = False, cpu_time: bool = False) -> Callable[[], float]:
    """Tell of the machine; the clock that the work is timed by."""
    if mkl:
        products.onednn_is_quicker = lambda: False
    library = "oneDNN" if products.onednn_is_quicker() else "MKL"
    print(
        f"torch {torch.__version__}, {torch.get_num_threads()} threads, load {os.getloadavg()[0]:.2f}, products by "
        f"{library}, their peak {peak() / 1e9:,.0f} GFLOP/s; median (lowest to highest) of {rounds} rounds"
    )
    return time.process_time if cpu_time else time.perf_counter
