"""Vocabularies."""

from collections import Counter

from antiphon.data.vocab import END, PAD, START, UNKNOWN, Vocabulary, most_frequent


def test_special_symbols_never_move():
    assert (PAD, START, END, UNKNOWN) == (0, 1, 2, 3)
    assert Vocabulary(("a",)).symbols([0, 1, 2, 3, 4]) == ["<pad>", "<s>", "</s>", "<unk>", "a"]


def test_text_that_looks_special_is_not():
    vocabulary = Vocabulary(("<pad>", "x"))
    assert vocabulary.look_up(["<pad>", "</s>", "x"]) == [4, UNKNOWN, 5]


def test_most_frequent_does_not_depend_on_order():
    counts = {"b": 2, "a": 2, "c": 5, "d": 1}
    forwards, backwards = Counter(counts), Counter(dict(reversed(counts.items())))
    assert most_frequent(forwards, 3).learnt == most_frequent(backwards, 3).learnt == ("c", "a", "b")


def test_missing_names_each_once():
    assert Vocabulary(("a",)).missing(["b", "a", "c", "b"]) == ["b", "c"]


def test_spoken_leaves_out_what_is_not_text():
    assert Vocabulary(("a",)).spoken([START, 4, UNKNOWN, END, PAD]) == ["a", "<unk>"]
