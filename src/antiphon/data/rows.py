"""What a line of a data file is: a pair, a text by itself, or a line of a running text."""

from collections.abc import Iterator, Mapping

from antiphon.config.schema import Data, Rows
from antiphon.data.corpus import GLANCE, Fault, Pair, Row, SplitName, read_lines, read_rows
from antiphon.errors import AntiphonError

NOUNS: Mapping[Rows, str] = {"pairs": "pair", "texts": "text", "running": "line"}


def read_split(data: Data, split: SplitName, rows: Rows) -> Iterator[Row]:
    """Every line of the files that a split names, in order."""
    paths, key = getattr(data, split), f"data.{split}"
    if rows == "pairs":
        yield from read_rows(paths, getattr(data, f"{split}_target"), key)
        return
    for path in paths:
        yield from read_texts(path, key, rows)


def read_texts(path: str, key: str, rows: Rows) -> Iterator[Row]:
    """The lines of plain text, as pairs whose source is nothing; in a running text a blank line is a line too."""
    filled = parted = 0
    for number, line in enumerate(read_lines(path, key), start=1):
        blank = not line.text.strip()
        filled += not blank
        parted += "\t" in line.text
        if filled == GLANCE:
            _check_columns(path, key, filled, parted)
        fault: Fault | None = None if line.sound else "bad UTF-8"
        if blank and rows == "texts":
            fault = fault or "blank line"
        yield Row(Pair("", line.text, f"{path}:{number}"), fault, line.oddities)
    if not filled:
        raise AntiphonError(f"{key}: {path} holds no text, only blank lines. Is it the right file?")
    _check_columns(path, key, filled, parted)


def _check_columns(path: str, key: str, filled: int, parted: int) -> None:
    if 2 * parted > filled:
        raise AntiphonError(
            f"{key}: {path} has several columns: {parted:,} of {filled:,} lines hold a TAB. "
            f"A language model reads plain text; take one column of it: cut -f2 {path}"
        )
