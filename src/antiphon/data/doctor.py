"""The data report: what is in the files, what was left out and why, and what looks wrong."""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from antiphon.config.schema import Rows
from antiphon.data.corpus import Row, SplitName
from antiphon.data.questions import part
from antiphon.data.rows import NOUNS, group_noun, has_questions, has_source
from antiphon.data.shifted import find_shifts
from antiphon.data.text import hash_text, normalise

Effect = Literal["warning", "left out", "mended", "noticed"]
EFFECTS: tuple[Effect, ...] = ("warning", "left out", "mended", "noticed")
Indices = NDArray[np.int64]

EXAMPLES = 3
OUTLIER = 9.0  # times longer or shorter than the usual ratio of the two sides
SHORT = 30  # characters under which a ratio says nothing


@dataclass(frozen=True)
class Finding:
    """One kind of thing that was found in one split, how often, and the first places."""

    effect: Effect
    split: SplitName
    what: str
    count: int
    places: tuple[str, ...]


@dataclass(frozen=True)
class Count:
    """How many lines a split has, and how many pairs it gives."""

    split: SplitName
    read: int
    kept: int
    held_out: int
    files: tuple[str, ...]


@dataclass(frozen=True)
class Report:
    """Everything that a person should know about the data before training on it; stored with the run."""

    counts: tuple[Count, ...]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_dict(content: Mapping[str, Any]) -> "Report":
        counts = tuple(Count(**{**count, "files": tuple(count["files"])}) for count in content["counts"])
        findings = tuple(Finding(**{**each, "places": tuple(each["places"])}) for each in content["findings"])
        return Report(counts, findings, tuple(content["notes"]))

    def lines(self) -> list[str]:
        """The report for a person: counts, then findings with the gravest first, then notes."""
        rows = [
            [
                count.split,
                f"{count.read:,} read",
                f"{count.kept:,} kept",
                f"{count.read - count.kept - count.held_out:,} left out",
                f"{count.held_out:,} held out" if count.held_out else "",
                ", ".join(count.files),
            ]
            for count in self.counts
        ]
        found = [
            [each.effect, each.split, each.what, f"{each.count:,}", _places(each)]
            for each in sorted(self.findings, key=lambda finding: EFFECTS.index(finding.effect))
        ]
        return [*_align(rows, right=(1, 2, 3, 4)), *_align(found, right=(3,)), *self.notes]


def _places(finding: Finding) -> str:
    return ", ".join(finding.places) + (", ..." if finding.count > len(finding.places) else "")


def _align(rows: list[list[str]], right: tuple[int, ...]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(_cells(row, widths, right)).rstrip() for row in rows]


def _cells(row: list[str], widths: list[int], right: tuple[int, ...]) -> Iterator[str]:
    for column, (cell, width) in enumerate(zip(row, widths, strict=True)):
        if width:
            yield cell.rjust(width) if column in right else cell.ljust(width)


def _named(place: str, name: str) -> str:
    return f"{place} ({name})" if name else place


@dataclass
class Chart:
    """What is remembered of the rows of one split: 29 bytes of each, in their order."""

    sources: "array[int]" = field(default_factory=lambda: array("Q"))
    pairs: "array[int]" = field(default_factory=lambda: array("Q"))
    source_lengths: "array[int]" = field(default_factory=lambda: array("I"))
    target_lengths: "array[int]" = field(default_factory=lambda: array("I"))
    lines: "array[int]" = field(default_factory=lambda: array("I"))
    kept: bytearray = field(default_factory=bytearray)
    starts: list[int] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    tallies: dict[tuple[Effect, str], tuple[int, list[str]]] = field(default_factory=dict)

    def see(self, row: Row, rows: Rows) -> None:
        file, _, line = row.pair.place.rpartition(":")
        place = _named(row.pair.place, row.name)
        if not self.files or file != self.files[-1] or int(line) <= self.lines[-1]:
            self.starts.append(len(self.kept))
            self.files.append(file)
        self.lines.append(int(line))
        for oddity in row.oddities:
            self.tally("noticed" if "columns" in oddity else "mended", oddity, place)
        if row.fault:
            self.tally("left out", row.fault, place)
        source, target = normalise(row.pair.source), normalise(row.pair.target)
        if not row.fault and source and source == target:
            self.tally("noticed", "copy of the source", place)
        # Questions on one paragraph belong together.
        self.sources.append(hash_text(normalise(part(row.pair.source)[1]) if has_questions(rows) else source))
        self.pairs.append(hash_text(f"{source}\t{target}"))
        self.source_lengths.append(len(source))
        self.target_lengths.append(len(target))
        self.kept.append(row.fault is None)

    def leave_out(self, index: int, reason: str, name: str = "") -> None:
        self.kept[index] = False
        self.tally("left out", reason, _named(self.place(index), name))

    def tally(self, effect: Effect, what: str, place: str, count: int = 1) -> None:
        before, places = self.tallies.setdefault((effect, what), (0, []))
        if len(places) < EXAMPLES:
            places.append(place)
        self.tallies[effect, what] = (before + count, places)

    def place(self, index: int) -> str:
        return f"{self.files[bisect_right(self.starts, index) - 1]}:{self.lines[index]}"

    def kept_indices(self) -> Indices:
        return np.flatnonzero(np.frombuffer(self.kept, dtype=np.bool_))


@dataclass
class Doctor:
    """Watches every row go by, then says what it found."""

    rows: Rows = "pairs"
    charts: dict[SplitName, Chart] = field(default_factory=dict)
    held_out: set[int] = field(default_factory=set)  # indices of training rows that validate

    def see(self, split: SplitName, row: Row) -> None:
        self.charts.setdefault(split, Chart()).see(row, self.rows)

    def report(self, notes: Iterable[str]) -> Report:
        """Looks at all rows together: to be called once, after the last row."""
        for split, chart in self.charts.items():
            kept = chart.kept_indices()
            if len(kept) and self.rows != "running":  # where lines come again, as they may
                _find_repeats(chart, kept, self.rows)
            if len(kept) and self.rows == "pairs":
                _find_outliers(chart, kept)
                _find_shifted(chart)
            if split != "train" and self.rows != "running":
                _find_overlap(self.charts["train"], chart, kept, self.rows)
        findings = [
            Finding(effect, split, what, count, tuple(places))
            for split, chart in self.charts.items()
            for (effect, what), (count, places) in chart.tallies.items()
        ]
        return Report(tuple(self._counts()), tuple(findings), tuple(notes))

    def _counts(self) -> Iterable[Count]:
        for split, chart in self.charts.items():
            held = len(self.held_out) if split == "train" else 0
            yield Count(split, len(chart.kept), sum(chart.kept) - held, held, tuple(chart.files))


def _find_repeats(chart: Chart, kept: Indices, rows: Rows) -> None:
    pairs = np.frombuffer(chart.pairs, dtype=np.uint64)[kept]
    again = _later_ones(pairs)
    _tally_all(chart, "noticed", f"duplicate {NOUNS[rows]}", kept[again])
    if rows == "texts" or has_questions(rows):
        return
    once = np.delete(np.arange(len(kept)), again)
    sources = np.frombuffer(chart.sources, dtype=np.uint64)[kept[once]]
    several = _later_ones(sources)
    distinct = several[np.unique(sources[several], return_index=True)[1]]
    what = "source with several targets" if rows == "pairs" else "text with several labels"
    _tally_all(chart, "warning" if rows == "labelled" else "noticed", what, np.sort(kept[once[distinct]]))


def _later_ones(hashes: NDArray[np.uint64]) -> Indices:
    """Where a value stands that has stood before."""
    order = np.argsort(hashes, kind="stable")
    same = hashes[order[1:]] == hashes[order[:-1]]
    return np.sort(order[1:][same])


def _find_outliers(chart: Chart, kept: Indices) -> None:
    source = np.frombuffer(chart.source_lengths, dtype=np.uint32)[kept]
    target = np.frombuffer(chart.target_lengths, dtype=np.uint32)[kept]
    ratio = np.log(target / source)
    far = (np.abs(ratio - np.median(ratio)) > np.log(OUTLIER)) & (np.maximum(source, target) >= SHORT)
    _tally_all(chart, "noticed", "unusual length ratio", kept[far])


def _find_shifted(chart: Chart) -> None:
    for start, stop in zip(chart.starts, [*chart.starts[1:], len(chart.kept)], strict=True):
        source = np.frombuffer(chart.source_lengths, dtype=np.uint32)[start:stop]
        target = np.frombuffer(chart.target_lengths, dtype=np.uint32)[start:stop]
        for first, last, shift in find_shifts(source, target):
            lines = "1 line" if abs(shift) == 1 else f"{abs(shift)} lines"
            what = f"looks shifted: target {lines} {'late' if shift > 0 else 'early'}"
            chart.tally("warning", what, f"{chart.place(start + first)}-{last}", last - first)


def _find_overlap(train: Chart, other: Chart, kept: Indices, rows: Rows) -> None:
    compared = [(f"{NOUNS[rows]} that is trained on too", other.pairs, train.pairs)]
    if has_source(rows):
        compared.append((f"{group_noun(rows)} that is trained on too", other.sources, train.sources))
    for what, mine, theirs in compared:
        trained = np.frombuffer(theirs, dtype=np.uint64)[train.kept_indices()]
        _tally_all(other, "warning", what, kept[np.isin(np.frombuffer(mine, dtype=np.uint64)[kept], trained)])


def _tally_all(chart: Chart, effect: Effect, what: str, indices: Indices) -> None:
    for index in indices[:EXAMPLES]:
        chart.tally(effect, what, chart.place(int(index)))
    if len(indices) > EXAMPLES:
        chart.tally(effect, what, "", len(indices) - EXAMPLES)
