"""Weights that a run begins with: those of other models, where `train.start` names their folders."""

from collections.abc import Iterator
from pathlib import Path

import torch
from torch import nn

from antiphon.config.schema import Run
from antiphon.data.tokenize import Choice, SideName, Tokenizer, load_tokenizer
from antiphon.errors import AntiphonError
from antiphon.store import CONFIG, WEIGHTS, load_settings, read_tensors

# The parts of a model that belong to a half: its embedding, its layers, and for a decoder its head.
_PARTS = {"encoder": ("source.", "encoder."), "decoder": ("target.", "decoder.", "head.")}


def given_tokenizers(run: Run, out: Path | None) -> dict[SideName, Tokenizer]:
    """The tokenisers that come with what the run starts from; once it has begun, those that its folder keeps."""
    given: dict[SideName, Tokenizer] = {}
    for half, folder in run.train.start.folders.items():
        side: SideName = "source" if half == "encoder" and run.has_source else "target"
        choice = run.data.source.tokenizer if side == "source" else run.data.target_tokenizer
        begun = out is not None and (out / CONFIG).exists()
        one = (
            load_tokenizer(out, side, choice)
            if out is not None and begun
            else _tokenizer_of(Path(folder), half, choice)
        )
        given |= {"source": one, "target": one} if run.data.joint else {side: one}
    return given


def _tokenizer_of(folder: Path, half: str, choice: Choice) -> Tokenizer:
    side: SideName = "source" if half == "encoder" and load_settings(folder).has_source else "target"
    return load_tokenizer(folder, side, choice)


def start_from_others(model: nn.Module, run: Run) -> Iterator[str]:
    """Fill the halves that are to begin with other weights, and say what was taken from where."""
    parameters = dict(model.named_parameters())
    for half, folder in run.train.start.folders.items():
        tensors, _ = read_tensors(Path(folder) / WEIGHTS)
        theirs = {name: tensor for name, tensor in tensors.items() if name.startswith(_PARTS[half])}
        strange = [name for name in theirs if name not in parameters and not name.startswith(("head.", "target."))]
        unlike = [name for name in theirs if name in parameters and theirs[name].shape != parameters[name].shape]
        if strange or unlike:
            name = (strange + unlike)[0]
            shapes = [tuple(value[name].shape) for value in (theirs, parameters) if name in value]
            raise AntiphonError(
                f"train.start.{half}: {folder} has another shape than this run: "
                f"{name} {' and '.join(map(str, shapes))}. "
                f"Leave the keys of model.{half} out: they are taken from there."
            )
        taken = [name for name in theirs if name in parameters]
        with torch.no_grad():
            for name in taken:
                parameters[name].copy_(theirs[name])
        fresh = [name for name in parameters if name.startswith(_PARTS[half]) and name not in taken]
        rest = f"; {len(fresh)} more are new" if fresh else ""
        yield f"The {half} starts from {folder}: {len(taken)} tensors{rest}."
