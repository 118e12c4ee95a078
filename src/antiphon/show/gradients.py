"""Gradients over the places of a chain, drawn on a log scale: in characters, as a figure, as a page."""

import math
import textwrap
from collections.abc import Sequence
from string import Template

from antiphon.show.chains import LOST, SPAN, Chain, Gradients
from antiphon.show.page import html_file, read_part, svg_file
from antiphon.show.text import escaped

BARS = "▁▂▃▄▅▆▇█"
TONES, DASHES = 6, ("", "8 4", "2 4")  # together so many that no two of eighteen chains look alike
WIDTH, LEFT, TOP, RIGHT, HIGH = 760, 78, 16, 24, 300  # of the figure and of the frame in it, in pixels
DOTTED = 80  # places up to which each has a dot to point at
TITLE = "How far gradients reach"
HEAD = ("chain", "cell", "places", "far end", "a step", "so it (steps)", "verdict")


def terminal(found: Gradients, width: int) -> str:
    """A table, a drawing for each chain, and the matrices, in lines of `width` columns (40 at the least)."""
    width = max(width, 40)
    lines = _told(found.chains, width)
    low, high = _bounds(found.chains, lowest=-6, highest=6)
    legend = f"norms in the order of reading: {BARS[0]} {power(low)} or less, {BARS[-1]} {power(high)} or more"
    lines += ["", *textwrap.wrap(legend, width)]
    margin = max(len(chain.name) for chain in found.chains) + 2
    for chain in found.chains:
        lines.append(chain.name.ljust(margin) + _bars(chain.log10_norms, width - margin, low, high))
        lines += [" " * margin + line for line in textwrap.wrap(chain.sentence, width - margin)]
    lines += ["", *textwrap.wrap("largest singular values of the recurrent matrices", width)]
    for chain in (chain for chain in found.chains if chain.matrices):
        wrapped = textwrap.wrap(_matrices(chain).replace(" ", "\xa0").replace(",\xa0", ", "), width - margin)
        lines += [(chain.name if not n else "").ljust(margin) + line for n, line in enumerate(wrapped)]
    return "\n".join(line.replace("\xa0", " ").rstrip() for line in lines)


def _told(chains: Sequence[Chain], width: int) -> list[str]:
    """A line a chain below a head; where that is too wide, a line for each fact of a chain."""
    rows = [_row(chain) for chain in chains]
    columns = [max(map(len, column)) for column in zip(HEAD, *rows, strict=True)]
    if sum(columns) + 2 * (len(columns) - 1) <= width:
        return ["  ".join(map(str.ljust, row, columns)) for row in (HEAD, *rows)]
    margin = max(map(len, HEAD)) + 2
    facts = (
        [row[0], *(f"  {name:<{margin}}{cell}" for name, cell in zip(HEAD[1:], row[1:], strict=True))] for row in rows
    )
    return [line for lines in facts for line in lines]


def power(log10: float) -> str:
    """A number given by its logarithm, which a float may be too small for: 0.0412, 3.2e-07, 1e+400."""
    if log10 == -math.inf:
        return "0"
    if -3 <= log10 < 4:
        return f"{10**log10:.3g}"
    exponent = math.floor(log10 + 1e-9)
    return f"{max(10 ** (log10 - exponent), 1):.2g}e{exponent:+03}"


def _row(chain: Chain) -> tuple[str, ...]:
    """What stands below HEAD: after the length, the norm at the far end, the factor a step, and its pace."""
    factor, pace = "-", "-"
    if chain.factor is not None:
        half, double = chain.steps_to(0.5), chain.steps_to(2)
        pace = f"halves in {half:,.1f}" if half else f"doubles in {double:,.1f}" if double else "keeps"
        factor, pace = f"x {chain.factor:.3g}", pace if chain.factor else "ends"
    return (chain.name, chain.cell, str(len(chain.symbols)), power(chain.log10_norms[0]), factor, pace, chain.verdict)


def _matrices(chain: Chain) -> str:
    alone = f" ({chain.forecast})" if chain.forecast else ""
    return ", ".join(f"{gate} {value:.3g}" for gate, value in chain.matrices.items()) + alone


def _bounds(chains: Sequence[Chain], lowest: float, highest: float) -> tuple[float, float]:
    """The logarithms of the least norm and of the largest, as far as these limits allow."""
    logs = [log10 for chain in chains for log10 in chain.log10_norms]
    low, high = max(min(logs), lowest), min(max(logs), highest)
    return min(low, high - 1), high


def _bars(logs: Sequence[float], room: int, low: float, high: float) -> str:
    """A bar a place; where there are more places than room, some at even distances, both ends among them."""
    if len(logs) > room:
        logs = [logs[place * (len(logs) - 1) // (room - 1)] for place in range(room)]
    shares = [(min(max(log, low), high) - low) / (high - low) for log in logs]
    return "".join(BARS[round(share * (len(BARS) - 1))] for share in shares)


def svg(found: Gradients) -> str:
    """The figure as one SVG file that needs nothing else, for light and dark surroundings."""
    drawing, height = _drawing(found.chains)
    return svg_file("gradients", TITLE, drawing, WIDTH, height, f"{TITLE}. {_in_words(found.chains)}")


def html_page(found: Gradients, intro: str) -> str:
    """The figure and the numbers on one page that loads nothing from elsewhere."""
    drawing, height = _drawing(found.chains)
    article = Template(read_part("picture.html")).substitute(
        kind="gradients",
        number=1,
        name="Gradients",
        title=escaped(found.text),
        facts=f'<dt>Answer</dt><dd class="answer"><bdi>{escaped(found.answer)}</bdi></dd>',
        viewbox=f"0 0 {WIDTH} {height}",
        drawing=drawing,
        open="open",
        caption="Each chain in numbers; the last column holds the largest singular values of its recurrent matrices.",
        table=_table(found.chains),
    )
    # On a narrow screen it scrolls, rather than shrink until nothing can be read.
    style = f"#gradients-1 {{ min-width: {WIDTH * 4 // 5}px; }}\n"
    return html_file("gradients", TITLE, intro, article, style)


def _drawing(chains: Sequence[Chain]) -> tuple[str, int]:
    """What is inside the SVG, and its height."""
    least, most = _bounds(chains, lowest=-12, highest=12)
    low, high = math.floor(least + 0.01), max(math.ceil(most - 0.01), 1)
    far, right, bottom = max(*(len(chain.symbols) - 1 for chain in chains), 1), WIDTH - RIGHT, TOP + HIGH

    def at(distance: float, log10: float) -> str:
        x = LEFT + (right - LEFT) * distance / far
        return f"{x:.1f},{TOP + HIGH * (high - min(max(log10, low), high)) / (high - low):.1f}"

    slope = -math.log10(LOST) / SPAN
    upper, lower = min(high / slope, far), min(-low / slope, far)
    cone = [at(0, 0), at(upper, upper * slope), at(far, far * slope), at(far, -far * slope), at(lower, -lower * slope)]
    parts = [f'<polygon class="calm" points="{" ".join(cone)}"/>']
    for log10 in (log10 for log10 in range(low, high + 1) if log10 % -((low - high) // 8) == 0):
        y = at(0, log10).split(",")[1]
        parts.append(f'<line class="{"grid" if log10 else "one"}" x1="{LEFT}" x2="{right}" y1="{y}" y2="{y}"/>')
        parts.append(_text("tick", LEFT - 8, float(y) + 4, power(log10)))
    for distance in range(0, far + 1, _pace(far)):
        parts.append(_text("tick", float(at(distance, 0).split(",")[0]), bottom + 18, str(distance), "middle"))
    parts.append(_text("axis", right, bottom + 38, "steps back from the end of the chain"))
    parts.append(_text("axis", -(TOP + HIGH / 2), 18, _axis(chains), "middle", ' transform="rotate(-90)"'))
    parts.append(_text("calm-name", right - 6, float(at(0, 0).split(",")[1]) - 6, "stable"))
    for number, chain in enumerate(chains):
        parts.append(_line(number, chain, [at(distance, log) for distance, log in enumerate(chain.log10_norms[::-1])]))
    return "".join(parts), bottom + 56 + 24 * len(chains)


def _axis(chains: Sequence[Chain]) -> str:
    cells = any(chain.part == "c" for chain in chains)
    return "norm of d h(T) / d h(t)" + (", or of d c(T) / d c(t)" if cells else "")


def _text(kind: str, x: float, y: float, words: str, anchor: str = "end", more: str = "") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{words}</text>'


def _line(number: int, chain: Chain, points: Sequence[str]) -> str:
    """A chain's line, its dots with their numbers, and its row in the legend."""
    dash = f'stroke-dasharray="{DASHES[number // TONES % len(DASHES)]}"' if number >= TONES else ""
    y = TOP + HIGH + 66 + 24 * number
    drawn = [f'<polyline class="line" {dash} points="{" ".join(points)}"/>']
    told = zip(points, chain.symbols[::-1], chain.log10_norms[::-1], strict=True)
    for back, (point, symbol, log10) in enumerate(told if len(points) <= DOTTED else ()):
        x, height = point.split(",")
        title = f"{chain.name}, {back} back, after {escaped(symbol)}: {power(log10)}"
        drawn.append(f'<circle class="dot" cx="{x}" cy="{height}" r="3"><title>{title}</title></circle>')
    words = f"{chain.name}, {chain.cell}: {chain.verdict}, {chain.sentence}"
    drawn.append(f'<line class="line" {dash} x1="{LEFT}" x2="{LEFT + 36}" y1="{y - 5}" y2="{y - 5}"/>')
    return f'<g class="tone-{number % TONES + 1}">{"".join(drawn)}<text x="{LEFT + 46}" y="{y}">{words}</text></g>'


def _pace(far: int) -> int:
    """The distance between two numbers on the axis, so that there are twelve at the most."""
    return next(step * ten for ten in (10**n for n in range(9)) for step in (1, 2, 5) if far <= 11 * step * ten)


def _table(chains: Sequence[Chain]) -> str:
    head = "".join(f'<th scope="col">{name}</th>' for name in (*HEAD, "matrices"))
    rows = [f"<thead><tr>{head}</tr></thead>"]
    for chain in chains:
        cells = "".join(f"<td>{fact}</td>" for fact in (*_row(chain)[1:], _matrices(chain) or "-"))
        rows.append(f'<tr><th scope="row">{chain.name}</th>{cells}</tr>')
    return "\n".join(rows)


def _in_words(chains: Sequence[Chain]) -> str:
    return " ".join(f"{chain.name}: {chain.verdict}, {chain.sentence}." for chain in chains)
