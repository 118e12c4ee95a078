"""`antiphon evaluate`: scores on test pairs, each with its signature."""

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from antiphon.commands.asking import Asked, progress, read_references, read_test, with_holes
from antiphon.commands.lines import print_scores, say_json
from antiphon.commands.marks import mark_labels
from antiphon.commands.questions import mark_questions
from antiphon.commands.systems import Entry, Folders, enter, refuse_missing
from antiphon.data.rows import has_source
from antiphon.errors import AntiphonError
from antiphon.evaluate.endpoint import Endpoint
from antiphon.evaluate.geval import judge_by_model
from antiphon.evaluate.scores import Scoring, gather, score_all
from antiphon.labelling.opening import Labelling
from antiphon.labelling.pointing import Pointing
from antiphon.trained import Model


def run_evaluate(
    folders: Folders,
    test: str,
    target: str | None,
    references: Sequence[str],
    any_target: bool,
    changes: Mapping[str, Any],
    given: Sequence[str],
    scoring: Scoring,
    endpoint: Endpoint | None,
    as_json: bool,
    out: Path | None = None,
) -> None:
    """`given` are the flags that say how a model is to answer, for a file of answers to refuse."""
    path = str(folders.model)
    refuse_missing(path)
    judge = scoring.meteor()  # what it reads is read first, so that its mistakes are told first
    model = folders.load() if os.path.isdir(path) else None
    if model is None and given:
        raise AntiphonError(f"{given[0]}: it is for a model, and {path} is a file of answers. Leave it out.")
    if model is not None and isinstance(model.pipeline, Labelling | Pointing):
        model.search(changes)
    if model is not None and isinstance(model.pipeline, Labelling):
        mark_labels(model, test, target, as_json, out)
        return
    if model is not None and isinstance(model.pipeline, Pointing):
        mark_questions(model.pipeline, test, {"--target": target, "--references": references, "--out": out}, as_json)
        return
    if out is not None:
        raise AntiphonError(f"--out {out}: a picture of confused labels, and this model gives none. Leave it out.")
    asked = read_test(test, target, model.pipeline.run.rows if model else "pairs")
    if model is not None:
        asked = with_holes(asked, model.pipeline)
    if model is not None and not (has_source(model.pipeline.run.rows) or model.pipeline.run.data.denoise.on):
        if idle := [flag for flag in given if flag not in ("--int8", "--with")]:
            raise AntiphonError(f"{idle[0]}: it is about answers, and this model is scored on texts. Leave it out.")
        _texts(model, asked, folders.int8, as_json)
        return
    further = read_references(references, asked)
    entry = enter("evaluate", path, path, model, asked, changes)
    pairs = list(zip(asked.sources, asked.targets, strict=True))
    questions = len(set(asked.sources)) if any_target else len(pairs)
    started = time.monotonic()
    if entry.model is not None:
        with progress(questions, "", as_json) as tell:
            scores = entry.model.evaluate(pairs, scoring, entry.search, tell, any_target, further, endpoint)
    else:
        sources, targets = gather(pairs, further, any_target=False)
        scores = score_all(entry.answers, targets, scoring, judge)
        scores += judge_by_model(endpoint, sources, targets, entry.answers) if endpoint else []
    seconds = time.monotonic() - started
    if as_json:
        say_json(
            {
                "pairs": len(pairs),
                "questions": questions,
                "left_out": asked.left_out,
                "kind": "answers" if entry.model is None else "model",
                "beam": entry.search.beam if entry.search else None,
                "int8": folders.int8,
                "flags": list(given),
                "seconds": round(seconds, 2),
                "scores": [asdict(score) for score in scores],
            }
        )
        return
    asked.say_left_out()
    counted = f"{questions:,} sources with {len(pairs):,} targets" if any_target else f"{len(pairs):,} pairs"
    print(f"{counted}, {_how(entry, given, questions / seconds)}")
    print_scores(scores, 2)


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
    print_scores(scores, 4)


def read_endpoint(url: str | None, model: str | None, key_variable: str | None) -> Endpoint | None:
    """The language model that judges, where one is named; its key comes from the environment, never from the words."""
    if url is None or model is None:
        if url or model or key_variable:
            raise AntiphonError(
                "--judge-url and --judge-model belong together: where the model is, and its name there."
            )
        return None
    if key_variable is not None and key_variable not in os.environ:
        raise AntiphonError(f"--judge-key: no variable {key_variable} is set. Name the one that holds the key.")
    return Endpoint(url, model, None if key_variable is None else os.environ[key_variable])


def _how(entry: Entry, given: Sequence[str], speed: float) -> str:
    if entry.search is None:
        return f"answers of {entry.path}"
    width = "drawn" if entry.search.sample else f"beam {entry.search.beam}"
    told = [flag for flag in given if flag not in ("--beam", "--sample", "--any-target")]
    return ", ".join([width, *([" ".join(told)] if told else []), f"{speed:,.1f} sentences/s"])
