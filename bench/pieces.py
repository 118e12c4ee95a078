"""What it is worth that threads share the pieces of a batch, beside torch's own threads: `python bench/pieces.py`.

A Transformer of width 128 with Muon and R-Drop, as `transformer-best` trains, and an attentive LSTM: the same batches
in pieces, uncut with all threads, and uncut with one. `--beside 1` lets another process compute at the same time.
"""

import argparse
import multiprocessing
import sys
import time
from collections.abc import Sequence

import torch
from work import VOCABULARY, begin, in_rounds, interleaved, some_batches, target_tokens, tell

import antiphon.data.batch
from antiphon.build.model import build_model
from antiphon.config.schema import Model, RecurrentDecoder, RecurrentEncoder, Seq2Seq, Train, TransformerStack
from antiphon.data.batch import PIECE, Batch
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
    """A model that learns batches, in pieces of so many symbols, with so many threads."""

    def __init__(self, model: Model, choice: Train, piece: int, threads: int) -> None:
        torch.manual_seed(1)
        self.piece, self.threads, self.steps = piece, threads, iter(range(1_000_000))
        self.learner = Learner(build_model(model, VOCABULARY, VOCABULARY), choice, 1)

    def learn(self, batches: Sequence[Batch]) -> None:
        antiphon.data.batch.PIECE = self.piece
        torch.set_num_threads(self.threads)
        for batch in batches:
            number = next(self.steps)
            self.learner.learn([batch], number, number)


def compare(name: str, symbols: int, threads: int, count: int, rounds: int) -> None:
    given = in_rounds(some_batches(False, count * (rounds + 1), symbols), count)
    chosen = {"pieces": (PIECE, threads), "uncut": (sys.maxsize, threads), "one thread": (sys.maxsize, 1)}
    work = {side: Side(*MODELS[name], *of).learn for side, of in chosen.items()}
    print(f"{name}, batches of {symbols:,} symbols, {threads} threads:")
    tell(interleaved(work, given, time.perf_counter), target_tokens(given), "target tokens/s", "pieces")


def compute_without_end() -> None:
    torch.set_num_threads(1)
    a = torch.randn(512, 512)
    while True:
        torch.mm(a, a)


def main() -> None:
    asking = argparse.ArgumentParser(description=__doc__)
    asking.add_argument("--rounds", type=int, default=5)
    asking.add_argument("--batches", type=int, default=6)
    asking.add_argument("--threads", type=int, default=torch.get_num_threads())
    asking.add_argument("--only", choices=[*MODELS])
    asking.add_argument("--beside", type=int, default=0, help="other processes that compute")
    chosen = asking.parse_args()
    begin(chosen.rounds)
    others = [multiprocessing.Process(target=compute_without_end, daemon=True) for _ in range(chosen.beside)]
    for other in others:
        other.start()
    for name in [chosen.only] if chosen.only else MODELS:
        for symbols in (2048, 4096):
            compare(name, symbols, chosen.threads, chosen.batches, chosen.rounds)


if __name__ == "__main__":
    main()
