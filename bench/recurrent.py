"""The attentive LSTM against Joey NMT's and OpenNMT-py's modules: training and beam search, equal work, interleaved.

Two-directional encoder of 256, decoder of 512, input feeding, 10,000 words. The peers need an environment of their own,
which `make bench-peers` makes; one that is not installed is left out. They feed back what the read-out made of state
and context, ours feeds back the context, so that its read-out is one product for all places.
"""

from collections.abc import Callable

from peers import Score, Sizes, installed
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

from antiphon.config.schema import AdditiveAttention, BilinearAttention, RecurrentDecoder, RecurrentEncoder, Seq2Seq
from antiphon.data.batch import Batch

TOKENS, WORDS = 2048, 15  # target tokens a training batch; words of every answer
SIZES = Sizes()


def a_model(score: Score) -> Seq2Seq:
    encoder = RecurrentEncoder(
        kind="recurrent", cell="lstm", width=SIZES.encoder, embedding=SIZES.embedding, directions=2,
        dropout=SIZES.dropout,
    )  # fmt: skip
    attention = AdditiveAttention(kind="additive", width=SIZES.decoder) if score == "additive" else BilinearAttention()
    decoder = RecurrentDecoder(
        kind="recurrent", cell="lstm", width=SIZES.decoder, embedding=SIZES.embedding, input_feeding=True,
        attention=attention, dropout=SIZES.dropout,
    )  # fmt: skip
    return Seq2Seq(encoder=encoder, decoder=decoder)


def operations(batch: Batch, score: Score) -> float:
    """Floating-point operations of the matrix products that our model needs for real tokens, forwards and backwards."""
    source, target = int(batch.mask_BS.sum()), batch.target_tokens
    one, two, word = SIZES.encoder, SIZES.decoder, SIZES.embedding
    memory = 2 * one
    encoder = 2 * source * 4 * one * (word + one)
    decoder = target * (4 * two * (word + memory + two) + (two + memory) * two + two * VOCABULARY)
    attention = source * memory * two + (target * two * two if score == "additive" else 0)
    meetings = (batch.mask_BS.sum(1) * batch.target_mask_BT.sum(1)).sum().item() * (two + memory)
    return 6.0 * (encoder + decoder + attention + meetings)


def compare_training(score: Score, rounds: int, clock: Callable[[], float]) -> None:
    given = in_rounds(some_batches(mixed=False, count=4 * (rounds + 1), tokens=TOKENS), 4)
    sides = {"antiphon": Ours(a_model(score)), **installed(SIZES, score)}
    time_training(score, sides, given, lambda batch: operations(batch, score), clock)


def compare_search(score: Score, rows: int, rounds: int, clock: Callable[[], float]) -> None:
    given = some_sources(rows, rounds * (1 if rows > 1 else 5) + 1)
    sides = {"antiphon": Ours(a_model(score)), "with int8": Ours(a_model(score), int8=True), **installed(SIZES, score)}
    time_search(score, sides, given, WORDS, clock, bases=("antiphon", "with int8"))


def main() -> None:
    asking = options(__doc__)
    asking.add_argument("--score", choices=["additive", "bilinear"], action="append")
    chosen = asking.parse_args()
    clock = begin(chosen.rounds, chosen.mkl, chosen.cpu_time)
    for score in chosen.score or ("additive", "bilinear"):
        if chosen.only != "search":
            compare_training(score, chosen.rounds, clock)
        if chosen.only != "training":
            for rows in (ROWS, 1):
                compare_search(score, rows, chosen.rounds, clock)


if __name__ == "__main__":
    main()
