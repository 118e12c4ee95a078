"""`antiphon evaluate`: scores on test pairs, each with its signature."""

import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from antiphon.api import Model, load
from antiphon.commands.asking import Asked, progress, read_test
from antiphon.commands.lines import say_json
from antiphon.evaluate.metrics import Score, Tokens


def run_evaluate(
    folder: Path,
    test: str,
    target: str | None,
    any_target: bool,
    beam: int | None,
    int8: bool,
    tokenize: Tokens,
    lowercase: bool,
    as_json: bool,
) -> None:
    model = load(folder, int8)
    asked = read_test(test, target, model.pipeline.run.rows)
    if model.pipeline.completes:
        _texts(model, asked, int8, as_json)
        return
    pairs = list(zip(asked.sources, asked.targets, strict=True))
    search = model.search({"beam": beam})
    model.pipeline.refuse_too_long(asked.sources, search, asked.places)
    started = time.monotonic()
    questions = len(set(asked.sources)) if any_target else len(pairs)
    with progress(questions, "", as_json) as tell:
        scores = model.evaluate(pairs, tokenize, lowercase, search, tell, any_target)
    seconds = time.monotonic() - started
    if as_json:
        say_json(
            {
                "pairs": len(pairs),
                "questions": questions,
                "left_out": asked.left_out,
                "beam": search.beam,
                "int8": int8,
                "seconds": round(seconds, 2),
                "scores": [asdict(score) for score in scores],
            }
        )
        return
    asked.say_left_out()
    counted = f"{questions:,} sources with {len(pairs):,} targets" if any_target else f"{len(pairs):,} pairs"
    how = f"beam {search.beam}" + (", 8-bit weights" if int8 else "")
    print(f"{counted}, {how}, {questions / seconds:,.1f} sentences/s")
    _table(scores, 2)


def _texts(model: Model, asked: Asked, int8: bool, as_json: bool) -> None:
    """A language model answers nothing here: it says how likely the texts are."""
    started = time.monotonic()
    scores = model.evaluate_texts(asked.targets)
    seconds = time.monotonic() - started
    if as_json:
        facts = {"texts": len(asked.pairs), "left_out": asked.left_out, "int8": int8, "seconds": round(seconds, 2)}
        say_json(facts | {"scores": [asdict(score) for score in scores]})
        return
    asked.say_left_out()
    print(f"{len(asked.pairs):,} {'lines' if model.pipeline.run.data.window else 'texts'}, {seconds:,.1f} s")
    _table(scores, 4)


def _table(scores: Sequence[Score], digits: int) -> None:
    width = max(len(score.name) for score in scores)
    for score in scores:
        print(f"{score.name:<{width}}  {score.value:{digits + 6}.{digits}f}   {score.signature}")
