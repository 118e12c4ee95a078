"""Rare words, habits, and the lines that differ most, counted by hand."""

import pytest

from antiphon.evaluate.compare import report
from antiphon.evaluate.differences import Row, by_habit, by_rarity, largest
from antiphon.evaluate.lengths import compare, measure

SOURCES = ["a b c", "d e f", "g h i"]
TARGETS = ["the cat x", "the dog", "the the bird"]


def two(one, other, metric="exact_match"):
    return compare({"one": one, "other": other}, TARGETS, measure(SOURCES), metric)


def test_rare_words_by_hand():
    found = by_rarity(two(TARGETS, ["the cat", "the the", "x"]), TARGETS)
    # Once: cat, x, dog, bird; the other system has cat, and x where it is wrong: 2 x 1 / (2 + 4).
    # Four times: the; the other has 2 of 4, and writes 3.
    assert found == [Row("1", 4, (100.0, pytest.approx(100 / 3))), Row("2-4", 4, (100.0, pytest.approx(400 / 7)))]
    assert [(row.label, row.count) for row in by_rarity(two(TARGETS, TARGETS), TARGETS, {"the": 2000, "cat": 7})] == [
        ("0", 3), ("5-9", 1), ("1,000 or more", 4),
    ]  # fmt: skip


def test_habits_by_hand():
    answers = ["x y z x y z", "d e f", ""]
    rows = {row.label: row.values for row in by_habit(two(TARGETS, answers), SOURCES, TARGETS)}
    # x y z, y z x, z x y, x y z: the last came before; d e f never did.
    assert rows["words in a row (3) that came before"] == (0.0, 20.0, 0.0)
    assert rows["words that stand in the source"] == (0.0, pytest.approx(100 * 3 / 9), 0.0)
    assert rows["answers that are their source"] == (0.0, pytest.approx(100 / 3), 0.0)
    assert rows["empty answers"] == (0.0, pytest.approx(100 / 3), 0.0)


@pytest.mark.parametrize("metric", ["bleu", "wer"])
def test_gains_and_losses_by_hand(metric):
    comparison = two(["the cat x", "the dog", "no"], ["the cat x", "dog", "the the bird"], metric)
    gains, losses = largest(*comparison.systems, 10)
    assert ([line.number for line in gains], [line.number for line in losses]) == ([1], [2])
    assert [line.number for line in largest(*comparison.systems, 0)[0]] == []


def test_one_system_is_compared_with_nobody():
    alone = compare({"one": TARGETS}, TARGETS, measure(SOURCES), "exact_match")
    found = report(alone, SOURCES, [[target] for target in TARGETS])
    assert found.against == ()
    assert found.intervals == ((100.0, 100.0),)
    assert found.worse() == []
