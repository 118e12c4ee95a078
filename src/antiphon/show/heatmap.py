"""Heat maps of attention: which places of the source had the attention while each symbol of the answer was written.

T symbols of the answer · S symbols of the source
"""

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from string import Template

import numpy as np
from numpy.typing import NDArray

from antiphon.show.page import html_file, read_part, svg_file
from antiphon.show.text import GROUND, cells_of, cut, escaped, is_space, legible, steady, width_of

SHADES = "·░▒▓█"
# From near black to yellow, ever lighter: the picture has its own ground and reads the same on any terminal.
COLOURS = (234, 54, 61, 31, 37, 78, 148, 226)
CELL = 26  # pixels
EMPTY = "nothing to draw: the source or the answer is empty"


@dataclass(frozen=True, eq=False)
class Picture:
    """One answer and where it looked: weights_TS[t][s] of 0 to 1, rows for the answer, columns for the source."""

    source: Sequence[str]
    target: Sequence[str]
    weights_TS: Sequence[Sequence[float]] | NDArray[np.float32] | NDArray[np.float64]
    title: str = ""
    text: str = ""  # the source as it was given
    answer: str = ""
    expected: str | None = None
    across: str = "source"  # what the columns are
    down: str = "answer"  # what the rows are

    def __post_init__(self) -> None:
        assert len(self.weights_TS) == len(self.target), "one row of weights for each symbol of the answer"
        for row_S in self.weights_TS:
            assert len(row_S) == len(self.source), "one weight for each symbol of the source"
            assert all(-0.001 <= weight <= 1.001 for weight in row_S), "weights are between 0 and 1"


def strength(weight: float) -> float:
    """The square root: a tenth of the attention is worth seeing, and steps lie at 4, 16, 36 and 64 %."""
    return math.sqrt(min(max(float(weight), 0.0), 1.0))


def terminal(picture: Picture, width: int, colour: bool) -> str:
    """The heat map in characters, no line wider than `width` (20 at the least); a long source goes on in panels."""
    width = max(width, 20)
    lines = [cut(legible(picture.title), width)] if picture.title else []
    if not picture.source or not picture.target:
        return "\n".join([*lines, cut(EMPTY, width)])
    columns, rows = [cells_of(piece) for piece in picture.source], [cells_of(piece) for piece in picture.target]
    gutter = min(max(width_of(row) for row in rows), width // 4)
    room = width - gutter - 1
    wide = any(width_of([cell]) > 1 for cells in columns for cell in cells)
    step = 2 if wide or 2 * len(columns) <= room else 1
    panel = room // step
    for start in range(0, len(columns), panel):
        end = min(start + panel, len(columns))
        part = f" ({start + 1}-{end} of {len(columns)})" if len(columns) > panel else ""
        lines.append(cut(f"{picture.across} across{part}, {picture.down} down", width))
        lines += [" " * (gutter + 1) + line for line in _headings(columns[start:end], step)]
        for cells, weights_S in zip(rows, picture.weights_TS, strict=True):
            label = cut(cells, gutter)
            shades = "".join(_shade(weight, step, colour) for weight in weights_S[start:end])
            lines.append(" " * (gutter - width_of(label)) + steady(label) + " " + shades.rstrip())
    return "\n".join([*lines, _key(width, colour)])


def _headings(columns: Sequence[list[str]], step: int) -> list[str]:
    """The symbols of the source, each written downwards over its column."""
    columns = [cells if len(cells) <= 8 else [*cells[:7], "…"] for cells in columns]
    height = max(map(len, columns))
    lines = []
    for level in range(height):
        places = [cells[level - height + len(cells)] if level >= height - len(cells) else " " for cells in columns]
        lines.append("".join(steady(cell) + " " * (step - width_of([cell])) for cell in places).rstrip())
    return lines


def _shade(weight: float, step: int, colour: bool) -> str:
    levels = len(COLOURS) if colour else len(SHADES)
    level = min(int(strength(weight) * levels + 1e-6), levels - 1)
    if colour:
        return f"\x1b[48;5;{COLOURS[level]}m{' ' * step}\x1b[0m"
    return SHADES[level] * step if level else "·".ljust(step)


def _key(width: int, colour: bool) -> str:
    if not colour:
        return cut("· less than 4 %  ░ 4 %  ▒ 16 %  ▓ 36 %  █ 64 % or more", width)
    return "0 " + "".join(_shade((level / len(COLOURS)) ** 2, 1, True) for level in range(len(COLOURS))) + " 1"


def svg(picture: Picture) -> str:
    """The heat map as one SVG file that needs nothing else, for light and dark surroundings."""
    return svg_file("heatmap", picture.title, *draw(picture))


def draw(picture: Picture) -> tuple[str, int, int]:
    """What is inside the SVG, its width and its height."""
    if not picture.source or not picture.target:
        return f'<text class="axis" x="8" y="24">{EMPTY}</text>', 400, 40
    columns, rows = [label(piece) for piece in picture.source], [label(piece) for piece in picture.target]
    longest = max(width_of(column) for column in columns)
    left = 36 + 10 * max(width_of(row) for row in rows)
    top = 50 if longest <= 2 else 34 + 9 * longest
    middle = top + CELL * len(rows) // 2
    parts = [
        f'<text class="axis" x="{left}" y="16">{picture.across}</text>',
        f'<text class="axis" x="{-middle}" y="18" transform="rotate(-90)" text-anchor="middle">{picture.down}</text>',
    ]
    for s, column in enumerate(columns):
        x = left + CELL * s + CELL // 2
        turned = f'x="{8 - top}" y="{x + 5}" transform="rotate(-90)"'
        place = turned if longest > 2 else f'x="{x}" y="{top - 8}" text-anchor="middle"'
        parts.append(f"<text {place}>{escaped(column)}</text>")
    for t, (row, weights_S) in enumerate(zip(rows, picture.weights_TS, strict=True)):
        y = top + CELL * t
        parts.append(f'<g class="row"><text x="{left - 10}" y="{y + 18}" text-anchor="end">{escaped(row)}</text>')
        for s, (column, weight) in enumerate(zip(columns, weights_S, strict=True)):
            parts.append(
                f'<rect class="cell" x="{left + CELL * s}" y="{y}" width="{CELL}" height="{CELL}"'
                f' fill-opacity="{strength(weight):.3g}">'
                f"<title>{weight:.3f}  {picture.down} {t + 1}: {escaped(row)}"
                f"  {picture.across} {s + 1}: {escaped(column)}</title></rect>"
            )
        parts.append("</g>")
    return "".join(parts), left + CELL * len(columns) + 8, top + CELL * len(rows) + 8


def html_page(pictures: Sequence[Picture], title: str, intro: str) -> str:
    """All pictures on one page that loads nothing from elsewhere; every text in it is shown, never obeyed."""
    article, articles, style = Template(read_part("picture.html")), [], ""
    for number, picture in enumerate(pictures, start=1):
        drawing, width, height = draw(picture)
        # A picture shrinks with the window as long as its cells can be read; after that it scrolls.
        style += f"#heatmap-{number} {{ max-width: {width * 5 // 4}px; min-width: {width * 4 // 5}px; }}\n"
        articles.append(
            article.substitute(
                kind="heatmap",
                number=number,
                name="Heat map",
                title=escaped(picture.title or f"Picture {number}"),
                facts=facts(picture),
                viewbox=f"0 0 {width} {height}",
                drawing=drawing,
                open="",
                caption="Rows are the answer, columns the source.",
                table=_table(picture),
            )
        )
    return html_file("heatmap", title, intro, "".join(articles), style)


def facts(picture: Picture) -> str:
    told = f"<dt>Source</dt><dd><bdi>{escaped(picture.text)}</bdi></dd>"
    told += f'<dt>Answer</dt><dd class="answer"><bdi>{escaped(picture.answer)}</bdi>'
    if picture.expected is None:
        return told + "</dd>"
    verdict, sign = ("right", "✓") if picture.answer == picture.expected else ("wrong", "✗")
    told += f' <span class="verdict {verdict}">{sign} {verdict}</span></dd>'
    return told + f"<dt>Expected</dt><dd><bdi>{escaped(picture.expected)}</bdi></dd>"


def _table(picture: Picture) -> str:
    """The rows of the table that says the same as the drawing, for those who do not see it."""
    head = "".join(f'<th scope="col"><bdi>{escaped(label(piece))}</bdi></th>' for piece in picture.source)
    rows = [f"<thead><tr><td></td>{head}</tr></thead>"]
    for piece, weights_S in zip(picture.target, picture.weights_TS, strict=True):
        cells = "".join(f"<td>{weight:.2f}</td>" for weight in weights_S)
        rows.append(f'<tr><th scope="row"><bdi>{escaped(label(piece))}</bdi></th>{cells}</tr>')
    return "\n".join(rows)


def label(piece: str) -> str:
    """A piece for a browser, which shapes letters well but needs a ground for a mark and a sign for a space."""
    shown = "".join("␣" if is_space(char) else char for char in legible(piece)) or "∅"
    ground = GROUND if unicodedata.category(shown[0]) in ("Mn", "Mc", "Me", "Cf") else ""
    return cut(ground + shown, 14)
