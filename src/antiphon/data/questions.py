"""Questions, their paragraphs and answers out of files: SQuAD's JSON (v1.1 and v2.0), JSONL, and `.gz` of both."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from antiphon.data.corpus import Fault, Pair, Row, read_whole
from antiphon.data.text import LONE_SURROGATE
from antiphon.errors import AntiphonError

_KEYS = '"question", "context" and "answers"'


@dataclass(frozen=True)
class Gold:
    """A right answer, and the character of the paragraph that it begins with; -1: somewhere."""

    text: str
    start: int


@dataclass(frozen=True)
class _Asked:
    """A question as a file has it."""

    question: object
    paragraph: object
    answers: object
    name: object = ""


def part(source: str) -> tuple[str, str]:
    """Question and paragraph of a row; a TAB behind the first belongs to the paragraph."""
    question, _, paragraph = source.partition("\t")
    return question, paragraph


def asked_texts(pairs: Iterable[Pair]) -> Iterator[str]:
    """Every question and every paragraph, once for all that stand in a row and ask about it."""
    last = ""
    for pair in pairs:
        question, paragraph = part(pair.source)
        yield from [question] if paragraph == last else [question, paragraph]
        last = paragraph


def write_golds(golds: Sequence[Gold]) -> str:
    """All right answers of a question, as the target of its row."""
    return json.dumps([[gold.start, gold.text] for gold in golds], ensure_ascii=False)


def read_golds(target: str) -> list[Gold]:
    return [Gold(text, start) for start, text in json.loads(target)]


@dataclass(frozen=True)
class Questions:
    """How to read files of questions; with `no_answer` one may have none, and `placed` answers stand where they say."""

    no_answer: bool
    placed: bool = True

    def read(self, path: str, key: str) -> Iterator[Row]:
        """Every question of a file, in order, numbered from 1; one that is of no use says why."""
        names: set[str] = set()
        for number, asked in enumerate(_asked(path, key), start=1):
            row = self._row(asked, f"{path}:{number}")
            yield replace(row, fault=row.fault or "duplicate id") if row.name in names else row
            names |= {row.name} if row.name else set()

    def _row(self, asked: _Asked | None, place: str) -> Row:
        name = str(asked.name) if asked is not None else ""
        if asked is None:
            return Row(Pair("", "", place), "invalid JSON", ())
        golds = _golds(asked.answers)
        if not (isinstance(asked.question, str) and isinstance(asked.paragraph, str)) or golds is None:
            return Row(Pair("", "", place), "no question or context key", (), name)
        question, paragraph = _sound(asked.question).replace("\t", " "), _sound(asked.paragraph)
        fault: Fault | None = None
        if not question.strip():
            fault = "blank question"
        elif not paragraph.strip():
            fault = "blank paragraph"
        elif not golds and not self.no_answer:
            fault = "no answer"
        if self.placed and fault is None:
            golds = [replace(gold, start=paragraph.find(gold.text)) if gold.start < 0 else gold for gold in golds]
            if not all(gold.start >= 0 and paragraph.startswith(gold.text, gold.start) for gold in golds):
                fault = "answer not at its place in the paragraph"
        return Row(Pair(f"{question}\t{paragraph}", write_golds(golds), place), fault, (), name)


def _asked(path: str, key: str) -> Iterator[_Asked | None]:
    text = read_whole(path, key)
    if not text.strip():
        raise AntiphonError(f"{key}: {path} is empty. Is it the right file?")
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        whole = None
    if isinstance(whole, dict) and isinstance(whole.get("data"), list):
        yield from _from_squad(whole["data"])
        return
    lines = text.removesuffix("\n").split("\n")
    first = whole if len(lines) == 1 else _parse(lines[0])
    if not isinstance(first, dict) or "question" not in first:
        raise AntiphonError(
            f"{key}: {path} holds no questions. A file of questions is SQuAD's JSON (v1.1 or v2.0: data, paragraphs, "
            f"qas), or JSONL with {_KEYS}."
        )
    yield from (_from_line(_parse(line)) for line in lines)


def _from_squad(articles: list[Any]) -> Iterator[_Asked]:
    """What is not laid out as it should be is a question without a key."""
    for article in articles:
        for paragraph in _tables(article, "paragraphs"):
            for question in _tables(paragraph, "qas"):
                answers = [] if question.get("is_impossible") else question.get("answers", [])
                yield _Asked(question.get("question"), paragraph.get("context"), answers, question.get("id", ""))


def _tables(outer: Any, key: str) -> list[dict[str, Any]]:
    found = outer.get(key) if isinstance(outer, dict) else None
    return [one if isinstance(one, dict) else {} for one in found] if isinstance(found, list) else [{}]


def _parse(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _from_line(content: Any) -> _Asked | None:
    if not isinstance(content, dict):
        return None
    return _Asked(content.get("question"), content.get("context"), content.get("answers", []), content.get("id", ""))


def _golds(answers: object) -> list[Gold] | None:
    """From a list of texts or of {text, answer_start}, from one of these, or from one with lists in it; None: neither.

    An answer of nothing but spaces is none.
    """
    if isinstance(answers, dict) and isinstance(answers.get("text"), list):
        starts = answers.get("answer_start", [-1] * len(answers["text"]))
        if not isinstance(starts, list) or len(starts) != len(answers["text"]):
            return None
        answers = [{"text": text, "answer_start": start} for text, start in zip(answers["text"], starts, strict=True)]
    found = []
    for answer in answers if isinstance(answers, list) else [answers]:
        text, start = (answer.get("text"), answer.get("answer_start", -1)) if isinstance(answer, dict) else (answer, -1)
        if not isinstance(text, str) or not isinstance(start, int):
            return None
        found.append(Gold(_sound(text), start))
    return [gold for gold in found if gold.text.strip()]


def _sound(text: str) -> str:
    """Half a surrogate pair is no character."""
    return LONE_SURROGATE.sub("\ufffd", text)
