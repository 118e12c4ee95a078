"""The page of a comparison: complete, and no text in it is obeyed."""

import base64
import hashlib

from antiphon.evaluate.compare import report
from antiphon.evaluate.lengths import compare, measure
from antiphon.show.comparison import html_page, terminal

ATTACK = "</title></style><script>alert(1)</script>\"' onload='alert(1)"
SOURCES = ["a b", "a b c", f"a b c d {ATTACK}", "a b c d e f"]
TARGETS = ["x y", "y z", f"z {ATTACK}", "u v"]


def a_report(*names):
    answers = {name: TARGETS[: number % 5] + [ATTACK] * (4 - number % 5) for number, name in enumerate(names)}
    comparison = compare(answers, TARGETS, measure(SOURCES, [3]), "exact_match")
    return report(comparison, SOURCES, [[target] for target in TARGETS])


def test_the_page_is_complete_and_obeys_no_text():
    page = html_page(a_report("calm", ATTACK, "third"), ATTACK)
    style = page.split("<style>")[1].split("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in page
    assert "<script" not in page
    assert " style=" not in page
    assert page.count("<svg") == 1
    assert page.count("<table") == 4
    assert '<th scope="row"><bdi>2-3</bdi></th><td>2</td><td>0.00</td><td>50.00</td>' in page
    assert page.count('<section class="pair">') == 3  # one line against the second system, two against the third


def test_one_system_has_no_lines_beside_it():
    page = html_page(a_report("alone"), "")
    assert "line by line" not in page
    assert "less" not in terminal(a_report("alone"), 80).split("\n\n")[0]


def test_the_verdict_is_a_sentence():
    told = terminal(a_report("none", "two"), 80).split("\n\n")[1]
    assert told.startswith("none less two: -25.00 (95 %: -75.00 to +0.00), p ")
    assert told.endswith(": not sure")
