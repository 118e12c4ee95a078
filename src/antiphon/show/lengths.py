"""Scores by source length, shown: a table in the terminal, a chart, part of a page with both."""

from collections.abc import Sequence
from itertools import accumulate
from string import Template

from antiphon.evaluate.lengths import Comparison
from antiphon.show.lines import Chart, Line, draw
from antiphon.show.page import read_part
from antiphon.show.text import cut, cut_middle, escaped, legible, steady, width_of

_MEANING = {"words": "words between spaces", "characters": "characters"}
_NUMBER = 6  # columns of 100.00


def title_of(comparison: Comparison) -> str:
    return f"{comparison.score.name} by source length"


def chart_of(comparison: Comparison) -> Chart:
    bins = comparison.lengths.bins
    return Chart(
        title_of(comparison),
        f"source length in {_MEANING[comparison.lengths.unit]}",
        comparison.score.name,
        [one.label for one in bins],
        [_pairs(len(one.pairs)) for one in bins],
        [
            Line(system.name, [score.value for score in system.by_length], f"all pairs: {system.overall.value:.2f}")
            for system in comparison.systems
        ],
    )


def terminal(comparison: Comparison, width: int) -> str:
    """The table, no line wider than `width` (40 at the least), but for the signature, which is to be copied."""
    title = f"{title_of(comparison)} in {_MEANING[comparison.lengths.unit]}, {_pairs(comparison.pairs)}"
    return "\n".join([*grid(title, _rows(comparison), width), comparison.score.signature])


def grid(title: str, rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """A table in lines: a label, a count and a number a system; long names stand above it, by numbers."""
    width = max(width, 40)
    sides = [max(len(row[side]) for row in rows) for side in (0, 1)]
    left = sum(sides) + 2
    names = [legible(name) for name in rows[0][2:]]
    lines = [cut(title, width)]
    if left + sum(2 + max(width_of(name), _NUMBER) for name in names) > width:
        marks = [f"#{number}" for number in range(1, len(names) + 1)]
        space = len(marks[-1])
        for mark, name in zip(marks, names, strict=True):
            lines.append(f"{mark:<{space}}  {steady(cut_middle(name, width - space - 2))}")
        names = marks
    body = [[*rows[0][:2], *names], *rows[1:]]
    widths = [max(width_of(name), _NUMBER) for name in names]
    columns = list(range(len(names)))
    while columns:
        # As many systems side by side as there is room for; the others follow below.
        ends = accumulate(2 + widths[c] for c in columns)
        fitting = columns[: max(1, sum(left + end <= width for end in ends))]
        for row in body:
            cells = [_right(row[2 + c], widths[c]) for c in fitting]
            lines.append("  ".join([_right(row[0], sides[0]), _right(row[1], sides[1]), *cells]))
        columns = columns[len(fitting) :]
    return lines


def article(comparison: Comparison) -> tuple[str, str]:
    """Chart and table as part of a page, and the style that they need."""
    drawing, width, height = draw(chart_of(comparison))
    part = Template(read_part("picture.html")).substitute(
        kind="lines",
        number=1,
        name="Chart",
        title=escaped(title_of(comparison)),
        facts=f"<dt>Signature</dt><dd>{escaped(comparison.score.signature)}</dd>",
        viewbox=f"0 0 {width} {height}",
        drawing=drawing,
        open="open",
        caption=f"Rows are source lengths in {_MEANING[comparison.lengths.unit]}, columns the systems.",
        table=table(_rows(comparison)),
    )
    style = f"#lines-1 {{ max-width: {width * 5 // 4}px; min-width: {width * 4 // 5}px; }}\n"
    return part, read_part("lines.css") + style


def table(rows: Sequence[Sequence[str]]) -> str:
    """The first row are the headings, the first cell of each other row is its label."""
    head, *body = rows
    heads = "".join(f'<th scope="col"><bdi>{escaped(cell)}</bdi></th>' for cell in head)
    lines = [f"<thead><tr>{heads}</tr></thead>"]
    for first, *cells in body:
        numbers = "".join(f"<td>{escaped(cell)}</td>" for cell in cells)
        lines.append(f'<tr><th scope="row"><bdi>{escaped(first)}</bdi></th>{numbers}</tr>')
    return "\n".join(lines)


def _rows(comparison: Comparison) -> list[list[str]]:
    """Headings, a row a bin, and one for all: length, pairs, a score a system."""
    rows = [[comparison.lengths.unit, "pairs", *(system.name for system in comparison.systems)]]
    for number, one in enumerate(comparison.lengths.bins):
        scores = [f"{system.by_length[number].value:.2f}" for system in comparison.systems]
        rows.append([one.label, f"{len(one.pairs):,}", *scores])
    overall = [f"{system.overall.value:.2f}" for system in comparison.systems]
    return [*rows, ["all", f"{comparison.pairs:,}", *overall]]


def _pairs(count: int) -> str:
    return "1 pair" if count == 1 else f"{count:,} pairs"


def _right(cell: str, width: int) -> str:
    return " " * (width - width_of(cell)) + steady(cell)
