"""Halves that begin with the weights of another model: their shape and their tokeniser are that model's."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from antiphon.config.keys import chosen_table, default_kind, kind_of, tables_of
from antiphon.config.layers import last_naming, merge, without
from antiphon.config.schema import Run, Table
from antiphon.errors import AntiphonError

HALVES = ("encoder", "decoder")
_SIDE = {"encoder": "source", "decoder": "target"}


def with_starts(
    tables: dict[str, Any], layers: Sequence[dict[str, Any]], read: Callable[[Path], Run]
) -> dict[str, Any]:
    """The tables of a run, filled in from the folders that `train.start` names; `read` reads the run of a folder.

    A folder that a later layer names overrules the shape and the tokeniser of those before: a recipe's, say.
    """
    train = tables.get("train")
    start = train.get("start") if isinstance(train, dict) else None
    if not isinstance(start, dict):
        return tables
    named = {half: start[half] for half in HALVES if isinstance(start.get(half), str) and start[half]}
    runs = {half: _read(folder, half, read) for half, folder in named.items()}
    for half, folder in named.items():
        tables = _without_overruled(tables, layers, half, runs[half])
        tables = _with_start(tables, half, folder, runs[half])
    if len(named) == 2 and named["encoder"] == named["decoder"] and runs["encoder"].data.joint:
        tables = merge(tables, {"data": {"joint": True}})
        tables = merge({"model": {"tie": runs["encoder"].model.model_dump()["tie"]}}, tables)
    elif "decoder" in runs:
        tables = _with_tie(tables, runs["decoder"])
    return tables


def _without_overruled(tables: dict[str, Any], layers: Sequence[dict[str, Any]], half: str, run: Run) -> dict[str, Any]:
    given = tables.get("model", {}).get(half)
    keys = set(given) if isinstance(given, dict) else set()
    # What is dropped, and what tells two texts apart, fits any weights of the same kind.
    keys -= {"dropout", "segments"} & set(run.model.halves[half].model_dump())
    addresses = ["model.tie", "data.joint", f"data.{_side(tables, half)}.tokenizer"]
    for address in [*addresses, *(f"model.{half}.{key}" for key in keys)]:
        if last_naming(layers, address) < last_naming(layers, f"train.start.{half}"):
            tables = without(tables, address.split("."))
    return tables


def _side(tables: dict[str, Any], half: str) -> str:
    """The side whose tokeniser this half reads or writes with."""
    if _one_vocabulary(tables):
        return "source"
    return _SIDE[half] if _has_source(_model_table(tables)) else "target"


def _with_tie(tables: dict[str, Any], run: Run) -> dict[str, Any]:
    """A decoder whose embedding is its head too stays so, unless the run says otherwise."""
    tie = "none" if run.model.model_dump()["tie"] == "none" else "output"
    return merge({"model": {"tie": tie}}, tables)


def _read(folder: str, half: str, read: Callable[[Path], Run]) -> Run:
    address = f"train.start.{half}"
    if not Path(folder).is_dir():
        raise AntiphonError(f"{address}: no such model folder as {folder}. `antiphon train` makes one.")
    try:
        run = read(Path(folder) / "antiphon.toml")
    except AntiphonError as error:
        raise AntiphonError(f"{address}: {error}") from None
    if half not in run.model.halves:
        raise AntiphonError(
            f"{address}: {folder} is a {run.model.kind}, and has no {half}. It has: {', '.join(run.model.halves)}."
        )
    return run


def _with_start(tables: dict[str, Any], half: str, folder: str, run: Run) -> dict[str, Any]:
    address, theirs = f"train.start.{half}", run.model.halves[half].model_dump()
    model = _model_table(tables)
    if half not in model.model_fields:
        raise AntiphonError(f'{address}: model.kind = "{kind_of(model)}" has no {half}. Leave this key out.')
    given = tables.get("model", {}).get(half) or {}
    kind = given.get("kind", theirs["kind"]) if isinstance(given, dict) else theirs["kind"]
    if kind != theirs["kind"]:
        raise AntiphonError(f'model.{half}.kind = "{kind}", but that of {folder} is {theirs["kind"]}. Leave it out.')
    table = next(option for option in tables_of(model.model_fields[half]) if kind_of(option) == kind)
    shape = {key: value for key, value in theirs.items() if key in table.model_fields}
    side = _side(tables, half)
    tokenizer = run.data.source.tokenizer if half == "encoder" and run.has_source else run.data.target_tokenizer
    choice = tokenizer.model_dump()
    own = (tables.get("data", {}).get(side) or {}).get("tokenizer")
    if isinstance(own, dict) and any(choice.get(key, value) != value for key, value in own.items()):
        raise AntiphonError(
            f"data.{side}.tokenizer: the {half} of {folder} reads with the tokeniser it was trained with. "
            "Leave this key out."
        )
    tables = merge({"model": {half: shape}}, tables)
    return merge(tables, {"data": {side: {"tokenizer": choice}}})


def _model_table(tables: dict[str, Any]) -> type[Table]:
    field = Run.model_fields["model"]
    chosen = chosen_table(field, tables.get("model", {}))
    if chosen is None:
        chosen = next(table for table in tables_of(field) if kind_of(table) == default_kind(field))
    return chosen


def _one_vocabulary(tables: dict[str, Any]) -> bool:
    """Whether the run has one for both sides without being told, and one home for its tokeniser."""
    denoise = tables.get("data", {}).get("denoise") or {}
    return tables.get("model", {}).get("reads") == "pairs" or denoise.get("target", "none") != "none"


def _has_source(model: type[Table]) -> bool:
    return kind_of(model) not in ("language_model", "masked")
