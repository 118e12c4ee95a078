"""Choosing anew among answers that a search has found: plain functions on lists."""

import math
from collections.abc import Callable, Sequence


def expected_utilities(
    texts: Sequence[str], log_probabilities: Sequence[float] | None, utility: Callable[[str, str], float]
) -> list[float]:
    """For each text its mean utility where each of them is the truth: the highest has the least risk.

    Draws count alike, for likelier ones come more often; hypotheses, whose log-probabilities are given, as they weigh.
    """
    weights = [1.0] * len(texts)
    if log_probabilities is not None:
        highest = max(log_probabilities)
        weights = [math.exp(log - highest) for log in log_probabilities]
    truths: dict[str, float] = {}
    for text, weight in zip(texts, weights, strict=True):
        truths[text] = truths.get(text, 0.0) + weight
    total = sum(weights)
    known = {text: sum(w * utility(text, truth) for truth, w in truths.items()) / total for text in truths}
    return [known[text] for text in texts]


def best_first(scores: Sequence[float], texts: Sequence[str], ended: Sequence[bool]) -> list[int]:
    """Where the texts stand, highest score first, each text once; of equals the earlier comes first.

    Those that have not `ended` come after all that have, as in the search itself.
    """
    order = sorted(range(len(texts)), key=lambda place: (not ended[place], -scores[place]))
    seen: dict[str, int] = {}
    for place in order:
        seen.setdefault(texts[place], place)
    return list(seen.values())
