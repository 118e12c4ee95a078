"""From rows to numbers on the disk, and a count of what nobody may miss."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from antiphon.config.schema import Data, Denoise
from antiphon.data.corpus import Row, SplitName
from antiphon.data.doctor import Chart, Doctor
from antiphon.data.holes import Holed, judged
from antiphon.data.labels import LabelTokenizer
from antiphon.data.rows import encode_row, has_labels, tidy
from antiphon.data.store import PairStore, write_store
from antiphon.data.text import normalise
from antiphon.data.tokenize import SideName, Tokenizer
from antiphon.data.vocab import START, UNKNOWN

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
    valid_texts: list[tuple[str, str]] = field(default_factory=list)
    counts: dict[SideName, list[int]] = field(default_factory=lambda: {side: [0, 0] for side in SIDES})

    def write(self, split: SplitName, rows: Iterator[tuple[int, Row]], chart: Chart) -> PairStore:
        size = max(self.source.size, self.target.size)
        return write_store(self.folder / split, self._encode(split, rows, chart), size)

    def _encode(self, split: SplitName, rows: Iterator[tuple[int, Row]], chart: Chart) -> Iterator[Ids]:
        kind = self.doctor.rows
        for index, row in rows:
            ids = encode_row(self.source, self.target, row.pair, kind)
            reason = self._refuse(ids)
            if reason:
                chart.leave_out(index, reason)
                self.doctor.held_out.discard(index)
                continue
            if split == "valid" and self.denoise.on:
                ids, holed = judged(ids[1], self.denoise, len(self.valid_texts)), Holed(self.target)
                whole = self.denoise.target == "whole"
                target = normalise(row.pair.target) if whole else holed.decode(ids[1])
                self.valid_texts.append((holed.decode(ids[0]), target))
            elif split == "valid":
                self.valid_texts.append((tidy(row.pair.source, kind), normalise(row.pair.target)))
            else:
                self._count(ids)
            yield ids

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
            if side not in self.sides:
                continue
            choice = data.source.tokenizer if side == "source" else data.target_tokenizer
            symbols, unknown = self.counts[side]
            rest = f", {unknown / symbols:.2%} of them unknown" if unknown else ""
            name = side if len(self.sides) > 1 else "text"
            size = len(tokenizer.labels) if isinstance(tokenizer, LabelTokenizer) else tokenizer.size
            yield f"{name}: {symbols:,} symbols out of {size:,} {choice.kind}{rest}"
