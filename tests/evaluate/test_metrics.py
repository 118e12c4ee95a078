"""The metrics, on lines short enough to count by hand."""

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.errors import AntiphonError
from antiphon.evaluate.metrics import (
    Score,
    bleu,
    chrf,
    edit_distance,
    exact_match,
    perplexity,
    ter,
    token_accuracy,
    word_error_rate,
)

ALL = [bleu, chrf, ter, exact_match, token_accuracy, word_error_rate]
SAID = ["the cat sat on the mat .", "Hello there , you"]
WANTED = ["the cat sat on a mat .", "Hello there , you all"]


@pytest.mark.parametrize("metric", ALL)
def test_perfect_answers_have_the_best_value(metric):
    score = metric(WANTED, WANTED)
    assert score.value == pytest.approx(100.0 if score.higher_is_better else 0.0)
    assert metric(SAID, WANTED).value != pytest.approx(score.value)


@pytest.mark.parametrize("metric", ALL)
def test_the_better_answers_have_the_better_value(metric):
    worse, better = metric(["x", "Hello you"], WANTED), metric([WANTED[0], "Hello you"], WANTED)
    assert (better.value > worse.value) == better.higher_is_better


@pytest.mark.parametrize("metric", ALL)
def test_unequal_numbers_of_lines_are_refused(metric):
    with pytest.raises(AntiphonError) as error:
        metric(["a", "b", "c"], ["a", "b"])
    assert str(error.value) == (
        "evaluate: 3 answers and 2 references; answer N is judged by reference N, so give as many of both."
    )


@pytest.mark.parametrize("metric", ALL)
def test_no_lines_are_refused(metric):
    with pytest.raises(AntiphonError) as error:
        metric([], [])
    assert str(error.value) == "evaluate: 0 answers and 0 references; give at least one of both."


@pytest.mark.parametrize("metric", [bleu, chrf, ter, exact_match])
def test_a_line_without_references_is_refused(metric):
    with pytest.raises(AntiphonError) as error:
        metric(["a", "b"], [["a"], []])
    assert str(error.value) == "evaluate: line 2 has 0 references; give at least one."


@pytest.mark.parametrize("metric", [bleu, chrf, ter, exact_match])
def test_any_of_several_references_will_do(metric):
    alone = metric(SAID, WANTED)
    several = metric(SAID, [[WANTED[0], SAID[0]], [WANTED[1], SAID[1]]])
    assert several.value == pytest.approx(100.0 if several.higher_is_better else 0.0)
    assert metric(SAID, [[line] for line in WANTED]) == alone


@pytest.mark.parametrize("metric", [bleu, chrf, ter])
def test_the_number_of_references_is_signed_and_may_vary(metric):
    assert "nrefs:1|" in metric(SAID, WANTED).signature
    assert "nrefs:2|" in metric(SAID, [WANTED, WANTED]).signature
    varied = metric(SAID, [[WANTED[0], SAID[0]], [SAID[1]]])
    assert "nrefs:var|" in varied.signature
    assert varied.value == pytest.approx(100.0 if varied.higher_is_better else 0.0)


@pytest.mark.parametrize("metric", ALL)
def test_case_counts_only_where_it_is_asked_for_and_is_signed(metric):
    shouted = [line.upper() for line in WANTED]
    mixed, lower = metric(shouted, WANTED, lowercase=False), metric(shouted, WANTED, lowercase=True)
    assert lower.value == pytest.approx(100.0 if lower.higher_is_better else 0.0)
    assert mixed.value != pytest.approx(lower.value)
    assert "case:lc|" in lower.signature
    assert "case:lc|" not in mixed.signature


def test_names_and_signatures():
    signatures = {metric(WANTED, WANTED).name: metric(WANTED, WANTED).signature for metric in ALL}
    assert signatures["BLEU"].startswith("BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    assert signatures["chrF2"].startswith("chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:")
    assert signatures["TER"].startswith("TER|nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:")
    assert signatures["exact match"] == "exact_match|space:kept|case:mixed|version:7.8.9"
    assert signatures["token accuracy"] == (
        "token_accuracy|tok:spaces|at:same-place|of:longer-side|case:mixed|version:7.8.9"
    )
    assert signatures["WER"] == "wer|tok:spaces|case:mixed|version:7.8.9"
    assert word_error_rate(["a"], ["a"], unit="characters").signature == "cer|tok:characters|case:mixed|version:7.8.9"
    assert chrf(WANTED, WANTED, word_order=2).name == "chrF2++"


def test_tokenised_text_is_taken_as_it_is_without_a_warning(caplog):
    lines = ["ein Hund , der bellt ."] * 120
    score = bleu(lines, lines, tokenize="none")
    assert "tok:none|" in score.signature
    assert caplog.records == []


def test_an_unknown_tokenisation_is_refused():
    with pytest.raises(AntiphonError) as error:
        bleu(["a"], ["a"], tokenize="14a")
    assert str(error.value) == "bleu.tokenize: no such choice as '14a'. Known: 13a, none, intl, char, zh."


def test_exact_match_counts_lines():
    assert exact_match(["a b", "c", "d", ""], ["a b", "C", "d", ""]).value == 75.0
    assert exact_match(["a  b"], ["a b"]).value == 0.0


def test_token_accuracy_counts_places_of_the_longer_side():
    # a b c | a x c: 2 of 3 places; a | a b c: 1 of 3; a b | a: 1 of 2.
    assert token_accuracy(["a b c", "a", "a b"], ["a x c", "a b c", "a"]).value == pytest.approx(100 * 4 / 8)
    # A word too many at the front puts every other word in a wrong place.
    assert token_accuracy(["x a b c"], ["a b c"]).value == 0.0


def test_token_accuracy_of_nothing_is_refused():
    with pytest.raises(AntiphonError) as error:
        token_accuracy(["", " "], ["", ""])
    assert str(error.value) == "token accuracy: all 2 lines are empty on both sides; give at least one word."


def test_word_error_rate_sums_edits_over_the_corpus():
    # One substitution, one deletion, one insertion; 3 + 2 + 1 reference words.
    score = word_error_rate(["a x c", "a", "a b"], ["a b c", "a b", "a"])
    assert score == Score("WER", pytest.approx(50.0), score.signature, higher_is_better=False)
    assert word_error_rate(["a b c"], ["x"]).value == pytest.approx(300.0)
    assert word_error_rate(["", "a"], ["", "a"]).value == 0.0


def test_character_error_rate():
    score = word_error_rate(["kitten"], ["sitting"], unit="characters")
    assert (score.name, score.value) == ("CER", pytest.approx(100 * 3 / 7))


def test_of_several_references_the_nearest_counts():
    """ "a b" against "a c d" (two edits) or "a b e" (one); "x" against itself."""
    answers, references = ["a b", "x"], [["a c d", "a b e"], ["x"]]
    assert word_error_rate(answers, references).value == pytest.approx(100 * 1 / 4)
    assert token_accuracy(answers, references).value == pytest.approx(100 * 3 / 4)
    assert exact_match(["a b e", "y"], references).value == 50.0
    for score in (word_error_rate, token_accuracy, exact_match):
        assert "|nrefs:var|" in score(answers, references).signature
        assert "nrefs" not in score(answers, [["a b"], ["x"]]).signature


def test_word_error_rate_without_reference_words_is_refused():
    with pytest.raises(AntiphonError) as error:
        word_error_rate(["a", "b"], ["", " "])
    assert str(error.value) == "word error rate: all 2 references are empty; give at least one word."


def test_perplexity_signs_its_unit_and_refuses_nothing_counted():
    assert perplexity(0.0, 5, "subwords") == Score("perplexity", 1.0, "perplexity|unit:subwords|version:7.8.9", False)
    assert perplexity(1e9, 2, "characters").value == math.inf
    with pytest.raises(AntiphonError) as error:
        perplexity(1.0, 0, "subwords")
    assert str(error.value) == "perplexity: counted over 0 symbols; give at least one."


def textbook_distance(one, other):
    row = list(range(len(other) + 1))
    for count, symbol in enumerate(one, start=1):
        above, row = row, [count]
        for place, wanted in enumerate(other):
            row.append(min(above[place + 1] + 1, row[place] + 1, above[place] + (symbol != wanted)))
    return row[-1]


@given(st.lists(st.sampled_from("abc"), max_size=90), st.lists(st.sampled_from("abcd"), max_size=90))
def test_the_edit_distance_is_that_of_the_textbook(one, other):
    assert edit_distance(one, other) == textbook_distance(one, other) == edit_distance(other, one)


def test_the_edit_distance_takes_thousands_of_sentences():
    one, other = "abcdefghij " * 12, "jihg fedcba " * 11
    begin = time.process_time()
    for _ in range(2000):
        edit_distance(one, other)
    assert time.process_time() - begin < 5.0
