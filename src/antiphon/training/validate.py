"""Judging weights on the validation pairs, through the same pipeline that will answer users."""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from antiphon.confidence import Calibration, calibrate
from antiphon.data.masking import hide_word
from antiphon.data.prepare import Prepared
from antiphon.data.questions import part, read_golds
from antiphon.evaluate.calibration import Fit, fit_temperature
from antiphon.evaluate.guards import UNKNOWN_TASK
from antiphon.evaluate.labels import label_accuracy, label_f1
from antiphon.evaluate.metrics import Score, bleu, exact_match
from antiphon.evaluate.spans import tag_accuracy
from antiphon.evaluate.squad import squad_scores
from antiphon.labelling.filling import Filling
from antiphon.labelling.opening import Answering, Labelling
from antiphon.labelling.pointing import Pointing
from antiphon.labelling.reading import longest_text
from antiphon.labelling.scoring import tag_f1
from antiphon.labelling.tagging import Tagging
from antiphon.pipeline import Pipeline

Metric = Literal["loss", "bleu", "exact_match", "accuracy", "f1"]
_SAMPLES = 5
NOTHING = "(no answer)"
_PROMPT, _WRITTEN = 1 / 3, 80  # of a text the share of its words that is given, and the symbols that are written


@dataclass(frozen=True)
class Judgement:
    """What the validation pairs say; `value` is smaller for better weights, whatever the metric."""

    value: float
    numbers: dict[str, float]
    scores: list[Score]
    samples: list[tuple[str, str, str]]  # source, expected, answer: the same pairs every time
    calibration: Calibration | None = None  # None where the weights are not finite, and of a model without sources

    def __post_init__(self) -> None:
        if math.isnan(self.value):
            object.__setattr__(self, "value", math.inf)  # which anything is better than

    def line(self) -> str:
        return "  ".join(f"{name} {value:.4g}" for name, value in self.numbers.items())


def judge(pipeline: Answering, prepared: Prepared, metric: Metric) -> Judgement:
    if isinstance(pipeline, Filling):
        return _judge_holes(pipeline, prepared)
    parts = list(pipeline.losses(prepared.valid))
    tokens = sum(count for _, count, _ in parts)
    loss = sum(part for part, _, _ in parts) / tokens
    numbers = {"loss": loss, "perplexity": math.exp(min(loss, 700.0)), "accuracy": sum(r for _, _, r in parts) / tokens}
    if not isinstance(pipeline, Pipeline):
        del numbers["perplexity"]
        if isinstance(pipeline, Pointing):
            return _judge_spans(pipeline, prepared, metric, numbers)
        return _judge_labels(pipeline, prepared, metric, numbers)
    pairs = prepared.valid_pairs
    chosen = _chosen(pairs)
    asked = range(len(pairs)) if metric != "loss" else chosen
    search = pipeline.run.search
    if pipeline.completes:
        pairs = [(_beginning(text, pipeline), text) for _, text in pairs]
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


def _judge_labels(pipeline: Labelling, prepared: Prepared, metric: Metric, numbers: dict[str, float]) -> Judgement:
    """Every text is answered, for that is as quick as the loss is found."""
    pairs, target = prepared.valid_pairs, pipeline.target
    answers = [found[0] for found in pipeline.answer([text for text, _ in pairs])]
    said = [answer.pieces for answer in answers]
    if isinstance(pipeline, Tagging):
        wanted = [label.split() for _, label in pairs]
        scores = [tag_accuracy(said, wanted), tag_f1(said, wanted, target.labels)]
    else:
        wanted = [target.pieces(target.encode(label)) for _, label in pairs]
        scores = [label_accuracy(said, wanted), label_f1(said, wanted, "macro")]
    numbers["f1"] = scores[1].value / 100
    fit = _fit(pipeline, prepared)
    value = numbers["loss"] if metric == "loss" else -numbers[metric]
    samples = [(*pairs[i], answers[i].text) for i in _chosen(pairs)]
    return Judgement(value, numbers, scores, samples, None if fit is None else Calibration(fit, UNKNOWN_TASK))


def _fit(pipeline: Labelling | Pointing, prepared: Prepared) -> Fit | None:
    """All temperatures are tried on the same logits, which are few: the model speaks once."""
    parts = list(pipeline.spoken(prepared.valid))
    return fit_temperature(lambda: parts)


def _judge_holes(pipeline: Filling, prepared: Prepared) -> Judgement:
    """The samples are texts with a word taken out of their middle."""
    total, words, right, told, pairs = map(sum, zip(*pipeline.judged(prepared.valid), strict=True))
    loss = total / words
    numbers = {"loss": loss, "perplexity": math.exp(min(loss, 700.0)), "accuracy": right / words}
    if pairs:
        numbers["next_sentence"] = told / pairs
    longest = longest_text(pipeline.run, pipeline.run.search)
    samples = [(hide_word(text), text) for _, text in prepared.valid_pairs if text]
    samples = [sample for sample in samples if len(pipeline.encode(sample[0])) <= longest]
    samples = [samples[i] for i in _chosen(samples)] if samples else []
    answers = pipeline.answer([asked for asked, _ in samples])
    filled = [(*sample, found[0].text) for sample, found in zip(samples, answers, strict=True)]
    return Judgement(loss, numbers, [], filled)


def _judge_spans(pipeline: Pointing, prepared: Prepared, metric: Metric, numbers: dict[str, float]) -> Judgement:
    """The loss is of windows, the scores are of questions, over all windows of each."""
    pairs = [(source, [gold.text for gold in read_golds(target)]) for source, target in prepared.valid_pairs]
    search = pipeline.run.search.model_copy(update={"max_source": sys.maxsize})  # what is validated on is never refused
    answers = [found[0] for found in pipeline.answer([source for source, _ in pairs], search)]
    scores = squad_scores([answer.text for answer in answers], [golds for _, golds in pairs])
    numbers |= {"exact_match": scores[0].value, "f1": scores[1].value}
    fit = _fit(pipeline, prepared)
    value = numbers["loss"] if metric == "loss" else -numbers[metric]
    samples = [
        (part(pairs[i][0])[0], " / ".join(dict.fromkeys(pairs[i][1])) or NOTHING, answers[i].text or NOTHING)
        for i in _chosen(prepared.valid_pairs)
    ]
    return Judgement(value, numbers, scores, samples, None if fit is None else Calibration(fit, UNKNOWN_TASK))


def _chosen(pairs: Sequence[tuple[str, str]]) -> list[int]:
    """A few at even distances, the same every time."""
    return sorted({int(i) for i in np.linspace(0, len(pairs) - 1, _SAMPLES)})


def _beginning(text: str, pipeline: Pipeline) -> str:
    """What a language model is given of a validation text, to be completed: no more than it can read."""
    words = text.split()
    count, longest = round(_PROMPT * len(words)), pipeline.longest(pipeline.run.search)
    while len(pipeline.encode(" ".join(words[:count]))) > longest:
        count //= 2
    return " ".join(words[:count])
