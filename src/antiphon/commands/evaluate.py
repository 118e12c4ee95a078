"""`antiphon evaluate`: scores on test pairs, each with its signature."""

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from antiphon.commands.asking import Asked, progress, read_references, read_test, with_holes
from antiphon.commands.lines import named, print_scores, refuse_idle, say, say_json
from antiphon.commands.marks import mark_labels
from antiphon.commands.questions import mark_questions
from antiphon.commands.systems import Entry, Folders, enter, refuse_missing
from antiphon.data.rows import NOUNS, has_source
from antiphon.errors import AntiphonError
from antiphon.evaluate.endpoint import Endpoint
from antiphon.evaluate.geval import judge_by_model
from antiphon.evaluate.rows import bleu_doubt
from antiphon.evaluate.scores import PLAIN, Scoring, gather, score_all
from antiphon.labelling.opening import Labelling
from antiphon.labelling.pointing import Pointing
from antiphon.trained import Model


@dataclass(frozen=True)
class Ways:
    """How a model is to answer, and how its answers are judged; of both, the flags that were given."""

    changes: Mapping[str, Any]  # of [search]
    scoring: Scoring = PLAIN
    any_target: bool = False
    references: Sequence[str] = ()
    endpoint: Endpoint | None = None
    answering: Sequence[str] = ()
    judging: Sequence[str] = ()


def run_evaluate(
    folders: Folders, test: str, target: str | None, ways: Ways, as_json: bool, out: Path | None = None
) -> None:
    path = str(folders.model)
    refuse_missing(path)
    refuse_idle([flag for flag in ways.answering if flag == "--n-best"], "one answer a line is scored")
    judge = ways.scoring.meteor()  # what it reads is read first, so that its mistakes are told first
    model = folders.load() if os.path.isdir(path) else None
    if model is None:
        refuse_idle(ways.answering, f"it is for a model, and {path} is a file of answers")
    elif isinstance(model.pipeline, Labelling | Pointing):
        _mark(model, model.pipeline, test, target, ways, as_json, out)
        return
    if out is not None:
        raise AntiphonError(f"--out {out}: a picture of confused labels, and this model gives none. Leave it out.")
    asked = read_test(test, target, model.pipeline.run.rows if model else "pairs")
    if model is not None:
        asked = with_holes(asked, model.pipeline)
    if model is not None and not (has_source(model.pipeline.run.rows) or model.pipeline.run.data.denoise.on):
        idle = [flag for flag in (*ways.answering, *ways.judging) if flag not in ("--int8", "--with")]
        refuse_idle(idle, "it is about answers, and this model is scored on texts")
        _texts(model, asked, folders.int8, as_json)
        return
    further = read_references(ways.references, asked)
    entry = enter(path, path, model, asked, ways.changes)
    pairs = list(zip(asked.sources, asked.targets, strict=True))
    questions = len(set(asked.sources)) if ways.any_target else len(pairs)
    started = time.monotonic()
    if entry.model is not None:
        with progress(questions, "", as_json) as tell, named(asked.places, noun=NOUNS[entry.model.pipeline.run.rows]):
            scores = entry.model.evaluate(
                pairs, ways.scoring, entry.search, tell, ways.any_target, further, ways.endpoint
            )
    else:
        sources, targets = gather(pairs, further, any_target=False)
        scores = score_all(entry.answers, targets, ways.scoring, judge)
        scores += judge_by_model(ways.endpoint, sources, targets, entry.answers) if ways.endpoint else []
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
                "flags": [*ways.answering],
                "seconds": round(seconds, 2),
                "scores": [asdict(score) for score in scores],
            }
        )
        return
    asked.say_left_out()
    counted = f"{questions:,} sources with {len(pairs):,} targets" if ways.any_target else f"{len(pairs):,} pairs"
    print(f"{counted}, {_how(entry, ways.answering, questions / seconds)}")
    print_scores(scores, 2)
    if doubt := bleu_doubt(asked.targets, [entry.answers], ways.scoring.tokenize):
        say(doubt)


def _mark(
    model: Model,
    pipeline: Labelling | Pointing,
    test: str,
    target: str | None,
    ways: Ways,
    as_json: bool,
    out: Path | None,
) -> None:
    """Labels and parts of paragraphs have scores of their own."""
    idle = [*(["--any-target"] if ways.any_target else []), *ways.judging]
    if isinstance(pipeline, Pointing):
        idle += [flag for flag, given in {"--target": target, "--out": out}.items() if given]
        refuse_idle(idle, "a file of questions has their answers in it, and there is one way to judge them")
        mark_questions(pipeline, test, model.search(ways.changes), as_json)
    else:
        refuse_idle(idle, "it is about texts, and this model gives labels")
        mark_labels(model, test, target, model.search(ways.changes), as_json, out)


def _texts(model: Model, asked: Asked, int8: bool, as_json: bool) -> None:
    """A language model answers nothing here: it says how likely the texts are."""
    started = time.monotonic()
    with named(asked.places, noun=NOUNS[model.pipeline.run.rows]):
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
