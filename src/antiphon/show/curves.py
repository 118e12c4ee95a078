"""The loss over the steps of a run, drawn in characters."""

import math
from collections.abc import Sequence

import plotext  # type: ignore[import-untyped]

Point = tuple[int, float]

MARKERS = {"train": "braille", "valid": "●"}
SIGNS = {"train": "─ train", "valid": "● valid"}


def loss_curve(train: Sequence[Point], valid: Sequence[Point], width: int, height: int, colour: bool = False) -> str:
    """Both series of (step, loss) in one frame, `width` columns by `height` lines (30 by 10 at the least)."""
    width, height = max(width, 30), max(height, 10)
    series = {"train": _thin(train, 2 * width), "valid": _thin(valid, width)}
    steps = [step for points in series.values() for step, _ in points]
    if not steps:
        return "no loss to draw yet"
    # plotext has one figure for the whole program: it is left as empty as it was found.
    figure = plotext.figure
    figure.clear()
    plotext.terminal.limit(False, False)  # the caller knows the size, not the terminal
    figure.plot_size(width, height)
    figure.theme("simple" if colour else "colorless")
    for name, points in series.items():
        if points:
            curve = figure.signal([step for step, _ in points], [loss for _, loss in points], marker=MARKERS[name])
            figure.draw(curve.lines(name == "train"))
    first, last = min(steps), max(steps)
    ticks = sorted({first + (last - first) * quarter // 4 for quarter in range(5)})
    figure.ruler(axis=0, side=0).ticks(ticks, [str(step) for step in ticks])  # by itself it writes 100000 as 1.0e5
    figure.label("step", axis=0).label("loss", axis=1)
    # A line above the frame: plotext's own legend would cover the curve.
    figure.title("   ".join(SIGNS[name] for name, points in series.items() if points))
    drawn: str = figure.build().string(not colour)
    figure.clear()
    return "\n".join(line.rstrip() for line in drawn.splitlines())


def _thin(points: Sequence[Point], most: int) -> list[Point]:
    """The finite points, or so many of them at even distances, the first and the last among them."""
    finite = [(step, loss) for step, loss in points if math.isfinite(loss)]
    if len(finite) <= most:
        return finite
    return [finite[place * (len(finite) - 1) // (most - 1)] for place in range(most)]
