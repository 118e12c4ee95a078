"""A running text: what stands where, and windows that miss nothing and count nothing twice."""

from itertools import pairwise

import numpy as np
import pytest

from antiphon.data.running import (
    BREAK,
    STRETCH,
    RunningText,
    load_windows,
    plan_counting,
    plan_tracks,
    plan_windows,
)
from antiphon.data.store import PairStore
from antiphon.data.vocab import PAD

LINES = [[], [5, 6, 7], [], [], [8], [9, 10], []]
TEXT = [symbol for line in LINES for symbol in (*line, BREAK)]


@pytest.fixture
def text():
    return RunningText(PairStore.of([([], line) for line in LINES]))


def a_long_text(length=997):
    return RunningText(PairStore.of([([], [4 + n % 50]) for n in range(length // 2)]))


def test_lines_stand_end_to_end_with_breaks_between(text):
    assert len(text) == len(TEXT)
    assert text.read(np.arange(len(text))).tolist() == TEXT


def test_places_may_come_in_any_order_and_shape(text):
    places = np.array([[3, 0], [9, 2]])
    assert text.read(places).tolist() == [[TEXT[3], TEXT[0]], [TEXT[9], TEXT[2]]]


def test_before_the_text_there_is_a_break(text):
    assert text.read(np.array([-1])).tolist() == [BREAK]


def test_a_window_reads_what_stands_before_each_symbol(text):
    (windows,) = plan_windows(len(text), len(text), 100, seed=1, epoch=0)[:1]
    batch, counted_P = load_windows(text, windows)
    assert batch.part == "whole"
    assert counted_P.all()
    for row, begin in enumerate(windows.begins_B.tolist()):
        length = int(batch.target_mask_BT[row].sum())
        assert batch.target_out_BT[row, :length].tolist() == TEXT[begin : begin + length]
        assert batch.target_in_BT[row, :length].tolist() == [BREAK, *TEXT][begin : begin + length]
        assert set(batch.target_in_BT[row, length:].tolist()) <= {PAD}


def places_of(planned):
    """Every place that counts, in all windows."""
    rows = [
        (begin, end)
        for windows in planned
        for begin, end in zip(windows.counted_B.tolist(), windows.ends_B.tolist(), strict=True)
    ]
    return [place for begin, end in rows for place in range(begin, end)]


@pytest.mark.parametrize("total", [1, 7, 64, 100, 997])
@pytest.mark.parametrize("window", [1, 8, 64])
@pytest.mark.parametrize("budget", [1, 64, 500])
def test_every_place_is_there_once(total, window, budget):
    for planned in (
        plan_tracks(total, window, budget),
        plan_windows(total, window, budget, seed=3, epoch=2),
        plan_counting(total, window, budget, recurrent=True),
        plan_counting(total, window, budget, recurrent=False),
    ):
        assert sorted(places_of(planned)) == list(range(total))


def test_tracks_go_on_where_they_were(text):
    planned = plan_tracks(100, 8, 32)
    assert [windows.part for windows in planned] == ["first"] + ["next"] * (len(planned) - 1)
    for before, after in pairwise(planned):
        assert (before.ends_B == after.begins_B).all()
    assert len(planned[0].begins_B) == 4


def test_windows_are_cut_and_ordered_anew_in_every_epoch():
    first, again, second = (plan_windows(997, 16, 64, 1, epoch) for epoch in (0, 0, 1))
    assert [w.begins_B.tolist() for w in first] == [w.begins_B.tolist() for w in again]
    assert sorted(places_of(first)) == sorted(places_of(second))
    assert {b for w in first for b in w.begins_B.tolist()} != {b for w in second for b in w.begins_B.tolist()}
    assert places_of(first) != sorted(places_of(first))


@pytest.mark.parametrize("recurrent", [True, False])
def test_what_counts_has_something_before_it(recurrent):
    """A Transformer half a window at least, a recurrent model a whole one; and no row is longer than it may be."""
    for windows in plan_counting(997, 16, 500, recurrent):
        before = windows.counted_B - windows.begins_B
        assert (before == np.minimum(windows.counted_B, 16 if recurrent else 8)).all()
        assert (windows.ends_B - windows.begins_B <= (16 * (STRETCH + 1) if recurrent else 16)).all()


def test_what_is_only_read_does_not_count():
    text = a_long_text()
    for windows in plan_counting(len(text), 16, 64, recurrent=False):
        batch, counted_P = load_windows(text, windows)
        assert len(counted_P) == batch.target_tokens
        assert int(counted_P.sum()) == int((windows.ends_B - windows.counted_B).sum())
