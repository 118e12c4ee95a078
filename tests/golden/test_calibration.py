"""Temperatures and calibration errors worked out by hand."""

import math

import pytest
import torch

from antiphon.evaluate.calibration import LEAST, MOST, expected_calibration_error, fit_temperature


def two_words(height: float, right: int, wrong: int):
    """So many places at which the model prefers word 0 by this much, and word 0 is right, or wrong."""
    logits_CV = torch.tensor([[height, 0.0]]).expand(right + wrong, 2)
    words_C = torch.tensor([0] * right + [1] * wrong)
    return lambda: zip(logits_CV.split(7), words_C.split(7), strict=True)


def test_an_expected_calibration_error_by_hand():
    # Bin (0.9, 1]: sure 0.95, right half the time; bin (0.5, 0.6]: sure 0.55, always right. 2/4 x 0.45 + 2/4 x 0.45.
    assert expected_calibration_error([0.95, 0.95, 0.55, 0.55], [True, False, True, True], bins=10) == pytest.approx(
        0.45
    )
    # In one bin the two cancel out: mean 0.75 sure, 3/4 right.
    assert expected_calibration_error([0.95, 0.95, 0.55, 0.55], [True, False, True, True], bins=1) == pytest.approx(0.0)


def test_an_edge_belongs_to_the_bin_below_it_and_the_ends_to_theirs():
    assert expected_calibration_error([0.5, 0.4], [True, False], bins=2) == pytest.approx(0.05)
    assert expected_calibration_error([1.0, 0.0], [True, False]) == 0.0
    assert expected_calibration_error([1.0], [False]) == 1.0


@pytest.mark.parametrize(("height", "share"), [(4.0, 0.8), (2.0, 0.9), (1.0, 0.95), (3.0, 0.99)])
def test_two_words_have_their_temperature_in_closed_form(height, share):
    # sigmoid(b h) = share at the best b, so b = logit(share) / h; the prior moves it by less than a thousandth.
    right = round(20_000 * share)
    fit = fit_temperature(two_words(height, right, 20_000 - right))
    assert fit.temperature == pytest.approx(height / math.log(share / (1 - share)), rel=1e-3)
    assert fit.error_before == pytest.approx(abs(1 / (1 + math.exp(-height)) - share), abs=1e-5)
    assert fit.error_after == pytest.approx(0.0, abs=3e-4)
    entropy = -share * math.log(share) - (1 - share) * math.log(1 - share)
    assert fit.loss_after == pytest.approx(entropy, abs=1e-5)
    assert fit.symbols == 20_000


def test_the_prior_by_hand():
    # One place that is right: h (1 - sigmoid(b h)), the slope towards certainty, balances b - 1, that of the prior.
    h = 0.5
    b = 1 / fit_temperature(two_words(h, 1, 0)).temperature
    assert 1.1 < b < 1.2
    assert h * (1 - 1 / (1 + math.exp(-b * h))) == pytest.approx(b - 1, abs=3e-4)


def test_more_than_two_words_against_a_fine_grid():
    draw = torch.Generator().manual_seed(1)
    logits_CV = torch.randn(400, 11, generator=draw) * 3
    words_C = (logits_CV / 1.7).softmax(-1).multinomial(1, generator=draw).squeeze(1)
    fit = fit_temperature(lambda: zip(logits_CV.split(33), words_C.split(33), strict=True))

    def loss(temperature: float) -> float:
        logs_CV = (logits_CV.double() / temperature).log_softmax(-1)
        return -logs_CV.gather(1, words_C.unsqueeze(1)).sum().item() + (1 / temperature - 1) ** 2 / 2

    grid = [1 + 0.001 * n for n in range(1500)]
    assert fit.temperature == pytest.approx(min(grid, key=loss), abs=0.002)
    assert fit.loss_after < fit.loss_before
    assert fit.loss_before == pytest.approx(torch.nn.functional.cross_entropy(logits_CV, words_C).item(), rel=1e-5)


@pytest.mark.parametrize("height", [1e-3, 1.0, 50.0, 1e4])
@pytest.mark.parametrize(("right", "wrong"), [(50, 0), (0, 50), (25, 25)])
def test_no_numbers_lead_out_of_bounds(height, right, wrong):
    fit = fit_temperature(two_words(height, right, wrong))
    assert LEAST <= fit.temperature <= MOST
    assert all(math.isfinite(value) for value in vars(fit).values())
    assert fit.loss_after <= fit.loss_before + 1e-6


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_weights_that_are_not_finite_have_no_temperature(bad):
    assert fit_temperature(lambda: [(torch.tensor([[bad, 0.0], [1.0, 0.0]]), torch.tensor([0, 0]))]) is None


def test_a_temperature_that_would_raise_the_error_is_not_taken():
    # The likeliest word is right as often as it says; all other places are the second's, so the loss wants it sharper.
    row = torch.tensor([2.0, 1.0, *[0.0] * 50])
    right = round(1000 * row.softmax(0)[0].item())
    words_C = torch.tensor([0] * right + [1] * (1000 - right))
    fit = fit_temperature(lambda: [(row.expand(1000, -1), words_C)])
    sharper = torch.nn.functional.cross_entropy(row.expand(1000, -1) / 0.8, words_C).item()
    assert sharper < fit.loss_before
    assert (fit.temperature, fit.loss_after, fit.error_after) == (1.0, fit.loss_before, fit.error_before)
