"""The verdict on a chain of states, from the norms alone."""

import math

import pytest

from antiphon.show.chains import Chain, judge


def a_chain(*log10_norms: float, **matrices: float) -> Chain:
    return Chain("encoder 1", "elman", tuple("x" * len(log10_norms)), log10_norms, matrices)


def falling(factor: float, places: int = 12) -> Chain:
    return a_chain(*(math.log10(factor) * back for back in reversed(range(places))))


@pytest.mark.parametrize(
    ("factor", "verdict", "sentence"),
    [
        (0.5, "vanishes", "a hundredth is left after 7 steps"),
        (0.001, "vanishes", "a hundredth is left after 1 step"),
        (0.89, "vanishes", "a hundredth is left after 40 steps"),
        (0.9, "stable", "12% of it after 20 steps"),
        (1.0, "stable", "100% of it after 20 steps"),
        (1.12, "stable", "965% of it after 20 steps"),
        (1.13, "explodes", "a hundred times as much after 38 steps"),
        (3.0, "explodes", "a hundred times as much after 5 steps"),
    ],
)
def test_verdicts_and_their_words(factor, verdict, sentence):
    chain = falling(factor)
    assert chain.factor == pytest.approx(factor)
    assert (chain.verdict, chain.sentence) == (verdict, sentence)


def test_twenty_steps_and_a_tenth_are_the_border():
    assert judge(0.1 ** (1 / 20) - 1e-9) == "vanishes"
    assert judge(0.1 ** (1 / 20) + 1e-9) == judge(10 ** (1 / 20) - 1e-9) == "stable"
    assert judge(10 ** (1 / 20) + 1e-9) == "explodes"


def test_one_odd_step_is_not_the_pace():
    """An LSTM's first step back falls to a thousandth here, and after that nothing is lost."""
    assert a_chain(-3, -3, -3, -3, -3, -3, -3, 0).factor == pytest.approx(1)


def test_halves_and_doubles():
    assert (falling(0.5).steps_to(0.5), falling(0.5).steps_to(2)) == (pytest.approx(1), None)
    assert (falling(4.0).steps_to(0.5), falling(4.0).steps_to(2)) == (None, pytest.approx(0.5))
    assert (falling(1.0).steps_to(0.5), falling(1.0).steps_to(2)) == (None, None)


def test_a_norm_of_nothing():
    chain = a_chain(-math.inf, -math.inf, -2, 0)
    assert (chain.factor, chain.verdict) == (0, "vanishes")
    assert chain.sentence == "nothing is left after 2 steps"
    assert chain.steps_to(0.5) is None


def test_few_places_make_no_verdict():
    assert (a_chain(0).factor, a_chain(0).verdict) == (None, "too short")
    assert a_chain(0).sentence == "one place: there is nothing to carry"
    assert (falling(0.1, 4).verdict, falling(0.1, 4).sentence) == ("too short", "too few places to tell")
    assert falling(0.1, 5).verdict == "vanishes"


def test_a_long_chain_is_fitted_at_once():
    assert falling(0.97, 5000).factor == pytest.approx(0.97)


def test_a_matrix_alone_tells_what_can_be_and_gates_leave_it_open():
    told = [a_chain(0, U=size).forecast for size in (0.5, 1.0, 2.0)]
    assert told == ["must vanish", "cannot explode", "can explode"]
    assert a_chain(0, forget=2.0, output=2.0).forecast is None
