"""Line charts tell their lines apart in more ways than one, and no name covers another."""

import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest

from antiphon.show.lines import DASHES, MARKS, Chart, Line, _spread, _ticks, draw, svg

NAME = "{http://www.w3.org/2000/svg}"


def a_chart(lines):
    return Chart("A & B", "length", "score", ["1-5", "6-9"], ["3 pairs", "4 pairs"], lines)


def parse(chart):
    return ElementTree.fromstring(svg(chart))  # noqa: S314


def test_points_stand_where_their_values_are():
    root = parse(a_chart([Line("one", [50.0, 25.0], "all: 37.50")]))
    stroke = next(path for path in root.iter(NAME + "path") if path.get("class") == "stroke")
    # By hand: 300 pixels for 0 to 50, from 340 upwards; places 104 wide from 56 on.
    assert stroke.get("d") == "M108,40.0L212,190.0"
    marks = [path for path in root.iter(NAME + "path") if path.get("class") == "mark"]
    assert [mark.findtext(NAME + "title") for mark in marks] == [
        "one: 50.00, 1-5 (3 pairs)", "one: 25.00, 6-9 (4 pairs)", None,
    ]  # fmt: skip
    texts = ["".join(text.itertext()) for text in root.iter(NAME + "text")]
    assert texts == [
        "A & B", "score", "0", "10", "20", "30", "40", "50", "1-5", "3 pairs", "6-9", "4 pairs", "length", "one",
        "oneall: 37.50",
    ]  # fmt: skip
    assert "prefers-color-scheme: dark" in svg(a_chart([Line("one", [1.0, 2.0])]))


def test_lines_are_told_apart_without_colour():
    root = parse(a_chart([Line(f"system {number}", [9.0, 9.0]) for number in range(30)]))
    looks = {
        (
            group.find(f"{NAME}path[@class='stroke']").get("stroke-dasharray"),
            group.find(f"{NAME}path[@class='mark']").get("d"),
        )
        for group in root.iter(NAME + "g")
    }
    assert len(looks) == 30 == len(MARKS) * len(DASHES)


def test_names_keep_their_order_and_their_distance():
    assert _spread([100.0, 50.0], 0, 300) == [100.0, 50.0]
    assert _spread([100.0, 100.0, 99.0], 0, 300) == [116.0, 133.0, 99.0]
    places = _spread([300.0] * 10, 0, 300)
    assert places[-1] == 300.0
    assert all(after - before == 17 for before, after in pairwise(places))


@pytest.mark.parametrize(
    ("highest", "ticks"),
    [
        (0.0, [0, 1]), (0.03, [0, 0.01, 0.02, 0.03]), (7.0, [0, 2, 4, 6, 8]), (38.4, [0, 10, 20, 30, 40]),
        (50.1, [0, 20, 40, 60]), (100.00000000000004, [0, 20, 40, 60, 80, 100]), (1234.0, [0, 500, 1000, 1500]),
    ],
)  # fmt: skip
def test_round_numbers_from_0(highest, ticks):
    assert _ticks(highest) == pytest.approx(ticks)


def test_any_name_gives_well_formed_xml_and_is_within_the_picture():
    attack = "</title></style><script>alert(1)</script>\"'&\x00\ud800\uffff" + "long" * 50
    chart = a_chart([Line(attack, [0.0, 0.0], attack)])
    root = parse(chart)
    assert not list(root.iter(NAME + "script"))
    _, width, height = draw(chart)
    for text in root.iter(NAME + "text"):
        assert 0 <= float(text.get("x")) < width
        assert -30 <= float(text.get("y")) < height


@pytest.mark.parametrize(
    "values", [[1.0], [1.0, float("nan")], [1.0, -1.0], [1.0, float("inf")]], ids=["too few", "nan", "negative", "inf"]
)
def test_values_that_cannot_be_drawn_are_a_broken_promise(values):
    with pytest.raises(AssertionError):
        a_chart([Line("one", values)])
