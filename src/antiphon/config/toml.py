"""A run from its layers (recipe, run file, flags, `--set`), and a run written down again as TOML."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from antiphon.config.former import as_trained
from antiphon.config.idle import without_idle
from antiphon.config.keys import join
from antiphon.config.layers import lay_over, with_kinds, with_paths
from antiphon.config.mistakes import NO_TRAINING_PAIRS, explain
from antiphon.config.schema import Data, Run, Search
from antiphon.config.starts import with_starts
from antiphon.config.suggest import readable, shown
from antiphon.config.text import parse_sets, read_file, read_recipe
from antiphon.errors import AntiphonError


def load_run(path: Path | None, recipe: str | None, data: dict[str, Any], sets: Sequence[str]) -> Run:
    """The run that a recipe, a run file over it, flags over that, and `--set` over all of them describe.

    `data` is what flags say, nested as a run file is: {"data": {"train": ["pairs.tsv"]}}.
    """
    here = Path()
    layers = [read_recipe(recipe)] if recipe is not None else []
    if path is not None:
        layers.append(with_paths(read_file(path), path.parent))
    layers += [with_paths(data, here), with_paths(parse_sets(sets), here)]
    tables: dict[str, Any] = {}
    for layer in layers:
        tables = lay_over(tables, layer)
    whole = with_starts(tables, layers, read_resolved)
    return _validate(without_idle(whole, layers, _validate(whole)))


def read_resolved(path: Path) -> Run:
    """The run that `dump_run` wrote; its paths stay as they are."""
    tables = as_trained(read_file(path))
    try:
        return _validate(tables)
    except AntiphonError as error:
        raise AntiphonError(f"{path}: {error}") from None


def dump_run(run: Run) -> str:
    """Every key of a run as TOML, in the order of the schema, but tables after all other keys."""
    import tomlkit  # takes a while, and most verbs never write a run
    from tomlkit.container import Container
    from tomlkit.items import AbstractTable

    def fill(block: Container | AbstractTable, values: dict[str, Any], depth: int) -> None:
        # From the third level on a table is short enough for one line; one with a header comes after all the rest.
        headed = {key for key, value in values.items() if isinstance(value, dict) and depth < 2}
        for key in sorted(values, key=headed.__contains__):
            value = values[key]
            if isinstance(value, dict):
                inner: AbstractTable = tomlkit.table() if key in headed else tomlkit.inline_table()
                fill(inner, value, depth + 1)
                value = inner
            block.add(key, value)

    document = tomlkit.document()
    document.add(tomlkit.comment("A whole run: every key with its value, given or by default."))
    fill(document, run.model_dump(), 0)
    return tomlkit.dumps(document)


def differences(a: Run, b: Run) -> list[str]:
    """The keys in which two runs differ, with both values: `train.max_steps: 100 -> 200`."""
    return list(_differences(a.model_dump(), b.model_dump(), ""))


def _differences(a: dict[str, Any], b: dict[str, Any], address: str) -> Iterator[str]:
    # Tables of different kinds have different keys: the kind says it all.
    keys = ["kind"] if a.get("kind") != b.get("kind") else list(a)
    for key in keys:
        if isinstance(a[key], dict):
            yield from _differences(a[key], b[key], join(address, key))
        elif a[key] != b[key]:
            yield f"{join(address, key)}: {shown(a[key])} -> {shown(b[key])}"


def _validate(tables: dict[str, Any]) -> Run:
    for problem in _unfit_values(tables, ""):
        raise AntiphonError(problem)
    try:
        run = Run.model_validate(with_kinds(tables))
    except ValidationError as error:
        raise explain(error) from None
    _check_file_names(run.data)
    return run


def _unfit_values(value: Any, address: str) -> Iterator[str]:
    """What TOML or a shell can say, but a run cannot mean or a UTF-8 file cannot keep."""
    match value:
        case dict():
            for key, inner in value.items():
                yield from _unfit_values(inner, join(address, readable(key)))
        case list():
            for i, inner in enumerate(value):
                yield from _unfit_values(inner, f"{address}[{i}]")
        case float() if not math.isfinite(value):
            yield f"{address}: {value} is not allowed: give a finite number"
        case int() if not -(2**63) <= value < 2**63:
            yield f"{address}: this whole number is too large: 64 bits must hold it"
        case str() if any("\ud800" <= letter <= "\udfff" for letter in value):
            instead = "Rename the file" if address.startswith("data.") else "Give it in UTF-8"
            yield f"{address}: {shown(value)} is not UTF-8. {instead}"


def _check_file_names(data: Data) -> None:
    if not data.train:
        raise AntiphonError(NO_TRAINING_PAIRS)
    for address, name in data.files:
        if not name or "\0" in name:
            raise AntiphonError(f"{address}: {shown(name)} is not a file name")


def with_search(search: Search, changes: Mapping[str, Any]) -> Search:
    """A search with some keys changed, checked as a run file is."""
    # Any data that asks nothing of the search: it was trained already.
    tables = {"data": {"train": ["-"], "max_length": 1}, "search": search.model_dump() | dict(changes)}
    return _validate(tables).search
