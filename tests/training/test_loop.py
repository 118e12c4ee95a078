"""The loop: what is skipped, what is kept, when it ends, and that the best weights are the ones that answer."""

import io
import json
import math
from pathlib import Path

import pytest
import torch
from rich.console import Console

from antiphon.config.toml import load_run
from antiphon.errors import AntiphonError
from antiphon.store import CHECKPOINTS, WEIGHTS, load_folder, read_tensors, weights_of, write_tensors
from antiphon.training import loop
from antiphon.training import objective as objective_module
from antiphon.training.checkpoint import load_newest
from antiphon.training.log import read_log
from antiphon.training.loop import train
from tests.laws.runner import EVERYTHING, RECURRENT, WORDS, write_pairs


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    return write_pairs(tmp_path_factory.mktemp("data") / "pairs.tsv", 80)


def a_run(pairs: Path, *sets: str):
    return load_run(None, None, {"data": {"train": [str(pairs)]}}, [*RECURRENT, *WORDS, *sets])


def trained(run, out: Path) -> str:
    console = Console(file=io.StringIO(), width=100)
    train(run, out, console=console)
    return console.file.getvalue()


def poison(monkeypatch, at, value=math.nan):
    """Let the loss of these steps (counted from 1, a batch each) be no number."""
    real, steps = objective_module.cross_entropy, iter(range(1, 10_000))

    def cross_entropy(*arguments):
        loss = real(*arguments)
        return loss * value if next(steps) in at else loss

    monkeypatch.setattr(objective_module, "cross_entropy", cross_entropy)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_no_number_is_skipped_counted_and_told(pairs, tmp_path, monkeypatch, value):
    bad = {2, 3, 5, 8, 10, 11, 12, 13, 20}
    poison(monkeypatch, bad, value)
    said = trained(a_run(pairs), tmp_path / "run")
    for step in bad:
        assert f"step {step}: the loss or its gradient is not finite; this update is skipped.\n" in said
    tensors, progress = load_newest(tmp_path / "run", said.split)
    assert (progress.step, progress.updates, progress.skipped, progress.skipped_in_a_row) == (24, 15, 9, 0)
    assert all(tensor.isfinite().all() for tensor in tensors.values())
    lines = (tmp_path / "run" / "log.jsonl").read_text(encoding="utf-8").splitlines()
    entries = [json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is no JSON")) for line in lines]
    assert {entry["step"] for entry in entries if entry.get("skipped")} == bad


def test_a_skipped_update_leaves_weights_and_averages_as_they_were(pairs, tmp_path, monkeypatch):
    run = a_run(pairs, "train.max_steps=2", "train.save_every=1", "train.ema=0.9")
    poison(monkeypatch, {2})
    trained(run, tmp_path / "run")
    first, second = (read_tensors(path)[0] for path in sorted((tmp_path / "run" / CHECKPOINTS).glob("step-*")))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_ten_in_a_row_stop_the_run_and_what_was_saved_stays(pairs, tmp_path, monkeypatch):
    poison(monkeypatch, range(6, 100))
    with pytest.raises(AntiphonError) as caught:
        trained(a_run(pairs), tmp_path / "run")
    assert str(caught.value) == (
        "train.learning_rate: 0.01 gave no finite loss 10 times in a row (steps up to 15). "
        "Lower it, or raise train.warmup, and start over with --fresh."
    )
    assert caught.value.code == 2
    _, progress = load_newest(tmp_path / "run", [].append)
    assert (progress.step, progress.updates) == (12, 5)
    load_folder(tmp_path / "run")


@pytest.mark.parametrize(("clip", "share"), [(1e-6, 1.0), (1e6, 0.0), (0.0, 0.0)])
def test_the_gradient_and_its_clipping_are_logged(pairs, tmp_path, clip, share):
    said = trained(a_run(pairs, f"train.clip={clip}"), tmp_path / "run")
    entries = [entry for entry in read_log(tmp_path / "run" / "log.jsonl") if "loss" in entry]
    assert [entry["clipped"] for entry in entries] == [share, share]
    assert all(0 < entry["gradient_norm"] < 100 for entry in entries)
    _, progress = load_newest(tmp_path / "run", said.split)
    assert progress.clipped == 24 * share
    assert len(progress.norms) == 10
    assert f"{share:.0%} of the updates were clipped." in said
    assert json.loads((tmp_path / "run" / "report.json").read_text("utf-8"))["clipped_updates"] >= 6 * share


def test_a_gradient_that_was_skipped_is_not_counted(pairs, tmp_path, monkeypatch):
    poison(monkeypatch, {1, 10}, math.inf)
    trained(a_run(pairs, "train.clip=1e-6", "train.max_steps=12", "train.validate_every=12"), tmp_path / "run")
    _, progress = load_newest(tmp_path / "run", [].append)
    assert (progress.updates, progress.clipped) == (10, 10)
    assert all(math.isfinite(norm) for norm in progress.norms)


def test_patience_ends_a_run_that_no_longer_improves(pairs, tmp_path, monkeypatch):
    values = iter([0.5, 0.4, 0.6, 0.7, 0.1, 0.1, 0.1])
    monkeypatch.setattr(loop, "judge", lambda *a: loop.Judgement(next(values), {"loss": 1.0}, [], []))
    run = a_run(pairs, "train.patience=2", "train.validate_every=2", "train.max_steps=0", "train.max_epochs=50")
    said = trained(run, tmp_path / "run")
    assert "Finished: 2 validations without a new best," in said
    assert "Best at step 4." in said


def test_the_best_weights_answer_not_the_last(pairs, tmp_path, monkeypatch):
    values = iter([0.5, 0.1, 0.6, 0.7])
    monkeypatch.setattr(loop, "judge", lambda *a: loop.Judgement(next(values), {"loss": 1.0}, [], []))
    run = a_run(pairs, "train.validate_every=4", "train.save_every=8", "train.max_steps=16")
    trained(run, tmp_path / "run")
    weights, _ = read_tensors(tmp_path / "run" / WEIGHTS)
    best, _ = read_tensors(tmp_path / "run" / CHECKPOINTS / "step-00000008.safetensors")
    last, _ = read_tensors(tmp_path / "run" / CHECKPOINTS / "step-00000016.safetensors")
    assert all(torch.equal(weights[name], best[f"model.{name}"]) for name in weights)
    assert not all(torch.equal(weights[name], last[f"model.{name}"]) for name in weights)


def test_the_moving_average_is_what_answers(pairs, tmp_path):
    trained(a_run(pairs, "train.ema=0.9", "train.max_steps=6"), tmp_path / "run")
    weights, _ = read_tensors(tmp_path / "run" / WEIGHTS)
    last, _ = read_tensors(tmp_path / "run" / CHECKPOINTS / "step-00000006.safetensors")
    assert all(torch.equal(weights[name], last[f"ema.{name}"]) for name in weights)
    assert not torch.equal(weights["head.weight_VE"], last["model.head.weight_VE"])


@pytest.mark.parametrize("value", [0.05, 0.3])
def test_the_average_of_the_best_is_kept_only_where_it_is_better(pairs, tmp_path, monkeypatch, value):
    values = iter([0.5, 0.1, 0.4, 0.2, value])
    monkeypatch.setattr(loop, "judge", lambda *a: loop.Judgement(next(values), {"loss": 1.0}, [], []))
    run = a_run(pairs, "train.validate_every=2", "train.average=3", "train.max_steps=8", "train.save_every=2")
    said = trained(run, tmp_path / "run")
    weights, _ = read_tensors(tmp_path / "run" / WEIGHTS)
    parts = [read_tensors(tmp_path / "run" / CHECKPOINTS / f"best-{n:08}.safetensors")[0] for n in (4, 8, 6)]
    mean = {name: torch.stack([part[name] for part in parts]).mean(0) for name in weights}
    expected = mean if value < 0.1 else parts[0]
    assert all(torch.equal(weights[name], expected[name]) for name in weights)
    assert f"The average of 3 best: loss 1: {'kept' if value < 0.1 else 'the best alone is better'}.\n" in said


def test_an_average_that_was_kept_stays_until_something_is_better(pairs, tmp_path, monkeypatch):
    values = iter([0.5, 0.4, 0.1, 0.3, 0.35, 0.05, 0.2])
    monkeypatch.setattr(loop, "judge", lambda *a: loop.Judgement(next(values), {"loss": 1.0}, [], []))
    sets = ("train.validate_every=2", "train.average=2", "train.save_every=2")
    trained(a_run(pairs, *sets, "train.max_steps=4"), tmp_path / "run")
    average = (tmp_path / "run" / WEIGHTS).read_bytes()
    said = trained(a_run(pairs, *sets, "train.max_steps=6"), tmp_path / "run")
    assert "best so far" not in said.partition("Going on")[2]
    assert (tmp_path / "run" / WEIGHTS).read_bytes() == average
    trained(a_run(pairs, *sets, "train.max_steps=8"), tmp_path / "run")
    assert (tmp_path / "run" / WEIGHTS).read_bytes() != average


def test_a_validation_that_is_no_number_is_not_the_best_for_ever(pairs, tmp_path, monkeypatch):
    values = iter([math.nan, 2.0, math.nan])
    monkeypatch.setattr(loop, "judge", lambda *a: loop.Judgement(next(values), {"loss": 1.0}, [], []))
    said = trained(a_run(pairs, "train.validate_every=2", "train.max_steps=6"), tmp_path / "run")
    assert "Best at step 4." in said


def test_a_longer_cosine_is_told_to_be_another(pairs, tmp_path):
    sets = ("train.schedule=cosine", "train.max_steps=4")
    trained(a_run(pairs, *sets), tmp_path / "run")
    assert "exactly as if never stopped." in trained(a_run(pairs, *sets), tmp_path / "run")
    said = trained(a_run(pairs, "train.schedule=cosine", "train.max_steps=8"), tmp_path / "run")
    assert "run, with the rate of 8 steps instead of 4." in said.replace("\n", " ")


def test_a_finished_run_stays_finished_and_a_longer_limit_goes_on(pairs, tmp_path):
    trained(a_run(pairs, "train.max_steps=6"), tmp_path / "run")
    before = (tmp_path / "run" / WEIGHTS).read_bytes()
    said = trained(a_run(pairs, "train.max_steps=6"), tmp_path / "run")
    assert "Finished: 6 steps," in said
    assert (tmp_path / "run" / WEIGHTS).read_bytes() == before
    assert "Finished: 12 steps," in trained(a_run(pairs, "train.max_steps=12"), tmp_path / "run")
    trained(a_run(pairs, "train.max_steps=12"), tmp_path / "straight")
    assert (tmp_path / "run" / WEIGHTS).read_bytes() == (tmp_path / "straight" / WEIGHTS).read_bytes()


def test_fresh_starts_over(pairs, tmp_path):
    trained(a_run(pairs, "train.max_steps=4"), tmp_path / "run")
    train(a_run(pairs, "train.max_steps=4", "seed=2"), tmp_path / "run", fresh=True)
    assert load_folder(tmp_path / "run").run.seed == 2


def test_epochs_end_a_run_after_every_pair_was_seen(pairs, tmp_path):
    trained(a_run(pairs, "train.max_steps=0", "train.max_epochs=2"), tmp_path / "run")
    _, progress = load_newest(tmp_path / "run", [].append)
    assert (progress.epoch, progress.index, progress.finished) == (2, 0, "2 epochs")
    prepared = loop.prepare(a_run(pairs).data, tmp_path / "run" / "tokens")
    assert progress.tokens == 2 * (prepared.train.lengths[:, 1].sum() + len(prepared.train))


def test_the_same_seed_gives_the_same_model_and_another_another(pairs, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        trained(a_run(pairs, "train.max_steps=3", f"seed={seed}"), tmp_path / name)
    a, b, c = ((tmp_path / name / WEIGHTS).read_bytes() for name in "abc")
    assert a == b != c


def test_training_can_be_looked_at_before_the_first_validation(pairs, tmp_path, monkeypatch):
    run = a_run(pairs, "train.save_every=2", "train.validate_every=100")
    monkeypatch.setattr(loop, "_GIVE_UP", 1)
    poison(monkeypatch, {4})
    with pytest.raises(AntiphonError):
        trained(run, tmp_path / "run")
    assert weights_of(load_folder(tmp_path / "run").model)


def test_the_log_tells_the_whole_story(pairs, tmp_path):
    said = trained(a_run(pairs, *EVERYTHING, "train.self_check=true", "train.max_steps=20"), tmp_path / "run")
    entries = read_log(tmp_path / "run" / "log.jsonl")
    assert entries[0]["self_check"]["pairs"] == 8
    assert [entry["step"] for entry in entries if "loss" in entry] == [10, 20]
    assert [entry["step"] for entry in entries if "valid" in entry] == [6, 12, 18, 20]
    assert entries[-1]["average_of"] == [20, 18, 12]
    assert said.count("  validation: loss ") == 4
    assert "\nSelf-check" in said
    assert "80 read" in said


def test_a_run_of_another_version_is_refused_and_kept(pairs, tmp_path):
    out = tmp_path / "run"
    trained(a_run(pairs), out)
    newest = sorted((out / CHECKPOINTS).glob("step-*"))[-1]
    tensors, facts = read_tensors(newest)
    write_tensors(newest, {name.replace("encoder.", "reader."): value for name, value in tensors.items()}, facts)
    with pytest.raises(AntiphonError) as caught:
        trained(a_run(pairs), out)
    assert str(caught.value) == (
        f"{out}: begun by another version of Antiphon, whose weights have other names. "
        "Choose another --out, or start over there with --fresh, which deletes it."
    )
    assert newest.exists()
