"""An encoder-decoder that learns from plain text: it mends holes, and says what it cannot do."""

import json
from dataclasses import asdict

import pytest

import antiphon
from antiphon.commands.evaluate import Ways, run_evaluate
from antiphon.commands.scores import run_scores
from antiphon.commands.systems import Folders
from antiphon.config.toml import load_run
from antiphon.data.vocab import HOLE
from antiphon.errors import AntiphonError
from antiphon.training.log import read_log
from antiphon.training.loop import train
from tests.test_language_model import counting

COMMON = (
    "data.source.tokenizer={kind=words}", "model.tie=all", "train.batch_tokens=600", "train.max_steps=200",
    "train.warmup=20", "train.validate_every=100", "train.save_every=100", "train.learning_rate=0.01",
    "train.label_smoothing=0.0", "search.beam=2", "search.max_length=20",
    "model.encoder={kind=transformer,width=16,layers=1,heads=2,feedforward=32,dropout=0.0}",
    "model.decoder={kind=transformer,width=16,layers=1,heads=2,feedforward=32,dropout=0.0}",
)  # fmt: skip
SPANS = (*COMMON, "data.denoise={target=spans,rate=0.3,mean_length=1.5}", "train.self_check=false")
WHOLE = (*COMMON, "data.denoise={target=whole,rate=0.3,mean_length=1.5}")


def trained(place, sets):
    (place / "text.txt").write_text("".join(f"{text}\n" for text in counting(400)), encoding="utf-8")
    (place / "test.txt").write_text("".join(f"{text}\n" for text in counting(20, seed=9)), encoding="utf-8")
    train(load_run(None, None, {"data": {"train": [str(place / "text.txt")]}}, list(sets)), place / "run")
    return place


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("whole"), WHOLE)


@pytest.fixture(scope="module")
def spans(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("spans"), SPANS)


def test_a_hole_is_mended(whole):
    model = antiphon.load(whole / "run")
    losses = [entry["loss"] for entry in read_log(whole / "run" / "log.jsonl") if "loss" in entry]
    assert losses[-1] < 0.5 * losses[0]
    answer = model("one two [MASK] four one")
    assert answer.startswith("one two")
    assert "[MASK]" not in answer
    assert model.pipeline.source.encode("one [MASK]")[-1] == HOLE
    assert model.pipeline.source.unknown("one [MASK] two") == []


def test_what_a_hole_hides_is_said_after_a_hole(spans):
    model = antiphon.load(spans / "run")
    (answer,) = model.predict(["one two [MASK] four one"])[0]
    assert answer.symbols[0] == HOLE
    assert answer.text.startswith("[MASK]")
    assert answer.pieces[0] == "[MASK]"


def test_plain_text_is_judged_with_holes_that_never_change(whole, capsys):
    found = []
    for _ in range(2):
        run_evaluate(Folders(whole / "run"), str(whole / "test.txt"), None, Ways({}), as_json=True)
        found.append(json.loads(capsys.readouterr().out)["scores"])
    assert found[0] == found[1]
    names = {score["name"]: score["value"] for score in found[0]}
    assert {"BLEU", "perplexity", "exact match"} <= set(names)
    run_scores(Folders(whole / "run"), str(whole / "test.txt"), None, [], as_json=False)
    assert len(capsys.readouterr().out.splitlines()) == 20
    with pytest.raises(AntiphonError) as caught:
        run_scores(Folders(whole / "run"), str(whole / "test.txt"), "other", [], as_json=False)
    assert str(caught.value) == "--target other: this model learnt from texts, not pairs. Leave it out."


def test_pairs_of_ones_own_are_judged_in_python(whole):
    model = antiphon.load(whole / "run")
    scores = [asdict(score) for score in model.evaluate([("one [MASK] three", "one two three")])]
    assert any(score["name"] == "BLEU" for score in scores)


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        (
            ["data.denoise.target=none"],
            'data.denoise: mean_length means nothing while target is "none": set target = "whole" or "spans"',
        ),
        (["data.train_target=x"], "data.train_target: data.denoise makes pairs of plain texts: leave this key out"),
        (
            ["data.joint=false", "model.tie=none"],
            "data.joint: data.denoise has one vocabulary for both sides: leave it out",
        ),
        (
            ["data.target.tokenizer={kind=bytes}"],
            "data.target.tokenizer: data.denoise has one vocabulary for both sides, and its tokeniser is "
            "data.source.tokenizer: leave this key out",
        ),
        (
            ["train.teacher_forcing.p=0.5"],
            'train.teacher_forcing: a model\'s own words are never holes, which data.denoise.target = "spans" learns: '
            'leave it out, or take "whole"',
        ),
        (["data.denoise.rate=1.0"], "data.denoise.rate: 1.0 is not allowed: above 0, below 1"),
        (["data.denoise.mean_length=0.5"], "data.denoise.mean_length: 0.5 is not allowed: at least 1"),
    ],
)
def test_choices_that_holes_cannot_have(sets, message):
    with pytest.raises(AntiphonError) as caught:
        load_run(None, None, {"data": {"train": ["x"]}}, [*SPANS, *sets])
    assert str(caught.value) == message


@pytest.mark.parametrize("kind", ["classifier", "tagger", "language_model"])
def test_holes_are_for_an_encoder_and_a_decoder(kind):
    with pytest.raises(AntiphonError) as caught:
        load_run(None, None, {"data": {"train": ["x"]}}, ["data.denoise.target=whole", f"model.kind={kind}"])
    assert str(caught.value) == f'data.denoise is of model.kind = "seq2seq", and this is a {kind}: leave it out'
