"""Lines in and out for every verb: what a person reads, what a machine reads."""

import gzip
import json
import re
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from rich.console import Console

from antiphon.errors import AntiphonError
from antiphon.evaluate.metrics import Score


def say(text: str) -> None:
    """To people, on standard error, so that answers can be piped on."""
    print(text, file=sys.stderr)


def say_json(content: Any) -> None:
    print(json.dumps(content, ensure_ascii=False), flush=True)


def print_scores(scores: Sequence[Score], digits: int) -> None:
    """A table of names, values and signatures."""
    width = max(len(score.name) for score in scores)
    for score in scores:
        print(f"{score.name:<{width}}  {score.value:{digits + 6}.{digits}f}   {score.signature}")


def terminal() -> Console:
    return Console(highlight=False, soft_wrap=True)


def in_colour(console: Console) -> bool:
    """On a terminal that can, and whose owner has not set NO_COLOR."""
    return console.color_system is not None and not console.no_color


def refuse_ending(out: Path | None) -> None:
    """Before any work: a picture whose name does not say what it is."""
    if out is not None and out.suffix not in (".html", ".svg"):
        raise AntiphonError(f"--out {out}: cannot tell what to write. End it in .html or .svg.")
    if out is not None and not out.parent.is_dir():
        raise AntiphonError(f"--out {out}: there is no folder {out.parent}. Make it, or name another.")


def refuse_idle(flags: Sequence[str], because: str) -> None:
    """What was asked for, and would be passed over in silence."""
    if flags:
        raise AntiphonError(f"{flags[0]}: {because}. Leave it out.")


def read_inputs(file: Path | None) -> Iterator[str]:
    """The lines of a file or of standard input, without their ends; a byte-order mark is no character."""
    name = "standard input" if file is None else str(file)
    try:
        with _open(file) as stream:
            for number, line in enumerate(stream, start=1):
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")
                yield _decode(line, name, number)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or "not a whole gzip file"
        raise AntiphonError(f"{name}: cannot be read: {reason}.") from error


class Input(NamedTuple):
    """A text to be answered, where it stands, and the id of a question where a file gives it one."""

    text: str
    place: str
    name: str = ""


def read_named(file: Path | None) -> Iterator[Input]:
    """The same, each line with what it is called where something is wrong with it."""
    for number, line in enumerate(read_inputs(file), start=1):
        yield Input(line, f"line {number}" if file is None else f"{file}:{number}")


@contextmanager
def named(places: Sequence[str], first: int = 0, noun: str = "line") -> Iterator[None]:
    """What a model says of "line N", its N-th text, is said of the place where that stands; `first` were before."""
    try:
        yield
    except AntiphonError as error:
        found = re.match(rf"{noun} (\d+)(?=: )", str(error))
        if found is None:
            raise
        raise AntiphonError(places[int(found[1]) - first - 1] + str(error)[found.end() :]) from None


def read_texts(file: Path) -> list[str]:
    """The lines of a file that hold text; one without any is refused."""
    texts = [line for line in read_inputs(file) if line.strip()]
    if not texts:
        raise AntiphonError(f"{file}: no line in it holds text. Give one text a line.")
    return texts


def _open(file: Path | None) -> BinaryIO:
    if file is None:
        return sys.stdin.buffer
    return gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb")  # type: ignore[return-value]


def _decode(line: bytes, name: str, number: int) -> str:
    try:
        return line.rstrip(b"\r\n").decode()
    except UnicodeDecodeError as error:
        raise AntiphonError(
            f"{name}:{number}: not UTF-8 (byte {error.start + 1} of the line). "
            "If it is Latin-1: iconv -f LATIN1 -t UTF-8"
        ) from None
