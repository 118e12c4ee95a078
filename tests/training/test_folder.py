"""A run folder is made new, found again, or refused; a signal raises a flag."""

import os
import signal
import threading

import pytest

from antiphon.config.toml import dump_run, load_run
from antiphon.data.prepare import fingerprint
from antiphon.errors import AntiphonError, DiskError
from antiphon.training.folder import StopOnSignal, opened, refuse_other_data
from antiphon.training.loop import train
from tests.laws.runner import RECURRENT, WORDS, write_pairs


@pytest.fixture
def pairs(tmp_path):
    return write_pairs(tmp_path / "pairs.tsv", 40)


def a_run(pairs, *sets):
    return load_run(None, None, {"data": {"train": [str(pairs)]}}, [*RECURRENT, *WORDS, *sets])


def open_folder(*arguments):
    with opened(*arguments):
        pass


def refusal(*arguments, of=open_folder, kind=AntiphonError):
    with pytest.raises(kind) as caught:
        of(*arguments)
    return str(caught.value)


def test_a_new_folder_is_made_with_its_parents(tmp_path, pairs):
    open_folder(a_run(pairs), tmp_path / "a" / "b", False)
    assert (tmp_path / "a" / "b").is_dir()


def test_a_file_is_no_folder(tmp_path, pairs):
    assert refusal(a_run(pairs), pairs, False) == f"{pairs}: a file, not a folder. Choose another --out."


def test_a_folder_below_a_file_cannot_be_made(tmp_path, pairs):
    assert refusal(a_run(pairs), pairs / "run", False, kind=DiskError) == (
        f"{pairs / 'run'}: cannot be written: Not a directory.\n"
        "What was there before is whole: make room or choose another --out, and run the same command again."
    )


def test_a_folder_with_other_things_is_refused_even_for_a_fresh_start(tmp_path, pairs):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("my life's work")
    for fresh in (False, True):
        assert refusal(a_run(pairs), tmp_path / "out", fresh) == (
            f"{tmp_path / 'out'}: holds 'thesis.tex', which is no part of a run. Choose another --out."
        )
    assert (tmp_path / "out" / "thesis.tex").read_text() == "my life's work"


def a_folder_of(run, folder):
    folder.mkdir()
    (folder / "antiphon.toml").write_text(dump_run(run), encoding="utf-8")
    (folder / "log.jsonl").write_text("{}\n")
    (folder / "model.safetensors").touch()
    return folder


def test_two_trainings_in_one_folder_are_refused_even_a_fresh_one(tmp_path, pairs):
    out = tmp_path / "run"
    with opened(a_run(pairs), out, False):
        (out / "log.jsonl").write_text("{}\n")
        for fresh in (False, True):
            assert refusal(a_run(pairs), out, fresh) == (
                f"{out}: another training is at work there. Wait for its end, or choose another --out."
            )
        assert (out / "log.jsonl").exists()
    open_folder(a_run(pairs), out, True)


def test_another_run_is_refused_and_named(tmp_path, pairs):
    out = a_folder_of(a_run(pairs), tmp_path / "out")
    assert refusal(a_run(pairs, "seed=2"), out, False) == (
        f"{out}: holds another run (seed: 1 -> 2). "
        "Choose another --out, or start over there with --fresh, which deletes it."
    )
    assert refusal(a_run(pairs, "seed=2", "train.learning_rate=0.5", "train.clip=0"), out, False) == (
        f"{out}: holds another run (seed: 1 -> 2 and 2 more). "
        "Choose another --out, or start over there with --fresh, which deletes it."
    )
    assert (out / "log.jsonl").exists()


def test_a_folder_in_which_nothing_was_learnt_yet_is_free(tmp_path, pairs):
    out = a_folder_of(a_run(pairs), tmp_path / "out")
    (out / "model.safetensors").unlink()
    open_folder(a_run(pairs, "seed=2"), out, False)


def test_a_run_may_go_on_longer_save_more_often_and_search_otherwise(tmp_path, pairs):
    out = a_folder_of(a_run(pairs), tmp_path / "out")
    open_folder(
        a_run(pairs, "train.max_steps=99", "train.save_every=1", "train.patience=3", "search.beam=9"), out, False
    )


def test_fresh_deletes_the_run_and_follows_no_link(tmp_path, pairs):
    out = a_folder_of(a_run(pairs), tmp_path / "out")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "precious").write_text("x")
    (out / "checkpoints").symlink_to(tmp_path / "elsewhere")
    open_folder(a_run(pairs, "seed=2"), out, True)
    assert list(out.iterdir()) == []
    assert (tmp_path / "elsewhere" / "precious").exists()


def test_checkpoints_without_a_config_are_nobodys(tmp_path, pairs):
    (tmp_path / "out" / "checkpoints").mkdir(parents=True)
    assert refusal(a_run(pairs), tmp_path / "out", False) == (
        f"{tmp_path / 'out'}: holds checkpoints, but no antiphon.toml that says of what run. "
        "Put it back, choose another --out, or start over with --fresh, which deletes them."
    )


def test_other_data_is_refused_by_name(tmp_path, pairs):
    run, before = a_run(pairs), fingerprint(a_run(pairs).data)
    refuse_other_data(run, before, tmp_path / "out")
    pairs.write_text(pairs.read_text(encoding="utf-8") + "six six\tsechs sechs\n", encoding="utf-8")
    end = "Put it back, choose another --out, or start over there with --fresh, which deletes the run."
    assert refusal(run, before, tmp_path / "out", of=refuse_other_data) == (
        f"{pairs}: changed since the run in {tmp_path / 'out'} began. {end}"
    )
    valid = write_pairs(tmp_path / "valid.tsv", 5, seed=2)
    run = a_run(pairs, f"data.valid={valid}")
    assert refusal(run, before, tmp_path / "out", of=refuse_other_data) == (
        f"one of {pairs}, {valid}: changed since the run in {tmp_path / 'out'} began. {end}"
    )


def test_a_run_does_not_go_on_with_changed_data_and_stays_whole(tmp_path, pairs):
    out, longer = tmp_path / "out", a_run(pairs, "train.max_steps=12")
    train(a_run(pairs, "train.max_steps=8"), out)
    kept = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    content = pairs.read_bytes()
    pairs.write_bytes(content + b"seven\tsieben\n")
    with pytest.raises(AntiphonError, match=r"pairs.tsv: changed since the run in .* began"):
        train(longer, out)
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == kept
    pairs.write_bytes(content)
    train(longer, out)


def test_a_signal_only_raises_a_flag_and_handlers_come_back():
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    with StopOnSignal() as stop:
        assert stop.signal == 0
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.signal == signal.SIGTERM
        os.kill(os.getpid(), signal.SIGTERM)  # a scheduler may send it twice
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


def test_a_second_interrupt_is_blunt():
    with StopOnSignal() as stop, pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.signal == signal.SIGINT
        os.kill(os.getpid(), signal.SIGINT)


def test_other_threads_cannot_handle_signals_and_do_not_try():
    failed = []

    def enter():
        try:
            with StopOnSignal():
                pass
        except ValueError as error:
            failed.append(error)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert not failed
