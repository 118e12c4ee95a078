"""The page that explains every key of a run file, written from the schema itself."""

from collections.abc import Iterable, Iterator
from inspect import cleandoc
from typing import Any, get_origin

from pydantic.fields import FieldInfo

from antiphon.config.keys import (
    all_tables,
    choices_of,
    holds_paths,
    item_of,
    join,
    kind_of,
    limits_of,
    models_with,
    tables_of,
    type_of,
)
from antiphon.config.schema import Run, Table

INTRODUCTION = """\
# The run file

Every key that a run can set, with its default. This page is written from `src/antiphon/config/schema.py`; a test holds
the two together.

A run file is TOML, and every key but `data.train` is optional:

```toml
[data]
train = "pairs.tsv"

[model.encoder]
kind = "transformer"
width = 128
```

- A recipe (`--recipe NAME`) is the base. The run file lies over it, the flags over that, and `--set` over all of them.
- A key's address is the name of its table, a dot, and its own name: `--set train.max_steps=500`.
- Tables merge key by key. A table of another `kind` replaces the whole table, so no key of the old kind is left behind;
  and new `train` files without a `train_target` drop the old target halves too (as do `valid` and `test`).
- A table that does not say its `kind` is of the default kind.
- A key that would change nothing is refused where it is set: `merge` with one direction, `query` without attention.
  Where a later layer made it idle, such as `--set model.encoder.directions=1` over a run file with `merge`, it is
  forgotten.
- File names in a run file are relative to its folder; those given by flags and `--set`, to the working directory.
"""


def config_page() -> str:
    """The whole of docs/config.md."""
    places: dict[type[Table], list[str]] = {}
    for address, table in all_tables():
        if address not in places.setdefault(table, []):
            places[table].append(address)
    sections = ["\n".join(_section(table, addresses)) for table, addresses in places.items()]
    return "\n".join([INTRODUCTION, *sections])


def _section(table: type[Table], addresses: list[str]) -> Iterator[str]:
    kind = kind_of(table)
    names = " and ".join(f"`[{address}]`" for address in addresses) if table is not Run else "The top of the file"
    # Models of two kinds may have tables of one name.
    twins = [other for place, other in all_tables() if place == addresses[0] and kind_of(other) == kind]
    where = f" of a `{models_with(table)[0]}`" if len(set(twins)) > 1 else ""
    yield f'## {names}{where}, `kind = "{kind}"`' if kind else f"## {names}"
    yield ""
    yield cleandoc(table.__doc__ or "")
    yield ""
    fields = {name: field for name, field in table.model_fields.items() if name != "kind"}
    if not fields:
        yield "It has no other keys.\n"
        return
    yield "| key | takes | default | meaning |"
    yield "|---|---|---|---|"
    for name, field in fields.items():
        cells = f"`{name}`", _takes(field, join(addresses[0], name)), _default(field), _meaning(field)
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
    yield ""


def _takes(field: FieldInfo, address: str) -> str:
    tables = tables_of(field)
    if len(tables) > 1:
        return f"a table; `kind` is {_any_of(kind_of(table) for table in tables)}"
    if tables:
        return f"the table `[{address}]`"
    if choices_of(field):
        return _any_of(choices_of(field))
    if get_origin(field.annotation) is list and not holds_paths(field):
        items = item_of(field).annotation
        if items is str or get_origin(items) is list:
            return "a list of texts" if items is str else "a list of pairs of texts"
        longest = next((f"{rule.max_length} " for rule in field.metadata if hasattr(rule, "max_length")), "")
        return f"a list of {longest}numbers, each {limits_of(item_of(field))}"
    return ", ".join(words for words in (type_of(field), limits_of(field)) if words)


def _any_of(choices: Iterable[Any]) -> str:
    return ", ".join(f"`{_toml(choice)}`" for choice in choices)


def _meaning(field: FieldInfo) -> str:
    """The key's own words, or those of the table that it holds."""
    tables = tables_of(field)
    return field.description or (cleandoc(tables[0].__doc__ or "") if len(tables) == 1 else "")


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True, validated_data={})
    if not isinstance(value, Table):
        return f"`{_toml(value)}`"
    kind = kind_of(type(value))
    return f'`kind = "{kind}"`' if kind else "its defaults"


def _toml(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return f'"{value}"'
        case list():
            return f"[{', '.join(_toml(item) for item in value)}]"
        case _:
            return str(value)
