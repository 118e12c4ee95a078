"""The attentive LSTM against Joey NMT's and OpenNMT-py's modules: training and beam search, equal work, interleaved.

Two-directional encoder of 256, decoder of 512, input feeding, 10,000 words. The peers need an environment of their own,
which `make bench-peers` makes; one that is not installed is left out. They feed back what the read-out made of state
and context, ours feeds back the context, so that its read-out is one product for all places.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable

import torch
from peers import BEAM, SMOOTHING, Score, Sizes, installed
from torch.nn.utils.parametrize import cached

from antiphon.build.model import build_model
from antiphon.config.schema import (
    AdditiveAttention,
    BilinearAttention,
    RecurrentDecoder,
    RecurrentEncoder,
    Seq2Seq,
    Train,
)
from antiphon.data.batch import Batch, make_sources
from antiphon.data.vocab import END, PAD, START, UNKNOWN
from antiphon.models import Seq2Seq as Model
from antiphon.predict.quantize import quantize
from antiphon.search.beam import Beam, beam_search
from antiphon.training.learner import Learner
from training import peak, some_batches

TOKENS, WORDS, ROWS = 2048, 15, 32  # target tokens a training batch; words of every answer; sentences searched at once
SIZES = Sizes()


def a_model(score: Score) -> Model:
    encoder = RecurrentEncoder(
        kind="recurrent", cell="lstm", width=SIZES.encoder, embedding=SIZES.embedding, directions=2,
        dropout=SIZES.dropout,
    )  # fmt: skip
    attention = AdditiveAttention(kind="additive", width=SIZES.decoder) if score == "additive" else BilinearAttention()
    decoder = RecurrentDecoder(
        kind="recurrent", cell="lstm", width=SIZES.decoder, embedding=SIZES.embedding, input_feeding=True,
        attention=attention, dropout=SIZES.dropout,
    )  # fmt: skip
    torch.manual_seed(1)
    return build_model(Seq2Seq(encoder=encoder, decoder=decoder), SIZES.vocabulary, SIZES.vocabulary)


class Ours:
    def __init__(self, model: Model, int8: bool = False) -> None:
        self.model, self.steps = model, iter(range(1_000_000))
        self.learner = Learner(model, Train(label_smoothing=SMOOTHING, clip=1.0, weight_decay=0.01), 1)
        if int8:
            quantize(model)

    def learn(self, batch: Batch) -> object:
        number = next(self.steps)
        return self.learner.learn([batch], number, number)

    def write(self, sources: list[list[int]], length: int) -> object:
        self.model.eval()
        with torch.inference_mode(), cached():
            state = self.model.start(*make_sources(sources))
            beam = Beam(BEAM, 1, 1.0)
            return beam_search(self.model, state, [length] * len(sources), beam, START, END, [PAD, START, UNKNOWN, END])


def operations(batch: Batch, score: Score) -> float:
    """Floating-point operations of the matrix products that our model needs for real tokens, forwards and backwards."""
    source, target = int(batch.mask_BS.sum()), batch.target_tokens
    one, two, word = SIZES.encoder, SIZES.decoder, SIZES.embedding
    memory = 2 * one
    encoder = 2 * source * 4 * one * (word + one)
    decoder = target * (4 * two * (word + memory + two) + (two + memory) * two + two * SIZES.vocabulary)
    attention = source * memory * two + (target * two * two if score == "additive" else 0)
    meetings = (batch.mask_BS.sum(1) * batch.target_mask_BT.sum(1)).sum().item() * (two + memory)
    return 6.0 * (encoder + decoder + attention + meetings)


def interleaved(
    work: dict[str, Callable[[], object]], rounds: int, clock: Callable[[], float]
) -> dict[str, list[float]]:
    """Seconds of each, round by round; the first round warms up."""
    seconds: dict[str, list[float]] = {name: [] for name in work}
    for number in range(rounds + 1):
        for name, do in work.items():
            started = clock()
            do()
            if number:
                seconds[name].append(clock() - started)
    return seconds


def tell(seconds: dict[str, list[float]], amount: float, unit: str, base: str) -> None:
    """How fast each is, and how many times as fast `base` is, round by round."""
    for name, taken in seconds.items():
        speed = f"{amount / statistics.median(taken):10,.0f} {unit}"
        ratios = [other / own for other, own in zip(taken, seconds[base], strict=True)]
        times = f"{statistics.median(ratios):6.2f}x ({min(ratios):.2f} to {max(ratios):.2f})"
        print(f"  {name:<12} {speed}" + ("" if name == base else f"   {base} is {times} as fast"), flush=True)


def compare_training(score: Score, rounds: int, clock: Callable[[], float]) -> None:
    batches = some_batches(mixed=False, count=4, tokens=TOKENS, size=SIZES.vocabulary)
    sides = {"antiphon": Ours(a_model(score)), **installed(SIZES, score)}
    work = {name: lambda side=side: [side.learn(batch) for batch in batches] for name, side in sides.items()}
    seconds = interleaved(work, rounds, clock)
    share = sum(operations(batch, score) for batch in batches) / statistics.median(seconds["antiphon"]) / peak()
    print(f"training, {score}: antiphon at {share:.2f} of the matrix-product peak")
    tell(seconds, sum(batch.target_tokens for batch in batches), "target tokens/s", "antiphon")


def compare_search(score: Score, rows: int, rounds: int, clock: Callable[[], float]) -> None:
    (batch, *_) = some_batches(mixed=True, count=1, tokens=ROWS * 15, size=SIZES.vocabulary)
    lengths = batch.mask_BS.sum(1).tolist()
    sources = [words[: length - 1] for words, length in zip(batch.source_BS.tolist(), lengths, strict=True)][:rows]
    sides = {"antiphon": Ours(a_model(score)), "with int8": Ours(a_model(score), int8=True), **installed(SIZES, score)}
    work = {name: lambda side=side: side.write(sources, WORDS) for name, side in sides.items()}
    print(f"beam {BEAM}, {rows} sentences at once, {score}:")
    seconds = interleaved(work, rounds * (1 if rows > 1 else 5), clock)
    for base in ("antiphon", "with int8"):
        tell(seconds, rows, "sentences/s", base)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--score", choices=["additive", "bilinear"], action="append")
    options.add_argument("--only", choices=["training", "search"])
    options.add_argument("--cpu-time", action="store_true", help="for one thread on a machine that is not idle")
    chosen = options.parse_args()
    clock = time.process_time if chosen.cpu_time else time.perf_counter
    print(
        f"torch {torch.__version__}, {torch.get_num_threads()} threads, load {os.getloadavg()[0]:.2f}, "
        f"matrix-product peak {peak() / 1e9:,.0f} GFLOP/s; median (lowest to highest) of {chosen.rounds} rounds"
    )
    for score in chosen.score or ("additive", "bilinear"):
        if chosen.only != "search":
            compare_training(score, chosen.rounds, clock)
        if chosen.only != "training":
            for rows in (ROWS, 1):
                compare_search(score, rows, chosen.rounds, clock)


if __name__ == "__main__":
    main()
