"""Every combination of the model's choices, read off the schema, so that a new kind is tested the day it is added."""

import itertools
import random
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from antiphon.config import schema
from antiphon.config.keys import choices_of, kind_of, tables_of

# Small, and different from each other where the mathematics allows, so that a mixed-up width shows.
SMALL = {"width": 8, "layers": 2, "embedding": 5, "feedforward": 7, "heads": 2, "values": 3, "max_positions": 19}
VOCABULARY = 11
REFUSED = ("nothing of the input", "never reads the summary", "equal embedding widths")
Choices = dict[str, Any]


def variants(table: type[schema.Table]) -> Iterator[Choices]:
    """All values of a table: every choice of every key that has choices, small sizes for the others."""
    fields = table.model_fields
    options = [_options(name, field) for name, field in fields.items() if _options(name, field)]
    names = [name for name, field in fields.items() if _options(name, field)]
    for values in itertools.product(*options):
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


def fit(encoder: Choices, decoder: Choices, tie: str) -> schema.Seq2Seq | None:
    """The model of these choices, its widths made to fit; None where the schema has a reason to refuse it."""
    encoder, decoder = dict(encoder), dict(decoder)
    if decoder["kind"] == "recurrent":
        joined = encoder["kind"] == "recurrent" and encoder["merge"] == "concat"
        decoder["width"] = encoder["width"] * (encoder["directions"] if joined else 1)
    if tie != "none" and "embedding" in decoder:
        decoder["embedding"] = decoder["width"]
    if tie == "all" and "embedding" in encoder:
        encoder["embedding"] = decoder.get("embedding", decoder["width"])
    try:
        return schema.Seq2Seq.model_validate({"encoder": encoder, "decoder": decoder, "tie": tie})
    except ValidationError as error:
        assert any(reason in str(error) for reason in REFUSED), str(error)
        return None


def every_half() -> list[schema.Seq2Seq]:
    """Every encoder and every decoder there is, each in at least one model: they meet in the memory only."""
    draw = random.Random(1)

    def first(pairs: Iterator[tuple[Choices, Choices]]) -> list[schema.Seq2Seq]:
        # Few tries are enough: what is still refused is refused with every partner.
        tries = (fit(*pair, draw.choice(TIES)) for pair in itertools.islice(pairs, 20))
        return list(itertools.islice((model for model in tries if model), 1))

    models = [first((encoder, draw.choice(DECODERS)) for _ in itertools.count()) for encoder in ENCODERS]
    models += [first((draw.choice(ENCODERS), decoder) for _ in itertools.count()) for decoder in DECODERS]
    return [model for found in models for model in found]


def covering() -> list[schema.Seq2Seq]:
    """A sample in which every pair of choices stands together, but for those that a thousand tries never brought."""
    draw, covered, chosen, tries = random.Random(1), set(), [], 0
    while tries < 1000:
        drawn = [(draw.choice(ENCODERS), draw.choice(DECODERS), draw.choice(TIES)) for _ in range(50)]
        news = [_pairs(*parts) - covered for parts in drawn]
        best = max(range(len(drawn)), key=lambda i: len(news[i]))
        model = fit(*drawn[best]) if news[best] else None
        tries = 0 if model else tries + len(drawn)
        if model:
            chosen.append(model)
            covered |= news[best]
    return chosen


def _pairs(encoder: Choices, decoder: Choices, tie: str) -> set[tuple[tuple[str, Any], tuple[str, Any]]]:
    return set(itertools.combinations([*_features(encoder, "e."), *_features(decoder, "d."), ("tie", tie)], 2))


def _features(values: Choices, address: str) -> list[tuple[str, Any]]:
    found = []
    for key, value in values.items():
        if isinstance(value, dict):
            found += _features(value, f"{address}{key}.")
        elif isinstance(value, bool | str) or key == "directions":
            found.append((address + key, value))
    return found


def name(model: schema.Seq2Seq) -> str:
    return "-".join(str(value) for _, value in _features(model.model_dump(), ""))


def _halves(key: str) -> list[Choices]:
    return _options(key, schema.Seq2Seq.model_fields[key])


ENCODERS, DECODERS = _halves("encoder"), _halves("decoder")
TIES = choices_of(schema.Seq2Seq.model_fields["tie"])
COVERING = covering()
