"""What every recurrent cell of a model is given while it answers one text.

T places of a chain · widths: D of what a cell is given, G of all gates
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from antiphon.config.schema import RecurrentEncoder, RecurrentStack
from antiphon.data.batch import make_sources
from antiphon.data.vocab import END
from antiphon.labelling.classifying import Classifying
from antiphon.labelling.filling import Filling
from antiphon.labelling.opening import Answering, Labelling
from antiphon.labelling.pointing import Pointing
from antiphon.layers.cells import Cell, CellState
from antiphon.models.writing import LanguageModel
from antiphon.pipeline import Answer, Pipeline

Step = tuple[Tensor, CellState]  # the input's share of the gates, and the state before


@dataclass(frozen=True)
class Heard:
    """A cell, and what its steps were given."""

    name: str
    kind: str
    cell: Cell
    symbols: Sequence[str]
    steps: list[Step]


def listen(pipeline: Pipeline, source: Sequence[int], answer: Sequence[int]) -> list[Heard]:
    """Let the model read the source and write the answer, and note what every cell is given.

    A language model has no other cells to read a source with than those that write.
    """
    if pipeline.prompted:
        answer, source = [*source, *([END] if pipeline.run.joins else []), *answer], []
    reading, writing = _in_encoder(pipeline, [*source, END]), _in_decoder(pipeline, answer)
    with torch.no_grad(), ExitStack() as ears:
        given = [ears.enter_context(_hear_reading(one)) for one in reading]
        for one in writing:
            ears.enter_context(_hear_steps(one))
        model = pipeline.model
        state = model.begin(1) if isinstance(model, LanguageModel) else model.start(*make_sources([source]))
        for word in [pipeline.start, *answer]:
            _, state = model.step(torch.tensor([word]), state)
        for one, inputs in zip(reading, given, strict=True):
            _walk(one, inputs[-1])
    return reading + writing


def listen_to_reading(pipeline: Labelling | Filling | Pointing, text: str, answer: Answer) -> list[Heard]:
    """The same of a model that only reads; of two texts side by side, each is a row of its own.

    Of a paragraph in several windows it is the one that the answer stands in, which is read last.
    """
    with ExitStack() as ears:
        given = [ears.enter_context(_hear_reading(one)) for one in _in_encoder(pipeline, [])]
        texts = _read(pipeline, text, answer)
    heard = []
    for row, symbols in enumerate(texts):
        found = _in_encoder(pipeline, symbols, f"text {row + 1}, " if len(texts) > 1 else "")
        for one, inputs in zip(found, given, strict=True):
            with torch.no_grad():
                _walk(one, inputs[-1][row : row + 1, : len(symbols)])
        heard += found
    return heard


def _read(pipeline: Labelling | Filling | Pointing, text: str, answer: Answer) -> list[Sequence[int]]:
    """Lets the encoder read, and says what: one row, or in two towers two."""
    if isinstance(pipeline, Pointing):
        return [pipeline.point(text).read]
    source = pipeline.look(text, answer).source
    if isinstance(pipeline, Classifying) and pipeline.model.towers:
        end = source.index(END) + 1
        return [source[:end], source[end:]]
    return [source]


def _in_encoder(pipeline: Answering, source: Sequence[int], whose: str = "") -> list[Heard]:
    choice, model = pipeline.run.model.halves.get("encoder"), pipeline.model
    if not isinstance(choice, RecurrentEncoder):
        return []
    pieces, heard = pipeline.source.pieces(source), []
    for number, layer in enumerate(model.encoder.layers, start=1):  # type: ignore[union-attr, arg-type]
        for direction, cell in enumerate(layer.readers):
            turned = bool(direction) != choice.reverse
            arrow = f" {'←' if turned else '→'}" if choice.reverse or len(layer.readers) > 1 else ""
            symbols = pieces[::-1] if turned else pieces
            heard.append(Heard(f"{whose}encoder {number}{arrow}", choice.cell, cell, symbols, []))
    return heard


def _in_decoder(pipeline: Pipeline, answer: Sequence[int]) -> list[Heard]:
    choice, model = pipeline.run.model.halves["decoder"], pipeline.model
    if not isinstance(choice, RecurrentStack):
        return []
    pieces = pipeline.target.pieces([pipeline.start, *answer])
    cells = enumerate(model.decoder.cells, start=1)  # type: ignore[attr-defined]
    return [Heard(f"decoder {number}", choice.cell, cell, pieces, []) for number, cell in cells]


@contextmanager
def _hear_reading(one: Heard) -> Iterator[list[Tensor]]:
    """A reader goes over all places at once: what it is given, each time that it reads."""
    inputs: list[Tensor] = []

    def hear(_: nn.Module, given: tuple[Any, ...]) -> None:
        inputs.append(given[0])

    handle = one.cell.register_forward_pre_hook(hear)  # type: ignore[attr-defined]
    try:
        yield inputs
    finally:
        handle.remove()


def _walk(one: Heard, x_1TD: Tensor) -> None:
    """Its steps once more, one by one, from what it was given; a reader begins with nothing."""
    x_1TD = x_1TD.clone()  # what was made while nothing was recorded could not be recorded now
    state = tuple(x_1TD.new_zeros(1, one.cell.width) for _ in range(one.cell.parts))
    for gates_1G in one.cell.project(x_1TD).unbind(1):
        one.steps.append((gates_1G, state))
        state = one.cell.step(gates_1G, state)


@contextmanager
def _hear_steps(one: Heard) -> Iterator[None]:
    """A decoder calls `step` place after place: for a while the cell's own is hidden behind one that takes notes."""
    step = one.cell.step

    def noted(gates_1G: Tensor, state: CellState) -> CellState:
        one.steps.append((gates_1G, state))
        return step(gates_1G, state)

    vars(one.cell)["step"] = noted
    try:
        yield
    finally:
        del vars(one.cell)["step"]
