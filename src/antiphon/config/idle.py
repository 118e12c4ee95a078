"""Keys that change nothing in the run at hand: refused where they are asked for, forgotten where they are overruled."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from antiphon.config.layers import last_naming, without
from antiphon.config.schema import (
    Attending,
    Classifier,
    Half,
    LanguageModel,
    NoAttention,
    RecurrentDecoder,
    RecurrentEncoder,
    RecurrentStack,
    Run,
    Search,
    Seq2Seq,
    Side,
    Table,
    TransformerStack,
)
from antiphon.errors import AntiphonError

_WEIGHED = ("n_best", "max_source")  # of [search], what counts where all answers are weighed at once
_WEIGHING = ("classifier", "tagger", "masked", "spans")


@dataclass(frozen=True)
class Idle:
    """A key whose value is not the default and changes nothing; why, and the keys that make it so."""

    address: str
    because: str
    makers: tuple[str, ...]


def without_idle(tables: dict[str, Any], layers: Sequence[dict[str, Any]], run: Run) -> dict[str, Any]:
    """The tables of a run without what a later layer has made idle; what is idle where it is named is refused.

    What no layer names came with a folder that the run starts from, and stays as it is there.
    """
    for idle in idle_keys(run):
        named = last_naming(layers, idle.address)
        if named < 0:
            continue
        if named >= max(last_naming(layers, maker) for maker in idle.makers):
            raise AntiphonError(f"{idle.address}: {idle.because}")
        tables = without(tables, idle.address.split("."))
    return tables


def idle_keys(run: Run) -> Iterator[Idle]:
    yield from _of_data(run)
    for name, half in run.model.halves.items():
        yield from _of_layers(f"model.{name}", half)
    yield from _of_parts(run)
    forcing = run.train.teacher_forcing
    if forcing.p == 1.0 and _given(forcing, "own"):
        because = "the true word is always read: leave this key out, or set train.teacher_forcing.p below 1"
        yield Idle("train.teacher_forcing.own", because, ("train.teacher_forcing.p",))
    yield from _of_search(run)


def _of_data(run: Run) -> Iterator[Idle]:
    if isinstance(run.model, Seq2Seq) and run.data.joint and run.data.target != Side():
        because = (
            "data.joint = true has one tokeniser for both sides, data.source.tokenizer: "
            "leave this key out, or set data.joint = false"
        )
        yield Idle("data.target.tokenizer", because, ("data.joint",))
    if run.data.window and _given(run.data, "max_length"):
        because = "a running text is cut into windows, and no line is too long: leave this key out"
        yield Idle("data.max_length", because, ("data.window",))


def _of_layers(address: str, half: Half) -> Iterator[Idle]:
    if isinstance(half, TransformerStack):
        if half.positions != "learned" and _given(half, "max_positions"):
            because = f'positions = "{half.positions}" have no end: leave this key out, or take positions = "learned"'
            yield Idle(f"{address}.max_positions", because, (f"{address}.positions",))
        return
    assert isinstance(half, RecurrentStack)
    if half.widths and _given(half, "width"):
        because = "widths has one for each layer: leave this key out, or leave widths out"
        yield Idle(f"{address}.width", because, (f"{address}.widths",))
    if half.residual and half.layers == 1:
        because = "one layer has none below it to add: leave this key out, or raise layers"
        yield Idle(f"{address}.residual", because, (f"{address}.layers",))
    if half.dropout_through_time and not half.dropout:
        because = "nothing is dropped: leave this key out, or raise dropout"
        yield Idle(f"{address}.dropout_through_time", because, (f"{address}.dropout",))
    if isinstance(half, RecurrentEncoder) and half.directions == 1 and _given(half, "merge"):
        because = "one direction has nothing to merge with: leave this key out, or take directions = 2"
        yield Idle(f"{address}.merge", because, (f"{address}.directions",))


def _of_parts(run: Run) -> Iterator[Idle]:
    model = run.model
    if isinstance(model, Classifier) and model.pool != "attention" and _given(model, "queries"):
        because = f'pool = "{model.pool}" asks nothing: leave this key out, or take pool = "attention"'
        yield Idle("model.queries", because, ("model.pool",))
    if not isinstance(model, Seq2Seq):
        return
    decoder = model.decoder
    reads = isinstance(decoder, RecurrentDecoder) and decoder.reads_the_summary
    if isinstance(model.encoder, RecurrentEncoder) and _given(model.encoder, "summary") and not reads:
        because = "the decoder never reads the summary: leave this key out, or see model.decoder.bridge"
        makers = ("kind", "bridge", "summary_every_step")
        yield Idle("model.encoder.summary", because, tuple(f"model.decoder.{key}" for key in makers))
    if not isinstance(decoder, RecurrentDecoder):
        return
    if isinstance(decoder.attention, NoAttention) and _given(decoder, "query"):
        because = "nothing is asked without attention: leave this key out, or choose model.decoder.attention.kind"
        yield Idle("model.decoder.query", because, ("model.decoder.attention.kind",))
    attention = decoder.attention
    if isinstance(attention, Attending) and attention.window == "all" and _given(attention, "reach"):
        because = 'window = "all" has no edge: leave this key out, or take window = "local_m" or "local_p"'
        yield Idle("model.decoder.attention.reach", because, ("model.decoder.attention.window",))


def _of_search(run: Run) -> Iterator[Idle]:
    """Most of [search] may be asked for later, by a flag of `predict`; here is what this model can never use."""
    model, search = run.model, run.search
    if model.kind in _WEIGHING:
        because = f'model.kind = "{model.kind}" weighs all answers at once, and searches for none: leave this key out'
        for key in Search.model_fields:
            if key not in _WEIGHED and _given(search, key):
                yield Idle(f"search.{key}", because, ("model.kind",))
    alone = isinstance(model, LanguageModel)
    decoder = model.decoder if isinstance(model, Seq2Seq) else None
    blind = isinstance(decoder, RecurrentDecoder) and isinstance(decoder.attention, NoAttention)
    if (alone or blind) and search.coverage:
        because = "this model has no attention to its source, so nothing tells what it has read: leave this key out"
        yield Idle("search.coverage", because, ("model.kind", "model.decoder.attention.kind"))


def _given(table: Table, key: str) -> bool:
    return bool(getattr(table, key) != type(table).model_fields[key].default)
