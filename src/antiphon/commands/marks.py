"""`antiphon evaluate` of a classifier or tagger: its scores, and which labels it confuses."""

import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from antiphon.commands.asking import Reader, progress, read_test
from antiphon.commands.lines import print_scores, say, say_json, terminal
from antiphon.commands.questions import first_answers
from antiphon.config.schema import Labels, Search
from antiphon.data.corpus import Row
from antiphon.data.rows import NOUNS, labelled
from antiphon.data.tagged import Tagged
from antiphon.errors import AntiphonError
from antiphon.files import write_text
from antiphon.labelling.opening import Answering, Labelling
from antiphon.labelling.pointing import Pointing
from antiphon.labelling.tagging import Tagging
from antiphon.show import confusion
from antiphon.trained import Model


def reader_of(pipeline: Answering) -> Reader | None:
    """How a test file of labels is read: its label is what the model knows as one; of a question its first answer."""
    if isinstance(pipeline, Pointing):
        return lambda test, target: first_answers(test)
    if not isinstance(pipeline, Labelling):
        return None
    if isinstance(pipeline, Tagging):
        tagged = Tagged(tuple(pipeline.run.data.columns))
        return lambda test, target: tagged.read_aligned(test, target, "TEST") if target else tagged.read(test, "TEST")
    knows, how = pipeline.target.knows, labelled(pipeline.run.data, pipeline.run.rows)

    def read(test: str, target: str | None) -> Iterator[Row]:
        if target is not None:
            return how.read_aligned(test, target, "TEST")
        return how.read(test, "TEST", how.layout(test, "TEST", knows))

    return read


def mark_labels(model: Model, test: str, target: str | None, search: Search, as_json: bool, out: Path | None) -> None:
    if out is not None and (out.suffix != ".svg" or model.pipeline.run.data.target_tokenizer != Labels()):
        what = "End it in .svg." if out.suffix != ".svg" else "Leave it out: of one label a text only."
        raise AntiphonError(f"--out {out}: cannot tell what to write. {what}")
    pipeline = model.pipeline
    asked = read_test(test, target, pipeline.run.rows, reader_of(pipeline))
    pipeline.refuse_too_long(asked.sources, search, asked.places)
    started = time.monotonic()
    with progress(len(asked.pairs), "", as_json) as tell:
        found = model.mark(list(zip(asked.sources, asked.targets, strict=True)), tell, search)
    seconds = time.monotonic() - started
    if out is not None and found.confusion is not None:
        write_text(out, confusion.svg(found.confusion, f"{len(asked.pairs):,} examples of {Path(test).name}"))
    if as_json:
        facts = {
            f"{NOUNS[pipeline.run.rows]}s": len(asked.pairs), "left_out": asked.left_out, "unseen_labels": found.unseen,
            "seconds": round(seconds, 2), "scores": [asdict(score) for score in found.scores],
        }  # fmt: skip
        say_json(facts | {"confusion": found.confusion and asdict(found.confusion)})
        return
    asked.say_left_out()
    if found.unseen:
        told = ", ".join(f"{label!r} ({count:,})" for label, count in list(found.unseen.items())[:5])
        say(f"{test}: labels never seen in training, which count as wrong: {told}{', ...' * (len(found.unseen) > 5)}")
    print(f"{len(asked.pairs):,} {NOUNS[pipeline.run.rows]}s, {len(asked.pairs) / seconds:,.1f} a second")
    print_scores(found.scores, 2)
    if found.confusion is not None:
        print(f"\n{confusion.terminal(found.confusion, min(terminal().width, 120))}")
    if out is not None:
        print(f"Written: {out}")
