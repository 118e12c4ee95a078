"""Which weights are learnt, and how fast each: matrices decay, lower layers may learn more slowly, some stay."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from antiphon.config.schema import Train
from antiphon.errors import AntiphonError

_LAYER = re.compile(r"(encoder|decoder)\.(?:layers|cells)\.(\d+)\.")
_EMBEDDINGS = ("source.", "target.", "letters.")


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


def parameter_groups(names: Mapping[Tensor, str], choice: Train) -> list[dict[str, Any]]:
    """Weights that decay alike and learn alike, together; `speed` is what the learning rate is multiplied by."""
    tops: dict[str, int] = {}
    for found in filter(None, map(_LAYER.match, names.values())):
        tops[found[1]] = max(tops.get(found[1], 0), int(found[2]) + 1)
    groups: dict[tuple[float, float], list[Tensor]] = {}
    for tensor, name in names.items():
        if tensor.requires_grad:
            decay = choice.weight_decay if tensor.dim() > 1 else 0.0
            groups.setdefault((decay, choice.layer_decay ** _below_the_top(name, tops)), []).append(tensor)
    return [{"params": tensors, "weight_decay": decay, "speed": speed} for (decay, speed), tensors in groups.items()]


def _below_the_top(name: str, tops: Mapping[str, int]) -> int:
    """How many layers stand between these weights and what the model says: 0 for its head, most for its embeddings."""
    found = _LAYER.match(name)
    if found:
        return tops[found[1]] - int(found[2])
    if name.startswith(_EMBEDDINGS):
        return tops.get("decoder" if name.startswith("target.") else "encoder", 0) + 1
    return 0
