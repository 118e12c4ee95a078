"""Stretches of text: every symbol is read once, documents stay apart, and half of the pairs do not belong together."""

import numpy as np
import pytest

from antiphon.data.store import PairStore
from antiphon.data.stretches import stretches
from antiphon.data.vocab import END, START

# Two documents: four lines, then three, the last far longer than any window.
LINES = [[], [10, 11, 12], [13, 14], [15, 16, 17, 18], [19], [], [20, 21], [22], list(range(30, 60))]


def store(lines=LINES):
    return PairStore.of([([], line) for line in lines])


def document(symbol: int) -> int:
    return int(symbol >= 20)


def test_without_a_window_every_line_stands_by_itself():
    found = stretches(store(), 0, False, 1, 0)
    assert [found.row(n).tolist() for n in range(len(found))] == [[START, *line] for line in LINES if line]
    assert found.lengths[:, 0].tolist() == [1 + len(line) for line in LINES if line]


@pytest.mark.parametrize("window", [8, 9, 12, 30, 100])
@pytest.mark.parametrize("epoch", range(4))
def test_every_symbol_is_read_once_in_windows_of_one_document(window, epoch):
    found = stretches(store(), window, False, 1, epoch)
    rows = [found.row(n).tolist() for n in range(len(found))]
    assert sorted(symbol for row in rows for symbol in row[1:]) == sorted(s for line in LINES for s in line)
    for row in rows:
        assert row[0] == START
        assert len(row) + 1 <= window  # its end is still to come
        assert len({document(symbol) for symbol in row[1:]}) == 1
        assert row[1:] == list(range(row[1], row[-1] + 1)) or 22 in row  # neighbours stay neighbours


def test_cuts_fall_elsewhere_in_every_epoch_and_again_where_they_fell():
    begins = [stretches(store(), 12, False, 1, epoch).begins_N.tolist() for epoch in (0, 1, 2, 3, 0)]
    assert begins[0] == begins[4]
    assert len({tuple(one) for one in begins}) > 1


def many():
    draw = np.random.default_rng(1)
    return [draw.integers(4, 90, size=draw.integers(0, 12)).tolist() for _ in range(2000)]


def test_half_of_the_pairs_belong_together():
    found = stretches(store(many()), 32, True, 1, 0)
    assert abs(found.follows_N.mean() - 0.5) <= 1 / len(found)
    together = found.follows_N
    assert (found.ends_N[together] == found.second_begins_N[together]).all()
    assert (found.ends_N[~together] != found.second_begins_N[~together]).all()
    for number in range(len(found)):
        row = found.row(number).tolist()
        assert len(row) + 1 <= 32
        assert row.count(END) <= 1
    both = (found.second_ends_N > found.second_begins_N).mean()
    assert both > 0.95  # a document of one symbol has no second text


def test_texts_that_change_places_are_read_once_but_for_what_no_longer_fits():
    lines = many()
    found = stretches(store(lines), 32, True, 1, 0)
    read = int((found.lengths[:, 0] - 1).sum()) - int((found.second_ends_N > found.second_begins_N).sum())
    total = sum(map(len, lines))
    assert 0.8 * total < read <= total


def test_a_text_of_nothing_has_no_stretches():
    assert len(stretches(store([[], []]), 12, True, 1, 0)) == 0
