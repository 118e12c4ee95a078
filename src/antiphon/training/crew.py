"""Processes that share the batches of a step: the weights lie in memory that all of them see.

Threads of one process wait for each other at every product, processes once in a round of batches. (Y labels)
"""

import multiprocessing
import signal
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from antiphon.config.schema import Train
from antiphon.data.batch import Batch
from antiphon.errors import CrewError
from antiphon.models.model import Model
from antiphon.training.lesson import Lesson, Task

_UNGUARDED = (
    'If a script of yours trains, let it do so below `if __name__ == "__main__":`, '
    "for helpers read it again and would train too; else see what was said above"
)
_SCARCE = (
    "Take fewer processes, or allow more open files (`ulimit -n`) or, in a container, more shared memory (`--shm-size`)"
)


class Crew:
    """This process and its helpers. Gradients are added in the order of the batches, as one process would add them."""

    def __init__(self, lesson: Lesson) -> None:
        self.lesson = lesson
        self.helpers: list[Helper] = []

    @contextmanager
    def of(self, processes: int, make: Callable[[], Model]) -> Iterator[None]:
        """So many processes in all, for a while; `make` gives a helper a model of the same shape, with any weights."""
        try:
            for number in range(1, processes):
                self.helpers.append(Helper(self.lesson, number))
                self.helpers[-1].start(make, _threads_each(processes))
            for helper in self.helpers:
                helper.receive()  # that it is ready
            yield
        finally:
            self._dismiss()

    def learn(self, tasks: Sequence[Task]) -> float:
        """The loss of a step; its gradient is left with the weights."""
        together, threads, loss = 1 + len(self.helpers), torch.get_num_threads(), 0.0
        torch.set_num_threads(_threads_each(together))
        try:
            for first in range(0, len(tasks), together):
                others = list(zip(self.helpers, tasks[first + 1 : first + together], strict=False))
                for helper, task in others:
                    helper.ask(task)
                loss += self.lesson.learn(tasks[first])
                for helper, _ in others:
                    loss += helper.answer()
            return loss
        except BaseException:
            self._dismiss()  # or an answer that nobody waited for would be taken for one of the next step
            raise
        finally:
            torch.set_num_threads(threads)

    def _dismiss(self) -> None:
        """At once: a helper has nothing that is not also here."""
        for helper in self.helpers:
            helper.pipe.close()
            if helper.process is not None:
                helper.process.kill()
                helper.process.join()
        self.helpers.clear()


class Helper:
    """Another process, as this one sees it."""

    def __init__(self, lesson: Lesson, number: int) -> None:
        self.lesson, self.number = lesson, number
        self.learnt = _learnt(lesson.model)
        self.gradients: list[Tensor] = []  # of what was asked last, in the order of `learnt`
        self.spawn = multiprocessing.get_context("spawn")
        self.pipe, self.theirs = self.spawn.Pipe()
        self.process: multiprocessing.context.SpawnProcess | None = None

    def start(self, make: Callable[[], Model], threads: int) -> None:
        try:
            flat = torch.empty(sum(weight.numel() for weight in self.learnt)).share_memory_()
            weights = {name: weight.share_memory_() for name, weight in self.lesson.model.named_parameters()}
            arguments = (make, weights, flat, self.lesson.choice, self.lesson.weights_Y, self.theirs, threads)
            process = self.spawn.Process(target=_help, args=arguments, daemon=True)
            with _unheard():
                process.start()
        except BrokenPipeError as error:
            raise CrewError(f"train.processes: helper process {self.number} could not begin. {_UNGUARDED}.") from error
        except (OSError, RuntimeError) as error:
            raise CrewError(
                f"train.processes: helper process {self.number} could not be started: {error}. {_SCARCE}."
            ) from error
        finally:
            self.theirs.close()
        self.process, self.gradients = process, _views(flat, self.learnt)

    def ask(self, task: Task) -> None:
        try:
            self.pipe.send((_packed(task.batch), task.draws, task.forcing, task.tokens))
        except OSError:
            raise self._gone() from None

    def answer(self) -> float:
        """The loss of what was asked; its gradient is added to those that the weights have."""
        loss, has_gradient = self.receive()
        for weight, gradient, there in zip(self.learnt, self.gradients, has_gradient, strict=True):
            if there and weight.grad is None:
                weight.grad = gradient.clone()
            elif there:
                assert weight.grad is not None, "it was asked above"
                weight.grad += gradient
        return float(loss)

    def receive(self) -> tuple[float, list[bool]]:
        """What it says next: a loss, and which weights have a gradient."""
        try:
            loss, has_gradient, complaint = self.pipe.recv()
        except (EOFError, OSError):
            raise self._gone() from None
        if complaint:
            raise RuntimeError(f"helper process {self.number} failed:\n{complaint}")
        return loss, has_gradient

    def _gone(self) -> CrewError:
        assert self.process is not None, "it was started"
        self.process.join()
        code = self.process.exitcode or 0
        if code < 0:
            return CrewError(
                f"train.processes: helper process {self.number} was killed (signal {-code}), "
                "perhaps for want of memory: take fewer processes."
            )
        return CrewError(f"train.processes: helper process {self.number} ended (exit code {code}). {_UNGUARDED}.")


@contextmanager
def _unheard() -> Iterator[None]:
    """What is started here hears no request to stop: that is for the process that saves, and then ends the others."""
    resource_tracker.ensure_running()  # which would let both be heard again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _help(
    make: Callable[[], Model],
    weights: Mapping[str, nn.Parameter],
    flat: Tensor,
    choice: Train,
    weights_Y: Tensor | None,
    pipe: Connection,
    threads: int,
) -> None:
    """The life of a helper: batch after batch, until nobody is there to ask."""
    torch.set_num_threads(threads)
    lesson = Lesson(make().train(), choice, weights_Y)
    for name, weight in lesson.model.named_parameters():
        weight.data = weights[name].data
        weight.requires_grad_(weights[name].requires_grad)
    learnt = _learnt(lesson.model)
    gradients = _views(flat, learnt)
    try:
        pipe.send((0.0, [], ""))
        while True:
            packed, draws, forcing, tokens = pipe.recv()
            for weight in learnt:
                weight.grad = None
            try:
                loss = lesson.learn(Task(_unpacked(packed), draws, forcing, tokens))
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
