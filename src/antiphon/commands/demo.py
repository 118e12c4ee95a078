"""`antiphon demo`: from nothing to a trained, scored and pictured model in about a minute, without a network."""

import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeVar

from antiphon.api import load
from antiphon.commands.lines import in_colour, refuse_idle, terminal
from antiphon.config.toml import load_run
from antiphon.data.builtin import Demo, dates, read_pronunciations
from antiphon.errors import AntiphonError
from antiphon.evaluate.metrics import exact_match, word_error_rate
from antiphon.files import make_folder, write_text
from antiphon.show.heatmap import Picture, html_page
from antiphon.show.heatmap import terminal as draw
from antiphon.trained import Model
from antiphon.training.log import duration
from antiphon.training.loop import train

Task = Literal["dates", "pronounce"]

Item = TypeVar("Item")

_EXAMPLES, _PICTURES = 10, 6
_INTRO = {
    "dates": "Dates as people of many languages write them, answered as ISO dates",
    "pronounce": "Words, answered by how they are pronounced",
}


def run_demo(task: Task, dictionary: Path | None, out: Path, fresh: bool) -> None:
    started = time.monotonic()
    console = terminal()
    pairs = _pairs(task, dictionary)
    console.print(
        f"{_INTRO[task]}: {len(pairs.train):,} pairs to learn from, {len(pairs.test):,} to be asked.", markup=False
    )
    if pairs.left_out:
        console.print(
            f"{pairs.left_out:,} words of {dictionary} left out: they are not of letters alone.", markup=False
        )
    for name, part in (("train", pairs.train), ("valid", pairs.valid), ("test", pairs.test)):
        make_folder(out / "data")
        write_text(out / "data" / f"{task}-{name}.tsv", "".join(f"{source}\t{target}\n" for source, target in part))
    files = {key: [str(out / "data" / f"{task}-{key}.tsv")] for key in ("train", "valid")}
    folder = out / task
    train(load_run(None, f"demo-{task}", {"data": files}, []), folder, fresh, console)
    model = load(folder)
    _score(task, model, pairs)
    pictures = [model.show(source, target).picture() for source, target in _spread(pairs.test, _PICTURES)]
    page = out / f"{task}.html"
    write_text(
        page,
        html_page(
            pictures,
            "Where Antiphon looked",
            f"{_INTRO[task]}. None of these was seen in training.",
        ),
    )
    console.print("")
    width = min(console.width, 100)
    console.file.write(draw(_for_the_terminal(pictures, width), width, in_colour(console)) + "\n")
    test = out / "data" / f"{task}-test.tsv"
    console.print(
        f"\nDone in {duration(time.monotonic() - started)}. Look at {page}, then try:\n"
        f"  echo {shlex.quote(pairs.test[0][0])} | antiphon predict {folder} --n-best 3\n"
        f"  antiphon evaluate {folder} {test}\n"
        f"  antiphon verify {folder}",
        markup=False,
    )


def _pairs(task: Task, dictionary: Path | None) -> Demo:
    if task == "dates":
        refuse_idle(["--dictionary"] if dictionary else [], "it is for --task pronounce")
        return dates(train=30_000, valid=500, test=1_000, seed=1)
    if dictionary is None:
        raise AntiphonError("--task pronounce: needs a pronouncing dictionary. Name one: --dictionary cmudict.dict")
    return read_pronunciations(dictionary)


def _score(task: Task, model: Model, pairs: Demo) -> None:
    """How many unseen inputs are answered exactly right, and ten of them for the eye."""
    console = terminal()
    answers = [found[0].text for found in model.pipeline.answer([source for source, _ in pairs.test])]
    targets = [target for _, target in pairs.test]
    score = exact_match(answers, targets)
    console.print(f"\n[bold]{score.value:.1f} %[/bold] of {len(pairs.test):,} unseen inputs answered exactly right")
    console.print(f"({score.signature})", markup=False)
    if task == "pronounce":
        phones = word_error_rate(answers, targets)
        console.print(f"{phones.value:.1f} % of the phones wrong   ({phones.signature})")
    shown = _spread(list(zip(pairs.test, answers, strict=True)), _EXAMPLES)
    width = max(len(answer) for _, answer in shown)
    for (source, target), answer in shown:
        console.print(f"  {'right' if answer == target else 'WRONG'}  {answer:<{width}}  <-  {source}", markup=False)


def _spread(items: Sequence[Item], count: int) -> list[Item]:
    """So many items at even distances: a dictionary is in alphabetical order, and its A is not all of it."""
    return [items[place * len(items) // count] for place in range(min(count, len(items)))]


def _for_the_terminal(pictures: list[Picture], width: int) -> Picture:
    """The widest picture that needs no panels, two columns a symbol; or the narrowest."""
    fitting = [picture for picture in pictures if 2 * len(picture.source) + 10 <= width]
    return max(fitting or pictures, key=lambda picture: len(picture.source) * (1 if fitting else -1))
