"""Checkpoints: a damaged one is refused and passed over, and nothing that someone else put there is touched."""

import random
from pathlib import Path

import pytest
import torch

from antiphon.errors import AntiphonError
from antiphon.store import CHECKPOINTS, read_tensors
from antiphon.training.checkpoint import Progress, load_best, load_newest, save_best, save_checkpoint

TENSORS = {"model.a": torch.arange(600.0).view(20, 30), "mean.a": torch.ones(20, 30), "model.b": torch.zeros(3)}


def saved(run: Path, *steps: int) -> list[Path]:
    for step in steps:
        save_checkpoint(run, TENSORS, Progress(step=step, best=[(0.5, step)]))
    return sorted((run / CHECKPOINTS).iterdir())


def nothing(_: str) -> None:
    raise AssertionError("nothing was to be told")


def test_what_is_saved_is_loaded(tmp_path):
    progress = Progress(
        "files", 7, 6, 1, 3, 9, 2.5, 99, 1, 0, 3, [0.5, 1.25], 4, [(0.25, 4), (0.5, 2)], 0.125, 2, [4, 2], 7, "7 steps"
    )
    save_checkpoint(tmp_path, TENSORS, progress)
    tensors, loaded = load_newest(tmp_path, nothing)
    assert loaded == progress
    assert tensors.keys() == TENSORS.keys()
    assert all(torch.equal(tensors[name], TENSORS[name]) for name in TENSORS)


def test_an_older_one_kept_the_best(tmp_path):
    save_checkpoint(tmp_path, TENSORS, Progress(best=[(0.25, 4), (0.5, 2)]))
    assert load_newest(tmp_path, nothing)[1].kept == 0.25


def test_there_is_none_at_first(tmp_path):
    assert load_newest(tmp_path, nothing) is None


def test_the_last_two_are_kept(tmp_path):
    assert [path.name for path in saved(tmp_path, 5, 10, 15)] == [
        "step-00000010.safetensors",
        "step-00000015.safetensors",
    ]


def test_the_last_is_by_number_not_by_name(tmp_path):
    saved(tmp_path, 99_999_999, 100_000_000)
    assert load_newest(tmp_path, nothing)[1].step == 100_000_000


def test_best_weights_live_as_long_as_a_kept_checkpoint_needs_them(tmp_path):
    def best_after(step: int, best: list[tuple[float, int]], before: list[int]) -> list[int]:
        for _, each in best:
            save_best(tmp_path, TENSORS, each)
        save_checkpoint(tmp_path, TENSORS, Progress(step=step, best=best, saved_best=before))
        return sorted(int(path.stem[5:]) for path in (tmp_path / CHECKPOINTS).glob("best-*"))

    assert best_after(2, [(0.9, 1), (0.8, 2)], []) == [1, 2]
    # Step 1 is no longer among the best, but whoever falls back to the checkpoint of step 2 needs it.
    assert best_after(4, [(0.8, 2), (0.7, 3)], [1, 2]) == [1, 2, 3]
    assert best_after(6, [(0.7, 3), (0.6, 5)], [2, 3]) == [2, 3, 5]


def test_what_someone_else_put_there_is_neither_read_nor_deleted(tmp_path):
    saved(tmp_path, 5)
    others = ["step-backup.safetensors", "best-one.safetensors", "step-00000009.safetensors.old", "notes.txt"]
    for name in others:
        (tmp_path / CHECKPOINTS / name).write_text("mine")
    names = {path.name for path in saved(tmp_path, 10, 15)}
    assert names == {*others, "step-00000010.safetensors", "step-00000015.safetensors"}
    assert load_newest(tmp_path, nothing)[1].step == 15


def test_a_half_written_file_is_tidied_away(tmp_path):
    saved(tmp_path, 5)
    (tmp_path / CHECKPOINTS / "step-00000010.safetensors.partial").write_bytes(b"half")
    assert load_newest(tmp_path, nothing)[1].step == 5
    assert [path.name for path in saved(tmp_path, 10)] == ["step-00000005.safetensors", "step-00000010.safetensors"]


def damage(path: Path, draw: random.Random) -> None:
    content = bytearray(path.read_bytes())
    if draw.random() < 0.5:
        content = content[: draw.randrange(len(content))]
    else:
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    path.write_bytes(content)


def test_two_hundred_damaged_checkpoints_are_refused_and_the_one_before_is_taken(tmp_path):
    _, last = saved(tmp_path, 5, 10)
    whole, draw = last.read_bytes(), random.Random(5)
    for _ in range(200):
        last.write_bytes(whole)
        damage(last, draw)
        told = []
        _, progress = load_newest(tmp_path, told.append)
        assert progress.step == 5
        assert len(told) == 1
        assert told[0].startswith(f"{last}: ")
        assert told[0].endswith(" Passed over.")


def test_a_damaged_checkpoint_is_named(tmp_path):
    _, last = saved(tmp_path, 5, 10)
    last.write_bytes(last.read_bytes()[:-1])
    told = []
    load_newest(tmp_path, told.append)
    assert told == [
        f"{last}: damaged: its checksum does not match, or it is cut short. Copy it anew, or train again. Passed over."
    ]


def test_after_a_fall_back_the_damaged_one_does_not_count_as_kept(tmp_path):
    _, last = saved(tmp_path, 5, 10)
    last.write_bytes(b"")
    assert [path.name for path in saved(tmp_path, 7)] == ["step-00000005.safetensors", "step-00000007.safetensors"]


def test_without_a_whole_checkpoint_the_run_does_not_quietly_start_over(tmp_path):
    for path in saved(tmp_path, 5, 10):
        path.write_bytes(b"")
    with pytest.raises(AntiphonError) as caught:
        load_newest(tmp_path, [].append)
    assert str(caught.value) == (
        f"{tmp_path / CHECKPOINTS}: no checkpoint in it is whole. Copy one from elsewhere, "
        "or start over with --fresh, which deletes the run."
    )


def test_a_damaged_best_is_left_out_of_the_average(tmp_path):
    for step in (1, 2, 3):
        save_best(tmp_path, {"a": torch.full((2,), float(step))}, step)
    path = tmp_path / CHECKPOINTS / "best-00000002.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    told = []
    parts = load_best(tmp_path, [1, 2, 3], told.append)
    assert [part["a"].tolist() for part in parts] == [[1.0, 1.0], [3.0, 3.0]]
    assert told == [
        f"{path}: damaged: its checksum does not match, or it is cut short. Copy it anew, or train again. "
        "Left out of the average."
    ]


def test_equal_weights_are_equal_files(tmp_path):
    """The library writes facts in a random order; a dozen files would show it."""
    contents = set()
    for number in range(12):
        save_checkpoint(tmp_path / str(number), TENSORS, Progress(step=1))
        contents.add((tmp_path / str(number) / CHECKPOINTS / "step-00000001.safetensors").read_bytes())
    assert len(contents) == 1
    tensors, facts = read_tensors(tmp_path / "0" / CHECKPOINTS / "step-00000001.safetensors")
    assert set(facts) == {"antiphon", "progress"}
    assert set(tensors) == set(TENSORS)
