"""A crew: what its processes learn is what one would have learnt, and one that is lost is told of."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from multiprocessing.context import SpawnProcess

import pytest
import torch

import antiphon
from antiphon.build.model import build_model
from antiphon.config import schema
from antiphon.data.batch import make_batch
from antiphon.errors import AntiphonError
from antiphon.store import WEIGHTS
from antiphon.training.learner import Learner
from tests.laws.runner import WORDS, write_pairs

RECURRENT = {"kind": "recurrent", "cell": "orthogonal", "width": 6, "embedding": 6, "dropout": 0.2}
TRANSFORMER = {"kind": "transformer", "width": 8, "heads": 2, "feedforward": 12, "layers": 3, "dropout": 0.2}
ORTHOGONAL = schema.Seq2Seq.model_validate({"encoder": RECURRENT, "decoder": RECURRENT})
SKIPPING = schema.Seq2Seq.model_validate(
    {"tie": "all", "encoder": TRANSFORMER | {"layer_drop": 0.6}, "decoder": TRANSFORMER | {"layer_drop": 0.6}}
)
BATCHES = [
    make_batch([[4, 5, 6], [7]], [[4], [5, 6, 7, 8]]),
    make_batch([[8, 9]], [[9, 4, 4]]),
    make_batch([[5], [6, 6]], [[5, 5], [6]]),
    make_batch([[9, 8, 7]], [[7, 8, 9]]),
]


def a_learner(model: schema.Seq2Seq, choice: schema.Train) -> Learner:
    torch.manual_seed(1)
    return Learner(build_model(model, 10, 10), choice, seed=5)


@pytest.fixture
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize(
    ("model", "choice", "processes"),
    [
        (ORTHOGONAL, {"teacher_forcing": {"p": 0.5}, "word_dropout": 0.2, "freeze": ["encoder"], "ema": 0.9}, 2),
        (SKIPPING, {"r_drop": 1.0, "optimizer": "muon", "corruption": {"swap": 0.3}}, 3),
    ],
    ids=["own words, frozen encoder", "layers that are skipped"],
)
def test_more_processes_learn_the_same_bit_by_bit(model, choice, processes, one_thread):
    alone, crew = (a_learner(model, schema.Train(warmup=0, **choice)) for _ in range(2))
    losses = [alone.learn(BATCHES, step, step).loss for step in range(3)]
    with crew.crew.of(processes, partial(build_model, model, 10, 10)):
        assert [crew.learn(BATCHES, step, step).loss for step in range(3)] == losses
    one, other = alone.tensors(), crew.tensors()
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert not crew.crew.helpers


def test_a_helper_that_fails_or_is_killed_is_told_of():
    learner = a_learner(ORTHOGONAL, schema.Train(warmup=0))
    with learner.crew.of(2, partial(build_model, ORTHOGONAL, 10, 10)):
        beyond = make_batch([[4]], [[99]])
        with pytest.raises(RuntimeError, match=r"(?s)helper process 1 failed:.*IndexError"):
            learner.learn([BATCHES[0], beyond], 0, 0)
        learner.learn(BATCHES, 0, 0)
        (helper,) = learner.crew.helpers
        helper.process.kill()
        with pytest.raises(
            AntiphonError, match=r"helper process 1 was killed \(signal 9\), perhaps for want of memory"
        ):
            learner.learn(BATCHES, 1, 1)
    assert not helper.process.is_alive()


def test_a_helper_that_cannot_be_started_is_told_of(monkeypatch):
    def start(_):
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(SpawnProcess, "start", start)
    learner = a_learner(ORTHOGONAL, schema.Train(warmup=0))
    told = r"train.processes: helper process 1 could not be started: \[Errno 24\] Too many open files."
    with (
        pytest.raises(AntiphonError, match=told),
        learner.crew.of(2, partial(build_model, ORTHOGONAL, 10, 10)),
    ):
        pass


def sets(folder) -> list[str]:
    write_pairs(folder / "pairs.tsv", 40)
    return [*WORDS, "train.accumulate=2", "train.processes=2", "train.batch_tokens=40", "train.self_check=false"]


def test_a_script_without_its_guard_is_told_what_it_lacks(tmp_path):
    training = f'antiphon.train(data={{"train": "pairs.tsv"}}, sets={sets(tmp_path)!r}, out="run")'
    (tmp_path / "script.py").write_text(f"import antiphon\n{training}\n", encoding="utf-8")
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode
    assert 'below `if __name__ == "__main__":`, for helpers read it again' in done.stderr


def test_ctrl_c_reaches_all_of_them_and_the_run_is_saved(tmp_path):
    choices = [f"--set={choice}" for choice in [*sets(tmp_path), "train.max_steps=100000"]]
    command = [sys.executable, "-m", "antiphon", "train", "--train", "pairs.tsv", "--out", "run", *choices]
    log = tmp_path / "run" / "log.jsonl"
    with subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as training:
        while '"loss"' not in (log.read_text(encoding="utf-8") if log.exists() else ""):
            assert training.poll() is None, training.stderr.read()
            time.sleep(0.1)
        os.killpg(training.pid, signal.SIGINT)
        said, complaints = training.communicate()
    assert training.returncode == 130, complaints
    assert b"Stopped at step" in said + complaints
    assert b"Traceback" not in complaints


def test_a_run_may_go_on_with_another_number_of_processes(tmp_path, one_thread):
    first, *choices = ["train.max_steps=3", *sets(tmp_path), "train.save_every=3"]
    data, last = {"train": str(tmp_path / "pairs.tsv")}, "train.max_steps=6"
    straight, changed = tmp_path / "straight", tmp_path / "changed"
    antiphon.train(data=data, sets=[last, *choices, "train.processes=1"], out=straight, quiet=True)
    antiphon.train(data=data, sets=[first, *choices, "train.processes=1"], out=changed, quiet=True)
    antiphon.train(data=data, sets=[last, *choices], out=changed, quiet=True)
    assert (straight / WEIGHTS).read_bytes() == (changed / WEIGHTS).read_bytes()
