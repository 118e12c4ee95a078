"""When a run is over, and how far it has come."""

import pytest

from antiphon.config.schema import Train
from antiphon.training.checkpoint import Progress
from antiphon.training.limits import reason_to_stop, share_done


@pytest.mark.parametrize(
    ("choices", "progress", "reason"),
    [
        ({"max_steps": 1000}, {"step": 999}, ""),
        ({"max_steps": 1000}, {"step": 1000}, "1,000 steps"),
        ({"max_steps": 0, "max_epochs": 3}, {"epoch": 2, "step": 10**9}, ""),
        ({"max_epochs": 3}, {"epoch": 3}, "3 epochs"),
        ({"max_minutes": 1.5}, {"seconds": 89.0}, ""),
        ({"max_minutes": 1.5}, {"seconds": 90.0}, "1.5 minutes"),
        ({"patience": 4}, {"since_best": 3}, ""),
        ({"patience": 4}, {"since_best": 4}, "4 validations without a new best"),
        ({}, {"since_best": 99}, ""),
    ],
)
def test_the_first_limit_ends_it(choices, progress, reason):
    assert reason_to_stop(Train(**choices), Progress(**progress)) == reason


@pytest.mark.parametrize(
    ("choices", "progress", "share"),
    [
        ({"max_steps": 10}, {"step": 4}, 0.4),
        ({"max_steps": 10, "max_epochs": 2}, {"step": 1, "epoch": 1, "index": 1, "batches": 4}, 0.625),
        ({"max_steps": 0, "max_minutes": 1.0}, {"seconds": 15.0}, 0.25),
        ({"max_steps": 10}, {"step": 12}, 1.0),
    ],
)
def test_the_limit_that_comes_first_tells_the_share(choices, progress, share):
    assert share_done(Train(**choices), Progress(**progress)) == pytest.approx(share)
