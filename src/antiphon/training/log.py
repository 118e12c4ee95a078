"""What a run tells: lines and a progress bar for people, `log.jsonl` for machines."""

import json
import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from antiphon.files import cannot_write, write_text

_LINE_EVERY = 30.0  # seconds between lines where there is no terminal to draw a bar on
_TOLD = 66  # columns for the percentage of a bar and a usual line beside it; the bar gets what is left
_BAR, _SHORTEST = 24, 8  # columns of a bar at the most and at the least: below that there is only its percentage


class Log:
    """Prints and remembers. Without a console it only remembers."""

    def __init__(self, path: Path, console: Console | None) -> None:
        self.path, self.console = path, console
        self._bar: Progress | None = None
        room = console.width - _TOLD if console is not None else 0
        self._bar_width = min(room, _BAR) if room >= _SHORTEST else 0
        self._last_line = time.monotonic()

    def say(self, text: str, style: str | None = None) -> None:
        if self.console is not None:
            # A terminal gets lines wrapped at words; a file gets each as one line.
            self.console.print(text, style=style, markup=False, highlight=False, soft_wrap=not self.console.is_terminal)

    def record(self, entry: Mapping[str, Any]) -> None:
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry, ensure_ascii=False) + "\n")
        except OSError as error:
            raise cannot_write(self.path, error) from error

    def forget_after(self, step: int) -> None:
        """Drop the entries that a resumed run will write again."""
        if self.path.exists():
            kept = [line for line in read_log(self.path) if line.get("step", 0) <= step]
            write_text(self.path, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in kept))

    def __enter__(self) -> "Log":
        if self.console is not None and self.console.is_terminal:
            told = TextColumn("{task.percentage:>3.0f}%"), TextColumn("{task.description}")
            columns = (BarColumn(bar_width=self._bar_width), *told) if self._bar_width else told
            self._bar = Progress(*columns, console=self.console, transient=True)
            self._bar.add_task("", total=1.0)
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def advance(
        self, step: int, loss: float, felt: Mapping[str, float], speed: float, done: float, left: float
    ) -> None:
        """`felt` is of the last gradients and of the words read, `done` a share of the run, `left` are seconds."""
        told = {"step": f"step {step:,}", "loss": f"loss {loss:.3f}"}
        if "teacher_forcing" in felt:
            told["forcing"] = f"forcing {felt['teacher_forcing']:.3f}"
        if "clipped" in felt:
            told["norm"] = f"norm {felt['gradient_norm']:.2g}, {felt['clipped']:.0%} clipped"
        told |= {"speed": f"{speed:,.0f} tokens/s", "left": f"{duration(left)} left"}
        if self._bar is not None:
            before = len("100% ") + (self._bar_width + 1 if self._bar_width else 0)
            room = self._bar.console.width - before
            self._bar.update(self._bar.task_ids[0], completed=done, description=_fitting(told, room))
        elif time.monotonic() - self._last_line >= _LINE_EVERY:
            self._last_line = time.monotonic()
            self.say(_fitting(told, 80))

    def validation(self, entry: Mapping[str, Any], samples: Sequence[tuple[str, str, str]], best: bool) -> None:
        metrics = "  ".join(f"{name} {value:.4g}" for name, value in entry["valid"].items())
        self.say(
            f"step {entry['step']:,}  validation: {metrics}{'  (best so far)' if best else ''}",
            "bold" if best else None,
        )
        width = self.console.width if self.console is not None else 80
        for source, expected, answer in samples:
            self.say(clip(f"    {source}", width))
            self.say(clip(f"      = {expected}", width))
            self.say(clip(f"      > {answer}", width), "green" if answer == expected else "cyan")


def read_log(path: Path) -> list[dict[str, Any]]:
    """The entries of a log; a last line that a crash cut short is left out."""
    entries = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            entries.append(json.loads(line))
        except ValueError:
            continue
    return [entry for entry in entries if isinstance(entry, dict)]


def gradient(norms: Sequence[float], limit: float) -> dict[str, float]:
    """Of these gradients the median norm and the share that was clipped (limit 0: none is); of none, nothing."""
    if not norms:
        return {}
    clipped = sum(norm > limit for norm in norms) / len(norms) if limit else 0.0
    return {"gradient_norm": statistics.median(norms), "clipped": clipped}


def _fitting(told: dict[str, str], room: int) -> str:
    """The line, without what can be missed best where there is no room for it."""
    for missed in ("norm", "speed", "forcing", "loss"):
        if len("  ".join(told.values())) <= room:
            break
        told = {name: text for name, text in told.items() if name != missed}
    return "  ".join(told.values())


def duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60):02} min"


def clip(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
