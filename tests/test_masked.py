"""A masked model from the command line to the models that start from it."""

import json
import random

import pytest
import torch

import antiphon
from antiphon.cli import main
from antiphon.config.toml import load_run
from antiphon.errors import AntiphonError
from antiphon.store import load_folder, weights_of
from tests.laws.runner import write_labels, write_pairs, write_tags

SMALL = (
    "model.kind=masked", "data.target.tokenizer={kind=words}", "train.batch_tokens=300", "train.max_steps=400",
    "model.encoder={kind=transformer,width=16,layers=2,heads=2,feedforward=32,segments=2,dropout=0.0}",
    "train.learning_rate=0.01", "train.warmup=20", "train.validate_every=200", "train.self_check=false",
    "train.label_smoothing=0.0", "model.hide=0.3", "data.window=16", "model.next_sentence=true",
)  # fmt: skip
TUNED = ("train.max_steps=6", "train.validate_every=6", "train.self_check=false", "train.batch_tokens=200")


def counting(lines: int) -> list[str]:
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    draw = random.Random(1)
    found = []
    for _ in range(lines):
        first = draw.randrange(6)
        found.append(" ".join(words[first : first + draw.randint(3, 4)]))
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("masked")
    lines = [line + "\n" * (1 + (number % 5 == 4)) for number, line in enumerate(counting(300))]
    (place / "text.txt").write_text("".join(lines), encoding="utf-8")
    antiphon.train(data={"train": str(place / "text.txt")}, sets=SMALL, out=place / "run", quiet=True)
    return place / "run"


@pytest.fixture(scope="module")
def model(folder):
    return antiphon.load(folder)


def test_hidden_words_are_guessed_from_both_sides(model):
    assert model("two [MASK] four") == "two three four"
    assert model("[MASK] six seven") == "five six seven"
    best, second = model.predict(["one two [MASK]"], n_best=2)[0]
    assert best.text == "one two three"
    assert best.log_probability > second.log_probability
    assert best.pieces == ("three",)
    assert best.score == pytest.approx(2.718281828**best.log_probability)


def test_several_holes_are_filled_best_first(model):
    found = model.predict(["three [MASK] five [MASK] seven"], n_best=5)[0]
    assert found[0].text == "three four five six seven"
    logs = [answer.log_probability for answer in found]
    assert logs == sorted(logs, reverse=True)
    assert len({answer.text for answer in found}) == 5


def test_batches_change_nothing(model):
    texts = ["two [MASK] four", "", "[MASK] six seven", "one two [MASK] [MASK]"] * 3
    together = model.predict(texts)
    assert together[1][0].text == ""
    for text, found in zip(texts, together, strict=True):
        assert model.predict([text])[0][0].text == found[0].text
        alone = model.pipeline.answer([text], batch_tokens=1)[0][0]
        assert alone.log_probability == pytest.approx(found[0].log_probability, abs=1e-5)


def test_a_text_without_holes_is_refused(model):
    with pytest.raises(AntiphonError) as caught:
        model.predict(["two [MASK]", "two three"])
    assert str(caught.value) == "line 2: nothing to guess. Write [MASK] where a word is missing."


def test_it_answers_no_sources(model):
    with pytest.raises(AntiphonError, match="a language model fills holes in texts and answers no sources"):
        model.evaluate([("one", "two")])
    with pytest.raises(AntiphonError, match="a masked model knows words between words, not texts"):
        model.score(["one two"])
    with pytest.raises(AntiphonError, match="of guessed words the scores are the probabilities"):
        model.confidence(["[MASK]"], model.predict(["[MASK]"])[0])


def test_evaluate_verify_show_and_json(folder, model, tmp_path, capsys, monkeypatch):
    def run(words: list[str]) -> int:
        monkeypatch.setattr("sys.argv", ["antiphon", *words])
        with pytest.raises(SystemExit) as ended:
            raise SystemExit(main())
        return int(ended.value.code or 0)

    test = tmp_path / "test.txt"
    test.write_text("\n".join(counting(50)), encoding="utf-8")
    assert run(["evaluate", str(folder), str(test), "--json"]) == 0
    scores = {score["name"]: score["value"] for score in json.loads(capsys.readouterr().out)["scores"]}
    assert scores["guessed words"] > 30  # by chance it would be one in ten
    assert set(scores) == {"perplexity of holes", "guessed words", "next sentence"}
    assert run(["predict", str(folder), str(test), "--prefix", "x"]) == 2
    assert "--prefix: a masked model weighs all its words, and searches for nothing." in capsys.readouterr().err
    assert run(["evaluate", str(folder), str(test), "--beam", "3"]) == 2
    assert "--beam: it is about answers, and this model is scored on texts. Leave it out." in capsys.readouterr().err
    assert run(["verify", str(folder)]) == 0
    assert "BROKEN" not in capsys.readouterr().out
    assert run(["show", str(folder), "two [MASK] four"]) == 0
    assert "two three four" in capsys.readouterr().out
    holes = tmp_path / "holes.txt"
    holes.write_text("two [MASK] four\n\n", encoding="utf-8")
    assert run(["predict", str(folder), str(holes)]) == 0
    said = capsys.readouterr()
    assert said.out == "two three four\n\n"
    assert "never seen" not in said.err
    with pytest.raises(AntiphonError, match="no score of nothing"):
        model.evaluate_texts([""])


def test_a_text_beyond_the_last_learned_place_is_refused_by_name(tmp_path):
    (tmp_path / "text.txt").write_text("\n".join(counting(60)), encoding="utf-8")
    encoder = "{kind=transformer,width=16,layers=1,heads=2,feedforward=32,positions=learned,max_positions=10}"
    changes = ("data.window=0", "data.max_length=8", "search.max_source=8", "model.next_sentence=false")
    sets = (*SMALL, *changes, f"model.encoder={encoder}", "train.max_steps=2", "train.validate_every=2")
    learnt = antiphon.train(data={"train": str(tmp_path / "text.txt")}, sets=sets, out=tmp_path / "run", quiet=True)
    with pytest.raises(AntiphonError) as caught:
        learnt.evaluate_texts(["one two", "one two three " * 9])
    assert str(caught.value) == "text 2: 27 symbols, and this model reads at most 8. Split the text."


def test_a_text_has_the_same_vector_alone_and_in_any_batch(model):
    texts = ["two three", "", "one two three four five", "six"]
    together = model.embed(texts)
    assert together.shape == (4, 16)
    assert not together[1].any()
    for text, vector in zip(texts, together, strict=True):
        torch.testing.assert_close(torch.tensor(model.embed([text])[0]), torch.tensor(vector), atol=2e-5, rtol=1e-4)


def test_a_recurrent_one_learns_too(tmp_path):
    (tmp_path / "text.txt").write_text("\n".join(counting(100)), encoding="utf-8")
    sets = [*SMALL, "data.window=0", "model.next_sentence=false"]
    sets[sets.index(SMALL[4])] = "model.encoder={kind=recurrent,width=8,embedding=6}"
    found = antiphon.train(
        data={"train": str(tmp_path / "text.txt")}, sets=[*sets, "train.max_steps=20"], out=tmp_path / "r", quiet=True
    )
    assert len(found("one [MASK] three").split()) == 3


def weights(folder):
    return weights_of(load_folder(folder).model)


@pytest.mark.parametrize("kind", ["classifier", "tagger", "seq2seq", "masked"])
def test_others_start_from_it(folder, tmp_path, kind):
    write = {"classifier": write_labels, "tagger": write_tags, "seq2seq": write_pairs, "masked": None}[kind]
    path = folder.parent / "text.txt" if write is None else write(tmp_path / "data.tsv")
    sets = [f"model.kind={kind}", f"train.start.encoder={folder}", *TUNED, "train.learning_rate=1e-9", "train.ema=0.5"]
    sets += ["data.target.tokenizer={kind=words}"] if kind == "seq2seq" else []
    antiphon.train(data={"train": str(path)}, sets=sets, out=tmp_path / "tuned", quiet=True)
    before, after = weights(folder), weights(tmp_path / "tuned")
    shared = [name for name in before if name.startswith(("source.", "encoder."))]
    for name in shared:
        torch.testing.assert_close(after[name], before[name], atol=1e-6, rtol=0)
    run = load_folder(tmp_path / "tuned").run
    assert run.model.encoder.width == 16
    side = run.data.target if kind == "masked" else run.data.source
    assert side.tokenizer.kind == "words"


def test_a_run_that_started_elsewhere_goes_on_without_that_place(folder, tmp_path):
    path = write_labels(tmp_path / "data.tsv")
    sets = ["model.kind=classifier", f"train.start.encoder={folder}", *TUNED]
    whole = antiphon.train(
        data={"train": str(path)}, sets=[*sets, "train.max_steps=12"], out=tmp_path / "whole", quiet=True
    )
    antiphon.train(data={"train": str(path)}, sets=sets, out=tmp_path / "parts", quiet=True)
    antiphon.train(data={"train": str(path)}, sets=[*sets, "train.max_steps=12"], out=tmp_path / "parts", quiet=True)
    a, b = weights(tmp_path / "whole"), weights(tmp_path / "parts")
    assert all(torch.equal(a[name], b[name]) for name in a)
    assert whole.pipeline.source.to_bytes() == antiphon.load(folder).pipeline.target.to_bytes()


def test_frozen_parts_stay_and_lower_layers_learn_more_slowly(folder, tmp_path):
    path = write_labels(tmp_path / "data.tsv")
    sets = ["model.kind=classifier", f"train.start.encoder={folder}", *TUNED, "train.warmup=0"]
    frozen = [*sets, 'train.freeze=["source", "encoder.layers.0"]']
    antiphon.train(data={"train": str(path)}, sets=frozen, out=tmp_path / "frozen", quiet=True)
    before, after = weights(folder), weights(tmp_path / "frozen")
    for name in before:
        if name.startswith(("source.", "encoder.layers.0.")):
            assert torch.equal(after[name], before[name]), name
    assert not torch.equal(
        after["encoder.layers.1.feedforward.out.weight"], before["encoder.layers.1.feedforward.out.weight"]
    )
    slow = [*sets, "train.layer_decay=0.1", "train.weight_decay=0.0"]
    antiphon.train(data={"train": str(path)}, sets=slow, out=tmp_path / "slow", quiet=True)
    after = weights(tmp_path / "slow")
    moved = [
        (after[name] - before[name]).abs().max()
        for name in (
            "source.weight_VD",
            "encoder.layers.0.feedforward.out.weight",
            "encoder.layers.1.feedforward.out.weight",
        )
    ]
    assert moved[0] < moved[1] / 3 < moved[2] / 9


@pytest.mark.parametrize(
    ("sets", "told"),
    [
        (["train.start.encoder=nowhere"], "train.start.encoder: no such model folder as nowhere. `antiphon train` makes one."),
        (["train.start.decoder={}"], "train.start.decoder: {} is a masked, and has no decoder. It has: encoder."),
        (
            ["train.start.encoder={}", "model.encoder.kind=recurrent"],
            'model.encoder.kind = "recurrent", but that of {} is transformer. Leave it out.',
        ),
        (
            ["train.start.encoder={}", "data.source.tokenizer.kind=bytes"],
            "data.source.tokenizer: the encoder of {} reads with the tokeniser it was trained with. Leave this key out.",
        ),
        (
            ["train.start.encoder={}", "model.kind=language_model"],
            'train.start.encoder: model.kind = "language_model" has no encoder. Leave this key out.',
        ),
    ],
)  # fmt: skip
def test_what_cannot_start_is_refused(folder, sets, told):
    with pytest.raises(AntiphonError) as caught:
        load_run(None, None, {"data": {"train": ["x"]}}, [one.format(folder) for one in sets])
    assert str(caught.value) == told.format(folder)


def test_a_folder_that_is_no_model_is_refused(tmp_path):
    with pytest.raises(AntiphonError) as caught:
        load_run(None, None, {"data": {"train": ["x"]}}, [f"train.start.encoder={tmp_path}"])
    assert str(caught.value).startswith(f"train.start.encoder: {tmp_path / 'antiphon.toml'}")


def test_another_shape_and_unknown_parts_are_refused(folder, tmp_path):
    path = write_labels(tmp_path / "data.tsv")
    sets = ["model.kind=classifier", f"train.start.encoder={folder}", *TUNED]
    with pytest.raises(AntiphonError, match=r"has another shape than this run: encoder\.layers\.0\.feedforward"):
        antiphon.train(
            data={"train": str(path)}, sets=[*sets, "model.encoder.feedforward=8"], out=tmp_path / "a", quiet=True
        )
    with pytest.raises(AntiphonError) as caught:
        antiphon.train(
            data={"train": str(path)}, sets=[*sets, 'train.freeze=["decoder"]'], out=tmp_path / "b", quiet=True
        )
    assert str(caught.value) == 'train.freeze: this model has no part "decoder". It has: source, encoder, head.'
    everything = 'train.freeze=["source", "encoder", "head"]'
    with pytest.raises(AntiphonError, match="nothing is left to learn"):
        antiphon.train(data={"train": str(path)}, sets=[*sets, everything], out=tmp_path / "c", quiet=True)


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("train.word_dropout=0.1", "train.word_dropout: a masked model hides words by itself: leave this key out"),
        ("train.corruption.drop=0.1", "train.corruption: a masked model has no source: leave this key out"),
        (
            "train.teacher_forcing.p=0.5",
            "train.teacher_forcing: a masked model hides words by itself: leave this key out",
        ),
        ("data.window=0", "model.next_sentence reads neighbouring lines: set data.window, 128 for example"),
        ("data.window=5", "data.window = 5 is too short for two texts: at least 8"),
        ("model.strange=0.5", "holes (0.8) and strange (0.5) are shares of one whole: lower one"),
    ],
)
def test_what_means_nothing_is_refused(key, told):
    with pytest.raises(AntiphonError, match=r".*") as caught:
        load_run(None, None, {"data": {"train": ["x"]}}, [*SMALL, key])
    assert told in str(caught.value)
