"""Transformers against torch.nn.Transformer and the modules of other toolkits: training and beam search, equal work.

Same ids, batches, threads, dropout places, smoothing, tying, clipping and optimiser, interleaved in one run. A toolkit
that is not installed is left out; `make bench-peers` makes an environment with all of them.
"""

from collections.abc import Callable

from peer_transformers import installed
from work import (
    ROWS,
    VOCABULARY,
    Ours,
    begin,
    in_rounds,
    options,
    some_batches,
    some_sources,
    time_search,
    time_training,
)

from antiphon.config.schema import Seq2Seq, TransformerStack
from antiphon.data.batch import Batch
from plain import PlainLoop

TOKENS, WORDS, DROPOUT = 4096, 20, 0.1
SIZES = {
    "small": TransformerStack(width=256, layers=3, heads=4, feedforward=1024),
    "tiny": TransformerStack(width=128, layers=4, heads=4, feedforward=256),
}


def a_model(stack: TransformerStack) -> Seq2Seq:
    """Dropout wherever torch.nn.Transformer has it."""
    places = {"dropout": DROPOUT, "attention_dropout": DROPOUT, "activation_dropout": DROPOUT}
    stack = stack.model_copy(update=places)
    return Seq2Seq(encoder=stack, decoder=stack, tie="output")


def operations(batch: Batch, stack: TransformerStack) -> float:
    """Floating-point operations of the matrix products that real tokens need, forwards and backwards."""
    source, target = int(batch.mask_BS.sum()), batch.target_tokens
    wide, inner = stack.width, stack.feedforward
    attention = 2 * wide * (batch.mask_BS.sum(1).square().sum() + batch.target_mask_BT.sum(1).square().sum()).item()
    cross = 2 * wide * (batch.mask_BS.sum(1) * batch.target_mask_BT.sum(1)).sum().item()
    encoder = stack.layers * source * (4 * wide**2 + 2 * wide * inner)
    decoder = stack.layers * (target * (6 * wide**2 + 2 * wide * inner) + source * 2 * wide**2)
    return 6.0 * (encoder + decoder + stack.layers * (attention + cross) + target * wide * VOCABULARY)


def compare_training(name: str, mixed: bool, rounds: int, count: int, clock: Callable[[], float]) -> None:
    model = a_model(SIZES[name])
    stack, given = SIZES[name], in_rounds(some_batches(mixed, count * (rounds + 1), TOKENS), count)
    sides = {"antiphon": Ours(model), "torch.nn": PlainLoop(model, VOCABULARY, 64), **installed(model.encoder)}
    every = [batch for batches in given for batch in batches]
    padding = 1 - sum(batch.target_tokens for batch in every) / sum(batch.target_mask_BT.numel() for batch in every)
    what = f"{name}, {'mixed' if mixed else 'bucketed'} ({padding:.0%} padding)"
    time_training(what, sides, given, lambda batch: operations(batch, stack), clock)


def compare_search(name: str, rounds: int, clock: Callable[[], float]) -> None:
    model = a_model(SIZES[name])
    sides = {"antiphon": Ours(model), "two phrases": Ours(model, phrases=2)}
    sides |= installed(model.encoder)
    able = {side: to for side, to in sides.items() if hasattr(to, "write")}
    time_search(f"{WORDS} words each, {name}", able, some_sources(ROWS, rounds + 1), WORDS, clock)


def main() -> None:
    asking = options(__doc__)
    asking.add_argument("--batches", type=int, default=6)
    asking.add_argument("--size", choices=[*SIZES], action="append")
    chosen = asking.parse_args()
    clock = begin(chosen.rounds, chosen.mkl, chosen.cpu_time)
    for name in chosen.size or SIZES:
        if chosen.only != "search":
            for mixed in (False, True):
                compare_training(name, mixed, chosen.rounds, chosen.batches, clock)
        if chosen.only != "training":
            compare_search(name, chosen.rounds, clock)


if __name__ == "__main__":
    main()
