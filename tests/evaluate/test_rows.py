"""Scores as sums of rows equal the scores that the metrics give."""

import random

import numpy as np
import pytest

from antiphon.evaluate import metrics
from antiphon.evaluate.meteor import Meteor, meteor
from antiphon.evaluate.rows import measure
from antiphon.evaluate.scores import Scoring

WORDS = [
    "the",
    "cat",
    "sat",
    "on",
    "a",
    "mat",
    "and",
    "The",
    "dog",
    "ran",
    "home",
    ".",
    ",",
    "it",
    "was",
    "not",
    "late",
    "!",
]


def corpus(seed, count=40):
    draw = random.Random(seed)
    lines = [draw.choices(WORDS, k=draw.randint(0, 12)) for _ in range(count)]
    near = [
        [word for word in line if draw.random() > 0.2] + draw.choices(WORDS, k=draw.randint(0, 3)) for line in lines
    ]
    return [" ".join(line) for line in near], [[" ".join(line or ["x"]), "the dog"] for line in lines]


def score_of(metric, answers, references, lowercase):
    match metric:
        case "meteor":
            return meteor(answers, references, Meteor("en"), "none")
        case "bleu":
            return metrics.bleu(answers, references, "none", lowercase)
        case "wer":
            return metrics.word_error_rate(answers, references, lowercase=lowercase)
        case _:
            return getattr(metrics, metric)(answers, references, lowercase)


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("metric", ["bleu", "chrf", "ter", "meteor", "wer", "exact_match"])
def test_sums_of_rows_are_corpora(metric, lowercase):
    answers, references = corpus(3)
    answers[0] = references[0][0]
    found = measure(answers, references, metric, Scoring("none", lowercase, language="en"))
    assert found.score == score_of(metric, answers, references, lowercase)
    for part in (range(40), [0], [5, 5, 7], range(30, 40)):
        chosen = [[texts[n] for n in part] for texts in (answers, references)]
        assert found.of(part) == pytest.approx(score_of(metric, *chosen, lowercase).value), part


def test_many_corpora_at_once():
    answers, references = corpus(4)
    found = measure(answers, references, "bleu", Scoring("none"))
    sums = np.stack([found.rows_NM[:10].sum(0), found.rows_NM[10:].sum(0)])
    assert found.formula(sums) == pytest.approx([found.of(range(10)), found.of(range(10, 40))])


def test_a_line_alone_has_a_bleu():
    found = measure(["the cat sat", "x", ""], ["the cat ran", "y", "z"], "bleu", Scoring("none"))
    # Golden, by hand: 2 of 3 words, (1 + 1) of (2 + 1) pairs, (0 + 1) of (1 + 1), (0 + 1) of (0 + 1).
    assert found.by_line() == pytest.approx([100 * (2 / 3 * 2 / 3 * 1 / 2 * 1) ** 0.25, 0, 0])
