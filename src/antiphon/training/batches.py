"""The batches of a run, without end, from any place: their order is a pure function of (seed, epoch).

N pairs · V words
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from antiphon.config.schema import Masked, Run, Subwords
from antiphon.data.batch import Batch, Indices, joined_lengths, load_batch, plan
from antiphon.data.masking import Masking
from antiphon.data.prepare import Prepared
from antiphon.data.rows import is_written
from antiphon.data.running import RunningText, Windows, load_windows, plan_tracks, plan_windows
from antiphon.data.stretches import Stretches, stretches
from antiphon.data.tokenize import Choice, Tokenizer
from antiphon.data.unmerge import Unmerging
from antiphon.training.checkpoint import Progress


class Batches(Protocol):
    """What an epoch consists of, and how each part of its plan becomes a batch."""

    def plan(self, epoch: int) -> Sequence[Any]: ...

    def load(self, planned: Any, epoch: int) -> Batch: ...

    def size(self, planned: Any) -> int:
        """Symbols on its longer side, padding included."""
        ...


def batches_of(run: Run, prepared: Prepared) -> Batches:
    if isinstance(run.model, Masked):
        return MaskedBatches(run, run.model, prepared)
    return WindowBatches(run, RunningText(prepared.train)) if run.rows == "running" else PairBatches(run, prepared)


def batches_from(run: Run, prepared: Prepared, progress: Progress) -> Iterator[tuple[Batch, int, int, int]]:
    """Batches without end, from where the run stands, each with epoch and index of the next, and an epoch's count."""
    epoch, index, batches = progress.epoch, progress.index, batches_of(run, prepared)
    while True:
        planned = batches.plan(epoch)
        for place in range(index, len(planned)):
            last = place + 1 == len(planned)
            yield batches.load(planned[place], epoch), epoch + last, 0 if last else place + 1, len(planned)
        epoch, index = epoch + 1, 0


class PairBatches:
    """Pairs of similar length, spelt anew in every epoch where subwords are dropped; or texts, with new holes."""

    def __init__(self, run: Run, prepared: Prepared) -> None:
        self.run, self.store = run, prepared.train
        self.lengths_N2 = joined_lengths(self.store.lengths) if run.joins else self.store.lengths
        longest = run.data.max_length
        self.denoise = run.data.denoise if run.data.denoise.on else None
        own = run.has_source and self.denoise is None  # a source that is no copy of its target
        self.source = _unmerging(prepared.source, run.data.source.tokenizer, longest) if own else None
        self.target = _unmerging(prepared.target, run.data.target_tokenizer, longest)

    def plan(self, epoch: int) -> list[Indices]:
        return plan(self.lengths_N2, self.run.train.batch_tokens, self.run.seed, epoch)

    def load(self, planned: Indices, epoch: int) -> Batch:
        ended = is_written(self.run.rows)
        return load_batch(self.store, planned, self.run.seed, epoch, self.source, self.target, ended, self.denoise)

    def size(self, planned: Indices) -> int:
        return len(planned) * int(self.lengths_N2[planned].max())


@dataclass(frozen=True)
class WindowBatches:
    """Windows of a running text: anywhere for a Transformer, one after the other for a state that is carried along."""

    run: Run
    text: RunningText

    def plan(self, epoch: int) -> list[Windows]:
        window, budget = self.run.data.window, self.run.train.batch_tokens
        if self.run.carries_state:
            return plan_tracks(len(self.text), window, budget)
        return plan_windows(len(self.text), window, budget, self.run.seed, epoch)

    def load(self, planned: Windows, epoch: int) -> Batch:
        return load_windows(self.text, planned)[0]

    def size(self, planned: Windows) -> int:
        return planned.size


class MaskedBatches:
    """Texts of similar length with hidden words; the texts are cut and the words drawn anew in every epoch."""

    def __init__(self, run: Run, choice: Masked, prepared: Prepared) -> None:
        self.run, self.choice, self.store = run, choice, prepared.train
        self.masking = Masking.of(choice, prepared.target)

    def plan(self, epoch: int) -> list[tuple[Stretches, Indices]]:
        seed = self.run.seed
        texts = stretches(self.store, self.run.data.window, self.choice.next_sentence, seed, epoch)
        return [(texts, indices) for indices in plan(texts.lengths, self.run.train.batch_tokens, seed, epoch)]

    def load(self, planned: tuple[Stretches, Indices], epoch: int) -> Batch:
        return self.masking.load(*planned, self.run.seed, epoch)

    def size(self, planned: tuple[Stretches, Indices]) -> int:
        texts, indices = planned
        return len(indices) * int(texts.lengths[indices].max())


def _unmerging(tokenizer: Tokenizer, choice: Choice, longest: int) -> Unmerging | None:
    splits_V2 = tokenizer.splits()
    if not isinstance(choice, Subwords) or not choice.dropout or splits_V2 is None:
        return None
    return Unmerging(splits_V2, choice.dropout, longest)
