"""`antiphon compare`: several systems on one test, by source length."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from antiphon.api import Model, load
from antiphon.commands.asking import Asked, progress, read_test
from antiphon.commands.lines import read_inputs, refuse_ending, say_json, terminal
from antiphon.config.schema import Search
from antiphon.errors import AntiphonError
from antiphon.evaluate.lengths import Comparison, Metric, compare, edges_refused, measure
from antiphon.evaluate.metrics import Tokens
from antiphon.files import write_text
from antiphon.show.lengths import chart_of, html_page
from antiphon.show.lengths import terminal as tabulate
from antiphon.show.lines import svg


@dataclass(frozen=True)
class Entry:
    """A system that takes part: a model that is still to answer, or answers that are there."""

    name: str
    path: str
    model: Model | None = None
    search: Search | None = None
    answers: tuple[str, ...] = ()
    seconds: float | None = None


def run_compare(
    paths: Sequence[str],
    target: str | None,
    metric: Metric,
    bins: str | None,
    beam: int | None,
    tokenize: Tokens,
    lowercase: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    refuse_ending(out)
    edges = None if bins is None else read_edges(bins)
    if len(paths) < 2:
        given = f"only {paths[0]} is given" if paths else "nothing is given"
        raise AntiphonError(
            f"compare: {given}. Name the systems, then the test: antiphon compare runs/a runs/b test.tsv"
        )
    asked = read_test(paths[-1], target)
    lengths = measure(asked.sources, edges)
    # All mistakes are told before the first model answers, which can take long.
    entries = [enter(path, name, asked, beam) for path, name in zip(paths[:-1], name_systems(paths[:-1]), strict=True)]
    entries = [answer(entry, asked, hidden=as_json) for entry in entries]
    comparison = compare(
        {entry.name: entry.answers for entry in entries}, asked.targets, lengths, metric, tokenize, lowercase
    )
    if as_json:
        say_json(as_object(comparison, entries, asked, metric))
    else:
        asked.say_left_out()
        print(tabulate(comparison, terminal().width))
    if out is not None:
        intro = f"{comparison.pairs:,} pairs of {Path(asked.file).name}"
        write_text(out, svg(chart_of(comparison)) if out.suffix == ".svg" else html_page(comparison, intro))
        if not as_json:
            print(f"Written: {out}")


def read_edges(bins: str) -> list[int]:
    try:
        return [int(edge) for edge in bins.split(",")]
    except ValueError:
        raise edges_refused(bins) from None


def name_systems(paths: Sequence[str]) -> list[str]:
    """The last part of each path, more of it where that does not tell them apart, a number where nothing does."""
    parts = [Path(os.path.abspath(path)).parts for path in paths]
    depths = [1] * len(paths)
    while True:
        names = [str(Path(*part[-depth:])) for part, depth in zip(parts, depths, strict=True)]
        unclear = [n for n, name in enumerate(names) if names.count(name) > 1 and depths[n] < len(parts[n])]
        if not unclear:
            break
        for n in unclear:
            depths[n] += 1
    last = [part[-1] for part in parts]
    return [
        name if names.count(name) == 1 else f"{last[n]} ({names[: n + 1].count(name)})" for n, name in enumerate(names)
    ]


def enter(path: str, name: str, asked: Asked, beam: int | None) -> Entry:
    if os.path.isdir(path):
        model = load(path)
        search = model.search({"beam": beam})
        try:
            model.refuse_pairs("compare")
            model.pipeline.refuse_too_long(asked.sources, search, asked.places)
        except AntiphonError as error:
            raise AntiphonError(f"{path}: {error}") from None
        return Entry(name, path, model, search)
    if not os.path.exists(path):
        raise AntiphonError(
            f"{path}: no such system: neither a model folder nor a file of answers. "
            "`antiphon train` makes the one, `antiphon predict` the other."
        )
    lines = list(read_inputs(Path(path)))
    if len(lines) != asked.lines:
        raise AntiphonError(
            f"{path} has {len(lines):,} lines, but {asked.file} has {asked.lines:,}. "
            "Line N of one must answer line N of the other: find the line that is missing."
        )
    return Entry(name, path, answers=tuple(lines[number] for number in asked.numbers))


def answer(entry: Entry, asked: Asked, hidden: bool) -> Entry:
    if entry.model is None:
        return entry
    started = time.monotonic()
    with progress(len(asked.pairs), entry.name, hidden) as tell:
        found = entry.model.pipeline.answer(asked.sources, entry.search, tell=tell)
    seconds = round(time.monotonic() - started, 2)
    return replace(entry, answers=tuple(answers[0].text for answers in found), seconds=seconds)


def as_object(comparison: Comparison, entries: Sequence[Entry], asked: Asked, metric: Metric) -> dict[str, Any]:
    return {
        "test": asked.file,
        "pairs": comparison.pairs,
        "left_out": asked.left_out,
        "metric": metric,
        "signature": comparison.score.signature,
        "unit": comparison.lengths.unit,
        "bins": [{"from": one.shortest, "to": one.longest, "pairs": len(one.pairs)} for one in comparison.lengths.bins],
        "systems": [
            {
                "name": entry.name,
                "path": entry.path,
                "kind": "answers" if entry.model is None else "model",
                "beam": entry.search.beam if entry.search else None,
                "seconds": entry.seconds,
                "overall": system.overall.value,
                "by_length": [score.value for score in system.by_length],
            }
            for entry, system in zip(entries, comparison.systems, strict=True)
        ],
    }
