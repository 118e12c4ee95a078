"""`antiphon predict`: answers, one a line."""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from antiphon.api import load
from antiphon.commands.lines import named, read_named, say, say_json
from antiphon.commands.questions import read_asked
from antiphon.commands.systems import Folders
from antiphon.confidence import Confidence
from antiphon.data.corpus import STRAY
from antiphon.data.masking import WRITTEN
from antiphon.errors import AntiphonError
from antiphon.labelling.classifying import Classifying
from antiphon.labelling.filling import Filling
from antiphon.labelling.pointing import Pointing
from antiphon.pipeline import Answer
from antiphon.show.text import legible
from antiphon.trained import Model
from antiphon.vectors import embed

_AT_ONCE = 1000  # lines that are sorted by length together
_WARNINGS = 5


@dataclass(frozen=True)
class Wanted:
    """What is printed of an answer beside its text."""

    scores: bool = False
    confidence: bool = False
    min_confidence: float | None = None
    as_json: bool = False

    @property
    def sure(self) -> bool:
        """Whether anything is asked that confidence is needed for."""
        return self.confidence or self.min_confidence is not None


@dataclass(frozen=True)
class _Line:
    """One line of the input with all that is known of it; `confidences` has one an answer where it is asked for."""

    number: int
    text: str
    name: str  # the id of a question, where a file gives it one
    answers: Sequence[Answer]
    confidences: Sequence[Confidence]
    unseen: Sequence[str]
    doubts: Sequence[str]  # why there is no answer
    labels: Mapping[str, float] | None  # a classifier's calibrated probability of each
    spans: bool  # whether answers are parts of the text


def run_predict(folders: Folders, file: Path | None, changes: Mapping[str, Any], wanted: Wanted) -> None:
    least = wanted.min_confidence
    if least is not None and not 0 <= least <= 1:
        raise AntiphonError(f"--min-confidence {least:g}: a probability is needed. Give a number from 0 to 1.")
    model = folders.load()
    search = model.search(changes)
    if wanted.sure and model.calibration is None and not model.pipeline.completes:
        say(f"{folders.model}: not calibrated, so confidence is the model's own. Train it further: that calibrates it.")
    # A person who types a line wants its answer before the next.
    at_once = 1 if file is None and sys.stdin.isatty() else _AT_ONCE
    spans, fills = isinstance(model.pipeline, Pointing), isinstance(model.pipeline, Filling)
    lines = read_asked(file) if spans else read_named(file)
    first, strange, silent = 0, 0, Counter[str]()
    while chunk := list(islice(lines, at_once)):
        texts = [line.text for line in chunk]
        with named([line.place for line in chunk], first):
            found = model.pipeline.answer(texts, search, first)
        labels = _labels(model, texts, wanted)
        for number, (text, answers, sure) in enumerate(
            zip(texts, found, _confidences(model, texts, found, wanted), strict=True), first + 1
        ):
            asked = chunk[number - first - 1]
            unseen = model.pipeline.source.unknown(text.replace(WRITTEN, " ") if fills else text)
            strange += bool(unseen)
            if unseen and strange <= _WARNINGS and not wanted.as_json:
                shown = " ".join("␣" if one == " " else legible(one) for one in unseen[:10])
                shown += " ..." if len(unseen) > 10 else ""
                say(f"{asked.place}: never seen in training: {shown}")
            doubts = sure[0].doubts(least) if least is not None else ()
            silent.update(doubt.partition(":")[0] for doubt in doubts[:1])
            line = _Line(number, text, asked.name, answers, sure, unseen, doubts, labels[number - first - 1], spans)
            _print(line, wanted, search.n_best)
        first += len(texts)
        sys.stdout.flush()
    if strange > _WARNINGS and not wanted.as_json:
        say(f"{strange:,} of {first:,} lines hold symbols never seen in training.")
    if silent:
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in silent.most_common())
        say(f"No answer for {silent.total():,} of {first:,} lines; the first reason of each: {reasons}.")


def run_embed(folder: Path, int8: bool, file: Path | None, given: Sequence[str], as_json: bool) -> None:
    """A line of numbers for each line of text; `given` are flags that say how to answer."""
    if given:
        raise AntiphonError(f"{given[0]}: it is about answers, and --embed gives vectors. Leave one of them out.")
    model = load(folder, int8)
    lines, first = read_named(file), 0
    while chunk := list(islice(lines, _AT_ONCE)):
        texts = [line.text for line in chunk]
        with named([line.place for line in chunk], first):
            vectors = embed(model.pipeline, texts, first)
        for number, (text, vector) in enumerate(zip(texts, vectors, strict=True), first + 1):
            numbers = list(map(str, vector))  # the fewest digits that give the same float32 back
            if as_json:
                say_json({"line": number, "text": text, "vector": list(map(float, numbers))})
            else:
                print(" ".join(numbers))
        first += len(texts)


def _labels(model: Model, texts: Sequence[str], wanted: Wanted) -> Sequence[Mapping[str, float] | None]:
    if not (wanted.as_json and isinstance(model.pipeline, Classifying)):
        return [None] * len(texts)
    probabilities = model.pipeline.probabilities(texts)
    return [{label: round(chance, 6) for label, chance in found.items()} for found in probabilities]


def _confidences(
    model: Model, texts: Sequence[str], found: Sequence[Sequence[Answer]], wanted: Wanted
) -> list[list[Confidence]]:
    if not wanted.sure:
        return [[] for _ in texts]
    asked = [text for text, answers in zip(texts, found, strict=True) for _ in answers]
    each = iter(model.confidence(asked, [answer for answers in found for answer in answers]))
    return [[next(each) for _ in answers] for answers in found]


def _print(line: _Line, wanted: Wanted, n_best: int) -> None:
    if wanted.as_json:
        say_json(_numbers(line, wanted))
        return
    if line.doubts:
        print(_before(line, 0, wanted, n_best))
        return
    for place, answer in enumerate(line.answers):
        # A paragraph may have line breaks, and an answer is one line.
        text = STRAY.sub(" ", answer.text).replace("\t", " ") if line.spans else answer.text
        print(_before(line, place, wanted, n_best) + text)


def _before(line: _Line, place: int, wanted: Wanted, n_best: int) -> str:
    """The columns before an answer, each with its TAB."""
    columns = [str(line.number)] if n_best > 1 else []
    if wanted.scores or n_best > 1:
        columns.append(f"{line.answers[place].score:.4f}")
    if wanted.confidence:
        columns.append(f"{line.confidences[place].sentence:.4f}")
    return "".join(f"{column}\t" for column in columns)


def _numbers(line: _Line, wanted: Wanted) -> dict[str, Any]:
    found: list[dict[str, Any]] = [
        {
            "text": answer.text, "score": answer.score, "log_probability": answer.log_probability,
            "symbols": answer.pieces, "log_probabilities": answer.log_probabilities, "ended": answer.ended,
        }
        for answer in line.answers
    ]  # fmt: skip
    for numbers, answer in zip(found, line.answers if line.spans else (), strict=line.spans):
        start, end = answer.span or (None, None)
        numbers |= {"start": start, "end": end, "probability": answer.score}
    for numbers, sure in zip(found, line.confidences, strict=bool(line.confidences)):
        words = [{"text": text, "probability": probability} for text, probability in sure.words]
        numbers |= {"confidence": sure.sentence, "probability": sure.probability, "words": words}
        numbers["warnings"] = sure.warnings
    whole = {"line": line.number, "source": line.text, "answers": found, "unseen": list(line.unseen)}
    if line.name:
        whole["id"] = line.name
    if line.labels is not None:
        whole["labels"] = line.labels
    if wanted.min_confidence is not None:
        whole |= {"abstained": bool(line.doubts), "reason": "; ".join(line.doubts)}
    return whole
