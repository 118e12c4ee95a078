"""Gradients drawn: numbers that read well, lines that fit, a figure that is whole and lets no text become markup."""

import base64
import hashlib
import math
import re
import xml.etree.ElementTree as ElementTree

import pytest

from antiphon.show.chains import SPAN, Chain, Gradients
from antiphon.show.gradients import html_page, power, svg, terminal

ATTACK = "</title></style><script>alert(1)</script>\"' onload='alert(1)&#60;\x1b\u202e"
SEVEN = {
    "input": 1.2,
    "forget": 10.0,
    "output": 0.123456,
    "candidate": 2.0,
    "P input": 1.0,
    "P forget": 1.1,
    "P output": 1.2,
}


def falling(name: str, cell: str, factor: float, places: int, **matrices: float) -> Chain:
    logs = tuple(back * math.log10(factor) for back in reversed(range(places)))
    return Chain(name, cell, tuple(f"w{place}" for place in range(places)), logs, matrices)


SMALL = Gradients("a b", "c", (
    falling("encoder 1", "elman", 0.1, 7, U=0.5), falling("decoder 1", "orthogonal", 1.0, 6, U=1.0),
    falling("decoder 2", "gru", 2.0, 5, reset=1.0, update=2.0), falling("decoder 3", "gru", 2.0, 1, reset=1.0),
))  # fmt: skip
WIDEST = Gradients(
    "", "", tuple(falling(f"encoder {n} →", "full_peephole", 10 ** (n - 11), 900, **SEVEN) for n in (9, 10, 12))
)
NOTHING = Gradients(
    "", "", (Chain("decoder 1", "orthogonal", ("a", "b", "c"), (-math.inf, -math.inf, 0.0), {"U": 1.0}),)
)
ALL = {"small": SMALL, "widest": WIDEST, "nothing": NOTHING}


def test_a_small_drawing_word_for_word():
    assert terminal(SMALL, 80).split("\n") == [
        "chain      cell        places  far end  a step  so it (steps)   verdict",
        "encoder 1  elman       7       1e-06    x 0.1   halves in 0.3   vanishes",
        "decoder 1  orthogonal  6       1        x 1     keeps           stable",
        "decoder 2  gru         5       16       x 2     doubles in 1.0  explodes",
        "decoder 3  gru         1       1        -       -               too short",
        "",
        "norms in the order of reading: ▁ 1e-06 or less, █ 16 or more",
        "encoder 1  ▁▂▃▄▅▆▇",
        "           a hundredth is left after 2 steps",
        "decoder 1  ▇▇▇▇▇▇",
        "           100% of it after 20 steps",
        "decoder 2  ██▇▇▇",
        "           a hundred times as much after 7 steps",
        "decoder 3  ▇",
        "           one place: there is nothing to carry",
        "",
        "largest singular values of the recurrent matrices",
        "encoder 1  U 0.5 (must vanish)",
        "decoder 1  U 1 (cannot explode)",
        "decoder 2  reset 1, update 2",
        "decoder 3  reset 1",
    ]


@pytest.mark.parametrize("found", ALL.values(), ids=ALL)
@pytest.mark.parametrize("width", [20, 50, 80, 120])
def test_no_line_is_wider_than_it_may_be(found, width):
    lines = terminal(found, width).split("\n")
    assert max(map(len, lines)) <= max(width, 40)
    assert all(sum(line.startswith(chain.name) for line in lines) == 3 for chain in found.chains)


def test_no_matrix_is_lost_where_lines_are_short():
    text = terminal(WIDEST, 80)
    assert all(text.count(f"{name} {value:.3g}") >= 3 for name, value in SEVEN.items())


@pytest.mark.parametrize(
    ("log10", "text"),
    [
        (0.0, "1"), (-math.inf, "0"), (math.log10(0.0412), "0.0412"), (-3.0, "0.001"), (-6.5, "3.2e-07"),
        (-400.0, "1e-400"), (400.0, "1e+400"), (3.5, "3.16e+03"), (4.0, "1e+04"), (-6 + 1e-12, "1e-06"), (-6 - 1e-12, "1e-06"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_numbers_from_their_logarithms(log10, text):
    assert power(log10) == text


@pytest.mark.parametrize("found", ALL.values(), ids=ALL)
def test_the_figure_is_whole_and_stays_in_its_frame(found):
    root = ElementTree.fromstring(svg(found))  # noqa: S314 (our own output)
    name = "{http://www.w3.org/2000/svg}"
    lines = root.findall(f".//{name}polyline")
    assert len(lines) == len(found.chains)
    for line, chain in zip(lines, found.chains, strict=True):
        points = [tuple(map(float, point.split(","))) for point in line.get("points").split()]
        assert len(points) == len(chain.symbols)
        assert all(78 <= x <= 736 and 16 <= y <= 316 for x, y in points)
    height = float(root.get("height"))
    assert all(float(text.get("y")) < height for text in root.iter(f"{name}text"))
    assert all(f"{chain.name}: {chain.verdict}" in root.get("aria-label") for chain in found.chains)
    texts = [text.text for text in root.iter(f"{name}text")]
    assert "steps back from the end of the chain" in texts
    assert "norm of d h(T) / d h(t)" in texts
    assert "1" in texts, "the line of one has its number"


def test_the_first_eighteen_chains_look_different():
    many = Gradients("", "", tuple(falling(f"encoder {n}", "gru", 0.9, 6, reset=1.0) for n in range(18)))
    looks = re.findall(r'<g class="(tone-\d)"><polyline class="line" ([^>]*)points', svg(many))
    assert len(set(looks)) == 18


def test_every_dot_tells_its_number():
    assert "<title>encoder 1, 1 back, after w5: 0.1</title>" in svg(SMALL)
    assert "<title>" not in svg(WIDEST), "so many dots would be a smear"


def test_a_page_that_runs_nothing():
    chain = Chain("encoder 1", "gru", (ATTACK, "b"), (-1.0, 0.0), {"reset": 1.0})
    page = html_page(Gradients(ATTACK, ATTACK, (chain,)), ATTACK)
    for text in (page, svg(Gradients(ATTACK, ATTACK, (chain,)))):
        assert "<script" not in text
        assert not re.search(r'<[^>"]*("[^"]*"[^>"]*)*? onload=', text), "outside quotes"
        assert "\x1b" not in text
        assert "\u202e" not in text
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in page
    assert not re.search(r"(src|href)=", page)
    assert page.count("<tr>") == 2
    assert f"{SPAN} steps leave" in page
    assert "#gradients-1 { min-width: 608px; }" in style, "it can be read on a telephone, and scrolls there"
