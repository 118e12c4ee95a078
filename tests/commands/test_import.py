"""`antiphon import`: what it says and leaves, and that the folder is one like any other."""

import json

import pytest

from antiphon import AntiphonError, import_folder, load
from tests.foreign import write_bert, write_gpt2


def test_a_language_model_is_imported_and_used(antiphon, tmp_path):
    write_gpt2(tmp_path / "gpt2")
    out = tmp_path / "models" / "small"
    ended = antiphon("import", tmp_path / "gpt2", "--out", out)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == (
        "gpt2: a language model of 5,288 parameters, 1 layer, 260 symbols (byte_bpe).\n"
        "Every tensor and key was understood and has its place.\n"
        f"Model folder: {out}. Ask it: echo 'Once upon a time' | antiphon predict {out}\n"
    )
    assert sorted(path.name for path in out.iterdir()) == [
        "README.md", "antiphon.toml", "model.safetensors", "report.json", "target.tokenizer.json",
    ]  # fmt: skip
    facts = json.loads((out / "report.json").read_text())["imported"]
    assert list(facts["files"]) == ["config.json", "merges.txt", "model.safetensors", "vocab.json"]
    assert "from the\n`gpt2` model in `gpt2`" in (out / "README.md").read_text()
    ended = antiphon("predict", out, "--max-length", 5, stdin=b"once upon")
    assert ended.out.startswith("once upon")
    (tmp_path / "texts.txt").write_text("once upon\na time\n")
    assert "bits per byte" in antiphon("evaluate", out, tmp_path / "texts.txt").out
    assert "BROKEN" not in antiphon("verify", out, tmp_path / "texts.txt").out


def test_a_masked_model_is_imported_and_used(antiphon, tmp_path):
    write_bert(tmp_path / "bert")
    ended = antiphon("import", tmp_path / "bert", "--out", tmp_path / "ours")
    assert ended.code == 0
    assert ended.out.startswith("bert: a masked model of ")
    assert f"echo 'A day has 24 [MASK].' | antiphon predict {tmp_path / 'ours'}" in ended.out
    ended = antiphon("predict", tmp_path / "ours", "--n-best", 2, stdin=b"once [MASK] a time")
    assert [line.split("\t")[0] for line in ended.out.splitlines()] == ["1", "1"]
    assert all("a time" in line for line in ended.out.splitlines())
    (tmp_path / "texts.txt").write_text("once [MASK] a time\na [MASK] [MASK]\n")
    assert "BROKEN" not in antiphon("verify", tmp_path / "ours", tmp_path / "texts.txt").out


def test_an_unknown_word_is_no_hole(tmp_path):
    write_bert(tmp_path / "bert")
    model = import_folder(tmp_path / "bert", tmp_path / "ours")
    tokenizer = model.pipeline.target
    assert tokenizer.hole == tokenizer.vocabulary.ids["[MASK]"]
    with pytest.raises(AntiphonError) as caught:
        model("é never seen")
    assert str(caught.value) == "line 1: nothing to guess. Write [MASK] where a word is missing."
    assert len(model.predict(["é [MASK]"])[0][0].symbols) == 1


def test_mistakes_are_told_in_a_line(antiphon, tmp_path):
    ended = antiphon("import", tmp_path / "none", "--out", tmp_path / "ours")
    assert ended.code == 2
    assert ended.err == (
        f"antiphon: {tmp_path / 'none'}: no such folder. Name one that holds a config.json and a model.safetensors.\n"
    )


def test_fine_tuning_starts_from_an_imported_model(antiphon, tmp_path):
    write_bert(tmp_path / "bert")
    import_folder(tmp_path / "bert", tmp_path / "ours")
    (tmp_path / "reviews.tsv").write_text("".join(f"good film {n}\tyes\nbad film {n}\tno\n" for n in range(20)))
    ended = antiphon(
        "train", "--recipe", "bert-classifier", "--train", tmp_path / "reviews.tsv", "--out", tmp_path / "run",
        "--set", f"train.start.encoder={tmp_path / 'ours'}", "--set", "train.max_steps=2", "--set", "train.self_check=false",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    model = load(tmp_path / "run")
    assert model.pipeline.source == load(tmp_path / "ours").pipeline.target
    assert model.pipeline.run.model.encoder.embedding_norm


def test_spans_of_the_raw_paragraph_come_from_an_imported_model(antiphon, tmp_path):
    write_bert(tmp_path / "bert")
    import_folder(tmp_path / "bert", tmp_path / "ours")
    context = "Ada  Lovelace wrote it in 1843, E\u0301mile read it."
    rows = [
        {
            "question": f"Who wrote it {n}?",
            "context": context,
            "answers": [{"text": "Ada  Lovelace", "answer_start": 0}],
        }
        for n in range(12)
    ]
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ended = antiphon(
        "train", "--recipe", "bert-spans", "--train", tmp_path / "questions.jsonl", "--out", tmp_path / "run",
        "--set", f"train.start.encoder={tmp_path / 'ours'}", "--set", "train.max_steps=2", "--set", "train.self_check=false",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    (answers,) = load(tmp_path / "run").predict([f"Who?\t{context}"], n_best=5)
    assert all(answer.text in context for answer in answers)
