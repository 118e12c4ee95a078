"""Words and their tags out of files: CoNLL and CoNLL-U, a word a line; JSONL; two line-aligned files."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from antiphon.data.corpus import GLANCE, Fault, Line, Oddity, Pair, Row, read_lines, read_rows
from antiphon.data.text import normalise
from antiphon.errors import AntiphonError

CONLLU = 10  # columns
_WORD, _UPOS = 1, 3  # of CoNLL-U
_FACT = re.compile(r"#\s*\S+\s*=")  # such as "# sent_id = 1"
_RANGE = re.compile(r"\d+[-.]\d+")  # a word of several, or one that is not written: no word of its own


@dataclass(frozen=True)
class Tagged:
    """How to read files of tagged words; `columns` are those of word and tag, from 1. None: first and last, or UPOS."""

    columns: tuple[int, ...] = ()

    def read(self, path: str, key: str) -> Iterator[Row]:
        """Every sentence of a file, in order; one that is of no use says why."""
        if _is_jsonl(path, key):
            for number, line in enumerate(read_lines(path, key), start=1):
                yield _from_json(line, f"{path}:{number}")
            return
        usual = _usual_width(path, key)
        sentence, seen = _Sentence(self, path, usual), False
        for number, line in enumerate(read_lines(path, key), start=1):
            if line.text.strip():
                sentence.add(line, number)
            elif sentence.lines:
                seen = True
                yield sentence.row()
                sentence = _Sentence(self, path, usual)
        if sentence.lines:
            yield sentence.row()
        elif not seen:
            raise AntiphonError(f"{key}: {path} holds no sentences, only blank lines. Is it the right file?")

    def read_aligned(self, path: str, target: str, key: str) -> Iterator[Row]:
        """Line N of the target file has a tag for each word of line N."""
        for row in read_rows([path], [target], key):
            words, tags, sound = row.pair.source.split(), row.pair.target.split(), row.fault != "bad UTF-8"
            yield _row(words, tags, row.pair.place, sound, row.oddities)


class _Sentence:
    """The lines of one sentence."""

    def __init__(self, how: Tagged, path: str, usual: int) -> None:
        self.how, self.path, self.usual = how, path, usual
        self.words: list[str] = []
        self.tags: list[str] = []
        self.lines: list[int] = []
        self.short = 0  # the first line with too few columns
        self.sound = True
        self.oddities: dict[Oddity, None] = {}

    def add(self, line: Line, number: int) -> None:
        cells, conllu = _cells(line.text), self.usual == CONLLU
        if cells[0] == "-DOCSTART-" or self._is_comment(line.text) or (conllu and _RANGE.fullmatch(cells[0])):
            return
        self.lines.append(number)
        self.sound &= line.sound
        self.oddities |= dict.fromkeys(line.oddities)
        word, tag = (_WORD, _UPOS) if conllu else (0, max(self.usual - 1, 1))
        needed = self.usual
        if self.how.columns:
            word, tag = (column - 1 for column in self.how.columns)
            needed = 0
        elif len(cells) > max(self.usual, 2):
            self.oddities["more columns than most lines"] = None
        if max(word, tag, needed - 1) >= len(cells):
            self.short = self.short or number
            return
        self.words.append(cells[word])
        self.tags.append(cells[tag])

    def _is_comment(self, text: str) -> bool:
        """What begins with # and is no word: a word has a tag behind it, in as many columns as the others."""
        if not text.startswith("#") or "\t" in text:
            return False
        return self.usual == CONLLU or len(text.split()) != self.usual or _FACT.match(text) is not None

    def row(self) -> Row:
        place = f"{self.path}:{self.short or self.lines[0]}"
        row = _row(self.words, self.tags, place, self.sound, tuple(self.oddities))
        return Row(row.pair, "missing column", row.oddities) if self.short and self.sound else row


def _cells(text: str) -> list[str]:
    return text.split("\t") if "\t" in text else text.split()


def _usual_width(path: str, key: str) -> int:
    """The columns of most of its first lines; what may be a comment is not counted."""
    first = (line.text for line in islice(read_lines(path, key), GLANCE))
    widths = Counter(len(_cells(text)) for text in first if text.strip() and ("\t" in text or text[0] not in "#-"))
    return widths.most_common(1)[0][0] if widths else 2


def _from_json(line: Line, place: str) -> Row:
    try:
        content = json.loads(line.text) if line.text.strip() else {"words": [], "tags": []}
    except (ValueError, RecursionError):
        return Row(Pair(line.text, "", place), "invalid JSON", line.oddities)
    found = [content.get(key) for key in ("words", "tags")] if isinstance(content, dict) else [None, None]
    parts = [part for part in found if isinstance(part, list) and all(isinstance(one, str) for one in part)]
    if len(parts) != 2:
        return Row(Pair(line.text, "", place), "no words or tags key", line.oddities)
    return _row(parts[0], parts[1], place, line.sound, line.oddities)


def _row(words: Sequence[str], tags: Sequence[str], place: str, sound: bool, oddities: tuple[Oddity, ...]) -> Row:
    pair = Pair(" ".join(map(one_word, words)), " ".join(map(one_word, tags)), place)
    fault: Fault | None = None
    if not sound:
        fault = "bad UTF-8"
    elif not words and not tags:
        fault = "blank line"
    elif len(words) != len(tags):
        fault = "not a tag for each word"
    elif not all(tag.strip() for tag in tags):
        fault = "word without a tag"
    return Row(pair, fault, oddities)


def one_word(text: str) -> str:
    """A word as one that no space parts: a number may be written with some."""
    return normalise(text).replace(" ", "_") or "_"


def _is_jsonl(path: str, key: str) -> bool:
    first = next(read_lines(path, key), None)
    return first is not None and first.text.startswith("{") and first.text.rstrip().endswith("}")
