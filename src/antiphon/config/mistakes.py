"""What is wrong with a run, in the user's words: address, value, what is allowed, what to do."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

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
from antiphon.config.suggest import closeness, did_you_mean, distance, no_such, readable, shown
from antiphon.errors import AntiphonError

NO_TRAINING_PAIRS = 'data.train: no training pairs are named. Give --train FILE, or data.train = "FILE" in the run file'
OWN, OTHER_KIND, BELOW, ELSEWHERE = range(4)
YES, NO = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


@dataclass(frozen=True)
class Place:
    """Where a problem is: the address the user knows, the last key's table, and what that key should hold."""

    address: str
    name: str
    table: type[Table]
    field: FieldInfo | None


def explain(error: ValidationError) -> AntiphonError:
    """The first two problems, a line each, and how many more there are."""
    problems = error.errors(include_url=False)
    # A misspelt key is often why another one is missing, so it comes first.
    problems.sort(key=lambda problem: problem["type"] != "extra_forbidden")
    lines = [_sentence(problem) for problem in problems[:2]]
    if len(problems) > 2:
        lines.append(f"and {len(problems) - 2} more")
    return AntiphonError("\n".join(lines))


def _locate(steps: Sequence[int | str]) -> Place:
    """The place that pydantic's steps lead to, without the kinds it puts between the keys."""
    address, name, field = "", "", None
    table: type[Table] = Run
    owner: type[Table] = Run
    options: tuple[type[Table], ...] = (Run,)
    for step in steps:
        if isinstance(step, int):
            address, field = f"{address}[{step}]", item_of(field) if field else None
        elif len(options) > 1:
            table = next(option for option in options if kind_of(option) == step)
            options = (table,)
        else:
            name, owner = step, table
            address, field = join(address, readable(step)), table.model_fields.get(step)
            options = tables_of(field) if field else ()
            table = options[0] if options else table
    return Place(address, name, owner, field)


def _sentence(problem: ErrorDetails) -> str:
    place, value = _locate(problem["loc"]), problem["input"]
    match problem["type"]:
        case "extra_forbidden":
            return _unknown_key(place)
        case "missing" if place.address in ("data", "data.train"):
            return NO_TRAINING_PAIRS
        case "missing":
            return f"{place.address}: missing"
        case "value_error":
            text = str(problem["ctx"]["error"])
            return f"{place.address}: {text}" if place.address else text
    assert place.field is not None, "every other problem is one of a known key"
    return f"{place.address}{_wrong_value(problem, place.field, value)}"


def _wrong_value(problem: ErrorDetails, field: FieldInfo, value: Any) -> str:
    match problem["type"]:
        case "union_tag_invalid":
            return f".kind: {no_such('choice', value['kind'], [kind_of(table) for table in tables_of(field)])}"
        case "union_tag_not_found":
            return f".kind: missing. Known: {', '.join(str(kind_of(table)) for table in tables_of(field))}"
        case "literal_error":
            meant = [choice for choice in choices_of(field) if str(choice) == str(value) or choice == value]
            if meant and not isinstance(value, bool):
                return f": {shown(value)} is not allowed: write {meant[0]}"
            return f": {no_such('choice', value, choices_of(field))}"
        case "greater_than" | "greater_than_equal" | "less_than" | "less_than_equal":
            return f": {shown(value)} is not allowed: {limits_of(field)}"
        case "too_short":
            return f": {shown(value)} has too few values: at least {problem['ctx']['min_length']}"
        case "too_long":
            return f": {shown(value)} has too many values: at most {problem['ctx']['max_length']}"
        case _:
            return f": {shown(value)} is not {type_of(field)}{_remedy(field, value)}"


def _remedy(field: FieldInfo, value: Any) -> str:
    """What to write instead, where the slip is plain."""
    tables = tables_of(field)
    kinds = [kind_of(table) for table in tables]
    if value in kinds:
        return f': write {{ kind = "{value}" }}'
    if len(tables) > 1:
        return f": write {{ kind = ... }}. Known: {', '.join(map(str, kinds))}"
    if tables:
        keys = [*tables[0].model_fields]
        return f": give its keys, one by one. Known: {', '.join(keys[:6])}{', ...' if len(keys) > 6 else ''}"
    if isinstance(value, dict | list):
        return ""
    if field.annotation is str or holds_paths(field):
        return f': write "{shown(value)}"'
    if field.annotation is bool:
        word = shown(value).strip("'").lower()
        return f": write {'true' if word in YES else 'false'}" if word in YES + NO else ""
    return _number_meant(field, value)


def _number_meant(field: FieldInfo, value: Any) -> str:
    """3 for 3.0, 0.1 for "0.1"; nothing where the value is no number."""
    if field.annotation not in (int, float) or not isinstance(value, str | float):
        return ""
    try:
        number = float(value)
    except ValueError:
        return ""
    # Infinity and nan are numbers to Python; and beyond 1e15 a float no longer tells whole numbers apart.
    if not abs(number) < 1e15 or (field.annotation is int and not number.is_integer()):
        return ""
    meant = int(number) if field.annotation is int else number
    return f": write {meant}{' without quotes' if isinstance(value, str) else ''}"


def _unknown_key(place: Place) -> str:
    """Says what the key may have been: one of this table, of another kind here, or one that lives elsewhere."""
    home = place.address[: -len(readable(place.name)) - 1]
    kinds = {kind_of(table) for address, table in all_tables() if address == home}
    where = f' where kind = "{kind_of(place.table)}"' if len(kinds) > 1 else ""
    candidates = list(_candidates(place, home))
    best = min((rank for rank, _ in candidates), default=None)
    words = list(dict.fromkeys(word for rank, word in candidates if rank == best))[:3]
    if best and best[1] == OTHER_KIND:
        guess = "".join(f"; {word}" for word in words) + "."
    else:
        guess = f".{did_you_mean(words)}"
    return f"{place.address}: no such key{where}{guess} Known: {', '.join(place.table.model_fields)}"


def _candidates(place: Place, home: str) -> Iterator[tuple[tuple[int, int, int], str]]:
    """Keys like the one that was given, each with its rank: how many slips, how far from home, how deep."""
    for address, table in all_tables():
        for key in table.model_fields:
            own = address == home and table is place.table
            apart = (closeness if own else distance)(place.name, key)
            if apart is None or (key == "kind" and not own):
                continue
            if own:
                yield (apart, OWN, 0), key
            elif address == home:
                twin = kind_of(table) == kind_of(place.table)  # in a model of another kind
                chosen = f'model.kind = "{models_with(table)[0]}"' if twin else f'kind = "{kind_of(table)}"'
                yield (apart + 1, OTHER_KIND, 0), f'{chosen} has "{key}"'
            else:
                nearness = BELOW if address.startswith(f"{home}.") else ELSEWHERE
                yield (apart + 1, nearness, address.count(".")), join(address, key)
