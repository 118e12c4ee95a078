"""Cutting words and joining them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.data.text import normalise
from antiphon.data.words import JOINER, cut_words, gather, join_words


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


@pytest.mark.parametrize(
    ("pieces", "counts"),
    [
        ([], []),
        (["▁Stra", "ße"], [2]),
        (["▁Hund", "e", "."], [2, 1]),
        (["▁don", "'", "t", ",", None], [3, 1, 1]),
        (["▁(", "a", "b", ")", "!"], [1, 2, 1, 1]),
        (["▁", "Hund"], [2]),
        (["▁", "."], [2]),
        (["▁."], [1]),
        (["▁-", "-"], [2]),
        ([None, "▁caf", "<0xC3>", "<0xA9>", None], [1, 3, 1]),
        (["▁東京", "に", "行", "く", "。"], [1, 1, 1, 1, 1]),
        (["▁ก", "\u0e34", "น"], [2, 1]),
        (["▁안녕", "하세요"], [2]),
    ],
)
def test_pieces_are_gathered_into_words(pieces, counts):
    assert gather(pieces) == counts


@given(st.lists(st.none() | st.text(min_size=1)))
def test_no_piece_is_lost(pieces):
    counts = gather(pieces)
    assert sum(counts) == len(pieces)
    assert all(count > 0 for count in counts)
