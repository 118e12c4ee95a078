"""`antiphon show`: where a model looked, what its search did, or how far its gradients reach.

L layers · H heads · T rows · S columns
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from antiphon.commands.lines import in_colour, refuse_ending, say_json, terminal
from antiphon.commands.systems import Folders
from antiphon.data.text import LONE_SURROGATE
from antiphon.errors import AntiphonError
from antiphon.files import write_text
from antiphon.labelling.opening import writing
from antiphon.show import attention, beams, branches, gradients, heads, heatmap
from antiphon.trained import Model


@dataclass(frozen=True)
class Drawn:
    """One picture in every form it can take."""

    lines: Callable[[int, bool], str]  # by width and colour
    svg: Callable[[], str]
    page: Callable[[str], str]  # with the name of the model
    numbers: dict[str, Any]


def run_show(
    folders: Folders,
    text: str,
    out: Path | None,
    of_gradients: bool,
    as_json: bool,
    chosen: attention.Chosen = attention.ANY,
    searching: Mapping[str, Any] | None = None,  # of the search whose tree is drawn: what differs from the model's own
) -> None:
    refuse_ending(out)
    if LONE_SURROGATE.search(text):
        raise AntiphonError("show: the text is not UTF-8. Give it in UTF-8.")
    if of_gradients and searching is not None:
        raise AntiphonError("--beam and --gradients: two pictures. Ask for one at a time.")
    for name, asked in (("--gradients", of_gradients), ("--beam", searching is not None)):
        if asked and chosen.flags:
            raise AntiphonError(f"{chosen.flags[0]}: chooses among heads of attention. Leave it out, or {name}.")
    if as_json and chosen.flags and (out is None or out.suffix != ".svg"):
        raise AntiphonError(f"{chosen.flags[0]}: --json gives every layer and head. Leave one of the two out.")
    model, console = folders.load(), terminal()
    if searching is not None:
        drawn = _beam(model, text, searching)
    else:
        drawn = _gradients(model, text, console, as_json) if of_gradients else _attention(model, text, chosen)
    if as_json:
        say_json(drawn.numbers)
    else:
        console.file.write(drawn.lines(min(console.width, 120), in_colour(console)) + "\n")
    if out is not None:
        write_text(out, drawn.svg() if out.suffix == ".svg" else drawn.page(_named(folders)))
        if not as_json:
            console.print(f"Written: {out}", markup=False)


def _attention(model: Model, text: str, chosen: attention.Chosen) -> Drawn:
    found = model.show(text)
    picture = found.picture(chosen.of, chosen.layer, chosen.head, chosen.symbols)
    return Drawn(
        lambda width, colour: heatmap.terminal(picture, width, colour),
        lambda: heatmap.svg(picture) if chosen.flags else heads.svg(found),
        lambda intro: heads.html_page(found, intro, chosen),
        _numbers(found),
    )


def _numbers(found: attention.Attention) -> dict[str, Any]:
    """Every layer and head, in symbols and in words; `weights` are those of the alignment, in symbols."""
    numbers: dict[str, Any] = {"text": found.text, "answer": found.answer}
    if found.alignment is not None:
        picture = found.picture("cross", symbols=True)
        numbers |= {"source": picture.source, "target": picture.target, "weights": _rounded(picture.weights_TS)}
        numbers["alignment"] = {
            "source": found.alignment.source, "target": found.alignment.target,
            "links": [link._asdict() for link in found.alignment.links],
        }  # fmt: skip
    for unit, view in (("symbols", found.symbols), ("words", found.words)):
        numbers[unit] = {
            kind: {"rows": all_heads.rows, "columns": all_heads.columns, "weights": _rounded(all_heads.weights_LHTS)}
            for kind, all_heads in view.items()
        }
    return numbers


def _rounded(weights: Any) -> Any:
    return np.asarray(weights, dtype=np.float64).round(6).tolist()


def _named(folders: Folders) -> str:
    """Who wrote the answer, for the head of a page."""
    told = f"Model: {' with '.join(folder.name for folder in (folders.model, *folders.partners))}"
    judges = [folder.name for folder in (folders.reverse, folders.model_of_answers) if folder is not None]
    return f"{told}; chosen by {' and '.join(judges)}" if judges else told


def _beam(model: Model, text: str, searching: Mapping[str, Any]) -> Drawn:
    writing(model.pipeline, "show --beam")
    tree = model.show_beam(text, model.search({**searching, "sample": False}))
    return Drawn(
        lambda width, colour: branches.terminal(tree, width, colour),
        lambda: beams.svg(tree),
        lambda intro: beams.html_page(tree, intro),
        tree.numbers(),
    )


def _gradients(model: Model, text: str, console: Console, as_json: bool) -> Drawn:
    hushed = as_json or not console.is_terminal
    columns = BarColumn(), TextColumn("{task.completed:,.0f} of {task.total:,.0f} steps back")
    with Progress(*columns, console=console, transient=True, disable=hushed) as bar:
        task = bar.add_task("", visible=False)
        found = model.gradients(text, lambda done, whole: bar.update(task, completed=done, total=whole, visible=True))
    chains = [
        {
            "name": chain.name, "cell": chain.cell, "part": chain.part, "symbols": chain.symbols,
            # JSON has no minus infinity, the logarithm of a norm that is exactly zero.
            "log10_norms": [log10 if math.isfinite(log10) else None for log10 in chain.log10_norms],
            "factor": chain.factor, "steps_to_half": chain.steps_to(0.5), "steps_to_double": chain.steps_to(2),
            "verdict": chain.verdict, "matrices": chain.matrices, "forecast": chain.forecast,
        }
        for chain in found.chains
    ]  # fmt: skip
    return Drawn(
        lambda width, _: gradients.terminal(found, width),
        lambda: gradients.svg(found),
        lambda intro: gradients.html_page(found, intro),
        {"text": text, "answer": found.answer, "chains": chains},
    )
