"""The learning rate over time."""

import math
from typing import assert_never

from antiphon.config.schema import Train


def learning_rate(step: int, choice: Train) -> float:
    """The rate of update number `step`, counted from 0: it rises over `warmup` updates, then falls as chosen."""
    if step < choice.warmup:
        return choice.learning_rate * (step + 1) / choice.warmup
    match choice.schedule:
        case "constant":
            return choice.learning_rate
        case "inverse_sqrt":
            return choice.learning_rate * math.sqrt(max(choice.warmup, 1) / (step + 1))
        case "cosine":
            done = (step - choice.warmup) / max(choice.max_steps - choice.warmup, 1)
            return choice.learning_rate * 0.5 * (1 + math.cos(math.pi * min(done, 1.0)))
        case _:
            assert_never(choice.schedule)
