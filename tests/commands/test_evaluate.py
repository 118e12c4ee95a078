"""`antiphon evaluate`: scores, what was left out, and files that cannot be scored."""

import json

import pytest

from antiphon.evaluate.endpoint import Endpoint
from antiphon.predict.quantize import quantize


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "test.tsv"
    path.write_text("one\teins\nsix five\tfünf sechs\n", encoding="utf-8")
    return path


def test_a_table_with_signatures(trained, antiphon, pairs):
    ended = antiphon("evaluate", trained, pairs)
    lines = ended.out.splitlines()
    assert ended.code == 0
    assert lines[0].startswith("2 pairs, beam 5, ")
    assert len(lines) == 19
    assert lines[1].split()[0] == "BLEU"
    assert [line.split("  ")[0] for line in lines[-6:]] == [
        f"calibration error{of}{raw}" for of in ("", " of words", " of answers") for raw in (", raw", "")
    ]
    assert "100.00" in next(line for line in lines if line.startswith("exact match"))


def test_json_says_the_same(trained, antiphon, pairs):
    found = json.loads(antiphon("evaluate", trained, pairs, "--json", "--beam", 2).out)
    assert (found["pairs"], found["beam"], found["left_out"]) == (2, 2, {})
    assert all({"name", "value", "signature"} <= set(score) for score in found["scores"])


def test_any_target_is_right(trained, antiphon, tmp_path):
    path = tmp_path / "test.tsv"
    path.write_text("one\tzwei\nsix five\tfünf sechs\none\teins\n", encoding="utf-8")
    ended = antiphon("evaluate", trained, path, "--any-target")
    assert ended.out.startswith("2 sources with 3 targets, beam 5, ")
    (line,) = [line for line in ended.out.splitlines() if line.startswith("exact match")]
    assert "100.00   exact_match|space:kept|nrefs:var|" in line
    strict = json.loads(antiphon("evaluate", trained, path, "--json").out)
    assert (strict["pairs"], strict["questions"]) == (3, 3)
    (exact,) = [score["value"] for score in strict["scores"] if score["name"] == "exact match"]
    assert exact == pytest.approx(200 / 3)


def test_8_bit_weights_are_named(trained, antiphon, pairs, monkeypatch):
    monkeypatch.setattr("antiphon.api.quantize", lambda model: quantize(model, narrowest=1))
    assert antiphon("evaluate", trained, pairs, "--int8").out.startswith("2 pairs, beam 5, --int8, ")
    assert json.loads(antiphon("evaluate", trained, pairs, "--int8", "--json").out)["int8"] is True


def test_any_search_and_models_together_are_scored_and_told(trained, antiphon, pairs):
    lines = antiphon("evaluate", trained, pairs, "--mbr", "chrf", "--with", trained).out
    assert lines.startswith("2 pairs, beam 5, --mbr --with, ")
    assert "perplexity" in lines
    assert "calibration" not in lines
    found = json.loads(antiphon("evaluate", trained, pairs, "--sample", "--seed", 3, "--json").out)
    assert found["flags"] == ["--sample", "--seed"]
    alone = {
        score["name"]: score["value"]
        for score in json.loads(antiphon("evaluate", trained, pairs, "--json").out)["scores"]
    }
    twice = json.loads(antiphon("evaluate", trained, pairs, "--json", "--with", trained).out)["scores"]
    assert {score["name"]: score["value"] for score in twice}["BLEU"] == alone["BLEU"]


def test_what_cannot_be_scored_is_counted(trained, antiphon, tmp_path):
    path = tmp_path / "test.tsv"
    path.write_bytes(b"\xef\xbb\xbfone\teins\r\ntwo\t\r\n\r\nthree\tdrei\r\n")
    ended = antiphon("evaluate", trained, path)
    assert ended.out.startswith("2 pairs")
    assert ended.err == (
        f"{path}: 1 line left out: blank target\n{path}: 1 line left out: both sides blank\n"
        "No target has four words, and BLEU counts by four: look at chrF instead.\n"
    )


def test_text_that_is_cut_already_is_told_once(antiphon, tmp_path):
    (tmp_path / "t.tsv").write_text("a\tein hund läuft schnell .\nb\ter schläft .\nc\twas?\n")
    (tmp_path / "answers").write_text("ein hund läuft schnell .\ner schläft .\nwas?\n")
    doubt = (
        "2 of 3 targets end in a full stop with a space before it: tokenised already? "
        "--tokenize none counts words as they stand.\n"
    )
    assert antiphon("evaluate", tmp_path / "answers", tmp_path / "t.tsv").err == doubt
    assert antiphon("evaluate", tmp_path / "answers", tmp_path / "t.tsv", "--tokenize", "none").err == ""
    several = [tmp_path / "answers", tmp_path / "answers", tmp_path / "t.tsv"]
    assert antiphon("compare", *several).err == doubt
    assert antiphon("compare", *several, "--metric", "chrf").err == ""


def test_answers_that_are_cut_are_told_beside_targets_that_are_not(antiphon, tmp_path):
    (tmp_path / "t.tsv").write_text("a\tein hund läuft schnell.\nb\test-ce que tu dors ?\n")  # as French is written
    (tmp_path / "cut").write_text("ein hund läuft schnell .\nest-ce que tu dors ?\n")
    (tmp_path / "plain").write_text("ein hund läuft schnell.\nest-ce que tu dors ?\n")
    told = antiphon("evaluate", tmp_path / "cut", tmp_path / "t.tsv").err
    assert told.startswith("1 of 2 answers end in a full stop with a space before it: tokenised already?")
    assert antiphon("compare", tmp_path / "plain", tmp_path / "cut", tmp_path / "t.tsv").err == told
    assert antiphon("evaluate", tmp_path / "plain", tmp_path / "t.tsv").err == ""


def test_a_target_that_is_too_long_is_named_by_its_line(trained, antiphon, tmp_path, monkeypatch):
    monkeypatch.setattr("antiphon.reader.Reader.writes", 2)
    path = tmp_path / "test.tsv"
    path.write_text("\none\teins\n\nsix five\tfünf sechs\n", encoding="utf-8")
    ended = antiphon("evaluate", trained, path)
    assert ended.code == 2
    assert ended.err.endswith(
        f"{path}:4: its target has 2 symbols, and this model writes at most 1. Leave it out, or shorten it.\n"
    )


def test_two_aligned_files(trained, antiphon, tmp_path):
    (tmp_path / "a.en").write_text("one\ntwo\n")
    (tmp_path / "a.de").write_text("eins\n")
    ended = antiphon("evaluate", trained, tmp_path / "a.en", "--target", tmp_path / "a.de")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        f"antiphon: TEST: {tmp_path / 'a.en'} has 2 lines, but {tmp_path / 'a.de'} has 1. "
        "Line N of one must answer line N of the other: find the line that is missing.\n"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "TEST: no such file as {}."),
        (b"", "TEST: {} is empty. Is it the right file?"),
        (b"\t\n", "{}: no pair in it can be scored (1 line). Is it source TAB target?"),
        (
            b"one\ntwo\n",
            "TEST: {0} has one column: 2 of 2 lines have no TAB, the first is {0}:1. "
            "A line is source TAB target; of two line-aligned files, name the other in --target.",
        ),
    ],
)
def test_a_file_that_cannot_be_scored(trained, antiphon, tmp_path, content, message):
    path = tmp_path / "pairs.tsv"
    if content is not None:
        path.write_bytes(content)
    ended = antiphon("evaluate", trained, path)
    assert (ended.code, ended.out, ended.err) == (2, "", f"antiphon: {message.format(path)}\n")


@pytest.fixture
def answers(tmp_path):
    path = tmp_path / "answers.txt"
    path.write_bytes("eins\r\nfünf\u2028sieben\n".encode())
    return path


def test_a_file_of_answers(antiphon, pairs, answers):
    ended = antiphon("evaluate", answers, pairs, "--language", "de")
    first, *lines = ended.out.splitlines()
    assert (ended.code, first) == (0, f"2 pairs, answers of {answers}")
    scores = {line[:14].strip(): float(line[15:26]) for line in lines}
    # A line separator inside a line is a space, and ends nothing.
    assert scores["exact match"] == 50.0
    assert scores["WER"] == pytest.approx(33.33)
    assert 0 < scores["METEOR"] < 100
    assert "perplexity" not in scores
    found = json.loads(antiphon("evaluate", answers, pairs, "--json", "--phones").out)
    assert (found["kind"], found["beam"]) == ("answers", None)
    assert [score["name"] for score in found["scores"]][-1] == "PER"


def test_several_references_a_line_and_a_file(antiphon, pairs, answers, tmp_path):
    (tmp_path / "a").write_text("\nzwei\tfünf sieben\n", encoding="utf-8")
    (tmp_path / "b").write_text("eins zwei\n\n", encoding="utf-8")
    found = antiphon("evaluate", answers, pairs, "--references", tmp_path / "a", tmp_path / "b", "--json")
    (exact,) = [score for score in json.loads(found.out)["scores"] if score["name"] == "exact match"]
    assert exact["value"] == 100.0
    assert "|nrefs:var|" in exact["signature"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["{0}/none", "{0}/test.tsv"],
            "{0}/none: no such system: neither a model folder nor a file of answers. "
            "`antiphon train` makes the one, `antiphon predict` the other.",
        ),
        (
            ["{0}/empty", "{0}/test.tsv"],
            "{0}/empty has 0 lines, but {0}/test.tsv has 2. "
            "It is empty: make it anew.",
        ),
        (
            ["{0}/answers.txt", "{0}/test.tsv", "--references", "{0}/short"],
            "--references: {0}/short has 1 line, but {0}/test.tsv has 2. "
            "Line N of one belongs to line N of the other: find the line that is missing.",
        ),
        (
            ["{0}/answers.txt", "{0}/test.tsv", "--references", "{0}/shirt"],
            '--references: no such file as {0}/shirt. Did you mean "{0}/short"?',
        ),
        (["{0}/answers.txt", "{0}/test.tsv", "--references", "{0}/latin"], "{0}/latin:2: not UTF-8. If it is Latin-1: iconv -f LATIN1 -t UTF-8"),
        (["{0}/answers.txt", "{0}/test.tsv", "--n-best", "2"], "--n-best: one answer a line is scored. Leave it out."),
        (
            ["{0}/answers.txt", "{0}/test.tsv", "--any-target"],
            "--any-target: it is for a model, and {0}/answers.txt is a file of answers. Leave it out.",
        ),
        (
            ["{0}/answers.txt", "{0}/test.tsv", "--wordnet", "{0}"],
            "wordnet: it is for METEOR, and METEOR needs a language. Name one, such as en.",
        ),
    ],
    ids=["no system", "no answers", "too few references", "no references", "not utf-8", "n-best", "any target", "wordnet"],
)  # fmt: skip
def test_what_cannot_be_scored(antiphon, tmp_path, pairs, answers, words, message):
    for name, content in (("empty", b""), ("short", b"eins\n"), ("latin", b"eins\nf\xfcnf\n")):
        (tmp_path / name).write_bytes(content)
    ended = antiphon("evaluate", *[word.format(tmp_path) for word in words])
    assert (ended.code, ended.out, ended.err) == (2, "", f"antiphon: {message.format(tmp_path)}\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--judge-url", "http://x"], "--judge-url and --judge-model belong together: where the model is, and its name there."),
        (["--judge-key", "KEY"], "--judge-url and --judge-model belong together: where the model is, and its name there."),
        (
            ["--judge-url", "http://x", "--judge-model", "m", "--judge-key", "NO_SUCH_KEY"],
            "--judge-key: no variable NO_SUCH_KEY is set. Name the one that holds the key.",
        ),
        (
            ["--judge-url", "x", "--judge-model", "m"],
            "judge-url: 'x' is no address. Name one such as http://127.0.0.1:8000/v1",
        ),
    ],
)  # fmt: skip
def test_a_judge_that_cannot_be_asked(antiphon, pairs, answers, words, message):
    ended = antiphon("evaluate", answers, pairs, *words)
    assert (ended.code, ended.out, ended.err) == (2, "", f"antiphon: {message}\n")


def test_a_language_model_judges(antiphon, pairs, answers, monkeypatch):
    monkeypatch.setattr(Endpoint, "first_words", lambda self, prompt: {"4": 0.5, "5": 0.5})
    ended = antiphon("evaluate", answers, pairs, "--judge-url", "http://x", "--judge-model", "m")
    assert [line.split()[:3] for line in ended.out.splitlines()[-2:]] == [
        ["G-Eval", "adequacy", "4.50"], ["G-Eval", "fluency", "4.50"],
    ]  # fmt: skip
