"""Processes that share the batches of a step: the weights lie in memory that all of them see.

Threads of one process wait for each other at every product, processes once in a round of batches.
"""

import multiprocessing
import signal
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from antiphon.config.schema import Train
from antiphon.data.batch import Batch
from antiphon.errors import AntiphonError
from antiphon.models.model import Model
from antiphon.training.lesson import Lesson, Part

_PATIENCE = 5.0  # seconds that a helper has for going home


class Crew:
    """This process and its helpers. How many they are changes the time that a step takes, and no bit of it."""

    def __init__(self, lesson: Lesson) -> None:
        self.lesson = lesson
        self.helpers: list[Helper] = []

    @contextmanager
    def of(self, processes: int, make: Callable[[], Model]) -> Iterator[None]:
        """So many processes in all, for a while; `make` gives a helper a model of the same shape, with any weights."""
        try:
            for number in range(1, processes):
                self.helpers.append(Helper(self.lesson, make, number, _threads_each(processes)))
            yield
        finally:
            for helper in self.helpers:
                helper.dismiss()
            self.helpers.clear()

    def learn(self, parts: Sequence[Part]) -> float:
        """The loss of a step; its gradient is left with the weights."""
        together, threads, loss = 1 + len(self.helpers), torch.get_num_threads(), 0.0
        torch.set_num_threads(_threads_each(together))
        try:
            # Gradients are added in the order of the parts, as one process would add them.
            for first in range(0, len(parts), together):
                others = list(zip(self.helpers, parts[first + 1 : first + together], strict=False))
                for helper, part in others:
                    helper.ask(part)
                loss += self.lesson.learn(parts[first])
                for helper, _ in others:
                    loss += helper.answer()
            return loss
        finally:
            torch.set_num_threads(threads)


class Helper:
    """Another process, as this one sees it."""

    def __init__(self, lesson: Lesson, make: Callable[[], Model], number: int, threads: int) -> None:
        self.number = number
        self.learnt = _learnt(lesson.model)
        flat = torch.empty(sum(weight.numel() for weight in self.learnt)).share_memory_()
        self.gradients = _views(flat, self.learnt)
        weights = {name: weight.share_memory_() for name, weight in lesson.model.named_parameters()}
        spawn = multiprocessing.get_context("spawn")
        self.pipe, theirs = spawn.Pipe()
        arguments = (make, weights, flat, lesson.choice, lesson.weights_Y, theirs, threads)
        self.process: SpawnProcess = spawn.Process(target=_help, args=arguments, daemon=True)
        try:
            self.process.start()
        except OSError as error:
            raise AntiphonError(f"train.processes: helper process {number} could not be started: {error}.") from error
        finally:
            theirs.close()

    def ask(self, part: Part) -> None:
        try:
            self.pipe.send((_packed(part.batch), part.draws, part.forcing, part.tokens))
        except OSError:
            raise self._gone() from None

    def answer(self) -> float:
        """The loss of what was asked; its gradient is added to those that the weights have."""
        try:
            loss, has_gradient, complaint = self.pipe.recv()
        except (EOFError, OSError):
            raise self._gone() from None
        if complaint:
            raise RuntimeError(f"helper process {self.number} failed:\n{complaint}")
        for weight, gradient, there in zip(self.learnt, self.gradients, has_gradient, strict=True):
            if there and weight.grad is None:
                weight.grad = gradient.clone()
            elif there:
                assert weight.grad is not None, "it was asked above"
                weight.grad += gradient
        return float(loss)

    def _gone(self) -> AntiphonError:
        self.process.join(_PATIENCE)
        code = self.process.exitcode
        if code is None or code < 0:
            why = f"was killed (signal {-(code or 0)}), perhaps for want of memory"
        else:
            why = (
                "could not work, and said why above. A script that trains must do so "
                'below `if __name__ == "__main__":`, for helpers read it again'
            )
        return AntiphonError(
            f"train.processes: helper process {self.number} {why}. "
            "The same command goes on from the last checkpoint, with fewer processes if you like."
        )

    def dismiss(self) -> None:
        self.pipe.close()
        self.process.join(_PATIENCE)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


def _help(
    make: Callable[[], Model],
    weights: Mapping[str, nn.Parameter],
    flat: Tensor,
    choice: Train,
    weights_Y: Tensor | None,
    pipe: Connection,
    threads: int,
) -> None:
    """The life of a helper: part after part, until nobody is there to ask."""
    for number in (signal.SIGINT, signal.SIGTERM):  # a stop is for the one that saves; then the pipe is closed
        signal.signal(number, signal.SIG_IGN)
    torch.set_num_threads(threads)
    lesson = Lesson(make().train(), choice, weights_Y)
    for name, weight in lesson.model.named_parameters():
        weight.data = weights[name].data
        weight.requires_grad_(weights[name].requires_grad)
    learnt = _learnt(lesson.model)
    gradients = _views(flat, learnt)
    while True:
        try:
            packed, draws, forcing, tokens = pipe.recv()
            for weight in learnt:
                weight.grad = None
            try:
                loss = lesson.learn(Part(_unpacked(packed), draws, forcing, tokens))
            except Exception:
                pipe.send((0.0, [], traceback.format_exc()))
                continue
            for weight, gradient in zip(learnt, gradients, strict=True):
                if weight.grad is not None:
                    gradient.copy_(weight.grad)
            pipe.send((loss, [weight.grad is not None for weight in learnt], ""))
        except (EOFError, OSError):
            return


def _threads_each(processes: int) -> int:
    return max(1, torch.get_num_threads() // processes)


def _learnt(model: Model) -> list[nn.Parameter]:
    return [weight for weight in model.parameters() if weight.requires_grad]


def _views(flat: Tensor, weights: Sequence[nn.Parameter]) -> list[Tensor]:
    parts = flat.split([weight.numel() for weight in weights])
    return [part.view_as(weight) for part, weight in zip(parts, weights, strict=True)]


def _packed(batch: Batch) -> dict[str, Any]:
    """Arrays go through a pipe as they are; tensors would each become a file."""
    values = {field.name: getattr(batch, field.name) for field in fields(batch)}
    return {name: value.numpy() if isinstance(value, Tensor) else value for name, value in values.items()}


def _unpacked(packed: dict[str, Any]) -> Batch:
    arrays = {name: value for name, value in packed.items() if isinstance(value, np.ndarray)}
    return Batch(**(packed | {name: torch.from_numpy(array) for name, array in arrays.items()}))
