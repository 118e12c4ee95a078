"""The page of a beam search in a real browser: zoomed, pointed at, narrow and wide, and deaf to what texts say."""

from dataclasses import replace
from itertools import cycle

import pytest

from antiphon.config.schema import Search
from antiphon.show.beams import ZOOMS, html_page
from tests.payloads import PAYLOADS
from tests.show.test_beams import a_tree, in_groups

WIDTH = "document.querySelector('#beams-1').getBoundingClientRect().width"
SEEN = "getComputedStyle(document.querySelectorAll('.tip')[{}]).visibility"
SCRATCHED = "(box => box.left >= -1 && box.right <= innerWidth + 1)(document.querySelectorAll('.tip')[{}].getBoundingClientRect())"


def opened(page, tmp_path, tree, intro="Model: x"):
    path = tmp_path / "tree.html"
    path.write_text(html_page(tree, intro), encoding="utf-8")
    page.goto(path.as_uri())
    return path.as_uri()


@pytest.mark.parametrize("page", [1280, 390], indirect=True)
def test_zoom_changes_the_picture_and_nothing_else(page, tmp_path):
    opened(page, tmp_path, a_tree(limit=12))
    whole = page.evaluate(WIDTH)
    for zoom in ZOOMS:
        page.check(f"#zoom-{zoom}")
        assert page.evaluate(WIDTH) == pytest.approx(whole * zoom / 100, abs=1)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the picture scrolls, not the page"
    page.check("#zoom-fit")
    assert page.evaluate(WIDTH) <= page.viewport_size["width"]
    assert page.evaluate("document.querySelector('.wide').scrollWidth <= document.querySelector('.wide').clientWidth")


@pytest.mark.parametrize("page", [1280, 390], indirect=True)
def test_pointing_at_a_box_shows_its_numbers_and_no_others(page, tmp_path):
    opened(page, tmp_path, in_groups())
    covers = page.locator(".hit .cover")
    assert covers.count() == page.locator(".tip").count() == 7
    for n in range(covers.count()):
        covers.nth(n).hover()
        seen = [page.evaluate(SEEN.format(other)) for other in range(covers.count())]
        assert [other for other, how in enumerate(seen) if how == "visible"] == [n]
    page.mouse.move(1, 1)
    assert page.evaluate(SEEN.format(0)) == "hidden"


@pytest.mark.parametrize("page", [1280, 390], indirect=True)
def test_the_numbers_of_a_box_have_room_where_its_column_is_in_the_middle(page, tmp_path):
    opened(page, tmp_path, a_tree(limit=12))
    covers = page.locator(".hit .cover")
    for n in range(0, covers.count(), 5):
        page.evaluate(f"document.querySelectorAll('.cover')[{n}].scrollIntoView({{inline: 'center', block: 'center'}})")
        covers.nth(n).hover()
        assert page.evaluate(SCRATCHED.format(n)), n


def test_tab_goes_along_the_winners_path(page, tmp_path):
    tree = in_groups()
    opened(page, tmp_path, tree)
    path = [node for node in tree.nodes if node.won and node.step]
    page.locator(".wide").first.focus()
    for node in path:
        page.keyboard.press("Tab")
        focused = page.evaluate("document.activeElement.getAttribute('aria-label')")
        assert focused.startswith(f"{node.symbol}, step {node.step}, group 1")
        assert page.evaluate("getComputedStyle(document.activeElement.querySelector('.tip')).visibility") == "visible"


@pytest.mark.parametrize("page", [1280, 390], indirect=True)
def test_no_text_is_obeyed(page, tmp_path):
    plain, attacks = a_tree(limit=12), cycle(PAYLOADS)
    nodes = tuple(replace(node, symbol=next(attacks)) for node in plain.nodes)
    held = Search(avoid=PAYLOADS[:2], prefix=PAYLOADS[2])
    whole = " ".join(PAYLOADS)
    tree = replace(plain, text=whole, answer=whole, search=held, nodes=nodes)
    address = opened(page, tmp_path, tree, whole)
    page.locator("summary").click()
    covers = page.locator(".hit .cover")
    for n in range(0, covers.count(), 7):
        covers.nth(n).hover()
    page.wait_for_timeout(200)
    assert page.evaluate("window.ran") is None
    assert page.asked == [address]
    assert page.text_content("dd.answer") == whole.replace("\u202e", "◌").replace("\u202c", "◌")
    assert PAYLOADS[0][:8] in page.text_content("table")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert (
        page.evaluate("document.querySelectorAll('article script, article iframe, article img, article a').length") == 0
    )
