"""Every combination of the model's choices, read off the schema, so that a new kind is tested the day it is added."""

from collections.abc import Iterator
from itertools import combinations, product
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from antiphon.config import schema
from antiphon.config.keys import choices_of, kind_of, tables_of

# Small, and different from each other where the mathematics allows, so that a mixed-up width shows.
SMALL = {"width": 8, "layers": 2, "embedding": 5, "feedforward": 7, "heads": 2, "max_positions": 19, "dropout": 0.1}
VOCABULARY = 11


def variants(table: type[schema.Table]) -> Iterator[dict[str, Any]]:
    """All values of a table: every choice of every key that has choices, small sizes for the others."""
    fields = table.model_fields
    options = [_options(name, field) for name, field in fields.items() if _options(name, field)]
    names = [name for name, field in fields.items() if _options(name, field)]
    for values in product(*options):
        yield dict(zip(names, values, strict=True))


def _options(name: str, field: FieldInfo) -> list[Any]:
    if name == "kind":
        return []
    tables = tables_of(field)
    if tables:
        return [{"kind": kind_of(table)} | value for table in tables for value in variants(table)]
    if field.annotation is bool:
        return [False, True]
    if choices_of(field):
        return list(choices_of(field))
    return [SMALL[name]] if name in SMALL else []


def all_models() -> list[schema.Seq2Seq]:
    """Every model that the schema can describe; widths are made to fit where the choices ask for it."""
    models = []
    for choice in variants(schema.Seq2Seq):
        encoder, decoder = dict(choice["encoder"]), dict(choice["decoder"])
        if decoder["kind"] == "recurrent":
            decoder["width"] = encoder["width"] * encoder.get("directions", 1)
        if choice["tie"] != "none" and "embedding" in decoder:
            decoder["embedding"] = decoder["width"]
        if choice["tie"] == "all":
            target = decoder.get("embedding", decoder["width"])
            if "embedding" in encoder:
                encoder["embedding"] = target
            elif target != encoder["width"]:
                continue
        try:
            models.append(schema.Seq2Seq.model_validate({**choice, "encoder": encoder, "decoder": decoder}))
        except ValidationError as error:
            assert "nothing of the input" in str(error), f"{choice}: {error}"
    return models


def covering(models: list[schema.Seq2Seq]) -> list[schema.Seq2Seq]:
    """A sample in which every pair of choices that can stand together does so at least once."""
    pairs = [frozenset(combinations(_features(model.model_dump(), ""), 2)) for model in models]
    missing = frozenset().union(*pairs)
    chosen = []
    while missing:
        best = max(range(len(models)), key=lambda i: len(pairs[i] & missing))
        chosen.append(models[best])
        missing -= pairs[best]
    return chosen


def _features(values: dict[str, Any], address: str) -> list[tuple[str, Any]]:
    found = []
    for key, value in values.items():
        if isinstance(value, dict):
            found += _features(value, f"{address}{key}.")
        elif isinstance(value, bool | str) or key == "directions":
            found.append((address + key, value))
    return found


def name(model: schema.Seq2Seq) -> str:
    return "-".join(str(value) for _, value in _features(model.model_dump(), ""))


ALL = all_models()
COVERING = covering(ALL)
