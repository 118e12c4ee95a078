"""ROUGE by hand."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from antiphon.evaluate.rouge import common_length, in_common, rouge, words_of


@pytest.mark.parametrize(
    ("kind", "expected"),
    # police killed the gunman | police kill the gunman: 3 of 4 words, 1 of 3 bigrams, a subsequence of 3.
    [("1", 3 / 4), ("2", 1 / 3), ("L", 3 / 4)],
)
def test_golden_by_hand(kind, expected):
    score = rouge(["police killed the gunman"], ["Police kill the gunman."], kind)
    assert score.value == pytest.approx(100 * expected)
    assert score.name == f"ROUGE-{kind}"
    assert score.signature == f"rouge_{kind.lower()}|f1|mean:lines|tok:letters-digits|stem:no|case:lc|version:7.8.9"


def test_lines_are_averaged_and_the_best_reference_counts():
    score = rouge(["a b", ""], [["x", "a b"], ["a"]], "1")
    assert score.value == pytest.approx(50.0)
    assert "|nrefs:var|" in score.signature


def test_letters_of_every_script_are_letters():
    assert words_of("Für 3_Käse, e\u0301té – Привет हिन्दी!") == ["für", "3", "käse", "été", "привет", "हिन्दी"]


def slowly(one, other):
    if not one or not other:
        return 0
    if one[0] == other[0]:
        return 1 + slowly(one[1:], other[1:])
    return max(slowly(one[1:], other), slowly(one, other[1:]))


@settings(deadline=None)
@given(some.lists(some.sampled_from("abc"), max_size=7), some.lists(some.sampled_from("abc"), max_size=7))
def test_the_longest_common_subsequence(one, other):
    assert common_length(one, other) == slowly(one, other)
    shared = [symbol for symbol, is_shared in zip(one, in_common(one, other), strict=True) if is_shared]
    assert len(shared) == slowly(one, other)
    rest = iter(other)
    assert all(symbol in rest for symbol in shared), "in the same order"
