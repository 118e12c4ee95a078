"""Paired tests: repeatable, fair to equals, sure of what is plain, and of the size that sacrebleu finds."""

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import PairedTest

from antiphon.evaluate.rows import Measured, measure
from antiphon.evaluate.scores import Scoring
from antiphon.evaluate.significance import difference, interval
from tests.evaluate.test_rows import corpus


def shares(right):
    """A system that has these lines right, by exact match."""
    found = measure(["a"] * len(right), ["a" if one else "b" for one in right], "exact_match", Scoring())
    assert isinstance(found, Measured)
    return found


def test_equal_systems_do_not_differ():
    one = shares([True, False] * 50)
    found = difference(one, one, 500, 1)
    assert (found.points, found.low, found.high, found.bootstrap, found.randomisation) == (0, 0, 0, 1, 1)
    assert not found.worse(0.05)


def test_what_is_plain_is_sure_and_what_is_not_is_not():
    good, bad = shares([True] * 90 + [False] * 10), shares([True] * 60 + [False] * 40)
    found = difference(bad, good, 1000, 1)
    assert found.points == pytest.approx(-30)
    assert found.low < -30 < found.high < 0
    assert found.bootstrap < 0.01
    assert found.randomisation < 0.01
    assert found.worse(0.05)
    assert not difference(good, bad, 1000, 1).worse(0.05)
    near = shares([True] * 59 + [False] * 41)
    assert not difference(near, bad, 1000, 1).worse(0.05)


def test_the_same_seed_gives_the_same_numbers():
    one, other = shares([True] * 30 + [False] * 20), shares([False] * 10 + [True] * 40)
    assert difference(one, other, 300, 7) == difference(one, other, 300, 7)
    assert difference(one, other, 300, 7) != difference(one, other, 300, 8)


def test_fewer_errors_are_better():
    answers, references = corpus(5)
    perfect = measure([line[0] for line in references], references, "wer", Scoring())
    found = difference(measure(answers, references, "wer", Scoring()), perfect, 300, 1)
    assert found.points > 0 > found.better
    assert found.worse(0.05)


def test_an_interval_of_shares_is_as_wide_as_theory_says():
    low, high = interval(shares([True] * 200 + [False] * 200), 2000, 1)
    # Golden: 50 +- 1.96 sqrt(0.25 / 400) = 50 +- 4.9.
    assert (low, high) == (pytest.approx(45.1, abs=0.8), pytest.approx(54.9, abs=0.8))


@pytest.mark.parametrize("kind", ["bs", "ar"])
def test_p_is_what_sacrebleu_finds(kind):
    (one, references), (other, _) = corpus(11, 150), corpus(11, 150)
    other = [line if number % 4 else " ".join(line.split()[::-1]) for number, line in enumerate(other)]
    streams = [[line[place] for line in references] for place in (0, 1)]
    systems = [("baseline", one), ("other", other)]
    _, scores = PairedTest(systems, {"BLEU": BLEU(tokenize="none", force=True)}, streams, kind, n_samples=2000)()
    theirs = scores["BLEU"][1].p_value
    first, second = (measure(lines, references, "bleu", Scoring("none")) for lines in (one, other))
    found = difference(first, second, 2000, 1)
    ours = found.bootstrap if kind == "bs" else found.randomisation
    assert ours == pytest.approx(theirs, abs=0.03)
    assert np.isfinite(found.low)
