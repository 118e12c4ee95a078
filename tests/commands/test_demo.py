"""`antiphon demo`, in small: all its parts, but with few pairs and so with a poor score."""

import re

import pytest

from antiphon.commands import demo
from antiphon.data.builtin import dates
from antiphon.errors import AntiphonError


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(demo, "dates", lambda train, valid, test, seed: dates(train=150, valid=20, test=12, seed=seed))


def test_the_whole_path(few, antiphon, tmp_path):
    ended = antiphon("demo", "--out", tmp_path / "demo")
    assert ended.code == 0, ended.err
    assert "150 pairs to learn from, 12 to be asked." in ended.out
    assert re.search(r"\d+\.\d % of 12 unseen inputs answered exactly right", ended.out)
    assert len(re.findall(r"^  (right|WRONG)  .+  <-  ", ended.out, re.MULTILINE)) == 10
    folder = tmp_path / "demo"
    assert f"antiphon evaluate {folder / 'dates'} {folder / 'data' / 'dates-test.tsv'}\n" in ended.out
    assert f"antiphon verify {folder / 'dates'}\n" in ended.out
    assert (folder / "dates.html").read_text(encoding="utf-8").count("<svg") >= 2
    again = antiphon("demo", "--out", folder)
    assert again.code == 0
    assert "exactly as if never stopped" in again.out


def test_pronouncing_needs_a_dictionary(antiphon, tmp_path):
    ended = antiphon("demo", "--task", "pronounce", "--out", tmp_path / "demo")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        "antiphon: --task pronounce: needs a pronouncing dictionary. Name one: --dictionary cmudict.dict\n"
    )
    assert not (tmp_path / "demo").exists()


def test_a_dictionary_that_no_task_reads_is_refused(antiphon, tmp_path):
    ended = antiphon("demo", "--dictionary", "cmudict.dict", "--out", tmp_path / "demo")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "antiphon: --dictionary: it is for --task pronounce. Leave it out.\n"
    assert not (tmp_path / "demo").exists()


def test_words_that_are_left_out_are_counted(antiphon, tmp_path, monkeypatch):
    """The training is stopped before it begins: all of this is said first."""

    def stop(*_):
        raise AntiphonError("no time")

    monkeypatch.setattr(demo, "train", stop)
    words = [f"word{'abcdefghij'[n // 10]}{'abcdefghij'[n % 10]} W ER D\n" for n in range(100)]
    dictionary = tmp_path / "dictionary"
    dictionary.write_text("".join([*words, "3rd TH ER D\n", "a.m. EY EH M\n"]), "utf-8")
    ended = antiphon("demo", "--task", "pronounce", "--dictionary", dictionary, "--out", tmp_path / "demo")
    assert ended.err == "antiphon: no time\n"
    assert ended.out.splitlines()[1:] == [f"2 words of {dictionary} left out: they are not of letters alone."]
    assert re.fullmatch(
        r"Words, answered by how they are pronounced: \d+ pairs to learn from, \d+ to be asked.",
        ended.out.splitlines()[0],
    )
