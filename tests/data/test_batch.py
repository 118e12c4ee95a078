"""Batches: padding and order."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from antiphon.data.batch import load_batch, make_batch, make_sources, plan, plan_in_order
from antiphon.data.store import PairStore
from antiphon.data.unmerge import Unmerging

lengths = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=80).map(
    lambda rows: np.array(rows, dtype=np.int32)
)


def test_a_batch_by_hand():
    batch = make_batch([[5, 6], np.array([7], dtype=np.uint16)], [[8], [9, 10]])
    assert batch.source_BS.tolist() == [[5, 6, 2], [7, 2, 0]]
    assert batch.mask_BS.tolist() == [[True, True, True], [True, True, False]]
    assert batch.target_in_BT.tolist() == [[1, 8, 0], [1, 9, 10]]
    assert batch.target_out_BT.tolist() == [[8, 2, 0], [9, 10, 2]]
    assert batch.target_mask_BT.tolist() == [[True, True, False], [True, True, True]]
    assert batch.target_tokens == 5
    assert batch.source_BS.dtype == batch.target_in_BT.dtype == torch.int64
    assert batch.target_tokens == 5


def test_the_mask_knows_lengths_not_numbers():
    source_BS, mask_BS = make_sources([[0, 2], []])
    assert source_BS.tolist() == [[0, 2, 2], [2, 0, 0]]
    assert mask_BS.tolist() == [[True, True, True], [True, False, False]]


@given(lengths, st.integers(1, 200), st.integers(0, 3))
def test_every_pair_once_within_the_budget(lengths_N2, budget, epoch):
    for batches in (plan(lengths_N2, budget, 1, epoch), plan_in_order(lengths_N2, budget)):
        assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths_N2)))
        for batch in batches:
            assert len(batch) == 1 or len(batch) * (1 + lengths_N2[batch].max()) <= budget


def random_lengths(count):
    source = np.random.default_rng(1).integers(3, 40, count)
    return np.stack([source, source + 2], 1).astype(np.int32)


def flat(batches):
    return [batch.tolist() for batch in batches]


def test_order_is_a_function_of_seed_and_epoch():
    lengths_N2 = random_lengths(3_000)
    first = flat(plan(lengths_N2, 500, 1, 0))
    assert first == flat(plan(lengths_N2, 500, 1, 0))
    assert first != flat(plan(lengths_N2, 500, 1, 1))
    assert first != flat(plan(lengths_N2, 500, 2, 0))


def test_batches_pad_little_and_come_in_no_order_of_length():
    lengths_N2 = random_lengths(20_000)
    batches = plan(lengths_N2, 1_000, 1, 0)
    widest = np.array([1 + lengths_N2[batch].max() for batch in batches])
    rows = np.array([len(batch) for batch in batches])
    assert (lengths_N2[:, 1] + 1).sum() / (widest * rows).sum() > 0.95
    assert abs(np.corrcoef(widest, np.arange(len(widest)))[0, 1]) < 0.15


def test_partners_change_from_epoch_to_epoch():
    lengths_N2 = random_lengths(5_000)
    first, second = ({frozenset(batch.tolist()) for batch in plan(lengths_N2, 500, 1, epoch)} for epoch in (0, 1))
    assert len(first & second) < 0.1 * len(first)


def test_nothing_to_plan():
    assert plan_in_order(np.zeros((0, 2), dtype=np.int32), 10) == []


def test_shortest_first():
    assert flat(plan_in_order(np.array([[1, 9], [1, 2], [1, 5]], dtype=np.int32), 10)) == [[1], [2], [0]]


@pytest.fixture
def store():
    return PairStore.of([([7] * 8, [5]), ([6], [7] * 8), ([7], [7])])


def test_load_takes_the_pairs_asked_for(store):
    batch = load_batch(store, np.array([2, 1]))
    assert batch.source_BS.tolist() == [[7, 2], [6, 2]]
    assert batch.target_out_BT[0].tolist() == [7, 2] + [0] * 7


def test_unmerged_batches_are_a_function_of_seed_epoch_and_pair(store):
    splits_V2 = np.array([[-1, -1]] * 5 + [[-1, -1], [-1, -1], [5, 6]], dtype=np.int32)
    half = Unmerging(splits_V2, 0.5, 99)
    batch = load_batch(store, np.array([0, 1]), 1, 0, half, half)
    again = load_batch(store, np.array([1, 0]), 1, 0, half, half)
    other = load_batch(store, np.array([0, 1]), 1, 1, half, half)
    assert torch.equal(batch.source_BS, again.source_BS.flip(0))
    assert not torch.equal(batch.source_BS[0], batch.target_out_BT[1])  # the sides draw apart
    assert batch.source_BS.tolist() != other.source_BS.tolist()
    plain = load_batch(store, np.array([0, 1]), 1, 0, None, half)
    assert plain.source_BS[0].tolist() == [7] * 8 + [2]
