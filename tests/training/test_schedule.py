"""The learning rate, by hand."""

import math

import pytest

from antiphon.config.schema import Train
from antiphon.training.schedule import learning_rate


def rates(steps, **choices):
    choice = Train(learning_rate=2.0, **choices)
    return [learning_rate(step, choice) for step in steps]


def test_it_rises_to_the_highest_rate_in_equal_steps():
    assert rates([0, 1, 2, 3], warmup=4, schedule="constant") == [0.5, 1.0, 1.5, 2.0]


def test_constant_stays():
    assert rates([4, 5, 10**6], warmup=4, schedule="constant") == [2.0, 2.0, 2.0]


def test_inverse_square_root_meets_the_warm_up_and_halves_at_four_times_its_length():
    assert rates([3, 4, 15], warmup=4, schedule="inverse_sqrt") == pytest.approx([2.0, 2 * math.sqrt(4 / 5), 1.0])
    assert rates([0, 3], warmup=0, schedule="inverse_sqrt") == pytest.approx([2.0, 1.0])


def test_the_cosine_falls_to_nothing_at_the_end_and_stays_there():
    found = rates([4, 9, 14, 20], warmup=4, max_steps=14, schedule="cosine")
    assert found == pytest.approx([2.0, 1.0, 0.0, 0.0])


@pytest.mark.parametrize("schedule", ["constant", "inverse_sqrt", "cosine"])
@pytest.mark.parametrize("warmup", [0, 1, 7, 100])
def test_it_is_never_above_the_highest_and_never_below_nothing(schedule, warmup):
    found = rates(range(300), warmup=warmup, max_steps=50, schedule=schedule)
    assert all(0.0 <= rate <= 2.0 for rate in found)
    assert found[warmup:] == sorted(found[warmup:], reverse=True)
