"""Noise: by hand where the draws are given, by law where they are drawn."""

from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from antiphon.config.schema import Corruption
from antiphon.data.batch import DROP, HIDDEN, REPLACE, REPLACEMENT, SWAP, Batch, make_batch
from antiphon.data.vocab import END, PAD, SPECIAL, START, UNKNOWN
from antiphon.training.noise import Draws, corrupt, hide_words

SIZE = 20
DRAWS = Draws(seed=5, step=7, part=0)


class Given:
    """Draws that a test writes down; what it does not name never happens."""

    def __init__(self, numbers: dict[int, list[list[float]]]) -> None:
        self.numbers = numbers

    def uniform(self, purpose: int, rows: int, places: int) -> np.ndarray:
        drawn = np.full((rows, places), 0.999)
        for row, numbers in enumerate(self.numbers.get(purpose, [])):
            drawn[row, : len(numbers)] = numbers
        return drawn


def sources(batch: Batch) -> list[list[int]]:
    return [row[mask].tolist() for row, mask in zip(batch.source_BS, batch.mask_BS, strict=True)]


def corrupted(rows, drawn=None, **choice) -> list[list[int]]:
    batch = make_batch(rows, [[4]] * len(rows))
    return sources(corrupt(batch, Corruption(**choice), SIZE, Given(drawn) if drawn else DRAWS))


def test_nothing_chosen_nothing_changed():
    batch = make_batch([[4, 5]], [[6]])
    assert corrupt(batch, Corruption(), SIZE, DRAWS) is batch
    assert hide_words(batch, 0.0, DRAWS) is batch


def test_words_change_places_with_the_next_and_none_moves_twice():
    drawn = {SWAP: [[0.1, 0.1, 0.9, 0.1, 0.1], [0.9, 0.1, 0.1], [0.1]]}
    found = corrupted([[4, 5, 6, 7, 8], [4, 5, 6], [9]], drawn, swap=0.5)
    # 4 goes right; 5 has come from there and stays; 6 draws no swap; 7 goes right, and 8 has come from there.
    assert found == [[5, 4, 6, 8, 7, END], [4, 6, 5, END], [9, END]]


def test_every_swap_at_once_pairs_the_words_off():
    always = {SWAP: [[0.0] * 6] * 2}
    assert corrupted([[4, 5, 6, 7], [4, 5, 6, 7, 8]], always, swap=0.5) == [[5, 4, 7, 6, END], [5, 4, 7, 6, 8, END]]


def test_words_are_replaced_by_words():
    drawn = {REPLACE: [[0.1, 0.9, 0.1, 0.1]], REPLACEMENT: [[0.0, 0.0, 0.5, 0.0]]}
    # 16 words stand behind the 4 special symbols; the end keeps its place whatever is drawn for it.
    assert corrupted([[4, 5, 6]], drawn, replace=0.5) == [[4, 5, 12, END]]
    last = {REPLACE: [[0.0]], REPLACEMENT: [[1 - 2**-53]]}
    assert corrupted([[4]], last, replace=0.5) == [[SIZE - 1, END]]


def test_dropped_words_vanish_and_the_padding_with_them():
    drawn = {DROP: [[0.1, 0.9, 0.1, 0.1, 0.0], [0.6, 0.5, 0.4]]}
    batch = corrupt(make_batch([[4, 5, 6, 7], [8, 9, 10]], [[4], [5]]), Corruption(drop=0.5), SIZE, Given(drawn))
    assert batch.source_BS.tolist() == [[5, END, PAD], [8, 9, END]]
    assert batch.mask_BS.tolist() == [[True, True, False], [True, True, True]]


def test_the_last_word_is_never_dropped():
    assert corrupted([[4, 5, 6], [7]], {DROP: [[0.1, 0.3, 0.2], [0.0]]}, drop=0.5) == [[5, END], [7, END]]


def test_a_source_without_words_stays_one():
    assert corrupted([[], []], swap=0.9, replace=0.9, drop=0.9) == [[END], [END]]


def test_swap_then_replace_then_drop():
    drawn = {SWAP: [[0.1]], REPLACE: [[0.1]], REPLACEMENT: [[0.0]], DROP: [[0.9, 0.1, 0.9]]}
    # 4 5 6, swapped 5 4 6, replaced 4 4 6, and the second place dropped.
    assert corrupted([[4, 5, 6]], drawn, swap=0.5, replace=0.5, drop=0.5) == [[4, 6, END]]


SHARES = st.just(0.0) | st.floats(0.0, 0.99)


@given(
    st.lists(st.lists(st.integers(len(SPECIAL), SIZE - 1), max_size=9), min_size=1, max_size=5),
    SHARES, SHARES, SHARES, st.integers(0, 2**63 - 1), st.integers(0, 10**9),
)  # fmt: skip
def test_what_is_corrupted_is_still_a_batch(rows, swap, replace, drop, seed, step):
    batch = make_batch(rows, [[4, 5]] * len(rows))
    before = batch.source_BS.clone()
    found = corrupt(batch, Corruption(swap=swap, replace=replace, drop=drop), SIZE, Draws(seed, step, 0))
    assert torch.equal(batch.source_BS, before)
    for row, symbols, mask in zip(rows, found.source_BS, found.mask_BS, strict=True):
        kept = int(mask.sum())
        assert mask.tolist() == [True] * kept + [False] * (len(mask) - kept)
        assert symbols[kept - 1] == END
        assert (symbols[kept:] == PAD).all()
        words = symbols[: kept - 1].tolist()
        assert min(len(row), 1) <= len(words) <= len(row)
        assert all(len(SPECIAL) <= word < SIZE for word in words)
        assert drop or len(words) == len(row)
        assert replace or not Counter(words) - Counter(row)
    assert found.source_BS.shape[1] == max(len(row) for row in sources(found))
    assert found.target_in_BT is batch.target_in_BT
    assert found.target_out_BT is batch.target_out_BT


MANY = [list(range(4, 14))] * 4000


def test_the_shares_are_met():
    dropped = corrupted(MANY, drop=0.2)
    assert sum(len(row) - 1 for row in dropped) / 40_000 == pytest.approx(0.8, abs=0.01)
    replaced = np.array(corrupted(MANY, replace=0.3))[:, :-1]
    # One replacement in 16 is the word itself.
    assert (replaced != np.array(MANY)).mean() == pytest.approx(0.3 * 15 / 16, abs=0.01)
    assert np.bincount(replaced[:, 0], minlength=SIZE)[5:].std() < 15  # 75 each, and chance makes 8.7 of them
    swapped = np.array(corrupted(MANY, swap=0.1))[:, :-1]
    assert (swapped[:, 0] != 4).mean() == pytest.approx(0.1, abs=0.02)
    assert (swapped[:, 1] == 6).mean() == pytest.approx(0.9 * 0.1, abs=0.02)


def test_decoder_inputs_are_hidden_but_never_the_start_or_the_padding():
    batch = make_batch([[4], [5]], [[4, 5, 6], [7]])
    found = hide_words(batch, 0.5, Given({HIDDEN: [[0.0, 0.1, 0.9, 0.4], [0.0] * 4]}))
    assert found.target_in_BT.tolist() == [[START, UNKNOWN, 5, UNKNOWN], [START, UNKNOWN, PAD, PAD]]
    assert batch.target_in_BT.tolist() == [[START, 4, 5, 6], [START, 7, PAD, PAD]]
    assert torch.equal(found.target_out_BT, batch.target_out_BT)


def test_the_share_of_hidden_words_is_met():
    batch = make_batch([[4]] * 4000, [[4] * 10] * 4000)
    found = hide_words(batch, 0.3, DRAWS).target_in_BT
    assert (found[:, 1:] == UNKNOWN).double().mean() == pytest.approx(0.3, abs=0.01)
    assert (found[:, 0] == START).all()


def test_draws_are_functions_of_all_they_are_for():
    drawn = DRAWS.uniform(DROP, 3, 4)
    assert drawn.shape == (3, 4)
    assert (drawn >= 0).all()
    assert (drawn < 1).all()
    assert len(set(drawn.flatten().tolist())) == 12
    assert (DRAWS.uniform(DROP, 5, 9)[:3, :4] == drawn).all()
    others = [Draws(6, 7, 0), Draws(5, 8, 0), Draws(5, 7, 1)]
    for other in [*(draws.uniform(DROP, 3, 4) for draws in others), DRAWS.uniform(SWAP, 3, 4)]:
        assert not np.isin(other, drawn).any()
