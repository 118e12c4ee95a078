"""The schema as a tree of keys: which tables there are, at which addresses, and what a key may hold."""

from collections.abc import Iterator
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from antiphon.config.schema import Paths, Run, Table

PATHS_MARK = get_args(Paths)[1]
BOUNDS = (("ge", "at least"), ("gt", "above"), ("le", "at most"), ("lt", "below"))


def tables_of(field: FieldInfo) -> tuple[type[Table], ...]:
    """The tables that this key may hold: none for a plain value, several where `kind` chooses."""
    is_union = get_origin(field.annotation) in (Union, UnionType)
    options = get_args(field.annotation) if is_union else (field.annotation,)
    return tuple(option for option in options if isinstance(option, type) and issubclass(option, Table))


def kind_of(table: type[Table]) -> str | None:
    """The value of `kind` that chooses this table, or None where there is nothing to choose."""
    return get_args(table.model_fields["kind"].annotation)[0] if "kind" in table.model_fields else None


def default_kind(field: FieldInfo) -> str | None:
    """The kind of the table that stands here when the run file says nothing."""
    return getattr(field.get_default(call_default_factory=True, validated_data={}), "kind", None)


def chosen_table(field: FieldInfo, value: Any) -> type[Table] | None:
    """The table that `value` is, or None for a plain value and for a kind that does not exist."""
    if not isinstance(value, dict):
        return None
    options = tables_of(field)
    if len(options) == 1:
        return options[0]
    kind = value.get("kind", default_kind(field))
    return next((table for table in options if kind_of(table) == kind), None)


def all_tables(table: type[Table] = Run, address: str = "") -> Iterator[tuple[str, type[Table]]]:
    """Every address at which a table stands, with every table that may stand there, outer ones first."""
    yield address, table
    for name, field in table.model_fields.items():
        for inner in tables_of(field):
            yield from all_tables(inner, join(address, name))


@cache
def models_with(table: type[Table]) -> list[str]:
    """The kinds of model in which this table may stand."""
    kinds = {kind_of(model): model for model in tables_of(Run.model_fields["model"])}
    return [str(kind) for kind, model in kinds.items() if table in (inner for _, inner in all_tables(model))]


def join(address: str, name: str) -> str:
    return f"{address}.{name}" if address else name


def holds_paths(field: FieldInfo) -> bool:
    return PATHS_MARK in field.metadata


def choices_of(field: FieldInfo) -> tuple[Any, ...]:
    """The values of a key that takes one of a few; empty for all others."""
    return get_args(field.annotation) if get_origin(field.annotation) is Literal else ()


def item_of(field: FieldInfo) -> FieldInfo:
    """The items of a list, described as a key is."""
    return FieldInfo.from_annotation(get_args(field.annotation)[0])


def limits_of(field: FieldInfo) -> str:
    """The range of a number in words: "at least 0, below 1"; empty where anything goes."""
    found = [
        f"{words} {getattr(rule, name):g}" for rule in field.metadata for name, words in BOUNDS if hasattr(rule, name)
    ]
    return ", ".join(found)


def type_of(field: FieldInfo) -> str:
    """What a key without choices takes, in words."""
    if holds_paths(field):
        return "a file name or a list of file names"
    if get_origin(field.annotation) is list:
        return "a list"
    names: dict[Any, str] = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
    return names.get(field.annotation, "a table")
