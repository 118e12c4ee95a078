"""Which weights are learnt, by what, and how fast: matrices decay, lower layers may learn more slowly, some stay."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from antiphon.config.schema import Train
from antiphon.errors import AntiphonError
from antiphon.training.muon import Muon

_LAYER = re.compile(r"(encoder|decoder)\.(?:layers|cells)\.(\d+)\.")
_EMBEDDING = re.compile(r"source\.|(target)\.|letters\.|(?:encoder|(decoder))\.(?:positions|first_norm)\.")
_HALVES, _TABLES = ("encoder.", "decoder."), (".positions.", ".relative.")


def freeze(names: Mapping[Tensor, str], parts: Sequence[str]) -> None:
    """The weights of these parts stay as they are."""
    for part in parts:
        within = [tensor for tensor, name in names.items() if name == part or name.startswith(f"{part}.")]
        if not within:
            there = dict.fromkeys(name.partition(".")[0] for name in names.values())
            raise AntiphonError(f'train.freeze: this model has no part "{part}". It has: {", ".join(there)}.')
        for tensor in within:
            tensor.requires_grad_(False)
    if not any(tensor.requires_grad for tensor in names):
        raise AntiphonError("train.freeze: nothing is left to learn. Name fewer parts.")


def make_optimizers(names: Mapping[Tensor, str], choice: Train) -> list[torch.optim.Optimizer]:
    """AdamW for all weights; or for those that Muon is not made for, and Muon for the matrices of both halves."""
    matrices = {tensor: name for tensor, name in names.items() if choice.optimizer == "muon" and _maps(tensor, name)}
    others = {tensor: name for tensor, name in names.items() if tensor not in matrices}
    first, second = choice.betas
    made: list[torch.optim.Optimizer] = []
    if groups := parameter_groups(others, names, choice):
        made.append(torch.optim.AdamW(groups, lr=choice.learning_rate, betas=(first, second), fused=True))
    if groups := parameter_groups(matrices, names, choice):
        made.append(Muon(groups))
    return made


def _maps(tensor: Tensor, name: str) -> bool:
    """Whether these weights map vectors to vectors; words and places have a vector each, a score has only one."""
    inside = name.startswith(_HALVES) and not any(table in name for table in _TABLES)
    return inside and tensor.dim() == 2 and min(tensor.shape) > 1 and not _diagonals(tensor, name)


def _diagonals(tensor: Tensor, name: str) -> bool:
    """Three weights a unit, stored as three rows."""
    return name.endswith(".peephole") and len(tensor) == 3


def parameter_groups(some: Mapping[Tensor, str], names: Mapping[Tensor, str], choice: Train) -> list[dict[str, Any]]:
    """Of these weights those that decay and learn alike, together; the learning rate is multiplied by `speed`."""
    tops: dict[str, int] = {}
    for found in filter(None, map(_LAYER.match, names.values())):
        tops[found[1]] = max(tops.get(found[1], 0), int(found[2]) + 1)
    groups: dict[tuple[float, float], list[Tensor]] = {}
    for tensor, name in some.items():
        if tensor.requires_grad:
            decay = choice.weight_decay if tensor.dim() > 1 and not _diagonals(tensor, name) else 0.0
            groups.setdefault((decay, choice.layer_decay ** _below_the_top(name, tops)), []).append(tensor)
    return [{"params": tensors, "weight_decay": decay, "speed": speed} for (decay, speed), tensors in groups.items()]


def _below_the_top(name: str, tops: Mapping[str, int]) -> int:
    """How many layers stand between these weights and what the model says: 0 for its head, most for its embeddings."""
    found = _LAYER.match(name)
    if found:
        return tops[found[1]] - int(found[2])
    if embedding := _EMBEDDING.match(name):
        return tops.get("decoder" if any(embedding.groups()) else "encoder", 0) + 1
    return 0
