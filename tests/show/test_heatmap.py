"""Heat maps keep their grid in any script, stay within the width, and never let a text become markup."""

import base64
import hashlib
import random
import re
import unicodedata
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import numpy as np
import pytest

from antiphon.show.heatmap import Picture, html_page, strength, svg, terminal

ATTACK = "</title></style><script>alert(1)</script><img src=x onerror=alert(1)>\"' onload='alert(1)&#60;"


def a_picture(source: str, target: str = "12", title: str = "") -> Picture:
    weights_TS = np.random.default_rng(1).dirichlet(np.ones(len(source)), size=len(target))
    return Picture(list(source), list(target), weights_TS, title, text=source, answer=target, expected=target)


def columns(line: str) -> int:
    """Columns on a terminal, counted apart from the code under test."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", line)
    shown = [char for char in plain if unicodedata.category(char) not in ("Mn", "Me", "Cf")]
    return len(shown) + sum(unicodedata.east_asian_width(char) in "WF" for char in shown)


def test_a_small_drawing_word_for_word() -> None:
    picture = Picture(
        source=["d", "e", " ", "4", ".", "年", "\u0947"],
        target=["0", "4", "</s>"],
        weights_TS=[
            [0.0, 0.04, 0.0, 0.16, 0.36, 0.0, 0.44],
            [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
            [0.64, 0.0, 0.0, 0.0, 0.039, 0.321, 0.0],
        ],
        title="A day",
    )
    assert terminal(picture, 60, colour=False).split("\n") == [
        "A day",
        "source across, answer down",
        "     d e ␣ 4 . 年◌\u0947",
        "   0 · ░░· ▒▒▓▓· ▓▓",
        "   4 · · · ██· · ·",
        "</s> ██· · · · ▒▒·",
        "· less than 4 %  ░ 4 %  ▒ 16 %  ▓ 36 %  █ 64 % or more",
    ]


def test_a_long_source_is_drawn_close_and_then_in_panels() -> None:
    row_S = [1.0] + [0.0] * 25
    assert terminal(Picture(list("abcdefghijklmnopqrstuvwxyz"), ["1"], [row_S]), 20, colour=False).split("\n") == [
        "source across (1-18…",
        "  abcdefghijklmnopqr",
        "1 █·················",
        "source across (19-2…",
        "  stuvwxyz",
        "1 ········",
        "· less than 4 %  ░ …",
    ]


def test_words_stand_upright_over_their_columns() -> None:
    picture = Picture(["▁a", "▁word", "incomprehensible"], ["▁ein", "▁Wort"], [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]])
    assert terminal(picture, 60, colour=False).split("\n")[1:-1] == [
        "          i",
        "          n",
        "          c",
        "        ␣ o",
        "        w m",
        "        o p",
        "      ␣ r r",
        "      a d …",
        " ␣ein ██· ·",
        "␣Wort · ▓▓▓▓",
    ]


@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize("width", [20, 33, 80])
@pytest.mark.parametrize(
    "source",
    [
        "en Sunday, July 20, 1969",
        "ja 2024年11月23日土曜日",
        "ar ٤\u200f/٣\u200f/١٩٨٧ الأربعاء",
        "mr शुक्रवार, ३१ डिसेंबर",
        "x" * 200,
        "\x1b[31m\x07\u202e\u200d👩\u200d🚀❤\ufe0f각\u1161e\u0301\ud800\x9b",
    ],
)
def test_no_line_is_wider_than_the_terminal_and_every_row_is_as_wide_as_the_others(
    source: str, width: int, colour: bool
) -> None:
    picture = a_picture(source, title="A title that is much too long for a narrow terminal: " + source)
    drawing = terminal(picture, width, colour)
    assert max(columns(line) for line in drawing.split("\n")) <= width
    steering = re.sub(r"\x1b\[48;5;\d+m|\x1b\[0m", "", drawing) if colour else drawing
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", steering)
    if colour:
        cells = [line for line in drawing.split("\n")[:-1] if "\x1b" in line]
        panel_widths = [columns(line) for line in cells]
        assert panel_widths[::2] == panel_widths[1::2]  # two rows a panel


def test_right_to_left_letters_are_held_in_their_columns() -> None:
    heading = terminal(a_picture("aאב"), 60, colour=False).split("\n")[1]
    assert heading == "  a \u200eא\u200e \u200eב\u200e"


def test_colours_are_asked_for_and_each_cell_is_closed() -> None:
    picture = Picture(["a", "b"], ["1"], [[1.0, 0.0]])
    assert "\x1b" not in terminal(picture, 80, colour=False)
    row = terminal(picture, 80, colour=True).split("\n")[2]
    assert row == "1 \x1b[48;5;226m  \x1b[0m\x1b[48;5;234m  \x1b[0m"


def test_shades_grow_with_the_square_root() -> None:
    assert [strength(weight) for weight in (-0.0001, 0.0, 0.04, 0.25, 1.0, 1.0001)] == [0.0, 0.0, 0.2, 0.5, 1.0, 1.0]


@pytest.mark.parametrize(("source", "target"), [([], ["1"]), (["a"], []), ([], [])])
def test_an_empty_side_is_said(source: list[str], target: list[str]) -> None:
    picture = Picture(source, target, [[0.0] * len(source) for _ in target], title="Nothing")
    assert terminal(picture, 80, colour=False) == "Nothing\nnothing to draw: the source or the answer is empty"
    assert "nothing to draw" in svg(picture)
    assert "nothing to draw" in html_page([picture], "t", "i")


@pytest.mark.parametrize(
    "weights_TS", [[[0.5, 0.5]], [[0.5], [0.5]], [[0.5, 0.5], [float("nan"), 0.5]], [[0, 2], [1, 0]]]
)
def test_weights_that_do_not_fit_are_a_broken_promise(weights_TS: list[list[float]]) -> None:
    with pytest.raises(AssertionError):
        Picture(["a", "b"], ["1", "2"], weights_TS)


def test_a_drawing_has_a_titled_cell_for_every_weight_and_names_its_axes() -> None:
    root = ElementTree.fromstring(svg(Picture(["x", " "], ["1"], [[0.25, 0.75]], title="A & B")))  # noqa: S314
    name = "{http://www.w3.org/2000/svg}"
    cells = [rect for rect in root.iter(name + "rect") if rect.get("class") == "cell"]
    assert [cell.get("fill-opacity") for cell in cells] == ["0.5", "0.866"]
    titles = [cell.findtext(name + "title") for cell in cells]
    assert titles == ["0.250  answer 1: 1  source 1: x", "0.750  answer 1: 1  source 2: ␣"]
    texts = [text.text for text in root.iter(name + "text")]
    assert texts == ["A & B", "source", "answer", "x", "␣", "1"]
    assert "prefers-color-scheme: dark" in svg(a_picture("x"))


def test_any_characters_give_well_formed_xml() -> None:
    draw = random.Random(1)
    pieces = ["".join(chr(draw.randrange(0x11000)) for _ in range(3)) for _ in range(300)] + [
        "\x00",
        "\ud800",
        "\uffff",
    ]
    picture = Picture(pieces, [ATTACK], [[0.0] * len(pieces)], title="".join(pieces))
    ElementTree.fromstring(svg(picture).encode())  # noqa: S314


class Page(HTMLParser):
    """What a browser would make of the page: its elements, their attributes, its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_a_text_never_becomes_markup() -> None:
    harmless = Picture(["a word"], ["b"], [[1.0]], "t", text="s", answer="a", expected="e")
    attack = Picture([ATTACK], [ATTACK], [[1.0]], ATTACK, text=ATTACK, answer=ATTACK, expected=ATTACK)
    calm, attacked = Page(html_page([harmless], "t", "i")), Page(html_page([attack], ATTACK, ATTACK + "$style ${x}"))
    assert attacked.tags == calm.tags
    assert [name for name, _ in attacked.attributes] == [name for name, _ in calm.attributes]
    assert attacked.texts.count(ATTACK) == 6  # page title, heading, picture title, source, answer, expected
    assert ATTACK + "$style ${x}" in attacked.texts
    assert "<script" not in svg(attack)


def test_the_page_allows_its_own_style_and_nothing_else() -> None:
    page = html_page([a_picture("ja 2024年"), a_picture("he יום")], "Two", "pictures")
    style = page.split("<style>")[1].split("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"content=\"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'\"" in page
    parsed = Page(page)
    assert parsed.tags.count("style") == 1
    assert not {"script", "link", "img", "iframe"} & set(parsed.tags)
    names = {name for name, _ in parsed.attributes}
    assert not {"style", "src", "href"} & names
    assert not [name for name in names if name.startswith("on")]
    assert not re.search(r"url\(|@import", style)


def test_the_page_says_what_was_right_and_repeats_each_number_in_a_table() -> None:
    right = Picture(["a"], ["1"], [[1.0]], "First", text="a", answer="1", expected="1")
    wrong = Picture(["b"], ["2"], [[1.0]], "", text="b", answer="2", expected="3")
    open_ended = Picture(["c"], ["4"], [[0.123]], "Third", text="c", answer="4")
    page = Page(html_page([right, wrong, open_ended], "Three", "pictures"))
    assert [text for text in page.texts if text in ("✓ right", "✗ wrong")] == ["✓ right", "✗ wrong"]
    assert page.texts.count("Expected") == 2
    assert "Picture 2" in page.texts
    assert page.tags.count("table") == page.tags.count("details") == 3
    assert "0.12" in page.texts
    assert ("aria-label", "Third") in page.attributes


def test_texts_are_isolated_from_their_surroundings() -> None:
    page = html_page([Picture(["א"], ["ב"], [[1.0]], "ג", text="ד", answer="ה", expected="ו")], "ז", "ח")
    for text in "אבגדהוזח":
        assert f"<bdi>{text}</bdi>" in page
