"""Line charts: one line a series over named places, told apart by mark and dash as well as by colour."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from antiphon.show.page import svg_file
from antiphon.show.text import cut_middle, escaped, legible, width_of

# Around the point itself; six marks and five dashes meet in thirty ways before one comes again.
MARKS = (
    "M-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0z", "M-5,-5h10v10h-10z", "M0,-6.5L6,5h-12z", "M0,-7L6,0L0,7L-6,0z",
    "M0,6.5L6,-5h-12z", "M-2,-6h4v4h4v4h-4v4h-4v-4h-4v-4h4z",
)  # fmt: skip
DASHES = ("none", "9 4", "2 4", "12 4 2 4", "5 3")
LEFT, TOP, PLACE, HEIGHT, ROW = 56, 40, 104, 300, 22  # pixels
_LABEL, _LEGEND = 24, 60  # columns of a name at the end of its line, and in the legend


@dataclass(frozen=True)
class Line:
    """A series: one value a place, 0 or more."""

    name: str
    values: Sequence[float]
    note: str = ""  # stands after the name in the legend


@dataclass(frozen=True)
class Chart:
    """Lines over the same places; the values are measured from 0, so that no fall looks deeper than it is."""

    title: str
    across: str  # what the places are
    upwards: str  # what the values are
    places: Sequence[str]
    notes: Sequence[str]  # below each place
    lines: Sequence[Line]

    def __post_init__(self) -> None:
        assert self.places, "a chart has a place"
        assert self.lines, "a chart has a line"
        assert len(self.notes) == len(self.places), "one note a place"
        for line in self.lines:
            assert len(line.values) == len(self.places), "one value a place"
            assert all(math.isfinite(value) and value >= 0 for value in line.values), "values are finite, 0 or more"


def svg(chart: Chart) -> str:
    """The chart as one SVG file that needs nothing else, for light and dark surroundings."""
    return svg_file("lines", chart.title, *draw(chart))


def draw(chart: Chart) -> tuple[str, int, int]:
    """What is inside the SVG, its width and its height."""
    ticks = _ticks(max(value for line in chart.lines for value in line.values))
    bottom = TOP + max(HEIGHT, ROW * len(chart.lines))
    xs = [LEFT + PLACE // 2 + PLACE * place for place in range(len(chart.places))]
    heights = [[bottom - (bottom - TOP) * value / ticks[-1] for value in line.values] for line in chart.lines]
    names = [cut_middle(legible(line.name), _LABEL) for line in chart.lines]
    ends = _spread([ys[-1] for ys in heights], TOP, bottom)
    parts = [_axes(chart, ticks, xs, bottom)]
    for number, (line, ys) in enumerate(zip(chart.lines, heights, strict=True)):
        parts.append(f'<g class="line c{number % len(MARKS)}">{_path(xs, ys, number)}')
        for place, (x, y) in enumerate(zip(xs, ys, strict=True)):
            told = f"{line.name}: {line.values[place]:.2f}, {chart.places[place]} ({chart.notes[place]})"
            parts.append(_mark(x, y, number, told))
        parts.append(f'<text x="{xs[-1] + 12}" y="{ends[number] + 5:.1f}">{escaped(names[number])}</text></g>')
    legend, widest = _legend(chart, bottom + 88)
    room = xs[-1] + 24 + 9 * max(map(width_of, names))
    return "".join(parts) + legend, max(room, widest), bottom + 80 + ROW * len(chart.lines)


def _axes(chart: Chart, ticks: Sequence[float], xs: Sequence[int], bottom: int) -> str:
    right = xs[-1] + 8  # where the names begin, which no grid should cross
    parts = [f'<text class="axis" x="8" y="20">{escaped(chart.upwards)}</text>']
    for tick in ticks:
        y = bottom - (bottom - TOP) * tick / ticks[-1]
        parts.append(f'<path class="{"grid" if tick else "ground"}" d="M{LEFT},{y:.1f}H{right}"/>')
        parts.append(f'<text class="tick" x="{LEFT - 8}" y="{y + 5:.1f}" text-anchor="end">{tick:g}</text>')
    for x, place, note in zip(xs, chart.places, chart.notes, strict=True):
        parts.append(f'<text class="tick" x="{x}" y="{bottom + 20}" text-anchor="middle">{escaped(place)}</text>')
        parts.append(f'<text class="note" x="{x}" y="{bottom + 37}" text-anchor="middle">{escaped(note)}</text>')
    parts.append(f'<text class="axis" x="{LEFT}" y="{bottom + 60}">{escaped(chart.across)}</text>')
    return "".join(parts)


def _legend(chart: Chart, top: int) -> tuple[str, int]:
    """A row a line, and the width of the widest, what stands above them included."""
    parts, widest = [], LEFT + 16 + 8 * width_of(legible(chart.across))
    for number, line in enumerate(chart.lines):
        y, name = top + ROW * number, cut_middle(legible(line.name), _LEGEND)
        note = f'<tspan class="note" dx="12">{escaped(line.note)}</tspan>' if line.note else ""
        parts.append(
            f'<g class="line c{number % len(MARKS)}">{_path([LEFT, LEFT + 44], [y - 5, y - 5], number)}'
            f'{_mark(LEFT + 22, y - 5, number)}<text x="{LEFT + 56}" y="{y}">{escaped(name)}{note}</text></g>'
        )
        widest = max(widest, LEFT + 76 + 9 * width_of(name + legible(line.note)))
    return "".join(parts), widest


def _path(xs: Sequence[float], ys: Sequence[float], number: int) -> str:
    points = "L".join(f"{x},{y:.1f}" for x, y in zip(xs, ys, strict=True))
    return f'<path class="stroke" stroke-dasharray="{DASHES[number % len(DASHES)]}" d="M{points}"/>'


def _mark(x: float, y: float, number: int, told: str = "") -> str:
    title = f"<title>{escaped(told)}</title>" if told else ""
    return f'<path class="mark" transform="translate({x},{y:.1f})" d="{MARKS[number % len(MARKS)]}">{title}</path>'


def _ticks(highest: float) -> list[float]:
    """From 0 in at most five even steps of 1, 2 or 5 times a power of ten, up to the highest value or beyond."""
    if highest <= 0:
        return [0.0, 1.0]
    power = 10.0 ** math.floor(math.log10(highest / 5))
    step = next(times * power for times in (1, 2, 5, 10, 20) if times * power * 5 >= highest * (1 - 1e-9))
    return [count * step for count in range(math.ceil(highest / step - 1e-9) + 1)]


def _spread(ys: Sequence[float], top: float, bottom: float) -> list[float]:
    """Heights for labels beside these points: in the same order, none upon another, all between top and bottom."""
    order = sorted(range(len(ys)), key=lambda number: ys[number])
    places = [*ys]
    low = top
    for number in order:
        places[number] = low = max(places[number], low)
        low += 17
    high = bottom
    for number in reversed(order):
        places[number] = high = min(places[number], high)
        high -= 17
    return places
