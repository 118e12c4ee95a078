"""Systems that answer: models, alone or together, for every verb that asks them; and files of answers to be judged."""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from antiphon.api import load
from antiphon.commands.asking import Asked, progress, read_test
from antiphon.commands.lines import read_inputs, refuse_idle
from antiphon.commands.marks import reader_of
from antiphon.config.schema import Search
from antiphon.data.corpus import STRAY
from antiphon.errors import AntiphonError, so_many_lines
from antiphon.labelling.opening import Labelling
from antiphon.trained import Model


@dataclass(frozen=True)
class Folders:
    """The model, those that write with it, and those that have a say in what is given."""

    model: Path
    partners: Sequence[Path] = ()
    reverse: Path | None = None
    model_of_answers: Path | None = None
    int8: bool = False

    def load(self) -> Model:
        return load(self.model, self.int8, self.partners, self.reverse, self.model_of_answers)


@dataclass(frozen=True)
class Entry:
    """A system that takes part: a model that is still to answer, or answers that are there."""

    name: str
    path: str
    model: Model | None = None
    search: Search | None = None
    answers: tuple[str, ...] = ()
    seconds: float | None = None


@dataclass(frozen=True)
class Contest:
    """A test, and the systems that take part in it."""

    asked: Asked
    entries: list[Entry]
    labels: bool  # whether answers are labels or tags, not texts


def enter_all(verb: str, paths: Sequence[str], test: str, target: str | None, beam: int | None) -> Contest:
    """All mistakes are told before the first model answers, which can take long.

    A test of labels or tags is read as the first model that gives such answers reads it.
    """
    models = [_take_part(verb, path) for path in paths]
    if beam is not None and not any(models):
        refuse_idle(["--beam"], "it is for models, and these are files of answers")
    asking = [model.pipeline for model in models if model is not None and isinstance(model.pipeline, Labelling)]
    kinds = {pipeline.run.model.kind for pipeline in asking}
    if len(kinds) > 1:
        raise AntiphonError(f"{verb}: a {' and a '.join(sorted(kinds))} have no common test. Name models of one kind.")
    asked = read_test(test, target, asking[0].run.rows, reader_of(asking[0])) if asking else read_test(test, target)
    named = zip(paths, name_systems(paths), models, strict=True)
    entries = [enter(path, name, model, asked, {"beam": beam}) for path, name, model in named]
    return Contest(asked, entries, bool(asking))


def _take_part(verb: str, path: str) -> Model | None:
    refuse_missing(path)
    if not os.path.isdir(path):
        return None
    model = load(path)
    with _said_of(path):
        model.refuse_pairs(verb)
    return model


@contextmanager
def _said_of(path: str) -> Iterator[None]:
    """Name the system in what is said of it."""
    try:
        yield
    except AntiphonError as error:
        raise AntiphonError(f"{path}: {error}") from None


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


def enter(path: str, name: str, model: Model | None, asked: Asked, changes: Mapping[str, Any]) -> Entry:
    """The model that was loaded from the path, with changes of its [search]; or the answers in its file."""
    if model is None:
        return Entry(name, path, answers=read_answers(path, asked))
    search = model.search(changes)
    with _said_of(path):
        model.pipeline.refuse_too_long(asked.sources, search, asked.places)
    return Entry(name, path, model, search)


def refuse_missing(path: str) -> None:
    if not os.path.exists(path):
        raise AntiphonError(
            f"{path}: no such system: neither a model folder nor a file of answers. "
            "`antiphon train` makes the one, `antiphon predict` the other."
        )


def read_answers(path: str, asked: Asked) -> tuple[str, ...]:
    """A file of answers, line N for line N of the test; lines end with \\n only, other breaks in them become spaces."""
    lines = list(read_inputs(Path(path)))
    if len(lines) != asked.lines:
        raise AntiphonError(
            f"{path} has {so_many_lines(len(lines))}, but {asked.file} has {asked.lines:,}. "
            + (
                "It is empty: make it anew."
                if not lines
                else "Line N of one must answer line N of the other: find the line that is missing."
            )
        )
    for what, shaped in (("JSON", _is_object), ("a TAB", lambda line: "\t" in line)):
        if all(map(shaped, lines)) and not all(map(shaped, asked.targets)):
            raise AntiphonError(
                f"{path}: every line holds {what}. An answer stands alone, line N for line N of the test: "
                "antiphon predict MODEL FILE > answers.txt"
            )
    return tuple(STRAY.sub(" ", lines[number]) for number in asked.numbers)


def _is_object(line: str) -> bool:
    return line.startswith("{") and line.rstrip().endswith("}")


def answer(entry: Entry, asked: Asked, hidden: bool) -> Entry:
    if entry.model is None:
        return entry
    started = time.monotonic()
    with progress(len(asked.pairs), entry.name, hidden) as tell:
        found = entry.model.pipeline.answer(asked.sources, entry.search, tell=tell)
    seconds = round(time.monotonic() - started, 2)
    return replace(entry, answers=tuple(answers[0].text for answers in found), seconds=seconds)
