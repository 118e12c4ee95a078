"""Plain tables laid over one another: what a later layer says replaces what an earlier one said."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from antiphon.config.keys import chosen_table, holds_paths, kind_of
from antiphon.config.schema import Data, Run, Table


def merge(base: dict[str, Any], layer: dict[str, Any]) -> dict[str, Any]:
    """Tables merge key by key; anything else is replaced."""
    merged = dict(base)
    for key, value in layer.items():
        both = isinstance(value, dict) and isinstance(base.get(key), dict)
        merged[key] = merge(base[key], value) if both else value
    return merged


def lay_over(base: dict[str, Any], layer: dict[str, Any]) -> dict[str, Any]:
    """As `merge`, but nothing of the base survives that the layer has made obsolete."""
    return merge(_without_stale(with_kinds(base), layer), layer)


def _without_stale(base: dict[str, Any], layer: dict[str, Any]) -> dict[str, Any]:
    """Drops the keys of another kind, and the target half of sources that are no longer named."""
    if "kind" in layer and layer["kind"] != base.get("kind"):
        return {}
    kept = {key: value for key, value in base.items() if key in layer or key.removesuffix("_target") not in layer}
    for key, value in layer.items():
        if isinstance(value, dict) and isinstance(kept.get(key), dict):
            kept[key] = _without_stale(kept[key], value)
    return kept


def last_naming(layers: Sequence[dict[str, Any]], address: str) -> int:
    """The last layer that says anything at this address; -1: none does."""
    return max((number for number, layer in enumerate(layers) if _names(layer, address.split("."))), default=-1)


def _names(table: Any, steps: Sequence[str]) -> bool:
    if not steps:
        return True
    return isinstance(table, dict) and steps[0] in table and _names(table[steps[0]], steps[1:])


def without(table: dict[str, Any], steps: Sequence[str]) -> dict[str, Any]:
    """The table without what these steps lead to; the same where they lead nowhere."""
    first, *rest = steps
    if not rest:
        return {key: value for key, value in table.items() if key != first}
    inner = table.get(first)
    return table | {first: without(inner, rest)} if isinstance(inner, dict) else table


def with_kinds(values: dict[str, Any], table: type[Table] = Run) -> dict[str, Any]:
    """A table that does not say its kind is of the kind it would be by default."""
    filled = dict(values)
    for key, field in table.model_fields.items():
        chosen = chosen_table(field, values.get(key))
        if chosen is not None:
            filled[key] = with_kinds(values[key], chosen)
            if (kind := kind_of(chosen)) is not None:
                filled[key].setdefault("kind", kind)
    return filled


def with_paths(values: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Every file of [data] and folder of [train.start] as seen from here: their names are relative to `folder`."""

    def moved(name: Any) -> Any:
        return str(folder / name) if isinstance(name, str) and name else name

    train = values.get("train")
    start = train.get("start") if isinstance(train, dict) else None
    if isinstance(train, dict) and isinstance(start, dict):
        values = values | {"train": train | {"start": {half: moved(name) for half, name in start.items()}}}
    data = values.get("data")
    if not isinstance(data, dict):
        return values
    changed = dict(data)
    for key, field in Data.model_fields.items():
        if key in data and holds_paths(field):
            given = data[key]
            changed[key] = [moved(name) for name in given] if isinstance(given, list) else moved(given)
    return values | {"data": changed}
