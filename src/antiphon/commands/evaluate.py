"""`antiphon evaluate`: scores on test pairs, each with its signature."""

import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from rich.progress import BarColumn, Progress, TextColumn

from antiphon.api import load
from antiphon.commands.lines import say, say_json, terminal
from antiphon.data.corpus import read_rows
from antiphon.errors import AntiphonError
from antiphon.evaluate.metrics import Tokens


def run_evaluate(
    folder: Path,
    test: str,
    target: str | None,
    beam: int | None,
    int8: bool,
    tokenize: Tokens,
    lowercase: bool,
    as_json: bool,
) -> None:
    model = load(folder, int8)
    pairs, faults = read_test(test, target)
    search = model.search({"beam": beam})
    console = terminal()
    started = time.monotonic()
    with Progress(
        BarColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f} answered"),
        console=console,
        transient=True,
        disable=as_json or not console.is_terminal,
    ) as bar:
        task = bar.add_task("", total=len(pairs))
        scores = model.evaluate(pairs, tokenize, lowercase, search, lambda done: bar.update(task, completed=done))
    seconds = time.monotonic() - started
    if as_json:
        say_json(
            {
                "pairs": len(pairs),
                "left_out": faults,
                "beam": search.beam,
                "int8": int8,
                "seconds": round(seconds, 2),
                "scores": [asdict(score) for score in scores],
            }
        )
        return
    for fault, count in faults.items():
        say(f"{test}: {count:,} lines left out: {fault}")
    how = f"beam {search.beam}" + (", 8-bit weights" if int8 else "")
    print(f"{len(pairs):,} pairs, {how}, {len(pairs) / seconds:,.1f} sentences/s")
    width = max(len(score.name) for score in scores)
    for score in scores:
        print(f"{score.name:<{width}}  {score.value:8.2f}   {score.signature}")


def read_test(test: str, target: str | None) -> tuple[list[tuple[str, str]], dict[str, int]]:
    """The pairs that can be scored, and how many lines cannot, by reason."""
    pairs: list[tuple[str, str]] = []
    faults: Counter[str] = Counter()
    try:
        for row in read_rows([test], [target] if target else [], "TEST"):
            if row.fault is None:
                pairs.append((row.pair.source, row.pair.target))
            else:
                faults[row.fault] += 1
    except AntiphonError as error:  # which names the other file as a run file would
        raise AntiphonError(str(error).replace("TEST_target", "--target")) from None
    if not pairs:
        raise AntiphonError(
            f"{test}: no pair in it can be scored ({sum(faults.values()):,} lines). Is it source TAB target?"
        )
    return pairs, dict(faults)
