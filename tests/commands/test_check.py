"""`antiphon check`: the run, its data and what it would cost; nothing is left behind."""

import json
import tempfile

import pytest

from tests.conftest import SMALL
from tests.laws.runner import write_pairs


@pytest.fixture
def arguments(tmp_path):
    pairs = write_pairs(tmp_path / "pairs.tsv", 60)
    return ["check", "--train", pairs, *(part for text in SMALL for part in ("--set", text))]


def test_it_says_what_the_run_would_be(antiphon, arguments):
    ended = antiphon(*arguments)
    assert (ended.code, ended.err) == (0, "")
    for text in (
        "max_steps = 120",
        "60 read",
        "\nModel: ",
        " parameters (0.0 MB of weights)\nTime: about ",
        "Memory: about ",
    ):
        assert text in ended.out


def test_json_says_the_same(antiphon, arguments):
    found = json.loads(antiphon(*arguments, "--json").out)
    assert found["config"]["train"]["max_steps"] == found["steps"] == 120
    assert set(found) == {"config", "data", "parameters", "steps", "tokens_per_second", "minutes", "megabytes"}


def test_the_first_limit_counts(antiphon, arguments):
    found = json.loads(
        antiphon(*arguments, "--json", "--set", "train.max_epochs=2", "--set", "train.batch_tokens=100000").out
    )
    assert found["steps"] == 2


def test_it_leaves_nothing_behind(antiphon, arguments, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    antiphon(*arguments)
    assert [path.name for path in tmp_path.iterdir()] == ["pairs.tsv"]
