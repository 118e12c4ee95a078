"""`antiphon verify`: proves the promises, and says so when one is broken."""

import json
import shutil

import pytest

from antiphon.commands import verify as module

PROMISES = [
    "checksums", "batches change nothing, greedy", "batches change nothing, beam 5", "step = all at once",
    "attention rows sum to one", "save-load-same", "constraints are honoured", "an ensemble of one is the model",
    "minimum Bayes risk over one draw is that draw", "an empty line has an empty answer",
]  # fmt: skip


def test_every_promise_holds(trained, antiphon):
    ended = antiphon("verify", trained)
    assert (ended.code, ended.err) == (0, "")
    assert [line.removeprefix("holds   ").split(": ")[0] for line in ended.out.splitlines()] == PROMISES


def test_json_says_the_same(trained, antiphon, tmp_path):
    (tmp_path / "in.txt").write_text("one\n\ntwo three\n")
    found = json.loads(antiphon("verify", trained, tmp_path / "in.txt", "--json").out)
    assert found["texts"] == 3
    assert [(proof["promise"], proof["holds"]) for proof in found["proofs"]] == [(name, True) for name in PROMISES]


def test_groups_of_its_own_search_do_not_disturb(run_folder, antiphon):
    settings = run_folder / "antiphon.toml"
    text = settings.read_text("utf-8")
    assert "beam = 5" in text
    assert "groups = 1" in text
    settings.write_text(text.replace("beam = 5", "beam = 6").replace("groups = 1", "groups = 3"), "utf-8")
    assert antiphon("verify", run_folder).code == 0


@pytest.mark.parametrize("content", [None, b"", b"[]\n"])
def test_it_needs_no_validation_pairs(run_folder, antiphon, content):
    if content is None:
        shutil.rmtree(run_folder / "tokens")
    else:
        (run_folder / "tokens" / "valid.jsonl").write_bytes(content)
    assert antiphon("verify", run_folder).code == 0


def test_a_file_without_text_proves_nothing(trained, antiphon, tmp_path):
    (tmp_path / "in.txt").write_text("\n  \n")
    ended = antiphon("verify", trained, tmp_path / "in.txt")
    assert (ended.code, ended.err) == (
        2, f"antiphon: {tmp_path / 'in.txt'}: no line in it holds text. Give some inputs, or none for invented ones.\n",
    )  # fmt: skip


def test_a_broken_promise_is_our_bug(trained, antiphon, monkeypatch):
    real = module.Pipeline.answer

    def answer(self, texts, search=None, first=0, batch_tokens=2048, tell=None):
        found = real(self, texts, search, first, batch_tokens, tell)
        return found[::-1] if batch_tokens == 40 else found

    monkeypatch.setattr(module.Pipeline, "answer", answer)
    ended = antiphon("verify", trained)
    assert ended.code == 1
    assert "BROKEN  batches change nothing, greedy: " in ended.out
    assert ended.err == (
        f"antiphon: {trained}: broken: batches change nothing, greedy, batches change nothing, beam 5. "
        "Please report it with this model's antiphon.toml.\n"
    )


def test_a_line_that_is_too_long_is_named_by_its_file(trained, antiphon, tmp_path):
    (tmp_path / "texts").write_text("one\n" + "two " * 2000 + "\n")
    ended = antiphon("verify", trained, tmp_path / "texts")
    assert ended.code == 2
    assert ended.err.startswith(f"antiphon: {tmp_path / 'texts'}:2: ")
