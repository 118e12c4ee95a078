"""Every combination of the model's choices, read off the schema, so that a new kind is tested the day it is added."""

import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from antiphon.config import schema
from antiphon.config.keys import choices_of, kind_of, tables_of

# Small, and different from each other where the mathematics allows, so that a mixed-up width shows.
SMALL: dict[str, list[Any]] = {
    "width": [8], "widths": [[], [6, 8]], "layers": [2], "embedding": [5], "feedforward": [7], "heads": [2], "kv_heads": [0, 1],
    "values": [3], "max_positions": [19], "filters": [3], "span": [3], "reach": [1],
}  # fmt: skip
VOCABULARY = 11
REFUSED = ("nothing of the input", "never reads the summary", "equal", "goes nowhere", "needs an attention")
# Not enumerated: the laws hold for answers, where nothing is dropped, and for any weights and word vectors, normed or not.
DRAWN = ("dropout_through_time", "init", "scale_embedding", "embedding_norm")
Choices = dict[str, Any]


def options(table: type[schema.Table]) -> dict[str, list[Any]]:
    """The keys of a table that have a choice, or need a small size."""
    found = {name: _options(name, field) for name, field in table.model_fields.items() if name != "kind"}
    return {name: values for name, values in found.items() if values}


def _options(name: str, field: FieldInfo) -> list[Any]:
    if tables_of(field):
        return list(tables_of(field))
    if field.annotation is bool:
        return [False, True]
    return list(choices_of(field)) or SMALL.get(name, [])


def drawn(table: type[schema.Table], draw: random.Random, fixed: Choices | None = None) -> Choices:
    """A table with every choice drawn, but for the fixed ones; a key that holds a table gets one that is drawn too."""
    values = {name: draw.choice(found) for name, found in options(table).items()} | (fixed or {})
    return {"kind": kind_of(table)} | {
        name: drawn(value, draw) if isinstance(value, type) else value for name, value in values.items()
    }


def every(table: type[schema.Table], draw: random.Random) -> Iterator[Callable[[], Choices]]:
    """All choices of a table, each as something to draw the rest from.

    A table within it stands behind a contract of its own, so its choices are gone through once, not once for each of
    the outer ones.
    """
    found = {name: values for name, values in options(table).items() if name not in DRAWN}
    inner = {name: values for name, values in found.items() if isinstance(values[0], type)}
    outer = {name: values for name, values in found.items() if name not in inner}
    for values in itertools.product(*outer.values()):
        fixed = dict(zip(outer, values, strict=True))
        yield lambda fixed=fixed: drawn(table, draw, fixed)
    for name, tables in inner.items():
        for choice in itertools.chain.from_iterable(every(within, draw) for within in tables):
            yield lambda name=name, choice=choice: drawn(table, draw, {name: choice()})


def fit(encoder: Choices, decoder: Choices, tie: str) -> schema.Seq2Seq | None:
    """The model of these choices, its widths made to fit; None where the schema has a reason to refuse it."""
    encoder, decoder = dict(encoder), dict(decoder)
    for half in (encoder, decoder):
        if half.get("residual"):
            half["widths"] = []
    left = [encoder["width"]]
    if encoder["kind"] == "recurrent":
        left = schema.RecurrentEncoder.model_validate(encoder).joined_widths
    if decoder["kind"] == "recurrent":
        decoder["width"] = left[-1]
        if decoder["widths"]:
            decoder["widths"] = [left[0], left[-1]] if decoder["bridge"] == "copy" else [6, left[-1]]
    if tie != "none" and "embedding" in decoder:
        decoder["embedding"] = decoder["width"]
    if tie == "all" and "embedding" in encoder:
        encoder["embedding"] = decoder.get("embedding", decoder["width"])
    try:
        return schema.Seq2Seq.model_validate({"encoder": encoder, "decoder": decoder, "tie": tie})
    except ValidationError as error:
        assert any(reason in str(error) for reason in REFUSED), str(error)
        return None


def writing(decoder: Choices, tie: str) -> schema.LanguageModel | None:
    """The language model of these choices, its widths made to fit."""
    decoder = dict(decoder)
    if decoder.get("residual"):
        decoder["widths"] = []
    if tie != "none" and "embedding" in decoder:
        decoder["embedding"] = decoder["width"]
    return schema.LanguageModel.model_validate({"decoder": decoder, "tie": tie})


def every_half() -> list[schema.Seq2Seq]:
    """Every encoder and every decoder there is, each in at least one model: they meet in the memory only."""
    draw = random.Random(1)
    models = [
        _first(lambda choice=choice: fit(choice(), a_decoder(draw), draw.choice(TIES)))
        for table in ENCODERS
        for choice in every(table, draw)
    ]
    models += [
        _first(lambda choice=choice: fit(an_encoder(draw), choice(), draw.choice(TIES)))
        for table in DECODERS
        for choice in every(table, draw)
    ]
    return [model for model in models if model]


def _first(attempt: Callable[[], schema.Seq2Seq | None]) -> schema.Seq2Seq | None:
    """Few tries are enough: what is still refused is refused with every partner."""
    return next((model for model in (attempt() for _ in range(20)) if model), None)


def an_encoder(draw: random.Random) -> Choices:
    return drawn(draw.choice(ENCODERS), draw)


def a_decoder(draw: random.Random) -> Choices:
    return drawn(draw.choice(DECODERS), draw)


def covering(
    drawn_parts: Callable[[random.Random], tuple[Any, ...]], fitting: Callable[..., schema.Model | None]
) -> list[Any]:
    """A sample in which every pair of choices stands together, but for those that a thousand tries never brought."""
    draw, covered, chosen, tries = random.Random(1), set(), [], 0
    while tries < 1000:
        parts = [drawn_parts(draw) for _ in range(50)]
        news = sorted(((len(_pairs(part) - covered), n) for n, part in enumerate(parts)), reverse=True)
        found = ((fitting(*parts[n]), parts[n]) for count, n in news if count)
        model, part = next(((model, part) for model, part in found if model), (None, None))
        tries = 0 if model else tries + len(parts)
        if model and part:
            chosen.append(model)
            covered |= _pairs(part)
    return chosen


def _pairs(parts: tuple[Any, ...]) -> set[tuple[tuple[str, Any], tuple[str, Any]]]:
    """Of the choices of all halves, and of the word that ties them."""
    *halves, tie = parts
    features = [feature for n, half in enumerate(halves) for feature in _features(half, f"{n}.")]
    return set(itertools.combinations([*features, ("tie", tie)], 2))


def _features(values: Choices, address: str) -> list[tuple[str, Any]]:
    found = []
    for key, value in values.items():
        if isinstance(value, dict):
            found += _features(value, f"{address}{key}.")
        elif isinstance(value, bool | str) or key in ("directions", "kv_heads"):
            found.append((address + key, value))
        elif key == "widths":
            found.append((address + key, bool(value)))
    return found


def name(model: schema.Model) -> str:
    return "-".join(str(value) for _, value in _features(model.model_dump(), ""))


ENCODERS = tables_of(schema.Seq2Seq.model_fields["encoder"])
DECODERS = tables_of(schema.Seq2Seq.model_fields["decoder"])
TIES = choices_of(schema.Seq2Seq.model_fields["tie"])
COVERING = covering(lambda draw: (an_encoder(draw), a_decoder(draw), draw.choice(TIES)), fit)
WRITERS = tables_of(schema.LanguageModel.model_fields["decoder"])
WRITING_TIES = choices_of(schema.LanguageModel.model_fields["tie"])
WRITING = covering(lambda draw: (drawn(draw.choice(WRITERS), draw), draw.choice(WRITING_TIES)), writing)
PROMPTED = [choice.model_copy(update={"reads": "pairs"}) for choice in WRITING[::2]]
