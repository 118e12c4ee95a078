"""What one batch teaches: it is disturbed, read, and compared with what was to be written; a gradient comes of it.

P real target places · E what the head reads · Y labels
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from antiphon.config.schema import Train
from antiphon.data.batch import Batch
from antiphon.layers.cells import CellState
from antiphon.layers.draws import drawing
from antiphon.models.labelling import Tagger
from antiphon.models.masked import Masked
from antiphon.models.model import Labeller, Model
from antiphon.models.pointing import Spans
from antiphon.models.writing import LanguageModel
from antiphon.training.exposure import with_own_words
from antiphon.training.noise import Draws, corrupt, hide_source, hide_words
from antiphon.training.objective import summed_loss

Gradients = dict[Tensor, Tensor]  # of weights; a layer that was skipped has none


@dataclass(frozen=True)
class Task:
    """A piece of a step, as it is read: all that its lesson depends on but the weights."""

    batch: Batch
    seed: int  # of what is dropped
    tokens: int  # of the whole step, which its loss is divided by


@dataclass
class Lesson:
    """A model, how it learns, and the state in which the last batch left it."""

    model: Model
    choice: Train
    weights_Y: Tensor | None = None  # of labels that do not count alike
    carried: tuple[CellState, ...] = ()  # where the rows of the last batch were left, if they go on

    def learn(self, task: Task) -> tuple[float, Gradients]:
        """The loss of this piece, and its gradient."""
        with drawing(task.seed):
            share = self._loss(task.batch) / task.tokens
        weights = [weight for weight in self.model.parameters() if weight.requires_grad]
        found = torch.autograd.grad(share, weights, allow_unused=True)
        return share.item(), {
            weight: gradient for weight, gradient in zip(weights, found, strict=True) if gradient is not None
        }

    def _loss(self, batch: Batch) -> Tensor:
        states_PE, left = self._pass(batch)
        # The generator goes on from pass to pass, so nothing but what is dropped differs.
        again_PE = self._pass(batch)[0] if self.choice.r_drop else None
        self.carried = left
        return summed_loss(self.model, batch, states_PE, again_PE, self.choice, self.weights_Y)

    def _pass(self, batch: Batch) -> tuple[Tensor, tuple[CellState, ...]]:
        """What the head reads; and where the rows go on in the next batch, the state they are left in."""
        if batch.part == "whole":
            return self.model(batch), ()
        assert isinstance(self.model, LanguageModel), "only a running text has parts"
        states_PE, state = self.model.go_on(batch, self.carried if batch.part == "next" else ())
        return states_PE, tuple(tuple(part.detach() for part in cell) for cell in state.cells)

    def disturb(self, batch: Batch, p: float, draws: Draws) -> Batch:
        """What is read, as it is read in training; what is to be written stays."""
        choice = self.choice
        if isinstance(self.model, Masked):
            return batch  # its holes were drawn with it
        if not isinstance(self.model, Tagger):
            reads = self.model.target if isinstance(self.model, LanguageModel) else self.model.source
            batch = corrupt(batch, choice.corruption, len(reads.weight_VD), draws)
        if isinstance(self.model, Labeller | Spans):
            return hide_source(batch, choice.word_dropout, draws, isinstance(self.model, Tagger))
        batch = with_own_words(self.model, batch, p, choice.teacher_forcing.own, draws)
        return hide_words(batch, choice.word_dropout, draws)
