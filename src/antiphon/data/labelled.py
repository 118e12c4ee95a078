"""Texts and their labels out of files: TSV in either order, lines of `label text`, JSONL, two line-aligned files."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from antiphon.data.corpus import GLANCE, Fault, Line, Oddity, Pair, Row, mend, read_lines, read_rows
from antiphon.data.text import LONE_SURROGATE
from antiphon.errors import AntiphonError

FEW = 20  # labels at the most that are looked for at the beginning of lines without a TAB
Knows = Callable[[str], bool]


@dataclass(frozen=True)
class Layout:
    """Which columns, from 0, hold the text or both texts, and the label; without TABs the label is the first word."""

    texts: tuple[int, ...]
    label: int
    tabs: bool = True
    usual: int = 0  # columns of most lines; 0 where the columns are given, and there may be others

    def told(self) -> str:
        if not self.tabs:
            return "a line is label SPACE text"
        columns = dict.fromkeys(self.texts, "text") | {self.label: "label"}
        return f"a line is {' TAB '.join(columns[number] for number in sorted(columns))}"


@dataclass(frozen=True)
class Labelled:
    """How to read files of texts and labels."""

    texts: int = 1  # a row has: one, or two to be compared
    between: str = ""  # parts the labels of one text, where it may have several or none
    columns: tuple[int, ...] = ()  # from 1, the label's last; none: found by looking
    header: bool = False

    def layout(self, path: str, key: str, knows: Knows | None = None) -> Layout | None:
        """How this file's lines are laid out; None for JSONL. With `knows` the label is what is known as one."""
        if _is_jsonl(path, key):
            return None
        if self.columns:
            *texts, label = (number - 1 for number in self.columns)
            return Layout(tuple(texts), label)
        lines = (line.text for line in islice(read_lines(path, key), self.header, GLANCE))
        cells = [line.split("\t") for line in lines if line.strip()]
        if not cells:
            raise AntiphonError(f"{key}: {path} holds no text, only blank lines. Is it the right file?")
        (usual, _), *_ = Counter(map(len, cells)).most_common(1)
        if usual == 1:
            return self._by_first_word([row[0] for row in cells], path, key, knows)
        if usual != self.texts + 1:
            raise AntiphonError(
                f"{key}: {path} has {usual} columns, and {self._wanted} is needed. "
                f"Say which hold the text{'s' * (self.texts > 1)} and, last, the label: "
                f"data.columns = [{', '.join(map(str, range(1, self.texts + 2)))}]."
            )
        whole = [row for row in cells if len(row) == usual]
        first, last = ([row[place].strip() for row in whole] for place in (0, usual - 1))
        if knows is not None:
            in_front = sum(map(knows, first)) > sum(map(knows, last))
        else:
            in_front = len(set(first)) < len(set(last))
        label = 0 if in_front else usual - 1
        return Layout(tuple(place for place in range(usual) if place != label), label, usual=usual)

    @property
    def _wanted(self) -> str:
        return "text TAB label (or label TAB text)" if self.texts == 1 else "text TAB text TAB label"

    def _by_first_word(self, lines: Sequence[str], path: str, key: str, knows: Knows | None) -> Layout:
        words = [line.split()[0] for line in lines]
        few = len(set(words)) <= min(FEW, len(words) // 2) if knows is None else 2 * sum(map(knows, words)) > len(words)
        if self.texts > 1 or not few:
            raise AntiphonError(
                f"{key}: {path} has one column: most of its lines hold no TAB, and {self._wanted} is needed. "
                f"Of two line-aligned files, name that of the labels in {key}_target."
            )
        return Layout((1,), 0, tabs=False)

    def read(self, path: str, key: str, layout: Layout | None) -> Iterator[Row]:
        """Every row of a file in order, and why one is of no use. A file that the layout does not fit shows its own."""
        fits = layout is not None and (bool(self.columns) or layout.tabs == _has_tabs(path, key))
        columns = None if _is_jsonl(path, key) else layout if fits else self.layout(path, key)
        for number, line in enumerate(read_lines(path, key), start=1):
            place = f"{path}:{number}"
            if columns is None:
                yield self._from_json(line, place)
            elif number > self.header:
                yield self._from_columns(line, place, columns)

    def read_aligned(self, path: str, target: str, key: str) -> Iterator[Row]:
        """Line N of the target file is the label of line N; two texts have a TAB between them."""
        for row in read_rows([path], [target], key):
            sound = row.fault != "bad UTF-8"
            yield self._row(row.pair.source.split("\t"), row.pair.target, row.pair.place, sound, row.oddities)

    def _from_columns(self, line: Line, place: str, layout: Layout) -> Row:
        cells = line.text.split("\t") if layout.tabs else line.text.split(None, 1)
        texts = [cells[column] for column in layout.texts if column < len(cells)]
        label = cells[layout.label] if layout.label < len(cells) else None
        odd: tuple[Oddity, ...] = ("more columns than most lines",) if 0 < layout.usual < len(cells) else ()
        return self._row(texts, label, place, line.sound, line.oddities + odd)

    def _from_json(self, line: Line, place: str) -> Row:
        oddities = list(line.oddities)
        try:
            content = json.loads(line.text) if line.text.strip() else {"text": "", "label": ""}
        except (ValueError, RecursionError):
            return Row(Pair(line.text, "", place), "invalid JSON", line.oddities)
        content = content if isinstance(content, dict) else {}
        given = content.get("labels", content.get("label"))
        texts = _texts([content.get(key) for key in ("text", "second")[: self.texts]])
        labels = _texts(given if isinstance(given, list) else [given])
        if texts is None or labels is None:
            return Row(Pair(line.text, "", place), "no text or label key", line.oddities)
        if (len(labels) > 1 and not self.between) or any(self.between and self.between in label for label in labels):
            return Row(Pair(line.text, "", place), "several labels where one is needed", line.oddities)
        tidy = [mend(LONE_SURROGATE.sub("\ufffd", part), oddities).replace("\t", " ") for part in [*texts, *labels]]
        label = self.between.join(tidy[len(texts) :])
        return self._row(tidy[: len(texts)], label, place, line.sound, tuple(dict.fromkeys(oddities)))

    def _row(
        self, texts: Sequence[str], label: str | None, place: str, sound: bool, oddities: tuple[Oddity, ...]
    ) -> Row:
        fault: Fault | None = None
        filled = [bool(text.strip()) for text in texts]
        if not sound:
            fault = "bad UTF-8"
        elif not any(filled) and not (label or "").strip():
            fault = "blank line"
        elif len(texts) != self.texts and any(filled):
            fault = "no second text" if self.texts > 1 else "no label"
        elif not all(filled):
            fault = "blank text"
        elif label is None or not (label.strip() or self.between):
            fault = "no label"
        return Row(Pair("\t".join(texts), label or "", place), fault, oddities)


def _texts(values: Sequence[object]) -> list[str] | None:
    """Numbers are labels too; None where a value is neither."""
    texts = [str(value) if isinstance(value, int) else value for value in values]
    return [text for text in texts if isinstance(text, str)] if all(isinstance(text, str) for text in texts) else None


def _has_tabs(path: str, key: str) -> bool:
    """Whether most lines have a TAB."""
    filled = [line.text for line in islice(read_lines(path, key), GLANCE) if line.text.strip()]
    return 2 * sum("\t" in line for line in filled) > len(filled)


def _is_jsonl(path: str, key: str) -> bool:
    if path.removesuffix(".gz").endswith(".jsonl"):
        return True
    first = next(read_lines(path, key), None)
    return first is not None and first.text.startswith("{") and first.text.rstrip().endswith("}")
