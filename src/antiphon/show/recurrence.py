"""From a model and a text to its chains: what every cell was given, and the gradient taken back through it.

T places of a chain · widths: D of what a cell is given, E of h, Z of all parts of a state together, G of all gates
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrize import cached

from antiphon.config.schema import RecurrentEncoder, RecurrentStack
from antiphon.data.batch import make_sources
from antiphon.data.vocab import END
from antiphon.errors import AntiphonError
from antiphon.layers.cells import GRU, LSTM, Cell, CellState, Elman
from antiphon.layers.steps import CoupledLSTM, Orthogonal, PeepholeLSTM
from antiphon.models.writing import LanguageModel
from antiphon.pipeline import Pipeline
from antiphon.show.chains import Chain, Gradients

Step = tuple[Tensor, CellState]  # the input's share of the gates, and the state before


@dataclass(frozen=True)
class Heard:
    """A cell, and what its steps were given."""

    name: str
    kind: str
    cell: Cell
    symbols: Sequence[str]
    steps: list[Step]


def read_chains(pipeline: Pipeline, text: str, tell: Callable[[int, int], None] | None = None) -> Gradients:
    """Every chain of the model while it answers this text; `tell` hears of the steps done, and of all."""
    asked = pipeline.encode(text)
    if not (asked or pipeline.completes):
        raise AntiphonError("gradients: the text is empty, and nothing passes through it. Give at least one symbol.")
    if not any(isinstance(half, RecurrentStack) for half in pipeline.run.model.halves.values()):
        raise AntiphonError(
            "gradients: no part of this model is recurrent, so it has no chain of states to read. "
            "Give a model with a recurrent half, or look at this one's attention: antiphon show without --gradients."
        )
    answer = pipeline.answer([text])[0][0]
    pipeline.model.eval()
    with cached():  # a matrix that is computed from its parameters is computed once
        heard = listen(pipeline, asked, answer.symbols)
        chains, done, total = [], 0, sum(len(one.steps) - 1 for one in heard)
        for one in heard:
            logs = [0.0]
            for log in log_norms(one.cell, one.steps):
                logs.append(log)
                done += 1
                if tell:
                    tell(done, total)
            matrices = {name: norm(matrix) for name, matrix in recurrent_matrices(one.cell).items()}
            chains.append(Chain(one.name, one.kind, tuple(one.symbols), tuple(logs[::-1]), matrices))
    return Gradients(text, answer.text, tuple(chains))


def log_norms(cell: Cell, steps: Sequence[Step]) -> Iterator[float]:
    """log10 |d h(T) / d h(t)| for t = T - 1 down to 1: the rows of d h(T), taken back step by step, exactly.

    They are rescaled after every step and the logarithm remembers, so that no chain is too long for a float.
    """
    back_EZ, scale = torch.eye(cell.width, cell.width * cell.parts), 0.0
    for gates_1G, state in reversed(steps[1:]):
        before = tuple(part.detach().requires_grad_() for part in state)
        after_1Z = torch.cat(cell.step(gates_1G, before), dim=1)
        parts = torch.autograd.grad(after_1Z, before, back_EZ.unsqueeze(1), is_grads_batched=True)
        back_EZ = torch.cat(parts, dim=2).squeeze(1)
        size = back_EZ.abs().max().item()
        if size:
            back_EZ, scale = back_EZ / size, scale + math.log10(size)
        value = norm(back_EZ[:, : cell.width])
        yield scale + math.log10(value) if value else -math.inf


def norm(matrix: Tensor) -> float:
    """The largest singular value, as the root of the largest eigenvalue of M M^T, which is found faster."""
    size = matrix.detach().abs().max()
    if not size:
        return 0.0
    short = matrix.detach() / size
    return (size * torch.linalg.eigvalsh(short @ short.T)[-1].clamp(min=0).sqrt()).item()


def recurrent_matrices(cell: Cell) -> dict[str, Tensor]:
    """What the state before is multiplied by: U alone, or one for each gate, and P where gates see the cell."""
    match cell:
        case Elman(kernel=kernel):
            return {"U": kernel.all_weights[0][1]}
        case Orthogonal(carry=carry):
            return {"U": carry.weight}  # type: ignore[dict-item]
        case LSTM(kernel=kernel):
            return _named(kernel.all_weights[0][1], "input", "forget", "candidate", "output")
        case GRU(kernel=kernel):
            return _named(kernel.all_weights[0][1], "reset", "update", "candidate")
        case CoupledLSTM(carry=carry):
            return _named(carry.weight, "forget", "output", "candidate")
        case PeepholeLSTM(carry=carry, peephole=peephole):
            square = peephole if len(peephole) > 3 else torch.cat([row.diag() for row in peephole])
            gates = _named(carry.weight, "input", "forget", "output", "candidate")
            return gates | _named(square, "P input", "P forget", "P output")
        case _:
            raise AssertionError(f"the matrices of {type(cell).__name__} have no names yet")


def _named(weight_GE: Tensor, *names: str) -> dict[str, Tensor]:
    return dict(zip(names, weight_GE.chunk(len(names)), strict=True))


def listen(pipeline: Pipeline, source: Sequence[int], answer: Sequence[int]) -> list[Heard]:
    """Let the model read the source and write the answer, and note what every cell is given.

    A language model has no other cells to read a source with than those that write.
    """
    if pipeline.prompted:
        answer, source = [*source, *([END] if pipeline.run.joins else []), *answer], []
    reading, writing = _in_encoder(pipeline, source), _in_decoder(pipeline, answer)
    with torch.no_grad(), ExitStack() as ears:
        for one in reading:
            ears.enter_context(_hear_reading(one))
        for one in writing:
            ears.enter_context(_hear_steps(one))
        model = pipeline.model
        state = model.begin(1) if isinstance(model, LanguageModel) else model.start(*make_sources([source]))
        for word in [pipeline.start, *answer]:
            _, state = model.step(torch.tensor([word]), state)
    return reading + writing


def _in_encoder(pipeline: Pipeline, source: Sequence[int]) -> list[Heard]:
    choice, model = pipeline.run.model.halves.get("encoder"), pipeline.model
    if not isinstance(choice, RecurrentEncoder):
        return []
    pieces, heard = pipeline.source.pieces([*source, END]), []
    for number, layer in enumerate(model.encoder.layers, start=1):  # type: ignore[union-attr, arg-type]
        for direction, cell in enumerate(layer.readers):
            turned = bool(direction) != choice.reverse
            arrow = f" {'←' if turned else '→'}" if choice.reverse or len(layer.readers) > 1 else ""
            symbols = pieces[::-1] if turned else pieces
            heard.append(Heard(f"encoder {number}{arrow}", choice.cell, cell, symbols, []))
    return heard


def _in_decoder(pipeline: Pipeline, answer: Sequence[int]) -> list[Heard]:
    choice, model = pipeline.run.model.halves["decoder"], pipeline.model
    if not isinstance(choice, RecurrentStack):
        return []
    pieces = pipeline.target.pieces([pipeline.start, *answer])
    cells = enumerate(model.decoder.cells, start=1)  # type: ignore[attr-defined]
    return [Heard(f"decoder {number}", choice.cell, cell, pieces, []) for number, cell in cells]


@contextmanager
def _hear_reading(one: Heard) -> Iterator[None]:
    """A reader goes over all places at once; its steps are walked again from what it was given."""

    def hear(_: nn.Module, given: tuple[Any, ...]) -> None:
        x_1TD, state = given[0], given[1]
        state = state or tuple(x_1TD.new_zeros(1, one.cell.width) for _ in range(one.cell.parts))
        for gates_1G in one.cell.project(x_1TD).unbind(1):
            one.steps.append((gates_1G, state))
            state = one.cell.step(gates_1G, state)

    handle = one.cell.register_forward_pre_hook(hear)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        handle.remove()


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
