"""What a classifier and a tagger share: how much they read, in which batches, and what they say of one.

N texts · Y labels · P places that have one
"""

import sys
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from torch import Tensor

from antiphon.config.schema import Run, Search, seats
from antiphon.data.batch import Batch, load_batch, make_batch, plan_in_order
from antiphon.data.store import PairStore
from antiphon.layers.products import inference
from antiphon.models.model import Labeller
from antiphon.reader import refuse_longer

BATCH_TOKENS = 8192  # source symbols read at once; the answers do not depend on it


def in_batches(
    rows: Sequence[tuple[Sequence[int], Sequence[int]]], batch_tokens: int, tell: Callable[[int], None] | None
) -> Iterator[tuple[list[int], Batch]]:
    """The rows that are not empty, in batches, each with its rows' numbers; `tell` hears how many are done."""
    asked = [n for n, (symbols, _) in enumerate(rows) if symbols]
    lengths_N2 = np.array([[len(rows[n][0]), 0] for n in asked], dtype=np.int32).reshape(-1, 2)
    done = len(rows) - len(asked)
    for indices in plan_in_order(lengths_N2, batch_tokens):
        numbers = [asked[i] for i in indices]
        yield numbers, make_batch([rows[n][0] for n in numbers], [rows[n][1] for n in numbers], ended=False)
        done += len(numbers)
        if tell:
            tell(done)


def judged(store: PairStore, batch_tokens: int) -> Iterator[Batch]:
    for indices in plan_in_order(store.lengths, batch_tokens):
        yield load_batch(store, indices, ended=False)


def speak(model: Labeller, batch: Batch) -> Tensor:
    """The logits of every label, P x Y."""
    model.eval()
    with inference():
        return model.head(model(batch)).float()


def longest_text(run: Run, search: Search) -> int:
    """The most symbols that the model reads of a text."""
    longest = search.max_source
    for half in run.model.halves.values():
        seated = seats(half)
        longest = longest if seated is None else min(longest, seated - 1 - run.model.places_added)
    return longest


def refuse_too_long(run: Run, encoded: Sequence[Sequence[int]], search: Search, places: Sequence[str]) -> None:
    """`places` names each text, as file:line."""
    refuse_longer(encoded, places, longest_text(run, search), search)


def once_more(run: Run) -> Search:
    """For texts that have been answered already, and so are short enough, whatever limit they were answered with."""
    return run.search.model_copy(update={"max_source": sys.maxsize})
