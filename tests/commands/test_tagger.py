"""A tagger in every verb: trained, asked, scored, verified; and what it refuses."""

import json
import random
from pathlib import Path

import pytest

from antiphon.config.toml import load_run
from antiphon.training.loop import train

WORDS = {"DET": ["the", "a"], "NOUN": ["cat", "dog", "house", "tree"], "VERB": ["sees", "likes"], "ADJ": ["big", "red"]}
SHAPES = ["DET NOUN VERB DET NOUN", "DET ADJ NOUN VERB", "NOUN VERB DET ADJ NOUN"]
SMALL = [
    "model.kind=tagger", "train.batch_tokens=500",
    "train.max_steps=60", "train.warmup=10", "train.validate_every=30", "train.save_every=30", "train.learning_rate=0.02",
    "train.self_check=false", "train.metric=accuracy",
]  # fmt: skip
SPELLED = [
    "model.encoder={kind=recurrent,width=10,embedding=9}",
    "data.source.tokenizer={kind=spelled}",
    "model.letters=5",
    "model.output=chain",
    "train.label_smoothing=0.0",
]


def conll(count: int, seed: int = 1, spans: bool = False) -> str:
    draw, sentences = random.Random(seed), []
    for _ in range(count):
        tags = draw.choice(SHAPES).split()
        words = [draw.choice(WORDS[tag]) for tag in tags]
        if spans:
            tags = ["O" if tag in ("VERB", "DET") else "B-X" for tag in tags]
        sentences.append("".join(f"{word}\t{tag}\n" for word, tag in zip(words, tags, strict=True)))
    return "\n".join(sentences)


def trained_on(place: Path, text: str, *sets: str) -> Path:
    (place / "train.conll").write_text(text)
    data = {"data": {"train": [str(place / "train.conll")]}}
    train(load_run(None, None, data, [*SMALL, *sets]), place / "run")
    return place / "run"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return trained_on(tmp_path_factory.mktemp("tagger"), conll(200), *SPELLED)


def test_it_answers_with_a_tag_for_each_word(folder, antiphon):
    ended = antiphon("predict", folder, stdin=b"the big dog sees\n\na  cat likes the tree\n")
    assert (ended.code, ended.out) == (0, "DET ADJ NOUN VERB\n\nDET NOUN VERB DET NOUN\n")


def test_two_are_compared_on_conll(folder, antiphon, tmp_path):
    (tmp_path / "test.conll").write_text(conll(20, seed=5))
    told = json.loads(antiphon("compare", folder, folder, tmp_path / "test.conll", "--json").out)
    assert (told["pairs"], told["metric"]) == (20, "exact_match")
    assert told["systems"][0]["overall"] == told["systems"][1]["overall"] > 80


def test_a_classifier_has_no_test_in_common_with_it(folder, antiphon, tmp_path):
    (tmp_path / "train.tsv").write_text("".join(f"text {n}\t{'ab'[n % 2]}\n" for n in range(30)))
    data, small = {"data": {"train": [str(tmp_path / "train.tsv")]}}, ["train.max_steps=1", "train.self_check=false"]
    train(load_run(None, "acceptor", data, small), tmp_path / "classifier")
    ended = antiphon("compare", folder, tmp_path / "classifier", tmp_path / "train.tsv")
    assert (ended.code, ended.err) == (
        2, "antiphon: compare: a classifier and a tagger have no common test. Name models of one kind.\n",
    )  # fmt: skip


def test_json_has_each_tag_with_its_probability(folder, antiphon):
    told = json.loads(antiphon("predict", folder, "--json", "--confidence", stdin=b"the dog sees\n").out)
    (answer,) = told["answers"]
    assert answer["symbols"] == ["DET", "NOUN", "VERB"]
    assert [word["text"] for word in answer["words"]] == ["DET", "NOUN", "VERB"]
    assert all(0 < word["probability"] <= 1 for word in answer["words"])


def test_flags_of_search_are_refused(folder, antiphon):
    ended = antiphon("predict", folder, "--n-best", 2, stdin=b"the\n")
    assert ended.err == "antiphon: --n-best 2: a tagger gives the best tags of each word only. Leave it out.\n"
    ended = antiphon("predict", folder, "--beam", 2, stdin=b"the\n")
    assert ended.err == "antiphon: --beam: a tagger weighs all its labels, and searches for nothing. Leave it out.\n"


def test_it_is_scored_and_a_tag_never_seen_counts_as_wrong(folder, antiphon, tmp_path):
    (tmp_path / "t.conll").write_text(conll(20, seed=2) + "\nthe\tDET\nodd\tX\n\nno column\n\nbroken\n")
    ended = antiphon("evaluate", folder, tmp_path / "t.conll", "--json")
    told = json.loads(ended.out)
    assert (told["sentences"], told["left_out"], told["unseen_labels"]) == (
        22,
        {"missing column": 1},
        {"X": 1, "column": 1},
    )
    scores = {score["name"]: score["value"] for score in told["scores"]}
    assert scores["token accuracy"] > 90
    assert {"macro F1", "sentence accuracy", "loss", "calibration error"} < scores.keys()


def test_its_promises_hold(folder, antiphon):
    ended = antiphon("verify", folder)
    assert ended.code == 0
    assert "0 differ" in ended.out
    assert ended.err == ""


def test_nothing_looks_at_anything(folder, antiphon):
    ended = antiphon("show", folder, "the dog")
    assert ended.code == 2
    assert "this model has no attention" in ended.err


@pytest.mark.parametrize("tokenizer", ["words", "characters"])
def test_other_symbols_and_spans(tokenizer, tmp_path, antiphon):
    encoder = "model.encoder={kind=transformer,width=16,layers=1,heads=2,feedforward=16}"
    sets = [f"data.source.tokenizer={{kind={tokenizer}}}", encoder, "model.pieces=mean", "train.metric=f1"]
    folder = trained_on(tmp_path, conll(200, spans=True), *sets, "train.max_steps=90", "train.balance=0.3")
    (tmp_path / "t.conll").write_text(conll(20, seed=2, spans=True))
    scores = json.loads(antiphon("evaluate", folder, tmp_path / "t.conll", "--json").out)["scores"]
    assert [score["name"] for score in scores[:3]] == ["token accuracy", "span F1", "sentence accuracy"]
    assert scores[0]["value"] > 70
    told = json.loads(antiphon("show", folder, "the dog sees", "--json").out)
    assert set(told["symbols"]) == {"encoder"}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a\tX\n\nb\tX\n", "data.train: every text has the label 'X', so there is nothing to tell apart. "
         "Add texts with other labels."),
        ("a\nb\n\nc\n", "data.train: no sentence is left of 2 read: 2 missing column (first: {}:1). Mend the file."),
    ],
)  # fmt: skip
def test_data_that_teaches_nothing_is_refused(text, complaint, tmp_path, antiphon):
    file = tmp_path / "t.conll"
    file.write_text(text)
    ended = antiphon("check", "--train", file, *(part for text in [*SMALL, *SPELLED] for part in ("--set", text)))
    assert (ended.code, ended.err) == (2, f"antiphon: {complaint.format(file)}\n")
