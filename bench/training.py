"""Training throughput against a plain torch.nn.Transformer loop: same ids, batches, threads and work, interleaved."""

import argparse
import os
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch

from antiphon.build.model import build_model
from antiphon.config.schema import Seq2Seq, Train, TransformerStack
from antiphon.data.batch import Batch, make_batch, plan
from antiphon.training.learner import Learner
from plain import PlainLoop

VOCABULARY, TOKENS, DROPOUT = 10_000, 4096, 0.1
SIZES = {
    "small": TransformerStack(width=256, layers=3, heads=4, feedforward=1024),
    "tiny": TransformerStack(width=128, layers=4, heads=4, feedforward=256),
}


def a_model(stack: TransformerStack) -> Seq2Seq:
    """Dropout wherever torch.nn.Transformer has it."""
    places = {"dropout": DROPOUT, "attention_dropout": DROPOUT, "activation_dropout": DROPOUT}
    stack = stack.model_copy(update=places)
    return Seq2Seq(encoder=stack, decoder=stack, tie="output")


def some_batches(mixed: bool, count: int, tokens: int = TOKENS, size: int = VOCABULARY) -> list[Batch]:
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


def operations(batch: Batch, stack: TransformerStack, size: int) -> float:
    """Floating-point operations of the matrix products that real tokens need, forwards and backwards."""
    source, target = int(batch.mask_BS.sum()), batch.target_tokens
    wide, inner = stack.width, stack.feedforward
    attention = 2 * wide * (batch.mask_BS.sum(1).square().sum() + batch.target_mask_BT.sum(1).square().sum()).item()
    cross = 2 * wide * (batch.mask_BS.sum(1) * batch.target_mask_BT.sum(1)).sum().item()
    encoder = stack.layers * source * (4 * wide**2 + 2 * wide * inner)
    decoder = stack.layers * (target * (6 * wide**2 + 2 * wide * inner) + source * 2 * wide**2)
    return 6.0 * (encoder + decoder + stack.layers * (attention + cross) + target * wide * size)


def peak(seconds: float = 1.0) -> float:
    """The machine's best matrix product just now, operations a second."""
    a, b, best = torch.randn(2048, 2048), torch.randn(2048, 2048), float("inf")
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        started = time.perf_counter()
        torch.mm(a, b)
        best = min(best, time.perf_counter() - started)
    return 2 * 2048**3 / best


def timed(learn: Callable[[Batch], object], batches: list[Batch]) -> float:
    started = time.perf_counter()
    for batch in batches:
        learn(batch)
    return time.perf_counter() - started


def compare(name: str, mixed: bool, rounds: int, count: int) -> None:
    stack, model = SIZES[name], a_model(SIZES[name])
    batches = some_batches(mixed, count)
    plain = PlainLoop(model, VOCABULARY, 64)
    torch.manual_seed(1)
    ours = Learner(build_model(model, VOCABULARY, VOCABULARY), Train(weight_decay=0.01), 1)
    step = iter(range(1_000_000))

    def learn(batch: Batch) -> object:
        number = next(step)
        return ours.learn([batch], number, number)

    timed(plain.learn, batches[:2])
    timed(learn, batches[:2])
    tokens = sum(batch.target_tokens for batch in batches)
    work = sum(operations(batch, stack, VOCABULARY) for batch in batches)
    ratios, speeds, shares = [], [], []
    for _ in range(rounds):
        theirs = timed(plain.learn, batches)
        own = timed(learn, batches)
        ratios.append(theirs / own)
        speeds.append(tokens / own)
        shares.append(work / own / peak())
    padding = 1 - tokens / sum(batch.target_mask_BT.numel() for batch in batches)
    print(
        f"{name:<6} {'mixed' if mixed else 'bucketed':<9} {statistics.median(ratios):5.2f}x "
        f"({min(ratios):.2f} to {max(ratios):.2f})  {statistics.median(speeds):8,.0f} target tokens/s  "
        f"{statistics.median(shares):.2f} of the matrix-product peak  ({padding:.0%} padding)",
        flush=True,
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--batches", type=int, default=6)
    options.add_argument("--only", choices=[*SIZES], default=None)
    chosen = options.parse_args()
    load = os.getloadavg()[0]
    print(
        f"torch {torch.__version__}, {torch.get_num_threads()} threads, load {load:.2f}, "
        f"matrix-product peak {peak() / 1e9:,.0f} GFLOP/s"
    )
    print("times a plain torch.nn.Transformer loop, median (lowest to highest) of interleaved rounds:")
    for name in [chosen.only] if chosen.only else SIZES:
        for mixed in (False, True):
            compare(name, mixed, chosen.rounds, chosen.batches)


if __name__ == "__main__":
    main()
