"""A validation judges by loss or by answers, and smaller is better in either case."""

import math

import pytest

from antiphon.data.prepare import prepare
from antiphon.pipeline import Pipeline
from antiphon.store import load_folder
from antiphon.training.validate import judge


@pytest.fixture(scope="module")
def judged(trained):
    loaded = load_folder(trained)
    pipeline = Pipeline(loaded.model, loaded.source, loaded.target, loaded.run)
    prepared = prepare(loaded.run.data, trained / "tokens")
    return lambda metric: (judge(pipeline, prepared, metric), pipeline, prepared)


def test_by_loss(judged):
    judgement, pipeline, prepared = judged("loss")
    parts = list(pipeline.losses(prepared.valid, 7))
    loss = sum(part[0] for part in parts) / sum(part[1] for part in parts)
    assert judgement.value == judgement.numbers["loss"] == pytest.approx(loss, rel=1e-5)
    assert judgement.numbers["perplexity"] == pytest.approx(math.exp(loss), rel=1e-5)
    assert judgement.scores == []


@pytest.mark.parametrize("metric", ["bleu", "exact_match"])
def test_by_answers(judged, metric):
    judgement, pipeline, prepared = judged(metric)
    (score,) = judgement.scores
    assert judgement.value == -score.value == -judgement.numbers[metric]
    assert score.signature
    if metric == "exact_match":
        texts = [found[0].text for found in pipeline.answer([source for source, _ in prepared.valid_pairs])]
        right = sum(text == target for text, (_, target) in zip(texts, prepared.valid_pairs, strict=True))
        assert score.value == pytest.approx(100 * right / len(texts))


def test_the_same_five_samples_every_time(judged):
    first, pipeline, prepared = judged("loss")
    second, _, _ = judged("exact_match")
    assert len(first.samples) == 5
    assert first.samples == second.samples
    for source, expected, answer in first.samples:
        assert (source, expected) in prepared.valid_pairs
        assert pipeline.answer([source])[0][0].text == answer
