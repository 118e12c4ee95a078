"""`antiphon predict`: answers, one a line."""

import sys
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from antiphon.api import Model, load
from antiphon.commands.lines import read_inputs, say, say_json
from antiphon.pipeline import Answer

_AT_ONCE = 1000  # lines that are sorted by length together
_WARNINGS = 5


def run_predict(
    folder: Path, file: Path | None, changes: Mapping[str, Any], int8: bool, scores: bool, as_json: bool
) -> None:
    model = load(folder, int8)
    search = model.search(changes)
    # A person who types a line wants its answer before the next.
    at_once = 1 if file is None and sys.stdin.isatty() else _AT_ONCE
    lines, first, strange = read_inputs(file), 0, 0
    while texts := list(islice(lines, at_once)):
        for number, (text, answers) in enumerate(
            zip(texts, model.pipeline.answer(texts, search, first), strict=True), first + 1
        ):
            unseen = model.pipeline.source.unknown(text)
            strange += bool(unseen)
            if unseen and strange <= _WARNINGS and not as_json:
                shown = " ".join(unseen[:10]) + (" ..." if len(unseen) > 10 else "")
                say(f"line {number}: never seen in training: {shown}")
            _print(model, number, text, answers, unseen, scores, search.n_best, as_json)
        first += len(texts)
        sys.stdout.flush()
    if strange > _WARNINGS and not as_json:
        say(f"{strange:,} of {first:,} lines hold symbols never seen in training.")


def _print(
    model: Model,
    number: int,
    text: str,
    answers: Sequence[Answer],
    unseen: Sequence[str],
    scores: bool,
    n_best: int,
    as_json: bool,
) -> None:
    if as_json:
        found = [
            {
                "text": answer.text, "score": answer.score, "log_probability": answer.log_probability,
                "symbols": answer.pieces, "log_probabilities": answer.log_probabilities, "ended": answer.ended,
            }
            for answer in answers
        ]  # fmt: skip
        say_json({"line": number, "source": text, "answers": found, "unseen": list(unseen)})
        return
    for answer in answers:
        before = f"{number}\t{answer.score:.4f}\t" if n_best > 1 else f"{answer.score:.4f}\t" if scores else ""
        print(before + answer.text)
