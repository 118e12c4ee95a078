"""Held-out pairs."""

import numpy as np
import pytest

from antiphon.data.holdout import hold_out
from antiphon.data.text import hash_text


def held(pairs):
    """The pairs that are held out, in their order."""
    sources = np.array([hash_text(source) for source, _ in pairs], dtype=np.uint64)
    whole = np.array([hash_text(f"{source}\t{target}") for source, target in pairs], dtype=np.uint64)
    return [pair for pair, out in zip(pairs, hold_out(sources, whole), strict=True) if out]


def numbered(count, each=1):
    return [(f"s{n // each}", f"t{n}") for n in range(count)]


@pytest.mark.parametrize(("count", "out"), [(2, 1), (30, 2), (1000, 50), (30_000, 1000)])
def test_about_a_twentieth(count, out):
    assert len(held(numbered(count))) == out


def test_order_does_not_matter():
    pairs = numbered(500)
    assert sorted(held(pairs[::-1])) == sorted(held(pairs))


def test_new_lines_leave_the_old_choice():
    before, after = set(held(numbered(500))), set(held(numbered(600)))
    assert before <= after


def test_pairs_of_one_source_stay_together():
    pairs = numbered(300, each=3)
    out = held(pairs)
    assert {source for source, _ in out}.isdisjoint(source for source, _ in set(pairs) - set(out))
    assert 9 <= len(out) <= 15


def test_one_source_for_all():
    assert len(held([("s", f"t{n}") for n in range(100)])) == 5


def test_two_pairs_that_come_again_and_again():
    assert len(held([("s", "t")] * 50 + [("s", "u")] * 40)) == 40


def test_all_pairs_the_same():
    assert held([("s", "t")] * 50) == []
