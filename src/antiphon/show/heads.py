"""All layers and heads of a model on one page: a matrix to choose from, a heat map of the chosen one, an alignment.

T rows · S columns

Nothing on the page runs: radio buttons choose, and style sheets show what is chosen.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from string import Template
from typing import Literal, get_args

import numpy as np

from antiphon.show import heatmap, ribbons
from antiphon.show.attention import ANY, Attention, Chosen, Floats, Heads, Kind
from antiphon.show.heatmap import label
from antiphon.show.page import html_file, read_part, svg_file
from antiphon.show.text import escaped, width_of

CELLS = 300_000  # numbers that a page holds at the most: it stays at about 3 MB
SHADES = "abcdefgh"  # classes, from the weakest to the strongest
LEAST, VISIBLE = 0.005, 0.04  # what is left blank in a map, because it would be 0 %, and in a small picture
FOLLOWED = 64  # columns whose headings show where the pointer is

TITLES: Mapping[Kind, str] = {
    "ends": "Where the answer begins and ends",
    "cross": "From the answer to the source", "encoder": "From the source to itself",
    "decoder": "From the answer to itself",
}  # fmt: skip
MEANING: Mapping[Kind, str] = {
    "ends": "How likely the answer begins, and how likely it ends, at each {unit} of the paragraph.",
    "cross": "Where the model looked in the source for each {unit} of the answer.",
    "encoder": "Where the encoder looked in the source for the sake of each {unit} of it.",
    "decoder": "Where the decoder looked in what it had read of its own answer, while it wrote the {unit} of the row.",
}

View = tuple[str, Mapping[Kind, Heads]]  # in what unit, and what is drawn
Detail = Literal["heads", "means", "one mean"]  # of each layer every head and their mean; the means; that of one layer
LEFT_OUT: Mapping[Detail, str] = {
    "heads": "",
    "means": " The text is long: single heads are left out. Draw one by antiphon show --layer --head.",
    "one mean": " The text is very long: other layers are left out. Draw one by antiphon show --layer --head.",
}


def svg(found: Attention) -> str:
    """The alignment as ribbons, and as a heat map below them."""
    below, width, height = heatmap.draw(found.picture())
    if found.alignment is None:
        return svg_file("heatmap", found.answer, below, width, height)
    above, room, top = ribbons.draw(found.alignment)
    drawing = f'{above}<g transform="translate(0 {top + 16})">{below}</g>'
    return svg_file("heatmap", found.answer, drawing, max(width, room), top + 16 + height)


def html_page(found: Attention, intro: str, chosen: Chosen = ANY) -> str:
    """One page that opens on the chosen map and loads nothing from elsewhere; its texts are shown, never obeyed."""
    views, detail = _affordable(found)
    articles = [_facts(found, views, chosen.symbols)]
    for kind in found.words:
        asked = chosen if kind == (chosen.of or next(iter(found.words))) else ANY
        articles.append(_article(kind, [(unit, view[kind]) for unit, view in views], detail, asked))
    broadest = max(len(heads.columns) for _, view in views for heads in view.values())
    followed = ",".join(
        f".heat:has(td:nth-child({n}):hover) th:nth-child({n})" for n in range(2, min(broadest, FOLLOWED) + 2)
    )
    style = read_part("heatmap.css") + followed + " { color: var(--rubric); }\n"
    if found.alignment is not None:
        _, width, _ = ribbons.draw(found.alignment)
        style += f"#heatmap-1 {{ max-width: {width}px; min-width: {width * 4 // 5}px; }}\n"
    for most in sorted({heads.weights_LHTS.shape[1] for heads in found.words.values()}):
        # The last column is empty: it gives the large map, which spans all, the whole width.
        columns = f"max-content repeat({len(_columns(most, detail))}, minmax(1.5rem, 6rem)) minmax(0, 1fr)"
        style += f".of-{most} {{ grid-template-columns: {columns}; }}\n"
    return html_file("heads", "Attention", intro, "".join(articles), style)


def _affordable(found: Attention) -> tuple[list[View], Detail]:
    """What fits on a page: words and symbols, or words alone; and as much of the layers and heads as there is room."""
    words, symbols = ("word", found.words), ("symbol", found.symbols)
    if found.words is found.symbols:
        views: list[View] = [symbols]
    elif _cells(found.words, "heads") == _cells(found.symbols, "heads"):
        views = [words]  # every word is one symbol
    else:
        views = [words, symbols]
        if sum(_cells(view, "heads") for _, view in views) > CELLS:
            views = [words]
    for detail in get_args(Detail):
        if sum(_cells(view, detail) for _, view in views) <= CELLS:
            return views, detail
    return views, "one mean"


def _cells(view: Mapping[Kind, Heads], detail: Detail) -> int:
    """Numbers in the maps that are drawn."""
    shapes = (heads.weights_LHTS.shape for heads in view.values())
    return sum(
        (1 if detail == "one mean" else layers * len(_columns(most, detail))) * rows * columns
        for layers, most, rows, columns in shapes
    )


def _facts(found: Attention, views: Sequence[View], symbols: bool) -> str:
    opened = {"words": "" if symbols else " checked", "symbols": " checked" if symbols else ""}
    switch = Template(read_part("units.html")).substitute(opened) if len(views) > 1 else ""
    facts = heatmap.facts(found.picture())
    if found.alignment is None:
        return f"<article><h2><bdi>{escaped(found.answer)}</bdi></h2><dl>{facts}</dl>{switch}</article>"
    drawing, width, height = ribbons.draw(found.alignment)
    return (
        Template(read_part("picture.html")).substitute(
            kind="heatmap",
            number=1,
            name="Alignment",
            title=escaped(found.answer),
            facts=facts,
            viewbox=f"0 0 {width} {height}",
            drawing=drawing,
            open="",
            caption="Each word of the answer, and the words of the source that it is linked to.",
            table=ribbons.table(found.alignment),
        )
        + switch
    )


def _article(kind: Kind, views: Sequence[tuple[str, Heads]], detail: Detail, asked: Chosen) -> str:
    """One kind of attention: a radio button a head, each followed by its map, which is hidden until it is chosen."""
    layers, most = views[0][1].weights_LHTS.shape[:2]
    shown = asked.layer or (views[0][1].aligned if kind == "cross" else layers)
    meaning = MEANING[kind].format(unit=views[0][0]) + LEFT_OUT[detail]
    opening = f'<article><h2>{TITLES[kind]}</h2><p class="meaning">{meaning}</p>'
    if layers == most == 1 or detail == "one mean":
        name = f"layer {shown}" + (", mean" if most > 1 else "")
        maps = (_map(unit, heads, heads.weights(shown, None), name) for unit, heads in views)
        return f'{opening}<div class="only">{"".join(maps)}</div></article>'
    columns = _columns(most, detail)
    opened = shown, asked.head if asked.head in columns else None
    parts = [f'<div class="matrix of-{most}" role="group" aria-label="{TITLES[kind]}: layers and heads"><span></span>']
    parts += [f"<span>{column}</span>" for column in columns.values()]
    for layer in range(1, layers + 1):
        parts.append(f'<span class="side">layer {layer}</span>')
        for head, column in columns.items():
            name, checked = f"layer {layer}, {column}", " checked" if (layer, head) == opened else ""
            button = f'<input type="radio" name="{kind}" autocomplete="off" aria-label="{name}"{checked}>'
            weights = [(unit, heads, heads.weights(layer, head)) for unit, heads in views]
            small = "".join(_small(unit, weights_TS) for unit, _, weights_TS in weights)
            maps = (_map(unit, heads, weights_TS, name) for unit, heads, weights_TS in weights)
            parts.append(f'<div class="head"><label>{button}{small}</label>{"".join(maps)}</div>')
    return "".join([opening, *parts, "</div></article>"])


def _columns(heads: int, detail: Detail) -> dict[int | None, str]:
    """What can be chosen of a layer: each head by its number, and their mean; a single head is its own mean."""
    if heads == 1:
        return {None: "head 1"}
    numbers = range(1, heads + 1) if detail == "heads" else ()
    return {**{head: f"head {head}" for head in numbers}, None: "mean"}


def _small(unit: str, weights_TS: Floats) -> str:
    """A head at a glance: a line for each run of equal shades in a row, one path a shade."""
    lines: dict[str, list[str]] = {}
    for t, row in enumerate(_shades(weights_TS, VISIBLE)):
        place = 0
        for shade, run in groupby(row):
            length = len(list(run))
            if shade:
                lines.setdefault(shade, []).append(f"M{place} {t}h{length}")
            place += length
    paths = "".join(f'<path class="{shade}" d="{"".join(lines[shade])}"/>' for shade in sorted(lines))
    rows, columns = weights_TS.shape
    return f'<svg class="small {unit}" viewBox="0 0 {columns} {rows}" aria-hidden="true">{paths}</svg>'


def _map(unit: str, heads: Heads, weights_TS: Floats, name: str) -> str:
    """The heat map is a table, so that it can be read by eye, by pointer, by keyboard and aloud."""
    upright = "" if max(width_of(label(column)) for column in heads.columns) <= len("</s>") else " upright"
    # End tags that HTML does not ask for are left out: there are hundreds of thousands of cells.
    rows = [
        f'<div class="map wide {unit}" tabindex="0" role="region" aria-label="{name}, in {unit}s">'
        f'<table class="heat{upright}"><caption>{name}, in %</caption><thead><tr><td>'
    ]
    rows += [f"<th>{escaped(label(column))}" for column in heads.columns]
    rows.append("<tbody>")
    percents = (100 * weights_TS + 0.5).astype(int).tolist()
    for row, shades, numbers in zip(heads.rows, _shades(weights_TS, LEAST), percents, strict=True):
        pairs = zip(shades, numbers, strict=True)
        cells = (f"<td class={shade}>{number}" if shade else "<td>" for shade, number in pairs)
        rows.append(f"<tr><th>{escaped(label(row))}{''.join(cells)}")
    return "".join([*rows, "</table></div>"])


def _shades(weights_TS: Floats, least: float) -> list[list[str]]:
    """By the square root, as in every heat map; nothing for what is less than `least`."""
    levels_TS = np.ceil(np.sqrt(weights_TS.clip(0, 1)) * len(SHADES)).astype(int)
    names = np.array(["", *SHADES])
    shades: list[list[str]] = names[np.where(weights_TS < least, 0, levels_TS)].tolist()
    return shades
