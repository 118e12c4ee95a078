"""Checkpoints: everything a run needs to go on exactly, in one file that is whole or not there."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from torch import Tensor

from antiphon.errors import AntiphonError
from antiphon.files import PARTIAL, make_folder
from antiphon.store import CHECKPOINTS, FORMAT, read_tensors, write_tensors

_KEPT = 2  # the last one, and the one before it for the day the last one turns out damaged
_NAME = re.compile(r"(step|best)-(\d{8,})\.safetensors")


@dataclass
class Progress:
    """How far a run has come. With the seed, this decides every batch and every draw that follows."""

    data: str = ""  # the fingerprint of what it learns from
    step: int = 0  # groups of `accumulate` batches seen, also where the update was skipped
    updates: int = 0  # of the weights
    epoch: int = 0
    index: int = 0  # the next batch of this epoch
    batches: int = 0  # of this epoch
    seconds: float = 0.0
    tokens: int = 0
    skipped: int = 0  # updates left out because the loss or gradient was not finite
    skipped_in_a_row: int = 0
    clipped: int = 0  # updates whose gradient was longer than train.clip
    norms: list[float] = field(default_factory=list)  # of the gradients of the last few updates, for the log
    validated: int = -1  # the step of the last validation
    best: list[tuple[float, int]] = field(default_factory=list)  # (value, step), best first; smaller is better
    kept: float | None = None  # the value of the weights that answer: the best, or an average that was better
    since_best: int = 0  # validations
    saved_best: list[int] = field(default_factory=list)  # the steps of `best` when the last checkpoint was written
    max_steps: int = 0  # of the last sitting
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
    # Later ones were found damaged, or this run would have begun there.
    steps = _named(folder, "step")
    kept = sorted(step for step in steps if step <= progress.step)[-_KEPT:]
    stale = [path for step, path in steps.items() if step not in kept]
    stale += [path for step, path in _named(folder, "best").items() if step not in needed]
    for path in [*stale, *folder.glob(f"*{PARTIAL}")]:
        path.unlink()


def load_newest(run: Path, tell: Callable[[str], None]) -> tuple[dict[str, Tensor], Progress] | None:
    """The last checkpoint that is whole; a damaged one is named and passed over. None where there never was one."""
    steps = _named(run / CHECKPOINTS, "step")
    for step in sorted(steps, reverse=True):
        try:
            tensors, facts = read_tensors(steps[step])
        except AntiphonError as error:
            tell(f"{error} Passed over.")
        else:
            return tensors, _from_json(facts["progress"])
    if steps:
        raise AntiphonError(
            f"{run / CHECKPOINTS}: no checkpoint in it is whole. Copy one from elsewhere, "
            "or start over with --fresh, which deletes the run."
        )
    return None


def save_best(run: Path, tensors: Mapping[str, Tensor], step: int) -> None:
    """The weights of one of the best validations, for averaging at the end."""
    make_folder(run / CHECKPOINTS)
    write_tensors(_best(run, step), tensors, {"antiphon": str(FORMAT)})


def load_best(run: Path, steps: Sequence[int], tell: Callable[[str], None]) -> list[dict[str, Tensor]]:
    """The weights of these validations; a damaged file is named and left out."""
    found = []
    for step in steps:
        try:
            found.append(read_tensors(_best(run, step))[0])
        except AntiphonError as error:
            tell(f"{error} Left out of the average.")
    return found


def _best(run: Path, step: int) -> Path:
    return run / CHECKPOINTS / f"best-{step:08}.safetensors"


def _named(folder: Path, kind: str) -> dict[int, Path]:
    """Our files of one kind by their step; what someone else put there is neither read nor deleted."""
    found = {path: _NAME.fullmatch(path.name) for path in folder.glob(f"{kind}-*")}
    return {int(match[2]): path for path, match in found.items() if match}


def _from_json(text: str) -> Progress:
    progress = Progress(**json.loads(text))
    progress.best = [(value, step) for value, step in progress.best]
    if progress.kept is None and progress.best:  # from before it was noted
        progress.kept = progress.best[0][0]
    return progress
