"""`antiphon train`: from a file of pairs to a folder, and every way in which it can be asked wrongly."""

import pytest

from tests.conftest import SMALL
from tests.laws.runner import write_pairs

SETS = [part for text in (*SMALL, "train.max_steps=4") for part in ("--set", text)]


@pytest.fixture
def pairs(tmp_path):
    return write_pairs(tmp_path / "pairs.tsv", 60)


def test_from_pairs_to_answers(antiphon, pairs, tmp_path):
    out = tmp_path / "run"
    ended = antiphon("train", "--train", pairs, "--out", out, *SETS)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.endswith(
        f"Next: antiphon predict {out} sentences.txt\n      antiphon evaluate {out} test.tsv\n      antiphon verify {out}\n"
    )
    assert antiphon("predict", out, stdin=b"one\n").code == 0


def test_a_run_file_and_its_default_place(antiphon, pairs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text('seed = 3\n[data]\ntrain = "pairs.tsv"\n')
    assert antiphon("train", "small.toml", *SETS).code == 0
    assert (tmp_path / "runs" / "small" / "model.safetensors").exists()


def refused(antiphon, *arguments):
    ended = antiphon("train", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("antiphon: ")
    assert ended.err.count("\n") <= 2
    return ended.err.removeprefix("antiphon: ").removesuffix("\n")


def test_no_pairs(antiphon):
    assert refused(antiphon) == (
        'data.train: no training pairs are named. Give --train FILE, or data.train = "FILE" in the run file'
    )


def test_a_missing_run_file(antiphon, tmp_path):
    assert refused(antiphon, tmp_path / "none.toml") == f"{tmp_path / 'none.toml'}: no such run file"


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("train.max_step=5", 'train.max_step: no such key. Did you mean "max_steps"?'),
        (
            "model.encoder.kind=recurent",
            "model.encoder.kind: no such choice as 'recurent'. Did you mean \"recurrent\"?",
        ),
        ("train.max_steps=many", "train.max_steps: 'many' is not a whole number"),
        ("train.max_steps", "--set train.max_steps: give KEY=VALUE, such as --set train.max_steps=500"),
        ("train.warmup=-1", "train.warmup: -1 is not allowed: at least 0"),
    ],
)
def test_a_misspelt_key_value_or_type(antiphon, pairs, setting, message):
    assert refused(antiphon, "--train", pairs, "--set", setting).startswith(message)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "data.train: no such file as {}."),
        (b"", "data.train: {} is empty. Is it the right file?"),
        (b"one\ntwo\n", "data.train: {0} has one column: 2 of 2 lines have no TAB, the first is {0}:1. "),
    ],
    ids=["missing", "empty", "one column"],
)
def test_a_file_that_holds_no_pairs(antiphon, tmp_path, content, message):
    path = tmp_path / "p.tsv"
    if content is not None:
        path.write_bytes(content)
    out = tmp_path / "run"
    ended = antiphon("train", "--train", path, "--out", out, *SETS)
    assert ended.code == 2
    assert ended.err.startswith(f"antiphon: {message.format(path)}")
    assert ended.err.count("\n") == 1
    # A better file may follow into the same folder.
    write_pairs(path, 60)
    assert antiphon("train", "--train", path, "--out", out, *SETS).code == 0


def test_a_folder_with_another_run(antiphon, pairs, tmp_path):
    out = tmp_path / "run"
    antiphon("train", "--train", pairs, "--out", out, *SETS)
    before = (out / "model.safetensors").read_bytes()
    assert refused(antiphon, "--train", pairs, "--out", out, *SETS, "--set", "seed=9") == (
        f"{out}: holds another run (seed: 1 -> 9). "
        "Choose another --out, or start over there with --fresh, which deletes it."
    )
    assert (out / "model.safetensors").read_bytes() == before
    assert antiphon("train", "--train", pairs, "--out", out, *SETS, "--set", "seed=9", "--fresh").code == 0
    assert (out / "model.safetensors").read_bytes() != before


def test_a_wrong_recipe(antiphon, pairs):
    assert refused(antiphon, "--recipe", "transformer-tinny", "--train", pairs).startswith(
        "--recipe: no such recipe as 'transformer-tinny'. Did you mean \"transformer-tiny\"?"
    )
