"""From a model and a text to its chains: the gradient taken back through what every cell was given.

E width of one part of a state · Z of all its parts together · G of all gates
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from antiphon.config.schema import RecurrentStack
from antiphon.errors import AntiphonError
from antiphon.labelling.opening import Answering
from antiphon.layers.cells import GRU, LSTM, Cell, Elman
from antiphon.layers.once import once
from antiphon.layers.steps import CoupledLSTM, Orthogonal, PeepholeLSTM
from antiphon.pipeline import Pipeline
from antiphon.show.chains import PARTS, Chain, Gradients
from antiphon.show.listening import Heard, Step, listen, listen_to_reading


def read_chains(pipeline: Answering, text: str, tell: Callable[[int, int], None] | None = None) -> Gradients:
    """Every chain of the model while it answers this text; `tell` hears of the steps done, and of all."""
    if not (text.strip() or pipeline.completes):
        raise AntiphonError("gradients: the text is empty, and nothing passes through it. Give at least one symbol.")
    if not any(isinstance(half, RecurrentStack) for half in pipeline.run.model.halves.values()):
        raise AntiphonError(
            "gradients: no part of this model is recurrent, so it has no chain of states to read. "
            "Give a model with a recurrent half, or look at this one's attention: antiphon show without --gradients."
        )
    answer = pipeline.answer([text])[0][0]
    pipeline.model.eval()
    with once(), _held(pipeline.model):  # a matrix that is computed from its parameters is computed once
        if isinstance(pipeline, Pipeline):
            heard = listen(pipeline, pipeline.encode(text), answer.symbols)
        else:
            heard = listen_to_reading(pipeline, text, answer)
        read = [(one, part) for one in heard for part in range(one.cell.parts)]
        chains, done, total = [], 0, sum(len(one.steps) - 1 for one, _ in read)
        for one, part in read:
            logs = [0.0]
            for log in log_norms(one.cell, one.steps, part):
                logs.append(log)
                done += 1
                if tell:
                    tell(done, total)
            chains.append(_chain(one, part, logs))
    return Gradients(text, answer.text, tuple(chains))


@contextmanager
def _held(model: nn.Module) -> Iterator[None]:
    """The model's weights are asked for no gradient in here, so that nothing is kept for it."""
    learnt = [weight for weight in model.parameters() if weight.requires_grad]
    for weight in learnt:
        weight.requires_grad_(False)
    try:
        yield
    finally:
        for weight in learnt:
            weight.requires_grad_(True)


def _chain(one: Heard, part: int, logs: Sequence[float]) -> Chain:
    """The matrices are told once, with h."""
    matrices = {} if part else {name: norm(matrix) for name, matrix in recurrent_matrices(one.cell).items()}
    return Chain(one.name, one.kind, tuple(one.symbols), tuple(logs[::-1]), matrices, PARTS[part])


def log_norms(cell: Cell, steps: Sequence[Step], part: int = 0) -> Iterator[float]:
    """log10 |d h(T) / d h(t)| for t = T - 1 down to 1: the rows of d h(T), taken back step by step, exactly.

    Or of c, where `part` is 1: the whole of d c(T) / d c(t), of which the product of the forget gates is the straight
    way. They are rescaled after every step and the logarithm remembers, so that no chain is too long for a float.
    """
    own = slice(part * cell.width, (part + 1) * cell.width)
    back_EZ, scale = torch.eye(cell.width * cell.parts)[own], 0.0
    for gates_1G, state in reversed(steps[1:]):
        before = tuple(part.detach().requires_grad_() for part in state)
        after_1Z = torch.cat(cell.step(gates_1G, before), dim=1)
        parts = torch.autograd.grad(after_1Z, before, back_EZ.unsqueeze(1), is_grads_batched=True)
        back_EZ = torch.cat(parts, dim=2).squeeze(1)
        size = back_EZ.abs().max().item()
        if size:
            back_EZ, scale = back_EZ / size, scale + math.log10(size)
        value = norm(back_EZ[:, own])
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
