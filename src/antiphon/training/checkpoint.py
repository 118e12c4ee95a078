"""Checkpoints: everything a run needs to go on exactly, in one file that is whole or not there."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from torch import Tensor

from antiphon.errors import AntiphonError
from antiphon.files import PARTIAL, make_folder
from antiphon.store import CHECKPOINTS, FORMAT, read_tensors, write_tensors

_KEPT = 2  # the last one, and the one before it for the day the last one turns out damaged


@dataclass
class Progress:
    """How far a run has come. With the seed, this decides every batch and every draw that follows."""

    step: int = 0  # groups of `accumulate` batches seen, also where the update was skipped
    updates: int = 0  # of the weights
    epoch: int = 0
    index: int = 0  # the next batch of this epoch
    seconds: float = 0.0
    tokens: int = 0
    skipped: int = 0  # updates left out because the loss or gradient was not finite
    skipped_in_a_row: int = 0
    validated: int = -1  # the step of the last validation
    best: list[tuple[float, int]] = field(default_factory=list)  # (value, step), best first; smaller is better
    since_best: int = 0  # validations
    saved_best: list[int] = field(default_factory=list)  # the steps of `best` when the last checkpoint was written
    finished: str = ""  # why the run is over


def save_checkpoint(run: Path, tensors: Mapping[str, Tensor], progress: Progress) -> None:
    """Write a checkpoint, then tidy away what no checkpoint needs any more."""
    folder = run / CHECKPOINTS
    make_folder(folder)
    best = [step for _, step in progress.best]
    needed = {*best, *progress.saved_best}
    progress.saved_best = best
    facts = {"antiphon": str(FORMAT), "progress": json.dumps(asdict(progress))}
    write_tensors(folder / f"step-{progress.step:08}.safetensors", tensors, facts)
    kept = _checkpoints(folder)[-_KEPT:]
    for path in folder.iterdir():
        stale = path.name.startswith("best-") and int(path.stem.removeprefix("best-")) not in needed
        if stale or path.suffix == PARTIAL or (path.name.startswith("step-") and path not in kept):
            path.unlink()


def load_newest(run: Path, tell: Callable[[str], None]) -> tuple[dict[str, Tensor], Progress] | None:
    """The last checkpoint that is whole; a damaged one is named and passed over."""
    for path in reversed(_checkpoints(run / CHECKPOINTS)):
        try:
            tensors, facts = read_tensors(path)
        except AntiphonError as error:
            tell(f"{error} Going on from the checkpoint before it.")
        else:
            return tensors, _from_json(facts["progress"])
    return None


def save_best(run: Path, tensors: Mapping[str, Tensor], step: int) -> None:
    """The weights of one of the best validations, for averaging at the end."""
    make_folder(run / CHECKPOINTS)
    write_tensors(_best(run, step), tensors, {"antiphon": str(FORMAT)})


def load_best(run: Path, step: int) -> dict[str, Tensor]:
    return read_tensors(_best(run, step))[0]


def _best(run: Path, step: int) -> Path:
    return run / CHECKPOINTS / f"best-{step:08}.safetensors"


def _checkpoints(folder: Path) -> list[Path]:
    return sorted(folder.glob("step-*.safetensors"))


def _from_json(text: str) -> Progress:
    progress = Progress(**json.loads(text))
    progress.best = [(value, step) for value, step in progress.best]
    return progress
