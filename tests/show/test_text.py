"""Texts in pictures are shown, never obeyed."""

from antiphon.show.text import legible


def test_legible_shows_what_would_steer() -> None:
    assert legible("a\x1b[0m\n\x7f\u202e\u200f é") == "a␛[0m␊◌◌\u200f é"
