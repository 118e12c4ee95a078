"""Texts in pictures are shown, never obeyed."""

import pytest

from antiphon.show.text import cut_middle, legible


def test_legible_shows_what_would_steer() -> None:
    assert legible("a\x1b[0m\n\x7f\u202e\u200f é") == "a␛[0m␊◌◌\u200f é"


@pytest.mark.parametrize(
    ("room", "shown"), [(12, "abcdefghijkl"), (11, "abcde…hijkl"), (6, "ab…jkl"), (3, "a…l"), (2, "…l")]
)
def test_a_long_name_keeps_both_its_ends(room, shown):
    assert cut_middle("abcdefghijkl", room) == shown


def test_wide_letters_are_counted_as_they_are_shown():
    assert cut_middle("大きい大きい", 7) == "大…い"
