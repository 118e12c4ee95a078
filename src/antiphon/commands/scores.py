"""`antiphon evaluate --scores`: how likely a model finds each given target or text."""

import math
from collections.abc import Sequence

from antiphon.commands.asking import read_test, with_holes
from antiphon.commands.lines import say_json
from antiphon.commands.marks import reader_of
from antiphon.commands.systems import Folders
from antiphon.errors import AntiphonError


def run_scores(folders: Folders, test: str, target: str | None, idle: Sequence[str], as_json: bool) -> None:
    """`idle` are flags that were given and say how to answer, or how to judge answers."""
    if idle:
        raise AntiphonError(f"{idle[0]}: --scores asks for no answers. Leave one of them out.")
    model = folders.load()
    asked = with_holes(read_test(test, target, model.pipeline.run.rows, reader_of(model.pipeline)), model.pipeline)
    pairs = list(zip(asked.sources, asked.targets, strict=True))
    for number, (_, text), score in zip(asked.numbers, pairs, model.score(pairs), strict=True):
        if as_json:
            say_json({"line": number + 1, "target": text, "log_probability": score if math.isfinite(score) else None})
        else:
            print(f"{score:.4f}\t{text}")
    asked.say_left_out()
