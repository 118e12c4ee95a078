"""`antiphon evaluate --scores`: how likely a model finds each given target or text."""

import math
from pathlib import Path

from antiphon.api import load
from antiphon.commands.asking import read_test, with_holes
from antiphon.commands.lines import say_json
from antiphon.commands.marks import reader_of


def run_scores(folder: Path, test: str, target: str | None, int8: bool, as_json: bool) -> None:
    model = load(folder, int8)
    asked = with_holes(read_test(test, target, model.pipeline.run.rows, reader_of(model.pipeline)), model.pipeline)
    pairs = list(zip(asked.sources, asked.targets, strict=True))
    for number, (_, text), score in zip(asked.numbers, pairs, model.score(pairs), strict=True):
        if as_json:
            say_json({"line": number + 1, "target": text, "log_probability": score if math.isfinite(score) else None})
        else:
            print(f"{score:.4f}\t{text}")
    asked.say_left_out()
