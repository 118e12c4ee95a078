"""A model of spans in every verb: trained, asked, scored, looked into, verified; and what it refuses."""

import json
from pathlib import Path

import pytest

from antiphon.config.toml import load_run
from antiphon.training.loop import train
from tests.laws.runner import write_questions

SMALL = [
    "data.source.tokenizer={kind=words}", "model.kind=spans", "model.encoder={kind=recurrent,width=16,embedding=12,dropout=0.05}",
    "model.no_answer=true", "train.batch_tokens=600", "train.max_steps=300", "train.warmup=10", "train.validate_every=100",
    "train.save_every=100", "train.learning_rate=0.03", "train.self_check=false", "train.metric=f1", "data.max_length=14",
    "train.label_smoothing=0.0",
]  # fmt: skip
PARAGRAPH = "so it is . so it is . so it is . Ben has two big dogs ."  # more than is read at once


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("spans")
    file = write_questions(place / "train.json", 300)
    train(load_run(None, None, {"data": {"train": [str(file)]}}, SMALL), place / "run")
    return place / "run"


def test_it_answers_out_of_lines_and_files(folder, antiphon):
    lines = f"What ?\t{PARAGRAPH}\n\nWhy ?\t{PARAGRAPH}\n".encode()
    ended = antiphon("predict", folder, stdin=lines)
    assert (ended.code, ended.out) == (0, "big dogs\n\n\n")
    ended = antiphon("predict", folder, folder.parent / "train.json")
    assert len(ended.out.split("\n")) == 301


def test_n_best_and_json(folder, antiphon):
    line = f"What ?\t{PARAGRAPH}\n".encode()
    ended = antiphon("predict", folder, "--n-best", 3, stdin=line)
    rows = [row.split("\t") for row in ended.out.splitlines()]
    assert [len(row) for row in rows] == [3, 3, 3]
    assert [float(score) for _, score, _ in rows] == sorted((float(score) for _, score, _ in rows), reverse=True)
    assert antiphon("predict", folder, "--scores", stdin=line).out == f"{rows[0][1]}\tbig dogs\n"
    told = json.loads(antiphon("predict", folder, "--json", "--confidence", stdin=line).out)
    (answer,) = told["answers"]
    assert (answer["text"], answer["start"], answer["end"]) == ("big dogs", 45, 53)
    assert PARAGRAPH[45:53] == "big dogs"
    assert 0 < answer["probability"] == answer["confidence"] <= 1
    told = json.loads(antiphon("predict", folder, folder.parent / "train.json", "--json").out.splitlines()[4])
    assert told["id"] == "q4"
    assert (told["answers"][0]["text"], told["answers"][0]["start"], told["answers"][0]["end"]) == ("", None, None)


def test_an_unsure_answer_can_be_withheld(folder, antiphon):
    ended = antiphon("predict", folder, "--min-confidence", 1, stdin=f"What ?\t{PARAGRAPH}\n".encode())
    assert ended.out == "\n"
    assert "No answer for 1 of 1 lines; the first reason of each: low confidence 1." in ended.err


def test_a_line_break_in_an_answer_is_a_space_on_its_line(folder, antiphon, tmp_path):
    (tmp_path / "f.jsonl").write_text(json.dumps({"question": "What ?", "context": "Ben has two big\ndogs ."}) + "\n")
    assert antiphon("predict", folder, tmp_path / "f.jsonl").out == "big dogs\n"
    told = json.loads(antiphon("predict", folder, tmp_path / "f.jsonl", "--json").out)
    assert told["answers"][0]["text"] == "big\ndogs"


def test_it_is_scored_as_squad_is(folder, antiphon):
    test = folder.parent / "train.json"
    told = json.loads(antiphon("evaluate", folder, test, "--json").out)
    scores = {score["name"]: score["value"] for score in told["scores"]}
    assert told["questions"] == 300
    assert list(scores) == [
        "exact match", "F1", "exact match, answerable", "F1, answerable", "exact match, unanswerable", "F1, unanswerable",
    ]  # fmt: skip
    assert scores["F1"] > 80
    assert 0.75 * scores["F1, answerable"] + 0.25 * scores["F1, unanswerable"] == pytest.approx(scores["F1"])
    ended = antiphon("evaluate", folder, test)
    assert ended.out.startswith("300 questions, ")
    assert "|rules:v2.0|questions:75|" in ended.out
    lines = antiphon("evaluate", folder, test, "--scores").out.splitlines()
    assert lines[0].endswith("\t")  # there is no answer, and that is likely
    assert -1 < float(lines[0]) < 0


def test_faults_of_a_test_are_counted(folder, antiphon, tmp_path):
    test = tmp_path / "t.jsonl"
    right = {"question": "What ?", "context": PARAGRAPH, "answers": ["big dogs"], "id": 1}
    test.write_text("\n".join(map(json.dumps, [right, right, right | {"question": " ", "id": 2}])))
    ended = antiphon("evaluate", folder, test)
    assert ended.code == 0
    assert ended.err == f"{test}: 1 line left out: duplicate id\n{test}: 1 line left out: blank question\n"
    assert "|rules:v1.1|questions:1|" in ended.out


def test_it_shows_where_the_answer_begins_and_ends(folder, antiphon, tmp_path):
    told = json.loads(antiphon("show", folder, "What ?\tso it is . Ben has two big dogs .", "--json").out)
    ends = told["symbols"]["ends"]
    assert (ends["rows"], ends["columns"][:4]) == (["start", "end"], ["(none)", "so", "it", "is"])
    start, end = ends["weights"][0][0]
    assert (sum(start), sum(end)) == (pytest.approx(1, abs=1e-4), pytest.approx(1, abs=1e-4))
    assert ends["columns"][start.index(max(start))] == "big"
    assert ends["columns"][end.index(max(end))] == "dogs"
    assert antiphon("show", folder, f"What ?\t{PARAGRAPH}", "--out", tmp_path / "x.html").code == 0
    assert "How likely the answer begins" in (tmp_path / "x.html").read_text()
    told = json.loads(antiphon("show", folder, f"What ?\t{PARAGRAPH}", "--gradients", "--json").out)
    assert told["chains"][0]["symbols"][:4] == ["<s>", "What", "?", "</s>"]


def test_its_promises_hold(folder, antiphon):
    ended = antiphon("verify", folder)
    assert ended.code == 0
    assert "texts alone, shuffled, in 5 sizes of batch: 0 differ" in ended.out


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("What ?", "line 2: no TAB in it. A line is question TAB paragraph."),
        (" \tBen has a cat .", "line 2: the question is empty. A line is question TAB paragraph."),
        ("What ?\t ", "line 2: the paragraph is empty. A line is question TAB paragraph."),
        (
            "What ?\t" + "a " * 1030,
            "line 2: question and paragraph have 1,032 symbols, and search.max_source is 1,024. Shorten them, or raise it: "
            "--max-source 1032",
        ),
        (
            "a b c d e f g h\tBen has a cat .",
            "line 2: the question has 8 symbols, more than half of the 14 that this model reads at once. Shorten it.",
        ),
    ],
)
def test_lines_that_cannot_be_answered_are_refused(folder, antiphon, line, complaint):
    ended = antiphon("predict", folder, stdin=f"\n{line}\n".encode())
    assert (ended.code, ended.err) == (2, f"antiphon: {complaint}\n")


def test_a_question_of_a_file_is_named_by_its_place(folder, antiphon, tmp_path):
    file, long = tmp_path / "q.jsonl", "a b c d e f g h"
    rows = [{"question": question, "context": "Ben has a cat .", "answers": []} for question in ("What ?", long)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    ended = antiphon("predict", folder, file)
    assert ended.err == (
        f"antiphon: {file}:2: the question has 8 symbols, more than half of the 14 that this model reads at once. "
        "Shorten it.\n"
    )


def test_files_that_cannot_be_answered_are_refused(folder, antiphon, tmp_path):
    file = tmp_path / "f.json"
    file.write_text('{"title": "no data"}')
    no_squad = (
        f"{file} holds no questions. A file of questions is SQuAD's JSON (v1.1 or v2.0: data, paragraphs, qas), or JSONL "
        'with "question", "context" and "answers".\n'
    )
    assert antiphon("predict", folder, file).err == f"antiphon: FILE: {no_squad}"
    assert antiphon("evaluate", folder, file).err == f"antiphon: TEST: {no_squad}"
    file.write_text(json.dumps({"data": [{"paragraphs": [{"context": "x", "qas": [{"question": "", "id": "7"}]}]}]}))
    ended = antiphon("predict", folder, file)
    assert ended.err == f"antiphon: {file}:1 (7): blank question, so nothing can be answered. Mend the file.\n"
    ended = antiphon("evaluate", folder, file, "--target", "x")
    why = "a file of questions has their answers in it, and there is one way to judge them"
    assert ended.err == f"antiphon: --target: {why}. Leave it out.\n"
    assert antiphon("evaluate", folder, file, "--lowercase").err == f"antiphon: --lowercase: {why}. Leave it out.\n"


def test_flags_of_search_are_refused(folder, antiphon):
    ended = antiphon("predict", folder, "--beam", 3, stdin=b"a\tb\n")
    assert ended.err == (
        "antiphon: --beam: a model of spans weighs all its spans, and searches for nothing. Leave it out.\n"
    )
    ended = antiphon("predict", folder, "--embed", stdin=b"a\tb\n")
    assert ended.err == (
        "antiphon: embed: a model of spans reads a question with its paragraph, and has no vector of a text. "
        "Take the model that it started from, or a classifier.\n"
    )
    ended = antiphon("compare", folder, folder, folder.parent / "train.json")
    assert ended.code == 2


@pytest.mark.parametrize(
    ("sets", "complaint"),
    [
        (["train.metric=accuracy"], 'train.metric = "accuracy" is of labels, and model.kind = "spans" gives none: leave it out'),
        (["train.metric=bleu"], 'train.metric = "bleu" judges no spans: take "exact_match", "f1" or "loss"'),
        (["data.joint=false"], "data.target, data.joint: answers that are spans are parts of their texts: leave both out"),
        (["train.r_drop=1.0"], "train.r_drop: cannot be used by a model of spans: leave this key out"),
        (["data.stride=20"], "data.stride (20) beyond data.max_length (14) would skip symbols: lower it"),
        (
            ["model.encoder.directions=1"],
            "model: no_answer = true is told at a place before the paragraph, which one direction has not read there: take "
            "encoder.directions = 2",
        ),
        (["model.kind=tagger", "data.stride=2"], 'data.stride is of questions, and model.kind = "tagger" reads none'),
    ],
)  # fmt: skip
def test_choices_that_do_not_fit_are_refused(folder, antiphon, sets, complaint):
    small = [text for text in SMALL if sets[0] != "model.kind=tagger" or not text.startswith("model.no_answer")]
    words = [part for text in [*small, *sets] for part in ("--set", text)]
    ended = antiphon("check", "--train", folder.parent / "train.json", *words)
    assert ended.code == 2
    assert complaint in ended.err


def test_an_answer_that_is_not_in_its_paragraph_is_told(antiphon, tmp_path):
    file = tmp_path / "t.json"
    wrong = {"question": "Who ?", "id": "q7", "answers": [{"text": "Ada", "answer_start": 3}]}
    file.write_text(json.dumps({"data": [{"paragraphs": [{"context": PARAGRAPH, "qas": [wrong]}]}]}))
    ended = antiphon("check", "--train", file, *(part for text in SMALL for part in ("--set", text)))
    assert (ended.code, ended.err) == (
        2,
        "antiphon: data.train: no question is left of 1 read: 1 answer not at its place in the paragraph "
        f"(first: {file}:1 (q7)). Mend the file.\n",
    )


def test_from_python(folder):
    import antiphon

    model = antiphon.load(folder)
    assert model(f"What ?\t{PARAGRAPH}") == "big dogs"
    scores = model.evaluate([(f"What ?\t{PARAGRAPH}", "dogs")], references=[["big dogs"]])
    assert [(score.name, score.value) for score in scores] == [("exact match", 100), ("F1", 100)]
    right, none, never = model.score(
        [(f"What ?\t{PARAGRAPH}", "big dogs"), (f"What ?\t{PARAGRAPH}", ""), ("a\tb", "c")]
    )
    assert right > none > never == float("-inf")
    assert model.score([("What ?\tbanana and banana", "a")])[0] <= 0  # six letters, and no word is counted twice
