"""Questions for `predict` and `evaluate` of a model of spans."""

import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

from antiphon.commands.asking import progress, read_test
from antiphon.commands.lines import Input, print_scores, read_named, say_json
from antiphon.config.schema import Search
from antiphon.data.corpus import Row
from antiphon.data.questions import Questions, read_golds
from antiphon.errors import AntiphonError
from antiphon.labelling.pointing import Pointing
from antiphon.labelling.scoring import mark_answers

# What is right is asked of the texts alone, as the official scripts do.
_ANY = Questions(no_answer=True, placed=False)
_ANSWERABLE = (None, "duplicate id")  # faults with which a question can still be answered


def read_asked(file: Path | None) -> Iterator[Input]:
    """Question TAB paragraph: out of lines, or of SQuAD's JSON and JSONL."""
    if file is None or not file.name.removesuffix(".gz").endswith((".json", ".jsonl")):
        yield from read_named(file)
        return
    for row in _ANY.read(str(file), "FILE"):
        if row.fault not in _ANSWERABLE:
            name = f" ({row.name})" if row.name else ""
            raise AntiphonError(f"{row.pair.place}{name}: {row.fault}, so nothing can be answered. Mend the file.")
        yield Input(row.pair.source, row.pair.place, row.name)


def first_answers(test: str) -> Iterator[Row]:
    """The questions of a test, each with the first of its right answers; with nothing where there is none."""
    for row in _ANY.read(test, "TEST"):
        golds = read_golds(row.pair.target) if row.pair.target else []
        yield replace(row, pair=replace(row.pair, target=golds[0].text if golds else ""))


def mark_questions(pipeline: Pointing, test: str, search: Search, as_json: bool) -> None:
    asked = read_test(test, None, pipeline.run.rows, lambda path, _: _ANY.read(path, "TEST"))
    pipeline.refuse_too_long(asked.sources, search, asked.places)
    golds = [[gold.text for gold in read_golds(target)] for target in asked.targets]
    started = time.monotonic()
    with progress(len(golds), "", as_json) as tell:
        scores = mark_answers(pipeline, asked.sources, golds, search, tell)
    seconds = time.monotonic() - started
    if as_json:
        facts = {"questions": len(golds), "left_out": asked.left_out, "seconds": round(seconds, 2)}
        say_json(facts | {"scores": [asdict(score) for score in scores]})
        return
    asked.say_left_out()
    print(f"{len(golds):,} questions, {len(golds) / seconds:,.1f} a second")
    print_scores(scores, 2)
