"""METEOR's alignment: every word once, as many exact matches as there can be, few chunks."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as some

from antiphon.evaluate.align import Match, align, count_chunks


def letters(word):
    return frozenset((word,))


def first_letter(word):
    return frozenset((word[0],))


def places(said, wanted, stages=(letters,)):
    return [(match.said, match.stage) if match else None for match in align(said.split(), wanted.split(), stages)]


def test_by_hand():
    assert places("the cat sat", "the cat lay") == [(0, 0), (1, 0), None]
    # Of two equal words the one that makes fewer chunks.
    assert places("the mat on the cat", "the cat") == [(3, 0), (4, 0)]
    assert places("a b", "b a") == [(1, 0), (0, 0)]
    assert places("", "a") == [None]
    assert places("a", "") == []


def test_a_later_stage_matches_what_is_left():
    assert places("ab cd", "ax cd", (letters, first_letter)) == [(0, 1), (1, 0)]
    # An exact match is never given up for one of a later stage.
    assert places("ab ac", "ac", (letters, first_letter)) == [(1, 0)]


WORDS = some.lists(some.sampled_from("abcd"), max_size=9)


@settings(deadline=None)
@given(WORDS, WORDS)
def test_every_word_is_used_once_and_no_exact_match_is_missed(said, wanted):
    matches = align(said, wanted, (letters, first_letter))
    used = [match.said for match in matches if match]
    assert len(used) == len(set(used))
    assert all(said[match.said] == word for match, word in zip(matches, wanted, strict=True) if match)
    assert len(used) == (Counter(said) & Counter(wanted)).total()


@settings(deadline=None)
@given(WORDS)
def test_equal_sentences_are_one_chunk(words):
    matches = align(words, words, (letters, first_letter))
    assert matches == [Match(place, 0) for place in range(len(words))]
    assert count_chunks(matches) == bool(words)


def test_chunks_by_hand():
    assert count_chunks([Match(0, 0), Match(1, 0), None, Match(2, 0), Match(5, 0)]) == 3
