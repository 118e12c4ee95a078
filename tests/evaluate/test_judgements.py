"""People's judgements, counted by hand and beside published examples."""

import math

import pytest

from antiphon.evaluate.judgements import Agreement, Mark, Mean, alpha, judge_all, kappa, mean_of, share_of


def test_krippendorffs_own_example():
    # Four judges of twelve units (Krippendorff, 2011): alpha of intervals is 0.849.
    table = ["123321412...", "1233224125.3", ".3332342251.", "12332441251."]
    units = [[float(row[n]) for row in table if row[n] != "."] for n in range(12)]
    assert alpha(units) == pytest.approx(0.849, abs=5e-4)


def test_alpha_by_hand():
    assert alpha([[1, 1], [5, 5]]) == 1.0
    assert alpha([[1, 2], [3]]) == pytest.approx(0.0)  # within: 1; expected: of 1 and 2 alone, 1
    assert alpha([[3, 3], [3, 3]]) is None  # nobody ever says anything else
    assert alpha([[1], [2]]) is None
    assert alpha([]) is None


def test_kappa_by_hand():
    assert kappa([[1, 1], [-1, -1]]) == 1.0
    # Half agree; chance: 1 thrice, -1 once in four: 9/16 + 1/16.
    assert kappa([[1, 1], [1, -1]]) == pytest.approx((0.5 - 0.625) / 0.375)
    assert kappa([[0], []]) is None
    assert kappa([[0, 0]]) is None


def test_wilsons_interval():
    # Golden, from Wilson's formula: 8 of 10 is 0.49 to 0.94.
    found = share_of(8, 10)
    assert (found.low, found.high) == (pytest.approx(0.4902, abs=1e-4), pytest.approx(0.9433, abs=1e-4))
    assert share_of(0, 5).low == 0.0
    assert share_of(5, 5).high == 1.0
    assert share_of(0, 0) is None


def test_means():
    assert mean_of([4]) == Mean(4.0, 4.0, 4.0)
    found = mean_of([1, 2, 3, 4, 5])
    assert found.high - found.value == pytest.approx(1.96 * math.sqrt(2.5 / 5), abs=1e-4)
    assert math.isnan(mean_of([]).value)


def test_a_study_of_two_judges_by_hand():
    marks = [
        Mark("ann", 0, 0, 5, 4, 1), Mark("ann", 0, 1, 3, 4, 2), Mark("ann", 1, 0, 4, 4, 1), Mark("ann", 1, 1, 4, 5, 1),
        Mark("bob", 0, 0, 5, 5, 1), Mark("bob", 0, 1, 2, 5, 2),
    ]  # fmt: skip
    verdict = judge_all(marks, ["first", "second"])
    assert verdict.judges == (("ann", 2), ("bob", 1))
    assert [(one.name, one.marks) for one in verdict.standings] == [("first", 3), ("second", 3)]
    assert verdict.standings[0].adequacy.value == pytest.approx(14 / 3)
    (wins,) = verdict.wins
    assert (wins.one, wins.wins, wins.ties, wins.losses) == ("first", 2, 1, 0)
    assert wins.share.value == 1.0
    assert verdict.agreement.pairs == 1
    assert verdict.agreement.adequacy == alpha([[5, 5], [3, 2]])
    assert verdict.agreement.ranking is None  # both said the same, and nothing else was ever said


def test_nothing_judged_is_told_as_nothing():
    verdict = judge_all([], ["a", "b"])
    assert verdict.judges == ()
    assert verdict.wins[0].share is None
    assert verdict.agreement == Agreement(0, None, None, None)
