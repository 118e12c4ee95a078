"""The command line as a program: speed, streams, exit codes, and mistakes in the command itself."""

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from antiphon.cli import main
from tests.conftest import SMALL

VERBS = ["demo", "check", "train", "predict", "evaluate", "compare", "judge", "show", "verify", "doctor"]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def run(*arguments: object, stdin: bytes = b"", **options: object) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "antiphon", *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, check=False, env=ENVIRONMENT, **options)


@pytest.fixture
def cli(monkeypatch, capsys):
    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["antiphon", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = stop.code
        return (code, *capsys.readouterr())

    return call


def test_help_is_quick_and_torch_stays_asleep():
    code = (
        "import sys, time; started = time.process_time(); sys.argv = ['antiphon', '--help']\n"
        "from antiphon.cli import main\n"
        "main()\n"
        "print(time.process_time() - started, 'torch' in sys.modules, 'numpy' in sys.modules)"
    )
    # Processor time, and the best of a few, because the machine may be busy with the other tests.
    best = 9.0
    for _ in range(5):
        out = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env=ENVIRONMENT).stdout
        seconds, torch, numpy = out.splitlines()[-1].split()
        assert (torch, numpy) == (b"False", b"False")
        best = min(best, float(seconds))
        if best < 0.4:
            break
    assert best < 0.5


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]], ids=["nothing", "--help", "-h"])
def test_help_names_every_verb(cli, arguments):
    code, out, err = cli(*arguments)
    assert (code, err) == (0, "")
    assert all(verb in out for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_of_every_verb_is_explained(cli, verb):
    code, out, _ = cli(verb, "--help")
    options = re.findall(r"^│[ *]{1,5}(?:[A-Z]+ )?(--[a-z0-9-]+)(.*)│$", out, re.MULTILINE)
    assert code == 0
    assert options
    for name, rest in options:
        assert re.search(r"  [A-Za-z]\w*", rest), f"{verb} {name}: no word on it"


def test_the_version(cli):
    assert cli("--version") == (0, "0.1.0\n", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["predit", "x"], 'Unknown command "predit". Did you mean "predict"? Available commands: demo, check, train, '
         "predict, evaluate, compare, judge, show, ...\nSee: antiphon --help"),
        (["--beam", "5"], 'Unknown command "--beam". Available commands: demo, check, train, predict, evaluate, '
         "compare, judge, show, ...\nSee: antiphon --help"),
        (["predict"], 'Command "predict" parameter --model requires an argument.\nSee: antiphon predict --help'),
        (["predict", "m", "--beem", "3"], "Unknown option: --beem. Did you mean --beam?\nSee: antiphon predict --help"),
        (["train", "--fres"], "Unknown option: --fres. Did you mean --fresh?\nSee: antiphon train --help"),
        (["predict", "m", "--beam", "x"], 'Invalid value for --beam: unable to convert "x" into int.\n'
         "See: antiphon predict --help"),
        (["predict", "m", "--beam"], 'Command "predict" parameter --beam requires an argument.\n'
         "See: antiphon predict --help"),
        (["demo", "--task", "date"], 'Invalid value "date" for --task. Choose from: "dates", "pronounce". '
         'Did you mean "dates"?\nSee: antiphon demo --help'),
        (["predict", "m", "f", "more"], "'more': antiphon predict takes no more than it was given. Put texts in quotes.\nSee: antiphon predict --help"),
    ],
)  # fmt: skip
def test_a_mistake_in_the_command_is_two_lines(cli, arguments, message):
    assert cli(*arguments) == (2, "", f"antiphon: {message}\n")


@pytest.mark.parametrize("verb", ["predict", "show", "verify"])
def test_every_verb_refuses_a_folder_that_holds_no_model(cli, tmp_path, verb):
    more = {"show": ["text"]}.get(verb, [])
    assert cli(verb, tmp_path / "none", *more) == (
        2, "", f"antiphon: {tmp_path / 'none'}: no such model folder. `antiphon train` makes one; "
        "`antiphon demo` makes a small one.\n",
    )  # fmt: skip


def test_answers_down_a_pipe_without_colour(trained):
    done = run("predict", trained, stdin="one\n\nsix five\nüñé\n".encode())
    assert done.returncode == 0
    assert done.stdout.decode().splitlines()[:3] == ["eins", "", "fünf sechs"]
    assert done.stdout.count(b"\n") == 4
    assert done.stderr.decode() == "line 4: never seen in training: üñé\n"
    assert b"\x1b" not in done.stdout + done.stderr


def test_a_pipe_that_closes_early_is_no_mistake(trained):
    command = [sys.executable, "-m", "antiphon", "predict", trained]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT
    ) as process:
        process.stdout.close()
        with suppress(BrokenPipeError):
            process.stdin.write(b"one two three\n" * 3_000)
            process.stdin.close()
        err = process.stderr.read()
        process.wait(60)
    assert (process.returncode, err) == (0, b"")


def test_a_full_disk_under_standard_output(trained):
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "antiphon", "predict", trained], input=b"one\n", stdout=full, stderr=subprocess.PIPE,
            check=False, env=ENVIRONMENT,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.decode() == ("antiphon: the answers cannot be written: no space is left for them. Make room.\n")


def test_a_plain_locale_still_speaks_unicode(trained):
    done = subprocess.run(
        [sys.executable, "-m", "antiphon", "predict", trained], input=b"six five\n", capture_output=True, check=True,
        env={**ENVIRONMENT, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", "PYTHONCOERCECLOCALE": "0"},
    )  # fmt: skip
    assert done.stdout.decode() == "fünf sechs\n"


def test_an_interrupted_training_has_saved(tmp_path, trained):
    pairs, out = trained.parent / "pairs.tsv", tmp_path / "run"
    sets = [part for text in (*SMALL, "train.max_steps=1000000") for part in ("--set", text)]
    command = [sys.executable, "-m", "antiphon", "train", "--train", pairs, "--out", out, *sets]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**ENVIRONMENT, "PYTHONUNBUFFERED": "1"}
    ) as process:
        deadline = time.monotonic() + 60
        while not (out / "checkpoints").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        said, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "\nStopping after this step, to save. Ctrl-C again stops at once and saves nothing.\n" in err.decode()
    assert "\nantiphon: Stopped at step " in err.decode()
    assert err.decode().endswith(" and saved. The same command goes on from there.\n")
    assert b"\x1b" not in said


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (KeyboardInterrupt(), 130, "antiphon: interrupted\n"),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried"), 1, "not enough memory"),
        (MemoryError(), 1, "antiphon: not enough memory. Make the model smaller"),
    ],
)
def test_what_the_machine_or_a_key_stops_is_told_without_a_traceback(monkeypatch, capsys, error, code, told):
    def stop(as_json):
        raise error

    monkeypatch.setattr("antiphon.commands.doctor.run_doctor", stop)
    monkeypatch.setattr(sys, "argv", ["antiphon", "doctor"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == code
    assert told in capsys.readouterr().err
