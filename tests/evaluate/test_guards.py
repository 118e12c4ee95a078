"""Guards see loops, copies and gaps, and are silent where a task is like that."""

import numpy as np
import pytest

from antiphon.evaluate.guards import UNKNOWN_TASK, Usual, is_copy, longest_repeat, unread_words, usual, warnings

PLAIN = Usual(repeats=0, copies=0.0, shortest=0.8, unread=0.2)


@pytest.mark.parametrize(
    ("symbols", "length"),
    [
        ("", 0), ("a", 0), ("aa", 0), ("aaa", 3), ("abab", 0), ("ababab", 6), ("abababa", 7), ("xabcabcabcy", 9),
        ("the cat sat", 0), ("aabaabaab", 9), ("abcd" * 20, 80),
    ],
)  # fmt: skip
def test_the_longest_stretch_that_repeats_itself(symbols, length):
    assert longest_repeat([ord(symbol) for symbol in symbols]) == length


def test_a_copy_is_one_whatever_its_case_and_spaces():
    assert is_copy("Zwei  Hunde", "zwei hunde ")
    assert not is_copy("zwei hunde", "two dogs")


def test_words_that_nothing_looked_at():
    weights_TS = np.array([[0.9, 0.04, 0.03, 0.03], [0.02, 0.9, 0.04, 0.04]], dtype=np.float32)
    assert unread_words(weights_TS, [1, 1, 1, 1]) == [2, 3]
    assert unread_words(weights_TS, [2, 2]) == []  # of the second word each piece had half
    assert unread_words(weights_TS, []) == []


def told(source, answer, texts=("a", "b"), unread=(), words=0, task=PLAIN):
    return warnings(list(source), list(answer), texts, unread, words, task)


def test_what_each_guard_says():
    assert told(range(10), [*range(8), *[7] * 9]) == ("repeats itself: 10 symbols of one thing said again and again",)
    assert told(range(5), range(5), ("Two dogs", "two dogs")) == ("gives the source back",)
    assert told(range(20), range(3)) == ("too short: 3 symbols for 20",)
    assert told(range(5), range(5), unread=["dogs"], words=4) == ("left out: nothing looked at dogs",)
    assert told(range(5), range(5), unread=[str(n) for n in range(12)], words=12) == (
        "left out: nothing looked at 0 1 2 3 4 5 6 7 8 9 and 2 more",
    )


def test_nothing_is_said_of_what_is_usual():
    loop, copy = [7] * 9, ("x", "x")
    assert told(range(9), loop, task=Usual(20, 0.0, 0.0, 1.0)) == ()
    assert told(loop, loop) == ()  # the source itself says it again and again
    assert told(range(5), range(5), copy, task=Usual(0, 0.3, 0.0, 1.0)) == ()
    assert told(range(20), range(8)) == ()  # at least half of what all have
    assert told(range(5), range(5), unread=["dogs"], words=5) == ()  # not more than others have


def test_of_an_unknown_task_only_loops_and_copies_are_told():
    assert told(range(90), [1], unread=["a"] * 9, words=9, task=UNKNOWN_TASK) == ()
    assert len(told(range(9), [7] * 9, ("x", "x"), task=UNKNOWN_TASK)) == 2


def test_what_is_usual_is_what_the_oddest_true_pair_shows():
    assert usual([0, 12, 3], 0.25, [1.0, 0.5], [0.0] * 99 + [0.4]) == Usual(12, 0.25, 0.5, 0.4)
    assert usual([0], 0.0, [1.0], []).unread == 1.0
    assert usual([0], 0.0, [1.0], [0.1] * 99).unread == 1.0  # too few to know
