"""Subword dropout by un-merging."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.data.unmerge import Unmerging, keys, mix, split_merges, split_unigrams

# 7 = 5 6, 6 = 3 4, 5 = 1 2: the spelling of 7 is 1 2 3 4.
SPLITS_V2 = np.array([[-1, -1]] * 5 + [[1, 2], [3, 4], [5, 6]], dtype=np.int32)


def spell(ids):
    return [letter for i in ids for letter in ([i] if SPLITS_V2[i, 0] < 0 else spell(SPLITS_V2[i].tolist()))]


def drop(probability, rows, seed=1, epoch=0, longest=99):
    rows = [np.array(row) for row in rows]
    return [
        row.tolist()
        for row in Unmerging(SPLITS_V2, probability, longest).apply(rows, keys(seed, epoch, 2, np.arange(len(rows))))
    ]


def test_splitmix_by_reference():
    # The first numbers of the reference generator with seed 0 (Vigna, splitmix64.c): state n x the golden gamma.
    states = np.arange(3, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    assert [hex(n) for n in mix(states).tolist()] == ["0xe220a8397b1dcdaf", "0x6e789e6aa1b965f4", "0x6c45d188009454f"]


def test_never_and_always():
    assert drop(0.0, [[7, 0, 5], [6]]) == [[7, 0, 5], [6]]
    assert drop(1.0, [[7, 0, 5], [], [6, 1]]) == [[1, 2, 3, 4, 0, 1, 2], [], [3, 4, 1]]


@given(
    st.lists(st.lists(st.integers(0, 7), max_size=9), min_size=1, max_size=5),
    st.floats(0, 1),
    st.integers(0, 2**64 - 1),
)
def test_spelling_stays(rows, probability, seed):
    for row, dropped in zip(rows, drop(probability, rows, seed), strict=True):
        assert spell(dropped) == spell(row)


def test_draws_are_a_function_of_seed_epoch_and_place():
    rows = [[7] * 20, [7] * 20]
    first = drop(0.5, rows)
    assert first == drop(0.5, rows)
    assert first[0] != first[1]
    assert first != drop(0.5, rows, epoch=1)
    assert first != drop(0.5, rows, seed=2)


def test_a_row_is_the_same_in_any_batch():
    unmerging, rows = Unmerging(SPLITS_V2, 0.5, 99), [np.array([7, 5, 7]), np.array([6] * 9)]
    together = unmerging.apply(rows, keys(1, 4, 1, np.array([10, 11])))
    alone = unmerging.apply(rows[1:], keys(1, 4, 1, np.array([11])))
    assert together[1].tolist() == alone[0].tolist()


def test_share_is_the_probability():
    [dropped] = drop(0.1, [[5] * 20_000], longest=40_000)
    assert (len(dropped) - 20_000) / 20_000 == pytest.approx(0.1, abs=0.01)


def test_a_row_that_would_outgrow_the_limit_stays():
    assert drop(1.0, [[7, 7], [5]], longest=7) == [[7, 7], [1, 2]]


def test_merges_are_undone_in_their_order():
    scores = {"a": -10.0, "b": -11.0, "c": -12.0, "bc": -1.0, "ab": -2.0, "abc": -3.0}
    assert split_merges("abc", scores) == ["a", "bc"]
    assert split_merges("ab", scores) == ["a", "b"]
    assert split_merges("a", scores) is None
    assert split_merges("abd", {"a": 0.0, "abd": 0.0}) is None


def test_unigrams_take_the_likeliest_cut():
    scores = {"a": -2.0, "bc": -3.0, "ab": -1.0, "c": -1.5, "abc": -4.0}
    assert split_unigrams("abc", scores) == ["ab", "c"]
    assert split_unigrams("bc", scores) is None
