"""A classifier in every verb: trained, asked, scored, looked into, verified; and what it refuses."""

import json
import math
import random
import shutil
from pathlib import Path

import pytest

from antiphon.api import load
from antiphon.config.toml import load_run
from antiphon.training.loop import train

GOOD, BAD = ["fine", "great", "lovely", "warm"], ["awful", "dull", "cold", "sad"]
PLAIN = ["the", "film", "was", "a", "very", "and", "it"]
SMALL = [
    "data.source.tokenizer={kind=words}", "model.kind=classifier", "model.encoder={kind=recurrent,width=10,embedding=9}",
    "train.batch_tokens=300", "train.max_steps=60", "train.warmup=10", "train.validate_every=30", "train.save_every=30",
    "train.learning_rate=0.02", "train.self_check=false", "train.metric=accuracy",
]  # fmt: skip


def examples(count: int, seed: int = 1) -> list[tuple[str, str]]:
    """The one word that matters decides."""
    draw, found = random.Random(seed), {}
    while len(found) < count:
        label = draw.choice(["good", "bad"])
        words = [*draw.choices(PLAIN, k=draw.randint(1, 5)), draw.choice(GOOD if label == "good" else BAD)]
        draw.shuffle(words)
        found[" ".join(words)] = label
    return list(found.items())


def write(path: Path, rows: list[tuple[str, ...]]) -> Path:
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    return path


def trained_on(place: Path, rows: list[tuple[str, ...]], *sets: str) -> Path:
    file = write(place / "train.tsv", rows)
    train(load_run(None, None, {"data": {"train": [str(file)]}}, [*SMALL, *sets]), place / "run")
    return place / "run"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("classifier")
    return trained_on(place, [row[::-1] for row in examples(300)], "model.pool=attention", "model.queries=2")


def test_it_answers_with_labels(folder, antiphon):
    ended = antiphon("predict", folder, stdin=b"the film was lovely\nit was awful\n\n")
    assert (ended.code, ended.out) == (0, "good\nbad\n\n")


def test_scores_are_probabilities_and_n_best_ranks_labels(folder, antiphon):
    ended = antiphon("predict", folder, "--n-best", 5, stdin=b"the film was lovely\n")
    (_, first, one), (_, second, other) = (line.split("\t") for line in ended.out.splitlines())
    assert (one, other) == ("good", "bad")
    assert float(first) + float(second) == pytest.approx(1, abs=2e-4)
    assert antiphon("predict", folder, "--scores", stdin=b"the film was lovely\n").out == f"{first}\tgood\n"


def test_json_has_every_label_and_confidence(folder, antiphon):
    ended = antiphon("predict", folder, "--json", "--confidence", stdin=b"a dull film\n")
    told = json.loads(ended.out)
    assert list(told["labels"]) == ["bad", "good"]
    assert told["answers"][0]["text"] == "bad"
    assert told["answers"][0]["confidence"] == pytest.approx(told["labels"]["bad"], abs=1e-5)


def with_temperature(folder, place, temperature):
    """The same model, as though this temperature had been fitted."""
    copy = Path(shutil.copytree(folder, place))
    report = json.loads((copy / "report.json").read_text("utf-8"))
    report["calibration"]["temperature"] = temperature
    (copy / "report.json").write_text(json.dumps(report), "utf-8")
    return copy


def test_all_numbers_of_an_answer_are_calibrated_alike(folder, antiphon, tmp_path):
    raw, flat = with_temperature(folder, tmp_path / "raw", 1.0), with_temperature(folder, tmp_path / "flat", 3.0)
    found = {}
    for copy in (raw, flat):
        told = json.loads(
            antiphon("predict", copy, "--json", "--confidence", "--n-best", 2, stdin=b"a dull film\n").out
        )
        for answer in told["answers"]:
            chance = told["labels"][answer["text"]]
            assert answer["score"] == pytest.approx(chance, abs=1e-5)
            assert answer["confidence"] == answer["probability"] == pytest.approx(chance, abs=1e-5)
            assert math.exp(answer["log_probability"]) == pytest.approx(chance, abs=1e-5)
            assert math.exp(answer["log_probabilities"][0]) == pytest.approx(chance, abs=1e-5)
        found[copy] = told["answers"][0]["score"]
        (score,) = load(copy).score([("a dull film", told["answers"][0]["text"])])
        assert math.exp(score) == pytest.approx(found[copy], abs=1e-5)
    odds = [chance / (1 - chance) for chance in found.values()]
    assert odds[1] == pytest.approx(odds[0] ** (1 / 3), rel=1e-3)


def test_an_unsure_answer_can_be_withheld(folder, antiphon):
    ended = antiphon("predict", folder, "--min-confidence", 1, stdin=b"the the\n")
    assert ended.out == "\n"
    assert "No answer for 1 of 1 lines" in ended.err


def test_flags_of_search_are_refused(folder, antiphon):
    ended = antiphon("predict", folder, "--beam", 3, stdin=b"fine\n")
    assert ended.code == 2
    assert (
        ended.err == "antiphon: --beam: a classifier weighs all its labels, and searches for nothing. Leave it out.\n"
    )


def test_it_is_scored_in_either_order_of_columns(folder, antiphon, tmp_path):
    rows = examples(50, seed=2)
    one = antiphon("evaluate", folder, write(tmp_path / "a.tsv", rows), "--json")
    other = antiphon("evaluate", folder, write(tmp_path / "b.tsv", [row[::-1] for row in rows]), "--json")
    told, again = json.loads(one.out), json.loads(other.out)
    scores = {score["name"]: score["value"] for score in told["scores"]}
    assert scores == {score["name"]: score["value"] for score in again["scores"]}
    assert scores["accuracy"] == scores["micro F1"] >= 90
    assert {"macro F1", "loss", "calibration error, raw", "calibration error"} < scores.keys()
    assert sum(map(sum, told["confusion"]["counts"])) == 50
    assert sorted(told["confusion"]["labels"]) == ["bad", "good"]


def test_two_are_compared_by_accuracy_in_either_order_of_columns(folder, antiphon, tmp_path):
    rows = examples(50, seed=2)
    answers = tmp_path / "answers.txt"
    answers.write_text("".join("good\n" for _ in rows))
    found = []
    for name, given in (("a.tsv", rows), ("b.tsv", [row[::-1] for row in rows])):
        told = json.loads(antiphon("compare", folder, answers, write(tmp_path / name, given), "--json").out)
        found.append((told["metric"], [system["overall"] for system in told["systems"]]))
    accuracy = 100 * sum(label == "good" for _, label in rows) / len(rows)
    assert found[0] == found[1] == ("exact_match", [pytest.approx(100, abs=10), pytest.approx(accuracy)])


def test_flags_that_would_change_nothing_are_refused(folder, antiphon, tmp_path):
    test = write(tmp_path / "t.tsv", examples(5))
    refused = antiphon("evaluate", folder, test, "--lowercase")
    assert refused.err == "antiphon: --lowercase: it is about texts, and this model gives labels. Leave it out.\n"
    refused = antiphon("evaluate", folder, test, "--scores", "--lowercase")
    assert refused.err == "antiphon: --lowercase: --scores asks for no answers. Leave one of them out.\n"
    refused = antiphon("evaluate", folder, test, "--max-source", 1)
    assert (refused.code, "and this model reads at most 1." in refused.err) == (2, True)


def test_a_text_longer_than_its_own_limit_is_told_with_all_labels(folder, antiphon):
    text = " ".join(["film"] * 2000).encode()
    assert antiphon("predict", folder, "--json", stdin=text).code == 2
    told = json.loads(antiphon("predict", folder, "--json", "--confidence", "--max-source", 3000, stdin=text).out)
    assert sum(told["labels"].values()) == pytest.approx(1, abs=1e-4)


def test_a_label_never_seen_counts_as_wrong_and_is_told(folder, antiphon, tmp_path):
    test = write(tmp_path / "t.tsv", [("a lovely film", "good"), ("a cold film", "mixed")])
    ended = antiphon("evaluate", folder, test, "--out", tmp_path / "c.svg")
    assert ended.code == 0
    assert f"{test}: labels never seen in training, which count as wrong: 'mixed' (1)\n" in ended.err
    assert "accuracy                   50.00" in ended.out
    assert "labels down, answers across" in ended.out
    assert "mixed taken for bad: 1, 100.0% of its row" in (tmp_path / "c.svg").read_text()


def test_lines_without_a_label_are_counted(folder, antiphon, tmp_path):
    test = tmp_path / "t.tsv"
    test.write_text("a lovely film\tgood\na dull film\t\nno tab\n\tgood\nan awful film\tbad\n")
    ended = antiphon("evaluate", folder, test)
    assert ended.code == 0
    assert f"{test}: 2 lines left out: no label\n" in ended.err
    assert f"{test}: 1 line left out: blank text\n" in ended.err
    assert "2 examples" in ended.out


def test_a_file_without_labels_is_refused(folder, antiphon, tmp_path):
    test = tmp_path / "t.txt"
    test.write_text("a lovely film\nan awful film\nso so\n")
    ended = antiphon("evaluate", folder, test)
    assert ended.code == 2
    assert ended.err.startswith(f"antiphon: TEST: {test} has one column: most of its lines hold no TAB")


def test_log_probabilities_of_given_labels(folder, antiphon, tmp_path):
    test = write(tmp_path / "t.tsv", [("a lovely film", "good"), ("a lovely film", "bad"), ("a film", "odd")])
    lines = antiphon("evaluate", folder, test, "--scores").out.splitlines()
    assert [line.split("\t")[1] for line in lines] == ["good", "bad", "odd"]
    right, wrong, never = (float(line.split("\t")[0]) for line in lines)
    assert right > wrong > never == float("-inf")


def test_it_shows_which_words_it_looked_at(folder, antiphon, tmp_path):
    ended = antiphon("show", folder, "the film was lovely", "--json")
    told = json.loads(ended.out)
    assert told["answer"] == "good"
    weights = told["symbols"]["cross"]["weights"]
    assert (len(weights), len(weights[0]), len(weights[0][0])) == (1, 2, 1)  # a layer, a head for each query, an answer
    assert told["symbols"]["cross"]["columns"] == ["the", "film", "was", "lovely", "</s>"]
    assert antiphon("show", folder, "the film was lovely", "--out", tmp_path / "x.html").code == 0


def test_it_shows_how_far_gradients_reach(folder, antiphon):
    told = json.loads(antiphon("show", folder, "the film was lovely", "--gradients", "--json").out)
    assert told["answer"] == "good"
    assert told["chains"][0]["symbols"] == ["the", "film", "was", "lovely", "</s>"]


def test_its_promises_hold(folder, antiphon):
    ended = antiphon("verify", folder)
    assert ended.code == 0
    assert "batches change nothing: 15 texts alone, shuffled, in 5 sizes of batch: 0 differ" in ended.out


def test_several_labels_a_text(tmp_path, antiphon):
    rows = [(text, ",".join([label, "long"][: 1 + (len(text.split()) > 4)])) for text, label in examples(300)]
    rows += [(f"{text} film", "") for text, _ in examples(20)]
    folder = trained_on(
        tmp_path, rows, "model.labels=several", "model.pool=max", "train.balance=0.5", "train.metric=f1"
    )
    ended = antiphon("predict", folder, "--json", stdin=b"the very film was a lovely\n")
    told = json.loads(ended.out)
    assert told["answers"][0]["text"] == "good,long"
    assert set(told["labels"]) == {"good", "bad", "long"}
    ended = antiphon("evaluate", folder, tmp_path / "train.tsv", "--json")
    assert json.loads(ended.out)["confusion"] is None
    assert json.loads(ended.out)["scores"][2]["value"] > 75  # micro F1


def test_two_texts_are_compared(tmp_path, antiphon):
    draw, one = random.Random(3), [text for text, _ in examples(60)]
    rows = [(text, text if same else draw.choice(one), "same" if same else "other") for text in one for same in (0, 1)]
    folder = trained_on(tmp_path, rows, "model.texts=towers", "model.pool=max", "train.max_steps=100")
    ended = antiphon("predict", folder, stdin=b"the film was lovely\tthe film was lovely\n\nsad it was\tgreat film\n")
    assert ended.out == "same\n\nother\n"
    refused = antiphon("predict", folder, stdin=b"one text only\n")
    assert refused.code == 2
    assert refused.err == ("antiphon: line 1: this model compares two texts, and here is 1. Put a TAB between them.\n")


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ("a\tx\nb\tx\nc\tx\n", "data.train: every text has the label 'x', so there is nothing to tell apart. "
         "Add texts with other labels."),
        ("a\t\nb\t\n", "data.train: no example is left of 2 read: 2 no label (first: {}:1). Mend the file."),
        ("a b c\nd e f\ng h i\n", "data.train: {} has one column: most of its lines hold no TAB, and text TAB label (or "
         "label TAB text) is needed. Of two line-aligned files, name that of the labels in data.train_target."),
        ("a\tb\tc\nd\te\tf\n", "data.train: {} has 3 columns, and text TAB label (or label TAB text) is needed. "
         "Say which hold the text and, last, the label: data.columns = [1, 2]."),
    ],
)  # fmt: skip
def test_data_that_teaches_nothing_is_refused(lines, complaint, tmp_path, antiphon):
    file = tmp_path / "t.tsv"
    file.write_text(lines)
    ended = antiphon("check", "--train", file, *(part for text in SMALL for part in ("--set", text)))
    assert (ended.code, ended.err) == (2, f"antiphon: {complaint.format(file)}\n")
