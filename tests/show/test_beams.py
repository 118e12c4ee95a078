"""The tree of a beam search: one winner, nothing that crosses or lies, whole at any size, and never markup."""

import base64
import hashlib
import math
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest

from antiphon.config.schema import Search
from antiphon.search.beam import Beam, beam_search
from antiphon.search.record import Record
from antiphon.show import beams, branches, tree
from antiphon.show.tree import BeamTree, drawn, grow
from tests.search.conftest import END, FORBIDDEN, START, Oracle, prefixes, random_table
from tests.show.test_heatmap import ATTACK, Page, columns

TWO = Search(beam=2)
SYMBOLS = {2: "</s>", 4: "▁ja", 5: "日本", 6: "e\u0301"}


def a_tree(seed=1, beam=3, limit=9, symbols=SYMBOLS, answer="ja", sharpness=1.5) -> BeamTree:
    record, oracle = Record(), Oracle(random_table(seed, sharpness))
    beam_search(oracle, prefixes(1), [limit], Beam(beam, 1, 1.0), START, END, FORBIDDEN, record)
    return BeamTree("yes", answer, Search(beam=beam), grow(record, symbols))


def by_hand() -> BeamTree:
    return of_chances({(): {4: 0.6, 5: 0.3, 2: 0.1}, (4,): {2: 0.5, 4: 0.3, 5: 0.2}, (5,): {2: 0.9, 4: 0.06, 5: 0.04}})


def of_chances(after, search=TWO) -> BeamTree:
    """The tree of a model with these probabilities, which writes a, b and an end."""

    def table(memory, prefix):
        chances = after.get(prefix[1:], {})
        return [math.log(chances[word]) if word in chances else -math.inf for word in range(7)]

    record, width = Record(), search.beam // search.groups if search.groups > 1 else None
    beam = Beam(search.beam, search.n_best, 1.0, groups=search.groups, diversity=search.diversity)
    (found,) = beam_search(Oracle(table), prefixes(0), [9], beam, START, END, FORBIDDEN, record)
    record.give([(one.symbols, one.ended) for one in found])
    return BeamTree("yes", "ja", search, grow(record, {2: "</s>", 4: "a", 5: "b"}, width))


def test_what_became_of_each_by_hand():
    nodes = by_hand().nodes
    assert [(node.step, node.symbol, node.parent, node.kept, node.fate, node.won) for node in nodes] == [
        (0, "<s>", -1, None, "start", True),
        (1, "a", 0, 1, "went on", True),
        (1, "b", 0, 2, "went on", False),
        (1, "</s>", 0, None, "cut", False),
        (2, "</s>", 1, 1, "finished", True),
        (2, "</s>", 2, 2, "finished", False),
        (2, "a", 1, None, "cut", False),
        (2, "b", 1, None, "cut", False),
        (2, "a", 2, None, "cut", False),
        (2, "b", 2, None, "cut", False),
    ]
    assert [round(node.score, 4) for node in nodes if node.score] == [-0.602, -0.6547]


def test_a_small_tree_word_for_word():
    assert branches.terminal(by_hand(), 80, colour=False).split("\n") == [
        "ja",
        "A beam of 2 weighed 9 continuations in 2 steps, kept 4, and found 2 answers. 2",
        "of the weaker ones are not drawn; the JSON has all.",
        "",
        "<s>",
        "├─ b -1.20  </s> -1.31 ✓ -0.65",
        "├╌ </s> -2.30",
        "● a -0.51",
        "├╌ a -1.71  b -2.12",
        "● </s> -1.20 ★ -0.60",
        "",
        *branches.textwrap.wrap(branches.KEY, 80),
    ]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("limit", [1, 3, 9])
def test_the_tree_is_one(seed, limit):
    found = a_tree(seed, limit=limit)
    for place, node in enumerate(found.nodes[1:], start=1):
        parent = found.nodes[node.parent]
        assert node.parent < place
        assert node.step == parent.step + 1
        assert node.total == pytest.approx(parent.total + node.log_probability)
        assert parent.kept is not None or parent.step == 0, "what was cut has no children"
        assert not node.won or parent.won
        assert (node.score is not None) == (node.fate in ("finished", "too long"))
        assert node.fate != "went on" or any(child.parent == place and child.kept for child in found.nodes)
    path = [node for node in found.nodes if node.won]
    assert [node.step for node in path] == list(range(len(path)))
    assert path[-1] == found.answers[0]
    assert path[-1].score == max(node.score for node in found.answers if node.fate == path[-1].fate)


def test_every_fate_comes_about():
    fates = {node.fate for seed in range(30) for limit in (3, 9) for node in a_tree(seed, limit=limit).nodes}
    assert fates | {"stuck"} == set(tree.FATES)


def test_a_symbol_that_nothing_may_follow():
    after = {(): {4: 0.6, 5: 0.4}, (4,): {}, (5,): {2: 1.0}}
    assert [(node.symbol, node.fate) for node in of_chances(after).nodes] == [
        ("<s>", "start"), ("a", "stuck"), ("b", "went on"), ("</s>", "finished"),
    ]  # fmt: skip


def in_groups() -> BeamTree:
    """Two groups of one: the second does not take the first one's word, and has ended when the first has not."""
    after = {(): {4: 0.7, 5: 0.3}, (4,): {4: 0.9, 2: 0.1}, (4, 4): {2: 1.0}, (5,): {2: 0.8, 4: 0.2}}
    return of_chances(after, Search(beam=2, groups=2, diversity=9.0, n_best=2))


def test_groups_and_all_answers_that_are_given():
    found = in_groups()
    kept = [(node.symbol, node.group, node.given, node.fate) for node in found.nodes if node.kept]
    assert kept == [
        ("a", 1, None, "went on"), ("b", 2, None, "went on"), ("a", 1, None, "went on"), ("</s>", 2, 2, "finished"),
        ("</s>", 1, 1, "finished"),
    ]  # fmt: skip
    assert beams.in_words(found) == (
        "A beam of 2 in 2 groups weighed 7 continuations in 3 steps, kept 5, and found 2 answers. The best 2 of these are "
        "given. It was held to diversity = 9.0."
    )
    page = beams.html_page(found, "Model: x")
    assert "★2 −0.71" in page
    assert "finished, and given as answer 2" in page
    assert "b, step 1, group 2, rank 2 of those kept" in page
    drawn_in_letters = branches.terminal(found, 80, colour=False)
    assert "★2 -0.71" in drawn_in_letters
    assert " ".join(drawn_in_letters.split()).endswith(branches.SEVERAL.strip())


def test_a_group_that_stopped_left_its_hypotheses_open():
    after = {(): {4: 0.6, 5: 0.4}, (4,): {2: 0.9, 5: 0.1}, (5,): {5: 0.9, 4: 0.1}, (5, 5): {2: 0.5, 4: 0.5}}
    after |= {(5, 4): {4: 0.6, 5: 0.4}, (5, 4, 4): {2: 1.0}, (5, 4, 5): {2: 1.0}}
    found = of_chances(after, Search(beam=4, groups=2, diversity=9.0))
    closed = [(node.step, node.symbol, node.group) for node in found.nodes if node.fate == "open"]
    assert (closed, found.steps) == ([(3, "a", 1)], 4)


@pytest.mark.parametrize(
    ("search", "told"),
    [
        (Search(length_exponent=0.5), "score: −1.2040 / 2^0.5 = "),
        (Search(length_penalty="gnmt"), "score: −1.2040 / ((5 + 2) / 6)^1 = "),
        (Search(coverage=0.2), "score: with all penalties "),
    ],
)
def test_how_a_score_comes_about(search, told):
    assert told in beams.html_page(replace(by_hand(), search=search), "Model: x")


def test_what_the_search_was_held_to():
    search = Search(prefix="so", avoid=["a", "b", "c", "d"], glossary=[["x", "ü"]], max_ratio=3.0, temperature=2.0)
    found = replace(by_hand(), search=search)
    told = 'prefix = "so"; avoid = ["a", "b", "c", and 1 more]; glossary = [["x", "ü"]]'
    assert beams.in_words(found).endswith(f" It was held to {told}.")
    assert found.numbers()["search"]["avoid"] == ["a", "b", "c", "d"]


@pytest.mark.parametrize(("beam", "limit"), [(1, 9), (3, 9), (30, 6)])
def test_lines_never_cross_and_boxes_never_overlap(beam, limit):
    found = a_tree(2, beam, limit)
    places = drawn(found)
    rows = {place: row for column in places for row, place in enumerate(column)}
    for column in places[1:]:
        parents = [rows[found.nodes[place].parent] for place in column]
        assert parents == sorted(parents)
    assert all(place in rows for place, node in enumerate(found.nodes) if node.won)
    boxes = re.findall(
        r'<g class="box [a-z-]+"><rect x="(\d+)" y="(\d+)" width="(\d+)" height="(\d+)"', beams.svg(found)
    )
    shapes = [tuple(map(int, box)) for box in boxes]
    for n, (x, y, width, height) in enumerate(shapes):
        for left, top, wide, high in shapes[n + 1 :]:
            assert x + width <= left or left + wide <= x or y + height <= top or top + high <= y


def test_a_wide_beam_and_a_long_answer_leave_out_what_has_no_room_and_say_so():
    found = a_tree(3, beam=60, limit=120, sharpness=0.2)
    assert sum(map(len, drawn(found))) <= tree.BOXES
    assert max(map(len, drawn(found))) <= tree.ROWS
    missing = len(found.nodes) - sum(map(len, drawn(found)))
    page = beams.html_page(found, "Model: x")
    assert f"{missing:,} of the weaker ones are not drawn; the JSON has all." in page
    assert len(page.encode()) < 4_000_000
    assert len(found.numbers()["nodes"]) == len(found.nodes)


def test_a_very_long_answer_keeps_its_path():
    found = a_tree(4, limit=40)
    columns_drawn = drawn(found, boxes=5)
    assert [[found.nodes[place].won for place in column] for column in columns_drawn if column] == [[True]] * sum(
        node.won for node in found.nodes
    )


@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_terminal_is_never_overrun(width, colour):
    odd = {2: "</s>", 4: "▁" + "long" * 9, 5: "日本語" * 5, 6: "שלום\x1b[31m"}
    for seed in range(4):
        found = a_tree(seed, beam=6, limit=14, symbols=odd, answer="x" * 200)
        for line in branches.terminal(found, width, colour).split("\n"):
            assert columns(line) <= width, line
            assert "\x1b[31m" not in line


def test_a_text_never_becomes_markup():
    calm = a_tree(symbols=dict.fromkeys(SYMBOLS, re.sub(r"\S", "w", ATTACK)))
    attack = a_tree(symbols=dict.fromkeys(SYMBOLS, ATTACK), answer=ATTACK)
    pages = [Page(beams.html_page(one, one.answer + "$style ${x}")) for one in (calm, attack)]
    assert pages[0].tags == pages[1].tags
    assert [name for name, _ in pages[0].attributes] == [name for name, _ in pages[1].attributes]
    assert "<script" not in beams.svg(attack)
    ElementTree.fromstring(beams.svg(attack))  # noqa: S314


def test_nothing_on_the_page_runs_or_loads():
    page = beams.html_page(a_tree(), "Model: x")
    style = page.split("<style>")[1].split("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in page
    parsed = Page(page)
    assert not {"script", "link", "img", "iframe", "form", "a"} & set(parsed.tags)
    assert not [name for name, _ in parsed.attributes if name.startswith("on") or name in ("style", "src", "href")]


def test_zoom_and_the_winners_path_are_reached_by_keyboard():
    found = a_tree()
    page = beams.html_page(found, "Model: x")
    zooms = re.findall(r'<input type="radio" name="zoom" id="zoom-(\w+)"', page)
    assert zooms == ["fit", *map(str, beams.ZOOMS)]
    assert all(f"main:has(#zoom-{zoom}:checked) #beams-1" in page for zoom in zooms)
    won = [node for node in found.nodes if node.won and node.step]
    assert len(re.findall(r'<g class="hit" tabindex="0" role="img" aria-label="[^"]+">', page)) == len(won)
    assert page.count("<tr class=") == sum(map(len, drawn(found)[1:]))


def test_nothing_searched():
    found = BeamTree("", "", Search(), grow(Record(), {}))
    assert "Nothing was searched: an empty text has an empty answer." in branches.terminal(found, 80, colour=False)
    assert beams.EMPTY in beams.svg(found)
    assert Page(beams.html_page(found, "Model: x")).tags.count("svg") == 2
