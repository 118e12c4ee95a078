"""How much an answer is worth if another were the truth, sentence by sentence: what minimum Bayes risk asks."""

from collections.abc import Callable
from typing import Literal

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

Utility = Literal["chrf", "bleu"]


def utility(name: Utility) -> Callable[[str, str], float]:
    """utility(answer, truth), 0 to 100: chrF, or BLEU over the n-grams that a short sentence has."""
    metric = CHRF() if name == "chrf" else BLEU(effective_order=True)

    def worth(answer: str, truth: str) -> float:
        # Two empty lines are equal, and sacrebleu gives them nothing.
        return 100.0 if answer == truth else float(metric.sentence_score(answer, [truth]).score)

    return worth
