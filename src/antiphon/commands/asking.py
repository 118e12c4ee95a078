"""What `evaluate`, `compare` and `judge` share: the test that is asked, and a bar while a model answers."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from rich.progress import BarColumn, Progress, TextColumn

from antiphon.commands.lines import say, terminal
from antiphon.config.schema import Rows
from antiphon.data.corpus import Pair, Row, read_lines, read_rows
from antiphon.data.holes import judged
from antiphon.data.rows import NOUNS, has_source, read_texts
from antiphon.errors import AntiphonError, so_many_lines
from antiphon.labelling.opening import Answering

Reader = Callable[[str, str | None], Iterator[Row]]  # of a test file, and that of its targets where they are apart


@dataclass(frozen=True)
class Asked:
    """A test file: the pairs that can be scored, and how many of its lines cannot, by reason."""

    file: str
    pairs: list[Pair]
    numbers: list[int]  # the line of each pair, from 0
    lines: int
    left_out: dict[str, int]

    @property
    def sources(self) -> list[str]:
        return [pair.source for pair in self.pairs]

    @property
    def targets(self) -> list[str]:
        return [pair.target for pair in self.pairs]

    @property
    def places(self) -> list[str]:
        return [pair.place for pair in self.pairs]

    def say_left_out(self) -> None:
        for fault, count in self.left_out.items():
            say(f"{self.file}: {so_many_lines(count)} left out: {fault}")


def read_test(test: str, target: str | None, rows: Rows = "pairs", read: Reader | None = None) -> Asked:
    """Pairs, or for a language model texts, as pairs without a source; `read` knows how labels are laid out."""
    if not has_source(rows) and target is not None:
        raise AntiphonError(f"--target {target}: this model learnt from texts, not pairs. Leave it out.")
    pairs: list[Pair] = []
    numbers: list[int] = []
    faults: Counter[str] = Counter()
    lines = 0
    try:
        if read is not None:
            found = read(test, target)
        else:
            targets = [target] if target else []
            found = read_rows([test], targets, "TEST") if rows == "pairs" else read_texts(test, "TEST", rows)
        for row in found:
            if row.fault is None:
                pairs.append(row.pair)
                numbers.append(lines)
            else:
                faults[row.fault] += 1
            lines += 1
    except AntiphonError as error:  # which names the other file as a run file would
        raise AntiphonError(str(error).replace("TEST_target", "--target")) from None
    if not pairs:
        what = " Is it source TAB target?" if rows == "pairs" else ""
        what = f" It has: {', '.join(faults)}." if read is not None else what
        raise AntiphonError(f"{test}: no {NOUNS[rows]} in it can be scored ({so_many_lines(lines)}).{what}")
    return Asked(test, pairs, numbers, lines, dict(faults))


def with_holes(asked: Asked, pipeline: Answering) -> Asked:
    """Plain texts as a model that mends them is judged on them: with the same holes every time."""
    choice, tokenizer = pipeline.run.data.denoise, pipeline.target
    if not choice.on:
        return asked
    found = [judged(tokenizer.encode(pair.target), choice, number) for number, pair in enumerate(asked.pairs)]
    pairs = [
        Pair(
            tokenizer.decode(source), pair.target if choice.target == "whole" else tokenizer.decode(target), pair.place
        )
        for (source, target), pair in zip(found, asked.pairs, strict=True)
    ]
    return replace(asked, pairs=pairs)


def read_references(paths: Sequence[str], asked: Asked) -> list[list[str]] | None:
    """Further references of every pair: line N of each file is for line N of the test, several of them between TABs."""
    if not paths:
        return None
    found: list[list[str]] = [[] for _ in asked.pairs]
    for path in paths:
        lines = list(read_lines(path, "--references"))
        if len(lines) != asked.lines:
            raise AntiphonError(
                f"--references: {path} has {so_many_lines(len(lines))}, but {asked.file} has {asked.lines:,}. "
                "Line N of one belongs to line N of the other: find the line that is missing."
            )
        for place, number in enumerate(asked.numbers):
            line = lines[number]
            if not line.sound:
                raise AntiphonError(f"{path}:{number + 1}: not UTF-8. If it is Latin-1: iconv -f LATIN1 -t UTF-8")
            found[place] += [text for text in line.text.split("\t") if text.strip()]
    return found


@contextmanager
def progress(total: int, label: str, hidden: bool) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal, gone when all is answered; what it gives hears how many answers there are."""
    console = terminal()
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f} answered"),
        console=console,
        transient=True,
        disable=hidden or not console.is_terminal,
    ) as bar:
        task = bar.add_task(label, total=total)
        yield lambda done: bar.update(task, completed=done)
