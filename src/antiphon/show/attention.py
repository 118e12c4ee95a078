"""Every attention of a model over one text and its answer: all layers and heads, in symbols and in words, and aligned.

L layers · H heads · T rows, those that look · S columns, those that are looked at
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from antiphon.attend.looks import aligning
from antiphon.data.tokenize import Tokenizer, name_words
from antiphon.errors import AntiphonError
from antiphon.labelling.opening import Answering
from antiphon.labelling.pointing import Pointing
from antiphon.pipeline import Looked, Pipeline
from antiphon.show.heatmap import Picture

Kind = Literal["ends", "cross", "encoder", "decoder"]
Floats = NDArray[np.float32]

# What looks and what is looked at. A decoder's rows are what it wrote, its columns what it had read until then.
AXES: Mapping[Kind, tuple[str, str]] = {
    "ends": ("end", "paragraph"),
    "cross": ("answer", "source"), "encoder": ("source", "source"), "decoder": ("answer", "answer so far"),
}  # fmt: skip
LINKED = 0.2  # the share of its attention from which a word is linked to more than the one it looked at most


@dataclass(frozen=True)
class Chosen:
    """Which heat map to draw, or to open a page on; with nothing chosen, the alignment."""

    of: Kind | None = None
    layer: int | None = None
    head: int | None = None
    symbols: bool = False

    @property
    def flags(self) -> list[str]:
        return [f"--{name}" for name, value in vars(self).items() if value is not None and value is not False]


ANY = Chosen()


@dataclass(frozen=True, eq=False)
class Heads:
    """One attention in all its layers and heads."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    weights_LHTS: Floats

    def __post_init__(self) -> None:
        assert self.weights_LHTS.shape[2:] == (len(self.rows), len(self.columns)), "a row and a column for each label"

    @property
    def aligned(self) -> int:
        """The layer that aligns best, counted from 1."""
        return aligning(len(self.weights_LHTS)) + 1

    def weights(self, layer: int, head: int | None) -> Floats:
        """Of one head, or the mean of its layer; both are counted from 1."""
        weights_HTS = self.weights_LHTS[layer - 1]
        return weights_HTS.mean(0) if head is None else weights_HTS[head - 1]


class Link(NamedTuple):
    """A word of the answer, a word of the source, both counted from 0, and the share of the attention between them."""

    target: int
    source: int
    weight: float


@dataclass(frozen=True)
class Alignment:
    """Which words of the source each word of the answer comes from; the ends of the texts are left out."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    links: tuple[Link, ...]


@dataclass(frozen=True, eq=False)
class Attention:
    """All that `antiphon show` draws: where a model looked while it wrote its answer to one text."""

    text: str
    answer: str
    expected: str | None
    symbols: Mapping[Kind, Heads]
    words: Mapping[Kind, Heads]  # the symbols themselves where they are not parts of words
    alignment: Alignment | None  # None where nothing looks at the source

    def picture(
        self, of: Kind | None = None, layer: int | None = None, head: int | None = None, symbols: bool = False
    ) -> Picture:
        """One heat map; absent, of the alignment, of the layer that it is from, of the mean of the heads."""
        view = self.symbols if symbols else self.words
        kind: Kind = next(iter(view)) if of is None else of
        if kind not in view:
            raise AntiphonError(f"--of {kind}: this model has no such attention. It has: {', '.join(view)}.")
        heads = view[kind]
        layers, most = heads.weights_LHTS.shape[:2]
        _refuse("layer", layer, layers, kind)
        _refuse("head", head, most, kind)
        chosen = layer or (heads.aligned if kind == "cross" else layers)
        title = self.answer
        if of or layer or head:
            title += f"  ({kind}, layer {chosen}, {f'head {head}' if head else 'mean of the heads'})"
        down, across = AXES[kind]
        return Picture(
            heads.columns, heads.rows, heads.weights(chosen, head), title, self.text, self.answer, self.expected,
            across, down,
        )  # fmt: skip


def _refuse(what: str, number: int | None, most: int, kind: Kind) -> None:
    if number is not None and not 1 <= number <= most:
        allowed = "1, the only one" if most == 1 else f"a number from 1 to {most}"
        raise AntiphonError(f"--{what} {number}: no such {what} in this model's {kind} attention. Give {allowed}.")


_INSTEAD = {
    "classifier": 'Train one with model.pool = "attention".',
    "tagger": "Train one with a Transformer encoder.",
    "masked": "Train one with a Transformer encoder.",
}


def read_attention(pipeline: Answering, text: str, expected: str | None = None) -> Attention:
    """Let the model answer, and go over its answer once more to see where it looked."""
    if isinstance(pipeline, Pointing):
        return _read_ends(pipeline, text, expected)
    answer = pipeline.answer([text])[0][0]
    looked = pipeline.look(text, answer)
    symbols = _view(pipeline, looked, merge=False)
    if not symbols:
        raise AntiphonError(
            "show: this model has no attention, so there is nothing to draw. "
            + _INSTEAD.get(pipeline.run.model.kind, "Look at its gradients: antiphon show --gradients.")
        )
    parted = pipeline.source.words(looked.source) or pipeline.target.words(looked.target)
    words = _view(pipeline, looked, merge=True) if parted else symbols
    # A label is no text, and has no end.
    ended = answer.ended and isinstance(pipeline, Pipeline)
    alignment = align(words["cross"], ended) if "cross" in words else None
    return Attention(text, answer.text, expected, symbols, words, alignment)


def _read_ends(pipeline: Pointing, text: str, expected: str | None) -> Attention:
    """Of a model of spans: the probability of start and end at each word, and what its encoder looked at."""
    pointed, views = pipeline.point(text), []
    for merge in (False, True):
        columns, counts = _units(pipeline.source, pointed.window, merge)
        chances = pointed.chances.float().numpy()[None, None]
        if pipeline.model.no_answer:
            columns, counts = ("(none)", *columns), [1, *counts]
        else:
            chances = chances[..., 1:]
        view: dict[Kind, Heads] = {"ends": Heads(("start", "end"), columns, merge_weights(chances, [1, 1], counts))}
        if pointed.looks.encoder:
            read, counts = _units(pipeline.source, pointed.read, merge)
            weights_LHTS = torch.cat(pointed.looks.encoder).float().numpy()
            view["encoder"] = Heads(read, read, merge_weights(weights_LHTS, counts, counts))
        views.append(view)
    symbols, words = views
    parted = pipeline.source.words(pointed.window)
    return Attention(text, pointed.answer.text, expected, symbols, words if parted else symbols, None)


def _view(pipeline: Answering, looked: Looked, merge: bool) -> dict[Kind, Heads]:
    """Each attention that the model has, the one that aligns first."""
    source, target, read = (
        _units(tokenizer, ids, merge)
        for tokenizer, ids in (
            (pipeline.source, looked.source),
            (pipeline.target, looked.target),
            (pipeline.target, looked.read),
        )
    )
    found: dict[Kind, tuple[list[torch.Tensor], _Units, _Units]] = {
        "cross": (looked.looks.cross, target, source),
        "encoder": (looked.looks.encoder, source, source),
        "decoder": (looked.looks.decoder, target, read),
    }
    view: dict[Kind, Heads] = {}
    for kind in found:
        looks, (rows, row_counts), (columns, column_counts) = found[kind]
        if looks:
            weights_LHTS = torch.cat(looks).float().numpy()
            view[kind] = Heads(rows, columns, merge_weights(weights_LHTS, row_counts, column_counts))
    return view


_Units = tuple[tuple[str, ...], list[int]]


def _units(tokenizer: Tokenizer, ids: Sequence[int], merge: bool) -> _Units:
    """Labels, and how many symbols each stands for."""
    counts = tokenizer.words(ids) if merge else None
    if counts is None:
        return tuple(tokenizer.pieces(ids)), [1] * len(ids)
    return tuple(name_words(tokenizer, ids, counts)), counts


def merge_weights(weights_LHTS: Floats, rows: Sequence[int], columns: Sequence[int]) -> Floats:
    """From symbols to words: what a word gets is the sum over its symbols, what it gives their mean.

    So each row still sums to one. `rows` and `columns` say how many symbols each word takes.
    """
    row_starts, column_starts = (np.cumsum([0, *counts[:-1]]) for counts in (rows, columns))
    merged = np.add.reduceat(np.add.reduceat(weights_LHTS, column_starts, axis=3), row_starts, axis=2)
    return (merged / np.array(rows)[:, None]).astype(np.float32)


def align(heads: Heads, ended: bool) -> Alignment:
    """Each word is linked to the word it looked at most, and to all others that had a fair share of its attention.

    The ends take no part: attention that has nowhere to go rests there.
    """
    weights_TS = heads.weights(heads.aligned, None)[: -1 if ended else None, :-1]
    links = [
        Link(t, s, float(weight))
        for t, row_S in enumerate(weights_TS)
        for s, weight in enumerate(row_S)
        if weight >= LINKED or s == row_S.argmax()
    ]
    return Alignment(heads.columns[:-1], heads.rows[: -1 if ended else None], tuple(links))
