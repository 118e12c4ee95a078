"""Texts in pictures: nothing in them steers a terminal or becomes markup, and their width is known."""

import re
import unicodedata
from collections.abc import Sequence
from html import escape
from itertools import accumulate

GROUND = "\N{DOTTED CIRCLE}"
_STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def escaped(text: str) -> str:
    return escape(legible(text))


def legible(text: str) -> str:
    """The text without characters that would steer a terminal, turn the reading order, or break XML."""
    # The control characters below the space have pictures of their own in Unicode, in the same order.
    return _STEERING.sub(lambda found: chr(0x2400 + ord(found[0])) if found[0] < " " else GROUND, text)


def cells_of(piece: str) -> list[str]:
    """The piece in symbols of one or two columns each: nothing invisible, nothing whose width terminals dispute."""
    cells: list[str] = []
    for char in legible(piece):
        kind = unicodedata.category(char)
        if kind == "Mn" and not "\ufe00" <= char <= "\ufe0f":
            cells[-1:] = [(cells[-1] if cells else GROUND) + char]
        elif kind[0] == "M" or kind == "Cf" or "\u1160" <= char <= "\u11ff":
            cells.append(GROUND)
        else:
            cells.append("␣" if is_space(char) else char)
    return cells or ["∅"]


def is_space(char: str) -> bool:
    return char == "▁" or unicodedata.category(char)[0] == "Z"  # the former is sentencepiece's


def width_of(cells: Sequence[str]) -> int:
    """Columns on a terminal; marks, joined to a character before them, take none."""
    chars = (char for cell in cells for char in cell if unicodedata.category(char) not in ("Mn", "Me", "Cf"))
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in chars)


def steady(label: str) -> str:
    """Between left-to-right marks, so that a terminal that knows Hebrew and Arabic does not turn the columns round."""
    turns = any(unicodedata.bidirectional(char) in ("R", "AL", "AN") for char in label)
    return f"\u200e{label}\u200e" if turns else label


def cut(cells: Sequence[str], room: int) -> str:
    """As many cells as there is room for; an ellipsis stands for the rest."""
    ends = list(accumulate(width_of(cell) for cell in cells))
    if not ends or ends[-1] <= room:
        return "".join(cells)
    return "".join(cell for cell, end in zip(cells, ends, strict=True) if end < room) + "…"


def cut_middle(cells: Sequence[str], room: int) -> str:
    """Beginning and end, where there is no room for all: names of one family often differ in their ends only."""
    if width_of(cells) <= room:
        return "".join(cells)
    ends = accumulate(width_of(cell) for cell in reversed(cells))
    kept = sum(end <= room // 2 for end in ends)
    return cut(cells, room - room // 2) + "".join(cells[len(cells) - kept :])
