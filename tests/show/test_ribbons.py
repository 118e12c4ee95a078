"""Ribbons: as broad as their weight, in the reading order of each side, and never markup."""

import xml.etree.ElementTree as ElementTree

from antiphon.show.attention import Alignment, Link
from antiphon.show.ribbons import draw, table

ATTACK = "</title><script>alert(1)</script>"


def parts(alignment: Alignment):
    drawing, width, height = draw(alignment)
    return ElementTree.fromstring(f"<svg>{drawing}</svg>"), width, height  # noqa: S314


def test_a_small_alignment_by_hand():
    root, width, height = parts(Alignment(("a", "bc"), ("x",), (Link(0, 0, 0.5), Link(0, 1, 1.0))))
    # Words of 9 pixels a letter and 18 around them: 27 + 36, and 12 on either side.
    assert (width, height) == (87, 190)
    assert [(text.text, text.get("x")) for text in root.iter("text")] == [("a", "25"), ("bc", "57"), ("x", "43")]
    ribbons = list(root.iter("path"))
    assert [ribbon.get("stroke-width") for ribbon in ribbons] == ["6.5", "12.0"]
    assert [ribbon.get("stroke-opacity") for ribbon in ribbons] == ["0.50", "0.80"]
    assert ribbons[0].get("d") == "M25,34C25,94 43,94 43,154"
    assert [ribbon.findtext("title") for ribbon in ribbons] == ["0.500  x ← a", "1.000  x ← bc"]


def test_a_side_that_is_read_leftwards_is_drawn_leftwards():
    root, width, _ = parts(Alignment(("שלום", "עולם"), ("hello", "world"), (Link(0, 0, 1.0), Link(1, 1, 1.0))))
    places = {text.text: int(text.get("x")) for text in root.iter("text")}
    assert places["שלום"] > places["עולם"]
    assert places["hello"] < places["world"]
    assert all(0 < place < width for place in places.values())


def test_wide_letters_have_room():
    root, _, _ = parts(Alignment(("東京", "に"), ("x",), (Link(0, 0, 1.0),)))
    first, second, _ = (int(text.get("x")) for text in root.iter("text"))
    assert second - first == (9 * 4 + 18) // 2 + (9 * 2 + 18) // 2


def test_nothing_to_align_is_said():
    root, _, _ = parts(Alignment((), (), ()))
    assert [text.text for text in root.iter("text")] == ["nothing to align: the source or the answer is empty"]


def test_a_text_never_becomes_markup():
    attacked = Alignment((ATTACK,), (ATTACK,), (Link(0, 0, 1.0),))
    root, _, _ = parts(attacked)
    assert {element.tag for element in root.iter()} == {"svg", "g", "text", "path", "title"}
    assert "<script" not in table(attacked)


def test_the_table_says_the_same_the_strongest_first():
    rows = table(Alignment(("a", "b"), ("x",), (Link(0, 0, 0.25), Link(0, 1, 0.75)))).split("\n")
    assert rows[1] == ('<tr><th scope="row"><bdi>x</bdi></th><td><bdi>b</bdi> 0.75, <bdi>a</bdi> 0.25</td></tr>')
