"""The comparison by length as a table and as a chart."""

import unicodedata

import pytest

from antiphon.evaluate.lengths import compare, measure
from antiphon.show.lengths import chart_of, terminal

SOURCES = ["a b", "a b c", "a b c d e", "a b c d e f"]
TARGETS = ["x y", "y z", "z u", "u v"]
SIGNATURE = "exact_match|space:kept|case:mixed|version:"


def a_comparison(*names, sources=SOURCES, edges=(3,)):
    answers = {name: TARGETS[: number % 4] + ["-"] * (4 - number % 4) for number, name in enumerate(names)}
    return compare(answers, TARGETS, measure(sources, edges), "exact_match")


def columns(line):
    shown = [char for char in line if unicodedata.category(char) not in ("Mn", "Me", "Cf")]
    return len(shown) + sum(unicodedata.east_asian_width(char) in "WF" for char in shown)


def test_a_table_word_for_word():
    *lines, signature = terminal(a_comparison("none", "a first", "大きい"), 80).split("\n")
    assert lines == [
        "exact match by source length in words between spaces, 4 pairs",
        "words  pairs    none  a first  大きい",
        "  2-3      2    0.00    50.00  100.00",
        "  4-6      2    0.00     0.00    0.00",
        "  all      4    0.00    25.00   50.00",
    ]
    assert signature.startswith(SIGNATURE)


def test_long_names_stand_above_the_table():
    names = ["attention-" + "x" * 70 + "-small", "attention-" + "x" * 70 + "-large"]
    lines = terminal(a_comparison(*names), 80).split("\n")
    assert lines[1:4] == [
        "#1  attention-xxxxxxxxxxxxxxxxxxxxxxxxxxx…xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-small",
        "#2  attention-xxxxxxxxxxxxxxxxxxxxxxxxxxx…xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-large",
        "words  pairs      #1      #2",
    ]


@pytest.mark.parametrize("width", [10, 40, 60, 80])
@pytest.mark.parametrize("count", [1, 2, 7, 23])
def test_no_line_is_wider_than_the_terminal(width, count):
    names = [f"{number} a rather long name of a folder \x1b[31m 大きい מודל" for number in range(count)]
    *lines, signature = terminal(a_comparison(*names), width).split("\n")
    assert max(map(columns, lines)) <= max(width, 40)
    assert signature.startswith(SIGNATURE)
    assert "\x1b" not in "".join(lines)
    assert sum(line.count(".00") for line in lines) == 3 * count  # every score once


def test_one_word_sources_are_said_to_be_counted_in_characters():
    comparison = a_comparison("one", sources=["ab", "abc", "abcde", "abcdef"])
    assert chart_of(comparison).across == "source length in characters"
    assert chart_of(comparison).places == ["2-3", "4-6"]
    assert terminal(comparison, 80).startswith("exact match by source length in characters, 4 pairs\ncharacters  pairs")
    assert chart_of(a_comparison("one")).across == "source length in words between spaces"


def test_one_length_alone_has_no_span():
    comparison = a_comparison("one", sources=["a b", "a b c", "a b c", "a b c"], edges=(2,))
    assert chart_of(comparison).places == ["2", "3"]
    assert chart_of(comparison).notes == ["1 pair", "3 pairs"]
