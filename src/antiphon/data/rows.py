"""What a row of a data file is: a pair, a text, a line of a running text, a text or two and their label, a question."""

from collections.abc import Iterator, Mapping, Sequence

from antiphon.config.schema import Data, Labels, Rows
from antiphon.data.corpus import GLANCE, Fault, Pair, Row, SplitName, read_lines, read_rows
from antiphon.data.labelled import Labelled, Layout
from antiphon.data.labels import LabelTokenizer
from antiphon.data.questions import Questions
from antiphon.data.tagged import Tagged
from antiphon.data.text import normalise
from antiphon.data.tokenize import Tokenizer
from antiphon.data.vocab import END, START, UNKNOWN
from antiphon.errors import AntiphonError

NOUNS: Mapping[Rows, str] = {
    "pairs": "pair", "texts": "text", "running": "line", "labelled": "example", "compared": "example",
    "tagged": "sentence", "answered": "question", "questions": "question",
}  # fmt: skip

# Files such as a finished model is asked about, and scored on.
_ASKED: Mapping[Rows, tuple[str, str]] = {
    "texts": ("sentences.txt", "test.txt"), "running": ("sentences.txt", "test.txt"),
    "tagged": ("sentences.txt", "test.conll"), "questions": ("test.json", "test.json"),
    "answered": ("test.json", "test.json"),
}  # fmt: skip


def examples(rows: Rows, masked: bool) -> tuple[str, str]:
    """The names of such files, for a command that a reader may copy."""
    asked, test = _ASKED.get(rows, ("sentences.txt", "test.tsv"))
    return "holes.txt  # texts with [MASK] in them" if masked else asked, test


def has_source(rows: Rows) -> bool:
    return rows not in ("texts", "running")


def has_labels(rows: Rows) -> bool:
    return rows in ("labelled", "compared", "tagged")


def has_questions(rows: Rows) -> bool:
    return rows in ("answered", "questions")


def group_noun(rows: Rows) -> str:
    """What rows that belong together have in common."""
    return "paragraph" if has_questions(rows) else "text" if has_labels(rows) else "source"


def is_written(rows: Rows) -> bool:
    """Whether the target is a text, which has an end."""
    return not has_labels(rows) and not has_questions(rows)


def labelled(data: Data, rows: Rows) -> Labelled:
    """How the files of a classifier are read."""
    between = data.target.tokenizer.between if isinstance(data.target.tokenizer, Labels) else ""
    return Labelled(1 + (rows == "compared"), between, tuple(data.columns), data.header)


def tidy(text: str, rows: Rows) -> str:
    """A source in normal form; texts that are compared keep the TAB between them, and a paragraph stays as it is."""
    if has_questions(rows):
        return text
    return "\t".join(map(normalise, text.split("\t"))) if rows == "compared" else normalise(text)


def encode_source(tokenizer: Tokenizer, text: str, rows: Rows) -> list[int]:
    """A source in numbers; of two texts the first has its end behind it."""
    if rows != "compared":
        return tokenizer.encode(text)
    first, *rest = (tokenizer.encode(part) for part in text.split("\t"))
    return first + [symbol for part in rest for symbol in (END, *part)]


def encode_tagged(tokenizer: Tokenizer, text: str, tags: Sequence[int]) -> tuple[list[int], list[int]]:
    """The symbols of a sentence, and as many of its tags: each stands at the first symbol of its word.

    The other symbols of a word have the start symbol there, which is no tag.
    """
    words = [tokenizer.encode(word) or [UNKNOWN] for word in text.split(" ")] if text else []
    placed = [[tag, *[START] * (len(word) - 1)] for word, tag in zip(words, tags, strict=True)]
    return [symbol for word in words for symbol in word], [tag for word in placed for tag in word]


def encode_row(source: Tokenizer, target: Tokenizer, pair: Pair, rows: Rows) -> tuple[list[int], list[int]]:
    """Both sides of a row in numbers; a text by itself has no source."""
    if rows == "tagged":
        assert isinstance(target, LabelTokenizer), "tags are labels"
        return encode_tagged(source, tidy(pair.source, rows), target.encode_each(pair.target))
    return encode_source(source, pair.source, rows) if has_source(rows) else [], target.encode(pair.target)


def read_split(data: Data, split: SplitName, rows: Rows) -> Iterator[Row]:
    """Every line of the files that a split names, in order."""
    paths, key = getattr(data, split), f"data.{split}"
    if rows == "pairs":
        yield from read_rows(paths, getattr(data, f"{split}_target"), key)
        return
    if has_labels(rows):
        yield from _read_labelled(data, split, rows)
        return
    if has_questions(rows):
        for path in paths:
            yield from Questions(rows == "questions").read(path, key)
        return
    for path in paths:
        yield from read_texts(path, key, rows)


def _read_labelled(data: Data, split: SplitName, rows: Rows) -> Iterator[Row]:
    key = f"data.{split}"
    reader: Labelled | Tagged = Tagged(tuple(data.columns)) if rows == "tagged" else labelled(data, rows)
    paths, targets = getattr(data, split), getattr(data, f"{split}_target")
    if targets and len(paths) != len(targets):
        raise AntiphonError(f"{key}: {len(paths)} files, but {key}_target has {len(targets)}. Name one for each.")
    if targets:
        for path, target in zip(paths, targets, strict=True):
            yield from reader.read_aligned(path, target, key)
        return
    layout = layout_of(data, rows)
    for path in paths:
        yield from reader.read(path, key) if isinstance(reader, Tagged) else reader.read(path, key, layout)


def layout_of(data: Data, rows: Rows) -> Layout | None:
    """The first training file shows how all are laid out, however few lines another has; None for JSONL."""
    return None if data.train_target or rows == "tagged" else labelled(data, rows).layout(data.train[0], "data.train")


def layout_note(data: Data, rows: Rows) -> Iterator[str]:
    """What was found by looking, for the report."""
    layout = layout_of(data, rows) if has_labels(rows) and not data.columns else None
    if layout is not None:
        yield f"labels: {layout.told()}, found by looking at {data.train[0]} (data.columns says otherwise)"


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
            f"Plain text is read here; take one column of it: cut -f2 {path}. "
            'A language model learns pairs with model.reads = "pairs".'
        )
