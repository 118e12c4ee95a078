"""The folder of a run: made new, found again, or refused because another run lives there."""

import json
import os
import shutil
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from antiphon.config.schema import Run
from antiphon.config.toml import differences, read_resolved
from antiphon.data.prepare import NOTHING_GIVEN, Given, fingerprint
from antiphon.errors import AntiphonError
from antiphon.files import PARTIAL, held, make_folder, write_text
from antiphon.store import CHECKPOINTS, CONFIG, KNOWN, REPORT, TOKENS, WEIGHTS

# A run may go on with another end, rhythm of saving and search; anything else is another run.
_MAY_CHANGE = (
    "train.max_steps",
    "train.max_epochs",
    "train.max_minutes",
    "train.patience",
    "train.save_every",
    "search.",
)


@contextmanager
def opened(run: Run, folder: Path, fresh: bool) -> Iterator[None]:
    """Make the folder ready for this run, and hold it; refuse to mix the run with anything else."""
    if folder.exists() and not folder.is_dir():
        raise AntiphonError(f"{folder}: a file, not a folder. Choose another --out.")
    make_folder(folder)
    with held(folder) as ours:
        if not ours:
            raise AntiphonError(
                f"{folder}: another training is at work there. Wait for its end, or choose another --out."
            )
        _make_ready(run, folder, fresh)
        yield


def _make_ready(run: Run, folder: Path, fresh: bool) -> None:
    entries = sorted(path.name for path in folder.iterdir())
    strangers = [name for name in entries if name.removesuffix(PARTIAL) not in KNOWN]
    if strangers:
        raise AntiphonError(f"{folder}: holds {strangers[0]!r}, which is no part of a run. Choose another --out.")
    if fresh:
        _clear(folder, entries)
    elif CONFIG in entries and (CHECKPOINTS in entries or WEIGHTS in entries):  # else nothing was learnt there
        _refuse_another_run(run, folder)
    elif CHECKPOINTS in entries and CONFIG not in entries:
        raise AntiphonError(
            f"{folder}: holds checkpoints, but no {CONFIG} that says of what run. "
            "Put it back, choose another --out, or start over with --fresh, which deletes them."
        )


def _refuse_another_run(run: Run, folder: Path) -> None:
    changed = [line for line in differences(read_resolved(folder / CONFIG), run) if not line.startswith(_MAY_CHANGE)]
    if changed:
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise AntiphonError(
            f"{folder}: holds another run ({changed[0]}{more}). "
            "Choose another --out, or start over there with --fresh, which deletes it."
        )


def refuse_other_data(run: Run, began_with: str, folder: Path, given: Given = NOTHING_GIVEN) -> None:
    """To go on with other pairs would neither be the old run nor an honest new one."""
    if began_with and began_with != fingerprint(run.data, run.rows, given):
        files = [path for _, path in run.data.files]
        which = files[0] if len(files) == 1 else f"one of {', '.join(files)}"
        raise AntiphonError(
            f"{which}: changed since the run in {folder} began. "
            "Put it back, choose another --out, or start over there with --fresh, which deletes the run."
        )


def _clear(folder: Path, entries: list[str]) -> None:
    for name in entries:
        path = folder / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def write_report(folder: Path, report: Mapping[str, Any]) -> None:
    write_text(folder / REPORT, json.dumps(report, indent=1, ensure_ascii=False) + "\n")


def default_out(run: Path | None, recipe: str | None) -> Path:
    """Where a run goes that is not told where."""
    return Path("runs") / (run.stem if run is not None else recipe or "run")


def tokens_folder(folder: Path) -> Path:
    return folder / TOKENS


class StopOnSignal:
    """Ctrl-C and SIGTERM only raise a flag, so that a step and a save are never cut; a second Ctrl-C is blunt."""

    def __init__(self) -> None:
        self.signal = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "StopOnSignal":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._remember)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _remember(self, number: int, _: FrameType | None) -> None:
        if self.signal and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.signal = number
        if number == signal.SIGINT:
            os.write(2, b"\nStopping after this step, to save. Ctrl-C again stops at once and saves nothing.\n")
