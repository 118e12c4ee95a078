"""Stretches of shifted pairs."""

import numpy as np
import pytest

from antiphon.data.shifted import find_shifts


def translations(count=1500, noise=0.2):
    """Lengths of sentences and of their translations."""
    random = np.random.default_rng(3)
    source = random.normal(4, 0.5, count)
    target = source + random.normal(0, noise, count)
    return np.exp(source).astype(np.uint32), np.exp(target).astype(np.uint32)


def test_clean_data_raises_no_alarm():
    assert find_shifts(*translations()) == []
    assert find_shifts(*translations(noise=2.0)) == []


@pytest.mark.parametrize(("lines", "shift"), [(1, -1), (2, -2), (3, -3)])
def test_lines_that_are_missing_in_the_target(lines, shift):
    source, target = translations()
    lost = np.delete(target, range(600, 600 + lines))
    [(start, stop, found)] = find_shifts(source[: len(lost)], lost)
    assert found == shift
    assert abs(start - 600) < 60
    assert stop > 1400


def test_a_stretch_in_the_middle():
    source, target = translations()
    target = np.insert(np.delete(target, 900), 500, 44)  # one too many at 500, one too few at 900
    [(start, stop, shift)] = find_shifts(source, target)
    assert shift == 1
    assert abs(start - 500) < 60
    assert abs(stop - 900) < 60


def test_a_whole_file_off_by_its_heading():
    source, target = translations()
    assert find_shifts(source[:-1], target[1:]) == [(3, 1483, -1)]


def test_sorted_lengths_raise_no_alarm():
    source, target = translations()
    assert find_shifts(np.sort(source), np.sort(target)) == []


def test_turns_of_a_conversation_raise_no_alarm():
    turns, _ = translations()
    assert find_shifts(turns[:-1], turns[1:]) == []


def test_lengths_that_are_all_the_same_tell_nothing():
    same = np.full(500, 7, dtype=np.uint32)
    assert find_shifts(same, same) == []
    assert find_shifts(same[:3], same[:3]) == []
