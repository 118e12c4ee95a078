"""A crew: a process that fails, is lost or cannot begin is told of, and what is asked next is still right."""

import os
import signal
import subprocess
import sys
import time
from functools import partial

import pytest
import torch

from antiphon.build.model import build_model
from antiphon.config import schema
from antiphon.data.batch import make_batch
from antiphon.errors import CrewError
from antiphon.training.learner import Learner
from tests.laws.runner import WORDS, write_pairs

# The recurrent matrices of this cell are parameters of parameters, which cannot be sent as a module.
HALF = {"kind": "recurrent", "cell": "orthogonal", "width": 6, "embedding": 6, "dropout": 0.2}
MODEL = schema.Seq2Seq.model_validate({"encoder": HALF, "decoder": HALF})
BATCHES = [make_batch([[4, 5, 6], [7]], [[4], [5, 6, 7, 8]]), make_batch([[8, 9]], [[9, 4]]), make_batch([[5]], [[6]])]
MAKE = partial(build_model, MODEL, 10, 10)


def a_learner() -> Learner:
    torch.manual_seed(1)
    return Learner(MAKE(), schema.Train(warmup=0, freeze=["encoder"]), seed=5)


def losses(learner: Learner, steps: range) -> list[float]:
    return [learner.learn(BATCHES, step, step).loss for step in steps]


def test_a_crew_learns_what_one_would_and_after_a_failure_one_goes_on():
    alone, crew = a_learner(), a_learner()
    with crew.crew.of(3, MAKE):
        processes = [helper.process for helper in crew.crew.helpers]
        assert losses(crew, range(3)) == losses(alone, range(3))
        with pytest.raises(RuntimeError, match=r"(?s)^helper process 1 failed:\n.*IndexError"):
            crew.learn([BATCHES[0], make_batch([[4]], [[99]]), BATCHES[1]], 3, 3)
        assert not any(process.is_alive() for process in processes)
        assert losses(crew, range(3, 5)) == losses(alone, range(3, 5))
    one, other = alone.tensors(), crew.tensors()
    assert all(torch.equal(one[name], other[name]) for name in one | other)


def test_a_loss_that_is_no_number_is_skipped_wherever_it_was_found():
    learner = a_learner()
    learner.model.target.weight_VD.data[9].fill_(torch.nan)  # which only the second batch reads
    before = learner.model.head.bias_V.clone()
    with learner.crew.of(2, MAKE):
        assert not learner.learn([BATCHES[0], make_batch([[4]], [[9, 4]])], 0, 0).taken
        assert torch.equal(learner.model.head.bias_V, before)
        assert learner.learn([BATCHES[0], BATCHES[2]], 1, 0).taken


def test_a_helper_that_is_killed_is_told_of():
    learner = a_learner()
    with learner.crew.of(2, MAKE):
        (helper,) = learner.crew.helpers
        helper.process.kill()
        with pytest.raises(CrewError) as caught:
            learner.learn(BATCHES, 0, 0)
    assert caught.value.code == 1
    assert str(caught.value) == (
        "train.processes: helper process 1 was killed (signal 9), perhaps for want of memory: take fewer processes."
    )


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            OSError(24, "Too many open files"),
            "could not be started: [Errno 24] Too many open files. Take fewer processes, or allow more open files "
            "(`ulimit -n`) or, in a container, more shared memory (`--shm-size`).",
        ),
        (
            BrokenPipeError(32, "Broken pipe"),
            'could not begin. If a script of yours trains, let it do so below `if __name__ == "__main__":`, '
            "for helpers read it again and would train too; else see what was said above.",
        ),
    ],
)
def test_a_helper_that_cannot_be_started_is_told_of(monkeypatch, error, told):
    learner = a_learner()

    def share_memory_(_):
        raise error

    monkeypatch.setattr(torch.Tensor, "share_memory_", share_memory_)
    with pytest.raises(CrewError) as caught, learner.crew.of(2, MAKE):
        pass
    assert str(caught.value) == f"train.processes: helper process 1 {told}"
    assert not learner.crew.helpers


def sets(folder) -> list[str]:
    write_pairs(folder / "pairs.tsv", 40)
    return [*WORDS, "train.accumulate=2", "train.processes=2", "train.batch_tokens=40", "train.self_check=false"]


def test_a_script_without_its_guard_is_told_what_it_lacks(tmp_path):
    training = f'antiphon.train(data={{"train": "pairs.tsv"}}, sets={sets(tmp_path)!r}, out="run")'
    (tmp_path / "script.py").write_text(f"import antiphon\n{training}\n", encoding="utf-8")
    command = [sys.executable, "script.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 1
    assert (
        "CrewError: train.processes: helper process 1 ended (exit code 1). If a script of yours trains, let it do so "
        'below `if __name__ == "__main__":`, for helpers read it again and would train too; else see what was said above.\n'
    ) in done.stderr


@pytest.mark.parametrize(
    ("number", "first"), [(signal.SIGINT, False), (signal.SIGTERM, True)], ids=["later", "at first"]
)
def test_a_stop_reaches_all_of_them_and_the_run_is_saved(tmp_path, number, first):
    """Also while the helper has not yet begun: Python reads this module when it starts, before anything is imported."""
    (tmp_path / "sitecustomize.py").write_text(
        'import pathlib, sys\nif "spawn_main" in "".join(sys.orig_argv):\n    pathlib.Path("helped").touch()\n', "utf-8"
    )
    choices = [f"--set={choice}" for choice in [*sets(tmp_path), "train.max_steps=100000"]]
    command = [sys.executable, "-m", "antiphon", "train", "--train", "pairs.tsv", "--out", "run", *choices]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    found = {**os.environ, "PYTHONPATH": str(tmp_path)}
    log, helped, end = tmp_path / "run" / "log.jsonl", tmp_path / "helped", time.monotonic() + 600
    with subprocess.Popen(command, cwd=tmp_path, env=found, start_new_session=True, **streams) as training:
        while not (helped.exists() if first else log.exists() and b'"loss"' in log.read_bytes()):
            assert training.poll() is None, training.stdout.read()
            assert time.monotonic() < end
            time.sleep(0.02)
        os.killpg(training.pid, number)
        said, _ = training.communicate(timeout=600)
    assert training.returncode == 128 + number, said
    assert b"and saved. The same command goes on from there." in said
    assert b"Traceback" not in said
