"""Scores with known values: worked examples of the lectures, and systems of WMT scored by others."""

import gzip
import math
import os
from pathlib import Path

import pytest

from antiphon.evaluate import metrics
from antiphon.evaluate.metrics import bleu, chrf, perplexity, word_error_rate
from antiphon.evaluate.rouge import rouge

DATA = Path(os.environ.get("ANTIPHON_DATA", Path(__file__).parents[2].parent / "shared" / "data"))


@pytest.fixture(autouse=True)
def signed_version(monkeypatch):
    versions = {"antiphon": "7.8.9"}
    monkeypatch.setattr(metrics, "version", versions.__getitem__)


def lines(*parts):
    path = DATA.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{path} is not there; ANTIPHON_DATA names the folder that holds {parts[0]}")
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return file.read().removesuffix("\n").split("\n")


def wmt22(kind):
    return lines("wmt22", f"generaltest2022.en-de.{kind}.de.gz")


def test_bleu_2_of_the_lectures():
    score = bleu(["the Taro visited the Hanako"], ["Taro visited Hanako"], tokenize="none", max_order=2, smooth="none")
    assert score.name == "BLEU-2"
    assert score.value == pytest.approx(100 * math.sqrt(3 / 5 * 1 / 4))
    assert round(score.value / 100, 3) == 0.387


def test_perplexity_of_the_lectures_ten_digits():
    assert perplexity(-7 * math.log(1 / 10), 7, "digits").value == pytest.approx(10.0)


def test_perplexity_of_the_lectures_switchboard():
    # In 120,000 calls: 30,000 for each of operator, sales and support, and one for each of 30,000 names.
    doubt = -90_000 * math.log(1 / 4) - 30_000 * math.log(1 / 120_000)
    assert round(perplexity(doubt, 120_000, "calls").value) == 53


@pytest.mark.parametrize(
    ("system", "gold"),
    [("LIUM-NMT.4900", 26.60), ("C-3MA.4959", 22.67), ("online-A.0", 20.80)],
)
def test_bleu_of_wmt17_systems_as_in_sacrebleus_own_tests(system, gold):
    answers = lines("wmt17", f"newstest2017.{system}.en-de.txt.gz")
    assert round(bleu(answers, lines("wmt17", "reference.txt.gz")).value, 2) == gold


def test_bleu_of_wmt22_opennmt_as_published():
    answers, one, other = wmt22("hyp.OpenNMT"), wmt22("ref.A"), wmt22("ref.B")
    assert bleu(answers, one).value == pytest.approx(35.685103722891746, abs=1e-9)
    assert bleu(answers, other).value == pytest.approx(35.701541442175646, abs=1e-9)
    assert bleu(answers, [*zip(one, other, strict=True)]).value == pytest.approx(48.39941920323298, abs=1e-9)


def test_chrf_of_wmt22_opennmt_as_published():
    answers, one, other = wmt22("hyp.OpenNMT"), wmt22("ref.A"), wmt22("ref.B")
    assert chrf(answers, one).value == pytest.approx(62.13486259873768, abs=1e-9)
    assert chrf(answers, other).value == pytest.approx(61.473261744605146, abs=1e-9)
    assert chrf(answers, [*zip(one, other, strict=True)]).value == pytest.approx(66.6827090094498, abs=1e-9)


def captions():
    """Pairs of English descriptions of the same picture."""
    texts = [line.split("\t")[1] for line in lines("flickr8k", "Flickr8k.token.txt.gz")]
    return texts[0:2000:5], texts[1:2000:5], texts[2:2000:5]


@pytest.mark.parametrize(("kind", "theirs"), [("1", "rouge1"), ("2", "rouge2"), ("L", "rougeL")])
def test_rouge_as_rouge_score_has_it(kind, theirs):
    scorer = pytest.importorskip("rouge_score.rouge_scorer").RougeScorer([theirs])
    answers, *references = captions()
    one = [scorer.score(wanted, said)[theirs].fmeasure for said, wanted in zip(answers, references[0], strict=True)]
    assert rouge(answers, references[0], kind).value == pytest.approx(100 * sum(one) / len(one), abs=1e-9)
    both = [*zip(*references, strict=True)]
    best = [scorer.score_multi(wanted, said)[theirs].fmeasure for said, wanted in zip(answers, both, strict=True)]
    assert rouge(answers, both, kind).value == pytest.approx(100 * sum(best) / len(best), abs=1e-9)


@pytest.mark.parametrize(("unit", "theirs"), [("words", "wer"), ("characters", "cer"), ("phones", "wer")])
def test_error_rates_as_jiwer_has_them(unit, theirs):
    measure = getattr(pytest.importorskip("jiwer"), theirs)
    answers, references, _ = captions()
    wanted = [" ".join(line.split()) for line in references]
    said = [" ".join(line.split()) for line in answers]
    assert word_error_rate(said, wanted, unit).value == pytest.approx(100 * measure(wanted, said), abs=1e-9)
