"""Resume = never stopped: runs that are killed at any instant end with the very same weights, to the last bit."""

import hashlib
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from antiphon.store import CHECKPOINTS, LOG, REPORT, WEIGHTS, read_tensors
from antiphon.training.log import read_log
from tests.laws.runner import (
    CLASSIFIER,
    DENOISED,
    EVERYTHING,
    MASKED,
    PROMPTED,
    RECURRENT,
    RUNNING_RECURRENT,
    RUNNING_TRANSFORMER,
    SPANS,
    TAGGER,
    TRANSFORMER,
    sittings,
    write_labels,
    write_pairs,
    write_questions,
    write_tags,
    write_text,
)

INSIDE_A_WRITE = ("write", "fsync", "replace")


def digest(folder: Path) -> dict[str, object]:
    """All that must be equal: the weights that answer, their calibration, the last checkpoint, its counts, the curve."""
    tensors, facts = read_tensors(max((folder / CHECKPOINTS).glob("step-*.safetensors")))
    progress = json.loads(facts["progress"])
    del progress["seconds"]
    content = b"".join(name.encode() + tensors[name].numpy().tobytes() for name in sorted(tensors))
    return {
        "calibration": json.loads((folder / REPORT).read_bytes())["calibration"],
        "weights": hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest(),
        "checkpoint": hashlib.sha256(content).hexdigest(),
        "progress": progress,
        "losses": [
            (entry["step"], entry["loss"], entry["gradient_norm"], entry["clipped"])
            for entry in read_log(folder / LOG)
            if "loss" in entry
        ],
    }


def run(
    place: Path, sets: tuple[str, ...], stories: dict[str, list[dict]], write: Callable[[Path], Path] = write_pairs
) -> dict[str, list[dict]]:
    """Each story is a run folder of that name, with a sitting a plan; all of them in one process and its forks."""
    pairs = str(write(place / "pairs.tsv"))
    asked = [(name, plan) for name, plans in stories.items() for plan in plans]
    ends = sittings([{"pairs": pairs, "out": str(place / name), "sets": sets, **plan} for name, plan in asked])
    found: dict[str, list[dict]] = {name: [] for name in stories}
    for (name, _), end in zip(asked, ends, strict=True):
        found[name].append(end)
    return found


STORIES = {
    "straight": [{}],
    "killed": [
        {"at": "write", "of": "step-", "n": 2},  # half of a checkpoint is on the disk
        {"at": "replace", "of": "step-", "n": 1},  # all of it is, under its temporary name
        {"at": "step", "n": 3},
        {"at": "fsync", "of": "step-", "n": 1},
        {"at": "replaced", "of": WEIGHTS, "n": 1},  # new weights, old checkpoint
        {},
    ],
    "killed twice at an arbitrary time": [{"at": "time", "seconds": 0.3}, {"at": "time", "seconds": 0.5}, {}],
    "SIGTERM": [{"at": "step", "n": 7, "do": "SIGTERM"}, {}],
    "SIGINT": [{"at": "step", "n": 5, "do": "SIGINT"}, {}],
    "full disk": [{"at": "write", "of": "step-", "n": 2, "do": "full"}, {}],
    "file-size limit": [{"at": "step", "n": 6, "do": "limit", "bytes": 60_000}, {}],
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("resume")


@pytest.fixture(scope="module")
def ends(place):
    return run(place, RECURRENT + EVERYTHING, STORIES)


@pytest.mark.parametrize("story", [name for name in STORIES if name != "straight"])
def test_a_stopped_run_ends_as_if_never_stopped(place, ends, story):
    assert ends[story][-1]["code"] == 0, ends[story][-1]["said"]
    assert digest(place / story) == digest(place / "straight")


def test_nothing_ends_in_a_traceback(ends):
    assert "TRACEBACK" not in "".join(end["said"] for sat in ends.values() for end in sat)


def test_the_kills_were_kills(ends):
    assert [end["code"] for end in ends["killed"]] == [-9, -9, -9, -9, -9, 0]


def test_a_half_written_checkpoint_is_not_missed(ends):
    assert "Going on from step 4 in" in ends["killed"][1]["said"]


@pytest.mark.parametrize(("name", "code", "step"), [("SIGTERM", 143, 7), ("SIGINT", 130, 5)])
def test_a_signal_saves_and_stops_after_this_step(ends, name, code, step):
    first, second = ends[name]
    assert first["code"] == code
    assert first["said"].endswith(f"antiphon: Stopped at step {step} and saved. The same command goes on from there.\n")
    assert f"Going on from step {step} in" in second["said"]


@pytest.mark.parametrize(
    ("story", "file", "reason", "before"),
    [
        ("full disk", "step-00000008", "no space is left on the disk", 4),
        ("file-size limit", "step-00000008", "the file is larger than this system allows", 4),
    ],
)
def test_a_full_disk_loses_nothing(place, ends, story, file, reason, before):
    first, second = ends[story]
    assert first["code"] == 1
    path = place / story / CHECKPOINTS / f"{file}.safetensors"
    assert first["said"].endswith(
        f"antiphon: {path}: cannot be written: {reason}.\n"
        "What was there before is whole: make room or choose another --out, and run the same command again.\n"
    )
    assert f"Going on from step {before} in" in second["said"]


@pytest.mark.parametrize(
    ("sets", "write"),
    [
        (CLASSIFIER, write_labels),
        (TAGGER, write_tags),
        (PROMPTED, write_pairs),
        (DENOISED, write_text),
        (MASKED, write_text),
        (SPANS, write_questions),
    ],
    ids=["labels", "tags", "prompts", "holes", "masks", "spans"],
)
def test_other_shapes_go_on_too(tmp_path, sets, write):
    stories = {
        "straight": [{}],
        "stopped": [
            {"at": "step", "n": 3, "do": "SIGTERM"},
            {"at": "write", "of": "step-", "n": 1},
            {"at": "step", "n": 4},
            {},
        ],
    }
    ends = run(tmp_path, sets, stories, write)
    assert [end["code"] for end in ends["stopped"]] == [143, -9, -9, 0], ends["stopped"][-1]["said"]
    assert digest(tmp_path / "stopped") == digest(tmp_path / "straight")


@pytest.mark.parametrize("sets", [RUNNING_RECURRENT, RUNNING_TRANSFORMER], ids=["carried state", "windows anywhere"])
def test_a_running_text_is_read_on_where_it_was_left(tmp_path, sets):
    """Among all else the state is carried over a stop, in the midst of an epoch and of its windows."""
    stories = {
        "straight": [{}],
        "stopped": [{"at": "step", "n": 3, "do": "SIGTERM"}, {"at": "step", "n": 6}, {"at": "step", "n": 4}, {}],
    }
    ends = run(tmp_path, sets, stories, write_text)
    assert [end["code"] for end in ends["stopped"]] == [143, -9, -9, 0], ends["stopped"][-1]["said"]
    assert digest(tmp_path / "stopped") == digest(tmp_path / "straight")
    tensors, facts = read_tensors(max((tmp_path / "straight" / CHECKPOINTS).glob("step-*.safetensors")))
    assert json.loads(facts["progress"])["epoch"] >= 1
    carried = sorted(name for name in tensors if name.startswith("carried."))
    recurrent = ["carried.000.0", "carried.000.1", "carried.001.0", "carried.001.1"]
    assert carried == (recurrent if sets is RUNNING_RECURRENT else [])


def plan_kills(draw: random.Random) -> list[dict]:
    """Five kills and the way to the end; at least two are inside a write."""
    inside = [
        {"at": draw.choice(INSIDE_A_WRITE), "of": draw.choice([CHECKPOINTS, CHECKPOINTS, ""]), "n": draw.randint(1, 2)}
        for _ in range(2)
    ]
    other = [
        {"at": "step", "n": draw.randint(1, 6)},
        {"at": "time", "seconds": draw.uniform(0.02, 0.8)},
        {"at": draw.choice(["replaced", "fsync", "write"]), "n": draw.randint(1, 12)},
    ]
    plans = inside + other
    draw.shuffle(plans)
    return [*plans, {}]


@pytest.mark.slow
@pytest.mark.parametrize("model", [RECURRENT, TRANSFORMER], ids=["recurrent", "transformer"])
def test_fifty_kills_change_nothing(tmp_path, model):
    draw = random.Random(7)
    stories = {"straight": [{}]} | {f"run {n}": plan_kills(draw) for n in range(13)}
    ends = run(tmp_path, model + EVERYTHING, stories)
    killed = [
        plan
        for name, plans in stories.items()
        for plan, end in zip(plans, ends[name], strict=True)
        if end["code"] == -9
    ]
    assert len(killed) >= 50
    assert sum(plan["at"] in INSIDE_A_WRITE for plan in killed) >= 10
    assert "damaged" not in "".join(end["said"] for sat in ends.values() for end in sat)
    for name in stories:
        assert ends[name][-1]["code"] == 0, ends[name][-1]["said"]
        assert digest(tmp_path / name) == digest(tmp_path / "straight"), (name, stories[name])


@pytest.mark.slow
def test_a_disk_that_is_full_at_any_point_loses_nothing(tmp_path):
    plans = [{"at": "write", "n": 1 + n * 9 // 5, "do": "full"} for n in range(20)]
    stories = {"straight": [{}]} | {f"full at {n}": [plan, {}] for n, plan in enumerate(plans)}
    ends = run(tmp_path, RECURRENT + EVERYTHING, stories)
    for name in stories:
        assert [end["code"] for end in ends[name]] in ([0], [1, 0]), ends[name]
        assert digest(tmp_path / name) == digest(tmp_path / "straight")
