"""From rows to numbers on the disk, and a count of what nobody may miss."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from antiphon.config.schema import Data, Denoise
from antiphon.data.corpus import Row, SplitName
from antiphon.data.doctor import Chart, Doctor
from antiphon.data.holes import Holed, judged
from antiphon.data.labels import LabelTokenizer
from antiphon.data.passages import encode_passages
from antiphon.data.rows import encode_row, has_labels, has_questions, tidy
from antiphon.data.store import PairStore, write_store
from antiphon.data.text import normalise
from antiphon.data.tokenize import SideName, Tokenizer
from antiphon.data.vocab import SPECIAL, START, UNKNOWN

OVERLONG, UNSEEN = "longer than data.max_length", "label never seen in training"
SIDES: tuple[SideName, SideName] = ("source", "target")
Ids = tuple[list[int], list[int]]


@dataclass
class Writer:
    """Turns rows into numbers, writes them, and counts."""

    folder: Path
    doctor: Doctor
    source: Tokenizer
    target: Tokenizer
    sides: tuple[SideName, ...]
    longest: int
    denoise: Denoise
    stride: int
    valid_texts: list[tuple[str, str]] = field(default_factory=list)
    counts: dict[SideName, list[int]] = field(default_factory=lambda: {side: [0, 0] for side in SIDES})
    windows: Counter[str] = field(default_factory=Counter)  # of the training questions

    def write(self, split: SplitName, rows: Iterator[tuple[int, Row]], chart: Chart) -> PairStore:
        places = self.longest + len(SPECIAL) if has_questions(self.doctor.rows) else 0
        size = max(self.source.size, self.target.size, places)
        return write_store(self.folder / split, self._encode(split, rows, chart), size)

    def _encode(self, split: SplitName, rows: Iterator[tuple[int, Row]], chart: Chart) -> Iterator[Ids]:
        kind = self.doctor.rows
        for index, row in rows:
            rows_of, reason = self._numbers(split, row)
            if reason:
                chart.leave_out(index, reason, row.name)
                self.doctor.held_out.discard(index)
                continue
            if split == "valid" and self.denoise.on:
                ids, holed = judged(rows_of[0][1], self.denoise, len(self.valid_texts)), Holed(self.target)
                whole, rows_of = self.denoise.target == "whole", [ids]
                target = normalise(row.pair.target) if whole else holed.decode(ids[1])
                self.valid_texts.append((holed.decode(ids[0]), target))
            elif split == "valid":
                target = row.pair.target if has_questions(kind) else normalise(row.pair.target)
                self.valid_texts.append((tidy(row.pair.source, kind), target))
            else:
                for ids in rows_of:
                    self._count(ids)
            yield from rows_of

    def _numbers(self, split: SplitName, row: Row) -> tuple[list[Ids], str]:
        """The numbers of a row, of a question those of each window; or why it is left out."""
        kind = self.doctor.rows
        if not has_questions(kind):
            ids = encode_row(self.source, self.target, row.pair, kind)
            return [ids], self._refuse(ids)
        passages = encode_passages(self.source, row.pair, kind == "questions", self.longest, self.stride)
        if split == "train" and not passages.reason:
            self.windows.update(
                questions=1, windows=len(passages.rows), without=passages.without, cut=not passages.exact
            )
        return passages.rows, passages.reason

    def _refuse(self, ids: Ids) -> str:
        if max(map(len, ids)) > self.longest and self.doctor.rows != "running":
            return f"{OVERLONG} = {self.longest:,}"
        return UNSEEN if has_labels(self.doctor.rows) and UNKNOWN in ids[1] else ""

    def _count(self, ids: Ids) -> None:
        for side, numbers in zip(SIDES, ids, strict=True):
            self.counts[side][0] += len(numbers) - numbers.count(START)
            self.counts[side][1] += numbers.count(UNKNOWN)

    def notes(self, data: Data) -> Iterator[str]:
        for side, tokenizer in zip(SIDES, (self.source, self.target), strict=True):
            if side not in self.sides or (side == "target" and has_questions(self.doctor.rows)):
                continue
            choice = data.source.tokenizer if side == "source" else data.target_tokenizer
            symbols, unknown = self.counts[side]
            rest = f", {unknown / symbols:.2%} of them unknown" if unknown else ""
            name = side if len(self.sides) > 1 else "text"
            size = len(tokenizer.labels) if isinstance(tokenizer, LabelTokenizer) else tokenizer.size
            yield f"{name}: {symbols:,} symbols out of {size:,} {choice.kind}{rest}"
        if has_questions(self.doctor.rows):
            yield self._window_note()

    def _window_note(self) -> str:
        windows, without, cut = (self.windows[key] for key in ("windows", "without", "cut"))
        note = f"windows: {windows:,} for {self.windows['questions']:,} training questions"
        if without:
            learnt = self.doctor.rows == "questions"
            note += (
                f"; {without:,} do not hold the answer, and {'learn that there is none' if learnt else 'are left out'}"
            )
        return note + (f"; {cut:,} answers begin or end inside a symbol, and are learnt with all of it" if cut else "")
