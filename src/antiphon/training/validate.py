"""Judging weights on the validation pairs, through the same pipeline that will answer users."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from antiphon.confidence import Calibration, calibrate
from antiphon.data.prepare import Prepared
from antiphon.evaluate.metrics import Score, bleu, exact_match
from antiphon.pipeline import Pipeline

_SAMPLES = 5
_PROMPT, _WRITTEN = 1 / 3, 80  # of a text the share of its words that is given, and the symbols that are written


@dataclass(frozen=True)
class Judgement:
    """What the validation pairs say; `value` is smaller for better weights, whatever the metric."""

    value: float
    numbers: dict[str, float]
    scores: list[Score]
    samples: list[tuple[str, str, str]]  # source, expected, answer: the same pairs every time
    calibration: Calibration | None = None  # None where the weights are not finite, and of a model without sources

    def line(self) -> str:
        return "  ".join(f"{name} {value:.4g}" for name, value in self.numbers.items())


def judge(pipeline: Pipeline, prepared: Prepared, metric: Literal["loss", "bleu", "exact_match"]) -> Judgement:
    parts = list(pipeline.losses(prepared.valid))
    tokens = sum(count for _, count, _ in parts)
    loss = sum(part for part, _, _ in parts) / tokens
    numbers = {"loss": loss, "perplexity": math.exp(min(loss, 700.0)), "accuracy": sum(r for _, _, r in parts) / tokens}
    pairs = prepared.valid_pairs
    chosen = sorted({int(i) for i in np.linspace(0, len(pairs) - 1, _SAMPLES)})
    asked = range(len(pairs)) if metric != "loss" else chosen
    search = pipeline.run.search
    if pipeline.completes:
        pairs = [(_beginning(text), text) for _, text in pairs]
        search = search.model_copy(update={"max_length": min(search.max_length, _WRITTEN)})
    found = pipeline.answer([pairs[i][0] for i in asked], search)
    answers = {i: answers[0].text for i, answers in zip(asked, found, strict=True)}
    scores = []
    if metric != "loss":
        measure = bleu if metric == "bleu" else exact_match
        scores = [measure(list(answers.values()), [target for _, target in pairs])]
        numbers[metric] = scores[0].value
    value = loss if metric == "loss" else -numbers[metric]
    samples = [(*pairs[i], answers[i]) for i in chosen]
    calibration = None if pipeline.completes else calibrate(pipeline, prepared.valid, pairs)
    return Judgement(value, numbers, scores, samples, calibration)


def _beginning(text: str) -> str:
    """What a language model is given of a validation text, to be completed."""
    words = text.split()
    return " ".join(words[: round(_PROMPT * len(words))])
