"""The loss curve fits its frame, however many points there are."""

import math
import re

import pytest

from antiphon.show.curves import loss_curve

TRAIN = [(step, 4 * math.exp(-step / 40) + 1) for step in range(0, 101, 10)]
VALID = [(step, 4 * math.exp(-step / 40) + 1.5) for step in (50, 100)]


def test_a_small_curve_word_for_word() -> None:
    assert loss_curve([(0, 2.0), (10, 1.0)], [(10, 1.5)], 40, 10).split("\n") == [
        "            ─ train   ● valid",
        "    ┌──────────────────────────────────┐",
        "2.00┤⠠⠤⠤⣀⣀                             │",
        "1.75┤     ⠉⠉⠒⠒⠤⠤⣀⣀                     │",
        "1.50┤             ⠉⠉⠒⠒⠤⠤⣀⣀            ●│",
        "1.25┤                     ⠉⠉⠒⠒⠤⠤⣀⣀     │",
        "1.00┤                             ⠉⠉⠒⠒⠂│",
        "    └┬──────┬─────────┬─────┬─────────┬┘",
        "     0      2         5     7        10",
        "loss               step",
    ]


@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize(("train", "valid"), [(TRAIN, VALID), (TRAIN[:1], []), ([], VALID[:1]), (TRAIN[:2], VALID)])
def test_the_frame_has_the_size_asked_for(
    train: list[tuple[int, float]], valid: list[tuple[int, float]], colour: bool
) -> None:
    drawing = loss_curve(train, valid, 72, 15, colour)
    assert ("\x1b" in drawing) == colour
    lines = re.sub(r"\x1b\[[0-9;]*m", "", drawing).split("\n")
    assert len(lines) == 15
    assert max(map(len, lines)) == 72
    assert lines[-1].split() == ["loss", "step"]


@pytest.mark.parametrize("points", [[], [(1, math.nan), (2, math.inf)]])
def test_without_points_it_says_so(points: list[tuple[int, float]]) -> None:
    assert loss_curve(points, [], 80, 20) == "no loss to draw yet"


def test_losses_that_are_no_numbers_are_passed_over() -> None:
    assert loss_curve([*TRAIN, (55, math.nan), (60, math.inf)], VALID, 60, 12) == loss_curve(TRAIN, VALID, 60, 12)


def test_a_long_series_is_thinned_from_its_first_step_to_its_last() -> None:
    long = [(step, 1 + 1 / (1 + step)) for step in range(200_001)]
    drawing = loss_curve(long, [], 80, 16)
    assert drawing.split("\n")[-2].split() == ["0", "50000", "100000", "150000", "200000"]
    assert "2.00┤" in drawing


def test_drawing_leaves_nothing_behind(capsys: pytest.CaptureFixture[str]) -> None:
    first = loss_curve(TRAIN, VALID, 60, 12)
    loss_curve([(1, 100.0)], [], 60, 12)
    assert loss_curve(TRAIN, VALID, 60, 12) == first
    assert capsys.readouterr().out == ""


def test_a_tiny_terminal_gets_the_smallest_frame() -> None:
    lines = loss_curve(TRAIN, VALID, 0, 0).split("\n")
    assert (len(lines), max(map(len, lines))) == (10, 30)
