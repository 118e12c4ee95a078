"""Exact match and F1 of SQuAD: what the official scripts' rules give, worked out by hand."""

import pytest

from antiphon.errors import AntiphonError
from antiphon.evaluate.squad import exact_of, f1_of, plain, squad_scores


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("The  Cat's  an \t apple!", "cats apple"),
        ("A.", ""),  # punctuation goes first, and leaves an article
        ("a-b", "ab"),
        ("The-end", "theend"),  # so this is no article any more
        ("U.S.A.", "usa"),
        ("Theatre another", "theatre another"),
        ("“the” 6½ – x", "“ ” 6½ – x"),  # only ASCII's punctuation goes
        ("THE THE", ""),
        ("", ""),
    ],
)
def test_the_plain_form(text, normal):
    assert plain(text) == normal


@pytest.mark.parametrize(
    ("said", "golds", "v1", "v2"),
    [
        ("the Denver Broncos!", ["Denver Broncos"], (1, 1), (1, 1)),
        ("Denver", ["Denver Broncos"], (0, 2 / 3), (0, 2 / 3)),
        ("in the city of Denver Denver", ["Denver"], (0, 2 / 6), (0, 2 / 6)),  # counted once: P 1/5, R 1
        ("Denver Denver x", ["Denver Denver"], (0, 4 / 5), (0, 4 / 5)),
        ("x", ["a b", "x y", "x"], (1, 1), (1, 1)),  # the nearest counts
        ("x z", ["x", "y z"], (0, 2 / 3), (0, 2 / 3)),
        ("y", ["x"], (0, 0), (0, 0)),
        ("the", ["The."], (1, 0), (1, 1)),  # v1.1 finds no word in common; v2.0 takes both for nothing
        ("", ["x"], (0, 0), (0, 0)),
        ("an", ["x", "a"], (1, 0), (0, 0)),  # v2.0 forgets a right answer that is nothing
    ],
)
def test_one_question(said, golds, v1, v2):
    for rules, wanted in (("v1.1", v1), ("v2.0", v2)):
        assert (exact_of(said, golds, rules), f1_of(said, golds, rules)) == pytest.approx(wanted)


@pytest.mark.parametrize(("said", "value"), [("", 1), ("the", 1), ("!", 1), ("x", 0)])
def test_where_there_is_no_answer(said, value):
    assert (exact_of(said, [], "v2.0"), f1_of(said, [], "v2.0")) == (value, value)


def test_all_of_v1():
    scores = squad_scores(["x", "b", "y z"], [["X"], ["b c"], ["w"]])
    assert [(score.name, score.value) for score in scores] == [
        ("exact match", pytest.approx(100 / 3)), ("F1", pytest.approx(100 * (1 + 2 / 3) / 3)),
    ]  # fmt: skip
    assert scores[0].signature.startswith("squad_exact_match|rules:v1.1|questions:3|version:")
    assert scores[1].signature.startswith("squad_f1|rules:v1.1|questions:3|version:")


def test_all_of_v2_and_its_parts():
    # "a b" is "b" without its article, so the second is exact too.
    scores = squad_scores(["x", "b", "", "y", "c"], [["X"], ["a b"], [], [], ["c d"]])
    assert [(score.name, score.value) for score in scores] == [
        ("exact match", pytest.approx(60)), ("F1", pytest.approx(100 * (1 + 1 + 1 + 0 + 2 / 3) / 5)),
        ("exact match, answerable", pytest.approx(200 / 3)), ("F1, answerable", pytest.approx(100 * (2 + 2 / 3) / 3)),
        ("exact match, unanswerable", 50), ("F1, unanswerable", 50),
    ]  # fmt: skip
    assert scores[4].signature.startswith("squad_exact_match|rules:v2.0|questions:2|version:")


def test_nothing_has_no_score():
    with pytest.raises(AntiphonError) as caught:
        squad_scores(["x"], [])
    assert str(caught.value) == "evaluate: 1 answers to 0 questions; give as many of both, and at least one."
