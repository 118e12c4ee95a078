"""Pairs out of files, one at a time: TSV, JSONL, two line-aligned files, and `.gz` of each."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from antiphon.data.opened import reading
from antiphon.data.text import LONE_SURROGATE
from antiphon.errors import AntiphonError, so_many_lines

SplitName = Literal["train", "valid", "test"]
Fault = Literal[
    "bad UTF-8", "no TAB", "invalid JSON", "no source or target key", "blank source", "blank target",
    "both sides blank", "blank line", "blank text", "no label", "no second text", "several labels where one is needed",
    "no text or label key", "missing column", "not a tag for each word", "word without a tag", "no words or tags key",
    "no question or context key", "blank question", "blank paragraph", "no answer", "duplicate id",
    "answer not at its place in the paragraph",
]  # fmt: skip
Oddity = Literal["CRLF line ending", "stray line break", "more than two columns", "more columns than most lines"]

# What other programs take for a line break and a pairs file does not; \n is among them for JSON strings.
STRAY = re.compile("[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]")
UTF8_MARK, UTF16_MARKS = b"\xef\xbb\xbf", (b"\xff\xfe", b"\xfe\xff")
GLANCE = 1_000  # lines after which a file without TABs is given up


@dataclass(frozen=True, slots=True)
class Pair:
    """A source and the target that answers it."""

    source: str
    target: str
    place: str  # file:line


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a file: its pair as far as it could be read, why it is of no use if so, and what was mended."""

    pair: Pair
    fault: Fault | None
    oddities: tuple[Oddity, ...]
    name: str = ""  # what the file itself calls it: the id of a question


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text without its end; `sound` is False where it was not UTF-8."""

    text: str
    sound: bool
    oddities: tuple[Oddity, ...]


def read_rows(paths: Sequence[str], target_paths: Sequence[str], key: str) -> Iterator[Row]:
    """Every line of the files as a row, in order; `key` is the option that names them, for messages."""
    if target_paths and len(paths) != len(target_paths):
        raise AntiphonError(
            f"{key}: {_files(len(paths))}, but {key}_target has {_files(len(target_paths))}. "
            "Name one target file for each source file, in the same order."
        )
    if target_paths:
        for path, target_path in zip(paths, target_paths, strict=True):
            yield from _read_aligned(path, target_path, key)
        return
    for path in paths:
        yield from _read_jsonl(path, key) if _is_jsonl(path, key) else _read_tsv(path, key)


def read_lines(path: str, key: str) -> Iterator[Line]:
    """The lines of a text file, cut at \\n only, whatever else looks like a line break."""
    empty = True
    with reading(path, key) as file:
        for line in file:
            if empty:
                line = _check_start(line, path, key)
            empty = not line
            if line:
                yield _decode(line)
    if empty:
        raise AntiphonError(f"{key}: {path} is empty. Is it the right file?")


def read_whole(path: str, key: str) -> str:
    """All of a text file, as it is."""
    with reading(path, key) as file:
        content = _check_start(file.read(), path, key)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise AntiphonError(
            f"{key}: {path} is not UTF-8 (byte {error.start + 1}). If it is Latin-1: iconv -f LATIN1 -t UTF-8"
        ) from None


def _check_start(line: bytes, path: str, key: str) -> bytes:
    if line.startswith(UTF16_MARKS):
        raise AntiphonError(f"{key}: {path} is UTF-16. Save it as UTF-8.")
    if b"\r" in line.rstrip(b"\r") and not line.endswith(b"\n"):
        raise AntiphonError(f"{key}: the lines of {path} end in CR alone. Convert it: tr '\\r' '\\n' < old > new")
    return line.removeprefix(UTF8_MARK)


def _decode(line: bytes) -> Line:
    line = line.removesuffix(b"\n")
    oddities: list[Oddity] = []
    if line.endswith(b"\r"):
        line = line[:-1]
        oddities.append("CRLF line ending")
    try:
        text, sound = line.decode(), True
    except UnicodeDecodeError:
        text, sound = line.decode(errors="replace"), False
    return Line(mend(text, oddities), sound, tuple(oddities))


def mend(text: str, oddities: list[Oddity]) -> str:
    if not STRAY.search(text):
        return text
    oddities.append("stray line break")
    return STRAY.sub(" ", text)


def _read_tsv(path: str, key: str) -> Iterator[Row]:
    filled = without = 0
    first = ""
    for number, line in enumerate(read_lines(path, key), start=1):
        source, tab, rest = line.text.partition("\t")
        target, more, _ = rest.partition("\t")
        place = f"{path}:{number}"
        oddities: tuple[Oddity, ...] = (*line.oddities, "more than two columns") if more else line.oddities
        lonely = bool(source.strip()) and not tab
        filled += bool(line.text.strip())
        without += lonely
        first = first or (place if lonely else "")
        if filled == GLANCE:
            _check_columns(path, key, filled, without, first)
        yield _row(source, target, place, "no TAB" if lonely else None, line.sound, oddities)
    _check_columns(path, key, filled, without, first)


def _check_columns(path: str, key: str, filled: int, without: int, first: str) -> None:
    if 2 * without > filled:
        raise AntiphonError(
            f"{key}: {path} has one column: {without:,} of {filled:,} lines have no TAB, the first is {first}. "
            f"A line is source TAB target; of two line-aligned files, name the other in {key}_target."
        )


def _read_jsonl(path: str, key: str) -> Iterator[Row]:
    for number, line in enumerate(read_lines(path, key), start=1):
        oddities = list(line.oddities)
        source, target, fault = _parse(line.text)
        source, target = mend(source, oddities), mend(target, oddities)
        yield _row(source, target, f"{path}:{number}", fault, line.sound, tuple(dict.fromkeys(oddities)))


def _parse(text: str) -> tuple[str, str, Fault | None]:
    if not text.strip():
        return "", "", None
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return text, "", "invalid JSON"
    source, target = (content.get("source"), content.get("target")) if isinstance(content, dict) else (None, None)
    if not isinstance(source, str) or not isinstance(target, str):
        return text, "", "no source or target key"
    return LONE_SURROGATE.sub("\ufffd", source), LONE_SURROGATE.sub("\ufffd", target), None


def _is_jsonl(path: str, key: str) -> bool:
    if path.removesuffix(".gz").endswith(".jsonl"):
        return True
    first = next(read_lines(path, key), None)
    return first is not None and first.text.startswith("{") and _parse(first.text)[2] is None


def _read_aligned(path: str, target_path: str, key: str) -> Iterator[Row]:
    for one, option in ((path, key), (target_path, f"{key}_target")):
        if _is_jsonl(one, option):
            raise AntiphonError(f"{option}: {one} is JSONL, which holds both sides. Name it in {key}, alone.")
    counts, tabs = [0, 0], 0
    for source, target in zip_longest(read_lines(path, key), read_lines(target_path, f"{key}_target")):
        counts[0] += source is not None
        counts[1] += target is not None
        if source is None or target is None:
            continue
        tabs += "\t" in source.text and "\t" in target.text
        if counts[0] == GLANCE:
            _refuse_columns(path, target_path, key, tabs, GLANCE)
        oddities = tuple(dict.fromkeys(source.oddities + target.oddities))
        yield _row(source.text, target.text, f"{path}:{counts[0]}", None, source.sound and target.sound, oddities)
    _refuse_columns(path, target_path, key, tabs, min(counts))
    if counts[0] != counts[1]:
        raise AntiphonError(
            f"{key}: {path} has {so_many_lines(counts[0])}, but {target_path} has {counts[1]:,}. "
            "Line N of one must answer line N of the other: find the line that is missing."
        )


def _refuse_columns(path: str, target_path: str, key: str, tabs: int, lines: int) -> None:
    if 2 * tabs > lines:
        raise AntiphonError(
            f"{key}: {tabs:,} of {lines:,} lines of {path} and {target_path} have a TAB, which parts source and target "
            f"in one file. Leave {key}_target out, or keep one column of each file."
        )


def _row(source: str, target: str, place: str, fault: Fault | None, sound: bool, oddities: tuple[Oddity, ...]) -> Row:
    if not sound:
        fault = "bad UTF-8"
    elif fault is None:
        match bool(source.strip()), bool(target.strip()):
            case False, False:
                fault = "both sides blank"
            case False, True:
                fault = "blank source"
            case True, False:
                fault = "blank target"
    return Row(Pair(source, target, place), fault, oddities)


def _files(count: int) -> str:
    return f"{count} file" if count == 1 else f"{count} files"
