"""Cutting words and joining them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.data.text import normalise
from antiphon.data.words import JOINER, cut_words, join_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hello, world!", ["Hello", "￭,", "world", "￭!"]),
        ("(a) don't", ["(￭", "a", "￭)", "don", "￭'￭", "t"]),
        ("so ... , so", ["so", ".", "￭.", "￭.", ",", "so"]),
        ("3.14 %", ["3", "￭.￭", "14", "%"]),
        ("हिन्दी में।", ["हिन्दी", "में", "￭।"]),
        ("   ", []),
    ],
)
def test_cut_at_punctuation(text, words):
    assert list(cut_words(text, "punctuation")) == words


def test_cut_at_spaces():
    assert list(cut_words(" Hello,  world! ", "spaces")) == ["Hello,", "world!"]


@given(st.text(st.characters(exclude_characters=JOINER)))
def test_what_is_cut_can_be_joined(text):
    for split in ("spaces", "punctuation"):
        assert join_words(cut_words(text, split), split) == normalise(text)
