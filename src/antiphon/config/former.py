"""Model folders from before a key came or went: what they mean by having it, or by not having it."""

from typing import Any


def as_trained(tables: dict[str, Any]) -> dict[str, Any]:
    """The tables of a run that was written whole, in the keys of today."""
    train, model = tables.get("train"), tables.get("model")
    if isinstance(train, dict):  # processes shared a step before threads did
        tables = {**tables, "train": {key: value for key, value in train.items() if key != "processes"}}
    if isinstance(model, dict):
        tables = {**tables, "model": {name: _half_as_trained(value) for name, value in model.items()}}
    return tables


def _half_as_trained(half: Any) -> Any:
    """Recurrent halves read words unscaled before they had `scale_embedding`."""
    recurrent = isinstance(half, dict) and half.get("kind") == "recurrent"
    return {"scale_embedding": False, **half} if recurrent else half
