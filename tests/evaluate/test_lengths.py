"""Scores by source length: which pairs go together, and what each bin scores."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as some

from antiphon.errors import AntiphonError
from antiphon.evaluate import metrics
from antiphon.evaluate.lengths import FEWEST_PAIRS, Bin, compare, measure
from antiphon.evaluate.scores import Scoring


def sources_of(lengths):
    return [" ".join(["w"] * length) for length in lengths]


def spans(measured):
    return [(one.shortest, one.longest, len(one.pairs)) for one in measured.bins]


def test_bins_by_hand():
    measured = measure(["a b c", "a", "a b", "a b c d e", "a b"], [1, 3])
    assert measured.unit == "words"
    assert measured.bins == (Bin(1, 1, (1,)), Bin(2, 3, (0, 2, 4)), Bin(4, 5, (3,)))


def test_an_edge_beyond_the_longest_source_ends_the_last_bin():
    assert spans(measure(sources_of([2, 3, 9]), [5, 40])) == [(2, 5, 2), (6, 9, 1)]
    assert spans(measure(sources_of([2, 3, 9]), [5, 9])) == [(2, 5, 2), (6, 9, 1)]


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        # Golden, by hand: 5 bins of 40 where lengths 1 to 20 come ten times each.
        ([*range(1, 21)] * 10, [(1, 4, 40), (5, 8, 40), (9, 12, 40), (13, 16, 40), (17, 20, 40)]),
        # 100 pairs are four bins of 25.
        ([*range(1, 21)] * 5, [(1, 5, 25), (6, 10, 25), (11, 15, 25), (16, 20, 25)]),
        # Too few for two bins.
        ([*range(2, 50)], [(2, 49, 48)]),
        ([7] * 1000, [(7, 7, 1000)]),
        # Equal lengths stay together, and what is left is shared anew: 300 / 5 is 60, 120 / 4 is 30.
        ([3] * 180 + [4] * 30 + [5] * 30 + [6] * 30 + [7] * 30, [(3, 3, 180), (4, 4, 30), (5, 5, 30), (6, 6, 30), (7, 7, 30)]),
        # A bin ends before a crowd rather than after it, where that is nearer to its share.
        ([2] * 50 + [3] * 900 + [4] * 50, [(2, 2, 50), (3, 3, 900), (4, 4, 50)]),
        # But never with a handful.
        ([2] * 24 + [3] * 900 + [4] * 24, [(2, 4, 948)]),
    ],
    ids=["even", "fewer", "too few", "one length", "crowd first", "crowd amid", "handful"],
)  # fmt: skip
def test_bins_are_chosen_from_the_data(lengths, expected):
    shuffled = random.Random(1).sample(lengths, len(lengths))
    assert spans(measure(sources_of(shuffled))) == expected


@given(some.lists(some.integers(2, 60), min_size=1, max_size=400))
def test_every_pair_is_in_one_bin_and_no_bin_has_a_handful(lengths):
    bins = measure(sources_of(lengths)).bins
    assert sorted(number for one in bins for number in one.pairs) == list(range(len(lengths)))
    assert all(one.shortest <= lengths[number] <= one.longest for one in bins for number in one.pairs)
    assert (bins[0].shortest, bins[-1].longest) == (min(lengths), max(lengths))
    assert 1 <= len(bins) <= 5
    assert len(bins) == 1 or min(len(one.pairs) for one in bins) >= FEWEST_PAIRS


def test_where_most_sources_are_one_word_characters_are_counted():
    assert measure(["cat", "wonder", "ice cream"]).unit == "characters"
    assert spans(measure(["cat", "wonder", "ice  cream "])) == [(3, 9, 3)]
    assert measure(["cat", "two words"]).unit == "words"
    assert spans(measure(["今日は", "e\u0301"], [1])) == [(1, 1, 1), (2, 3, 1)]


@pytest.mark.parametrize("edges", [[], [0], [-1, 5], [5, 5], [9, 5]], ids=str)
def test_edges_rise_from_1(edges):
    with pytest.raises(AntiphonError) as caught:
        measure(["a b", "a b c"], edges)
    shown = ",".join(map(str, edges))
    assert str(caught.value) == f"bins: '{shown}' is not allowed: whole numbers above 0 that rise, such as 10,15,20"


@pytest.mark.parametrize(
    ("edges", "span"), [([1, 5], "at most 1"), ([2, 3, 5], "3"), ([2, 4, 5], "3 to 4"), ([9, 12], "10 to 12")]
)
def test_no_bin_is_left_without_pairs(edges, span):
    with pytest.raises(AntiphonError) as caught:
        measure(sources_of([2, 5, 9]), edges)
    assert str(caught.value) == f"bins: no source has {span} words; these 3 have 2 to 9. Leave an edge out."


SOURCES = ["a b", "a b c", "a b c d e", "a b c d e f"]
TARGETS = ["x y z v", "x y z u", "x y z v w u", "x y z v w s"]


def test_golden_scores_by_hand():
    found = compare(
        {"good": TARGETS, "half": [TARGETS[0], "X Y Z U", TARGETS[2], TARGETS[3].upper()]},
        TARGETS, measure(SOURCES, [3]), "exact_match",
    )  # fmt: skip
    assert [(system.name, system.overall.value) for system in found.systems] == [("good", 100.0), ("half", 50.0)]
    assert [[score.value for score in system.by_length] for system in found.systems] == [[100.0, 100.0], [50.0, 50.0]]
    assert found.pairs == 4
    assert found.score.signature == "exact_match|space:kept|case:mixed|version:7.8.9"


def test_each_bin_is_a_corpus_of_its_own():
    answers = ["x y z v", "x y z z", "x y z v", "x y z v w u"]
    found = compare({"one": answers}, TARGETS, measure(SOURCES, [3]), "bleu", Scoring("none", True)).systems[0]
    assert found.overall == metrics.bleu(answers, TARGETS, "none", True)
    parts = [metrics.bleu(answers[part], TARGETS[part], "none", True) for part in (slice(2), slice(2, 4))]
    assert [score.value for score in found.by_length] == pytest.approx([score.value for score in parts])
    assert [score.signature for score in found.by_length] == [score.signature for score in parts]


def test_no_library_speaks_for_us(caplog):
    """sacrebleu logs a warning at every call where the text is tokenised; `bleu_doubt` says it once."""
    lines = ["a b c d ."] * 250
    compare({"one": lines, "two": lines}, lines, measure(sources_of([3] * 125 + [4] * 125), [3]))
    assert caplog.records == []


@pytest.mark.parametrize(
    ("answers", "metric", "message"),
    [
        ({}, "bleu", "compare: no systems are given, and there is nothing to compare. Give at least one."),
        (
            {"a": ["x"]}, "bleu",
            "compare: a has 1 answers to 4 pairs; answer N belongs to pair N, so give as many of both.",
        ),
        ({"a": TARGETS}, "rouge", "compare.metric: no such choice as 'rouge'. Known: bleu, chrf, ter, meteor, wer, exact_match."),
    ],
    ids=["no systems", "too few answers", "metric"],
)  # fmt: skip
def test_what_cannot_be_compared(answers, metric, message):
    with pytest.raises(AntiphonError) as caught:
        compare(answers, TARGETS, measure(SOURCES), metric)
    assert str(caught.value) == message


def test_there_is_no_score_of_nothing():
    with pytest.raises(AntiphonError) as caught:
        measure([])
    assert str(caught.value) == "compare: no pairs are given, and there is no score of nothing. Give at least one."
