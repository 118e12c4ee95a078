"""The page of all heads: whole, small, safe, chosen from by keyboard, and readable without seeing it."""

import base64
import hashlib
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from antiphon.show import heads
from antiphon.show.attention import Attention, Chosen, Heads, align, merge_weights
from antiphon.show.heads import html_page, svg
from antiphon.show.page import read_part
from tests.show.test_heatmap import ATTACK, Page


def an_attention(layers=2, most=3, source=5, target=4, pieces=1, words="w", sharpness=2.5) -> Attention:
    """Random weights; `pieces` symbols make a word, but for the end."""
    draw = np.random.default_rng(1)

    def view(rows, columns, future=0.0):
        scores = draw.normal(size=(layers, most, len(rows), len(columns))) * sharpness
        scores += future * np.triu(np.ones(scores.shape[2:]), 1)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return Heads(rows, columns, (weights / weights.sum(-1, keepdims=True)).astype(np.float32))

    def merged(one):
        axes = [[pieces] * ((len(axis) - 1) // pieces) + [1] for axis in (one.rows, one.columns)]
        labels = [(*(f"{words}{n}" for n in range(len(axis) - 1)), "</s>") for axis in axes]
        return Heads(*labels, merge_weights(one.weights_LHTS, *axes))

    s, t = ((*(f"{words}{n}" for n in range(size - 1)), "</s>") for size in (source, target))
    symbols = {"cross": view(t, s), "encoder": view(s, s), "decoder": view(t, ("<s>", *t[:-1]), -1e9)}
    merged_view = symbols if pieces == 1 else {kind: merged(one) for kind, one in symbols.items()}
    return Attention("text", "answer", None, symbols, merged_view, align(merged_view["cross"], ended=True))


def radios(page: str, name: str) -> list[str]:
    return re.findall(rf'<input type="radio" name="{name}" autocomplete="off" aria-label="([^"]*)"', page)


def test_every_head_of_every_kind_can_be_chosen_and_has_its_map():
    page = html_page(an_attention(layers=2, most=2), "Model: x")
    for kind in ("cross", "encoder", "decoder"):
        assert radios(page, kind) == [
            f"layer {layer}, {head}" for layer in (1, 2) for head in ("head 1", "head 2", "mean")
        ]
        assert len(re.findall(rf'name="{kind}"[^>]* checked>', page)) == 1
    assert 'name="cross" autocomplete="off" aria-label="layer 1, mean" checked>' in page
    assert 'name="encoder" autocomplete="off" aria-label="layer 2, mean" checked>' in page
    assert page.count('<table class="heat') == page.count('<svg class="small') == 3 * 2 * 3


def test_the_page_opens_on_what_was_chosen():
    found = an_attention(layers=2, most=2, source=9, target=7, pieces=2)
    page = html_page(found, "Model: x", Chosen("decoder", 1, 2, symbols=True))
    opened = re.findall(
        r'name="([a-z]*)" autocomplete="off"(?: id="([^"]*)")?(?: aria-label="([^"]*)")? checked>', page
    )
    assert opened == [
        ("unit", "in-symbols", ""), ("cross", "", "layer 1, mean"), ("encoder", "", "layer 2, mean"),
        ("decoder", "", "layer 1, head 2"),
    ]  # fmt: skip
    page = html_page(found, "Model: x", Chosen(head=1))
    assert 'name="cross" autocomplete="off" aria-label="layer 1, head 1" checked>' in page
    single = html_page(an_attention(layers=2, most=1), "Model: x", Chosen(layer=2, head=1))
    assert 'name="cross" autocomplete="off" aria-label="layer 2, head 1" checked>' in single


def test_a_map_by_hand():
    weights = np.array([[[[0.97, 0.03, 0.0], [0.004, 0.5, 0.496]]]], dtype=np.float32)
    cross = {"cross": Heads(("x", "</s>"), ("a", "b", "</s>"), weights)}
    page = html_page(Attention("a b", "x", None, cross, cross, align(cross["cross"], ended=True)), "Model: x")
    table = re.search(r'<table class="heat">.*?</table>', page)[0]
    assert table == (
        '<table class="heat"><caption>layer 1, in %</caption><thead><tr><td><th>a<th>b<th>&lt;/s&gt;<tbody>'
        "<tr><th>x<td class=h>97<td class=b>3<td><tr><th>&lt;/s&gt;<td><td class=f>50<td class=f>50</table>"
    )
    assert 'name="cross"' not in page  # one head needs no choice
    assert 'name="unit"' not in page


def test_a_small_picture_by_hand():
    weights_TS = np.array([[0.5, 0.5, 0.0], [0.02, 0.08, 0.9]], dtype=np.float32)
    assert heads._small("word", weights_TS) == (
        '<svg class="small word" viewBox="0 0 3 2" aria-hidden="true">'
        '<path class="c" d="M1 1h1"/><path class="f" d="M0 0h2"/><path class="h" d="M2 1h1"/></svg>'
    )


def test_words_first_and_symbols_on_demand():
    found = an_attention(source=9, target=7, pieces=2)
    page = html_page(found, "Model: x")
    assert re.findall(r'name="unit"[^>]*>([^<]*)', page) == [" words", " symbols"]
    assert '<input type="radio" name="unit" autocomplete="off" checked> words' in page
    assert page.count('<div class="map wide word"') == page.count('<div class="map wide symbol"') == 3 * 2 * 4
    plain = html_page(an_attention(), "Model: x")
    assert 'name="unit"' not in plain
    assert '<div class="map wide word"' not in plain


def test_regions_and_choices_are_reached_by_keyboard_and_named():
    page = Page(html_page(an_attention(), "Model: x"))
    named = [value for name, value in page.attributes if name == "aria-label"]
    assert "layer 2, head 3, in symbols" in named
    assert "From the answer to itself: layers and heads" in named
    assert page.tags.count("input") == 3 * 2 * 4
    assert [value for name, value in page.attributes if name == "tabindex"].count("0") == 3 * 2 * 4 + 2
    assert page.texts.count("layer 2, head 3, in %") == 3


def test_nothing_on_the_page_runs_or_loads():
    page = html_page(an_attention(source=9, target=7, pieces=2), "Model: x")
    style = page.split("<style>")[1].split("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"content=\"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'\"" in page
    parsed = Page(page)
    assert not {"script", "link", "img", "iframe", "form", "a"} & set(parsed.tags)
    names = {name for name, _ in parsed.attributes}
    assert not {"style", "src", "href"} & names
    assert not [name for name in names if name.startswith("on")]
    assert not re.search(r"url\(|@import", style)


def test_a_text_never_becomes_markup():
    calm, attack = (an_attention(words=words) for words in ("w", ATTACK))
    attack = Attention(ATTACK, ATTACK, ATTACK, attack.symbols, attack.words, attack.alignment)
    calm = Attention("t", "a", "e", calm.symbols, calm.words, calm.alignment)
    pages = [Page(html_page(one, one.text + "$style ${x}")) for one in (calm, attack)]
    assert pages[0].tags == pages[1].tags
    assert [name for name, _ in pages[0].attributes] == [name for name, _ in pages[1].attributes]
    assert "<script" not in svg(attack)
    ElementTree.fromstring(svg(attack))  # noqa: S314


@pytest.mark.parametrize("sharpness", [0.3, 2.5])
def test_six_layers_of_eight_heads_fit_into_three_megabytes(sharpness):
    page = html_page(an_attention(6, 8, 31, 31, pieces=2, sharpness=sharpness), "Model: x")
    assert len(page.encode()) < 3_000_000
    assert len(radios(page, "cross")) == 6 * 9
    assert 'name="unit"' in page


@pytest.mark.parametrize(
    ("size", "units", "chosen", "said"),
    [
        (81, False, 6 * 9, None),
        (151, False, 6, "The text is long: single heads are left out. Draw one by antiphon show --layer --head."),
        (301, False, 0, "The text is very long: other layers are left out. Draw one by antiphon show --layer --head."),
    ],
)
def test_a_long_text_leaves_out_what_would_not_fit_and_says_so(size, units, chosen, said):
    page = html_page(an_attention(6, 8, size, size, pieces=2), "Model: x")
    assert ('name="unit"' in page) is units
    assert len(radios(page, "cross")) == chosen
    assert said is None or page.count(said) == 3
    assert len(page.encode()) < 5_000_000


def test_a_figure_has_the_ribbons_and_the_map_below_them():
    root = ElementTree.fromstring(svg(an_attention()))  # noqa: S314
    name = "{http://www.w3.org/2000/svg}"
    kinds = [element.get("class") for element in root.iter()]
    assert kinds.count("ribbon") >= 3
    assert kinds.count("cell") == 4 * 5
    below = next(group for group in root.iter(name + "g") if group.get("transform"))
    assert float(below.get("transform")[12:-1]) >= 190


def test_without_a_look_at_the_source_there_are_no_ribbons():
    whole = an_attention()
    only = {"encoder": whole.symbols["encoder"]}
    found = Attention("t", "a", None, only, only, None)
    assert 'class="ribbon"' not in svg(found) + html_page(found, "Model: x")
    assert "From the source to itself" in html_page(found, "Model: x")


def luminance(colour) -> float:
    parts = [value / 255 for value in colour]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other) -> float:
    """As WCAG 2 defines it: from 1, the same, to 21, black on white."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_the_numbers_can_be_read_on_every_shade(theme):
    page, style = read_part("page.css"), read_part("heads.css")

    def colour(text: str) -> tuple[int, ...]:
        digits = text.lstrip("#")
        digits = "".join(2 * digit for digit in digits) if len(digits) == 3 else digits
        return tuple(bytes.fromhex(digits))

    known = {
        name: colour(re.findall(rf"--{name}: (#\w+)", part)[theme])
        for name, part in (("text", page), ("card", page), ("heat", style), ("on-heat", style))
    }
    shares = {shade: int(share) / 100 for shade, share in re.findall(r"\.heat \.(\w) .*?var\(--heat\) (\d+)%", style)}
    shares |= {"h": 1.0}
    assert sorted(shares) == list("abcdefgh")
    inks = dict.fromkeys(shares, known["text"]) | {"e": colour("#000")} | dict.fromkeys("fgh", known["on-heat"])
    assert ".heat .e { color: #000; }" in style
    assert ".heat .f, .heat .g, .heat .h { color: var(--on-heat); }" in style
    for shade, share in shares.items():
        cell = [card + (heat - card) * share for heat, card in zip(known["heat"], known["card"], strict=True)]
        assert contrast(cell, inks[shade]) >= 4.5, shade
