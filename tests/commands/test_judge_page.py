"""The judges' page and the comparison's, in a real browser: by keyboard, narrow and wide, and deaf to what texts say."""

import re
import threading

import pytest

from antiphon.commands.judging import Server
from antiphon.evaluate.compare import report
from antiphon.evaluate.lengths import compare, measure
from antiphon.evaluate.study import Study
from antiphon.show.comparison import html_page
from tests.payloads import PAYLOADS


@pytest.fixture
def study(tmp_path):
    answers = {"a": PAYLOADS, "b": [f"plain {n}" for n in range(len(PAYLOADS))], "c": [""] * len(PAYLOADS)}
    sources = [f"source {number} {text}" for number, text in enumerate(PAYLOADS)]
    found = Study.create(tmp_path / "s.db", sources, PAYLOADS, answers, None, 1)
    yield found
    found.close()


@pytest.fixture
def address(study):
    with Server(study, 0) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.address
        server.shutdown()
        thread.join()


def enter(page, address, name="Ann"):
    page.goto(address)
    page.fill("#name", name)
    page.keyboard.press("Enter")
    page.wait_for_selector("#answers li")


def await_source(page, number):
    page.locator("#source", has_text=re.compile(f"^source {number} ")).wait_for()


@pytest.mark.parametrize("page", [1280, 390], indirect=True)
def test_a_study_by_keyboard_alone_and_no_text_is_obeyed(page, address, study):
    enter(page, address)
    for number, payload in enumerate(PAYLOADS):
        await_source(page, number)
        assert page.text_content("#source") == f"source {number} {payload}"
        assert payload in page.eval_on_selector_all("#answers .text", "all => all.map(one => one.textContent)")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing is wider than the page"
        for _ in range(3):
            page.keyboard.press("4")  # adequacy
            page.keyboard.press("5")  # fluency
            page.keyboard.press("1")  # rank
        page.keyboard.press("Enter")
    page.wait_for_selector("#finished:not([hidden])")
    assert page.evaluate("window.ran") is None
    assert all(url.startswith(address) for url in page.asked)
    assert study.done("Ann") == len(PAYLOADS)
    assert {(mark.adequacy, mark.fluency, mark.rank) for mark in study.marks()} == {(4, 5, 1)}


def test_missing_marks_are_told_and_marks_can_be_changed(page, address, study):
    enter(page, address)
    page.click("#save")
    assert page.text_content("#problem") == "Some marks are missing."
    assert study.marks() == []
    for choice in page.query_selector_all('.choices input[value="2"]'):
        choice.check()
    page.click("#save")
    await_source(page, 1)
    page.click("#back")
    await_source(page, 0)
    assert len(page.query_selector_all(".choices input:checked")) == 9
    page.check('input[name="rank-0"][value="3"]')
    page.click("#save")
    await_source(page, 1)
    assert sorted(mark.rank for mark in study.marks()) == [2, 2, 3]


def test_two_judges_do_not_meet(page, address, study):
    enter(page, address)
    first = page.eval_on_selector_all("#answers .text", "all => all.map(one => one.textContent)")
    page.reload()
    enter(page, address, "Bob")
    second = page.eval_on_selector_all("#answers .text", "all => all.map(one => one.textContent)")
    assert sorted(first) == sorted(second)
    assert page.text_content("#count") == f"0 of {len(PAYLOADS)} judged"


@pytest.mark.parametrize("page", [1280, 390], indirect=True)
def test_the_page_of_a_comparison_obeys_no_text(page, tmp_path):
    answers = {"a": PAYLOADS, PAYLOADS[0]: ["plain words"] * len(PAYLOADS)}
    comparison = compare(answers, PAYLOADS, measure(PAYLOADS), "chrf")
    found = report(comparison, PAYLOADS, [[text] for text in PAYLOADS])
    path = tmp_path / "report.html"
    path.write_text(html_page(found, PAYLOADS[1]), encoding="utf-8")
    page.goto(path.as_uri())
    page.wait_for_timeout(200)
    assert page.evaluate("window.ran") is None
    assert page.asked == [path.as_uri()]
    assert len(page.query_selector_all(".pair")) == 10
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
