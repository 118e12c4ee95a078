"""Threads that share a step: each learns pieces of its batches, alone with a share of the cores.

Torch's own threads wait for each other at every product; these wait once, at the end of a step.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait

import torch

from antiphon.training.lesson import Gradients, Lesson, Task


class Crew:
    """Gradients are added in the order of the pieces, so their sum does not depend on who was first."""

    def __init__(self, lesson: Lesson) -> None:
        self.lesson = lesson
        self.pool: ThreadPoolExecutor | None = None  # its threads end with it

    def learn(self, tasks: Sequence[Task]) -> float:
        """The loss of a step; its gradient is left with the weights."""
        total = 0.0
        for loss, gradients in self._learnt(tasks):
            total += loss
            for weight, gradient in gradients.items():
                if weight.grad is None:
                    weight.grad = gradient.clone()  # two weights may have been given one and the same
                else:
                    weight.grad += gradient
        return total

    def _learnt(self, tasks: Sequence[Task]) -> Iterator[tuple[float, Gradients]]:
        threads = torch.get_num_threads()
        together = min(threads, len(tasks))
        if together == 1 or any(task.batch.part != "whole" for task in tasks):  # which wait for each other
            yield from map(self.lesson.learn, tasks)
            return
        self.pool = self.pool or ThreadPoolExecutor(threads)
        each = threads // together
        torch.set_num_threads(each)
        learning = [self.pool.submit(self._learn_with, each, task) for task in tasks]
        try:
            for one in learning:
                yield one.result()
        finally:
            for one in learning:
                one.cancel()
            wait(learning)  # or they would go on reading weights that change
            torch.set_num_threads(threads)

    def _learn_with(self, threads: int, task: Task) -> tuple[float, Gradients]:
        torch.set_num_threads(threads)
        return self.lesson.learn(task)
