"""Sentence vectors: of every shape, alone as in a batch, by hand, from Python and from the command line."""

import json

import numpy as np
import pytest
import torch

import antiphon
from antiphon.build.model import build_model
from antiphon.cli import main
from antiphon.config import schema
from antiphon.config.toml import load_run
from antiphon.data.batch import make_batch
from antiphon.data.vocab import END, START
from antiphon.errors import AntiphonError
from antiphon.models.labelling import Classifier, Tagger
from antiphon.training.loop import train
from antiphon.vectors import embed, vector_width
from tests.laws.combinations import COVERING, PROMPTED, WRITING, name
from tests.laws.runner import CLASSIFIER, TAGGER, write_labels, write_tags, write_text

TEXTS = [[4, 5, 6, 7, 8], [9, 4], [10, 7, 5]]
NONE = [[], [], []]
CLOSE = {"atol": 2e-5, "rtol": 1e-4}
RECURRENT = {"kind": "recurrent", "width": 6, "embedding": 5}
STACK = {"kind": "transformer", "width": 8, "layers": 2, "heads": 2, "feedforward": 9}
LABELLERS = [
    schema.Classifier.model_validate({"encoder": encoder, "pool": pool, "queries": 2 if pool == "attention" else 1, "texts": texts})
    for encoder, pool, texts in (
        (RECURRENT, "last", "one"), (RECURRENT, "attention", "joined"), (RECURRENT, "max", "towers"), (STACK, "cls", "one"),
        (STACK, "mean", "towers"),
    )
] + [schema.Tagger.model_validate({"encoder": encoder}) for encoder in (RECURRENT, STACK)]  # fmt: skip


def a_model(choice):
    torch.manual_seed(1)
    return build_model(choice, 11, 11).eval()


def vectors(model, rows):
    """Of these texts, read as the shape reads them."""
    if isinstance(model, Tagger | Classifier):
        batch = make_batch(rows, [[4] * len(row) for row in rows], ended=False)
    elif getattr(model, "pairs", True):
        batch = make_batch(rows, NONE[: len(rows)])
    else:
        batch = make_batch(NONE[: len(rows)], rows)
    with torch.no_grad():
        return model.vectors(batch)


@pytest.mark.parametrize("choice", [*COVERING[::12], *WRITING[::8], *PROMPTED[::5], *LABELLERS], ids=name)
def test_no_batch_changes_a_vector(choice):
    model = a_model(choice)
    together = vectors(model, TEXTS)
    for row, among in zip(TEXTS, together, strict=True):
        torch.testing.assert_close(vectors(model, [row])[0], among, **CLOSE)
    run = schema.Run.model_construct(model=choice)
    assert together.shape == (3, vector_width(run))
    assert not torch.allclose(together[0], together[1], atol=1e-3)


def test_it_is_the_mean_of_what_the_encoder_leaves_by_hand():
    model = a_model(schema.Seq2Seq())
    with torch.no_grad():
        states = model.encoder(model.source(torch.tensor([[9, 4, END]])), torch.ones(1, 3, dtype=torch.bool)).states_BSM
    torch.testing.assert_close(vectors(model, [[9, 4]])[0], (states[0, 0] + states[0, 1] + states[0, 2]) / 3)


@pytest.mark.parametrize("reads", ["texts", "pairs"])
def test_it_is_the_mean_of_what_the_decoder_leaves_word_by_word(reads):
    model = a_model(schema.LanguageModel(reads=reads))
    state, left = model.begin(1), []
    with torch.no_grad():
        for word in [START, 9, 4, *([END] if reads == "pairs" else [])]:
            out, state = model.decoder.step(model.target(torch.tensor([word])), state)
            left.append(out[0])
    torch.testing.assert_close(vectors(model, [[9, 4]])[0], torch.stack(left).mean(0), **CLOSE)


@pytest.mark.parametrize("choice", LABELLERS[:2] + LABELLERS[3:4], ids=name)
def test_it_is_what_the_pool_of_a_classifier_gives_its_head(choice):
    model, batch = a_model(choice), make_batch(TEXTS, NONE, ended=False)
    with torch.no_grad():
        assert torch.equal(model.between(model.vectors(batch)), model(batch))


def test_a_tower_is_what_is_compared():
    model = a_model(LABELLERS[2])
    one, other = vectors(model, [[4, 5]]), vectors(model, [[9]])
    with torch.no_grad():
        whole = model(make_batch([[4, 5, END, 9]], [[]], ended=False))
        wanted = model.between(torch.cat([one, other, (one - other).abs(), one * other], dim=-1))
    torch.testing.assert_close(whole, wanted, **CLOSE)


def ran(capsys, *words):
    """What a verb prints, and the code and the words with which it ends."""
    code = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["antiphon", *map(str, words)])
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
    said = capsys.readouterr()
    return code, said.out, said.err


def test_python_and_the_command_line_say_the_same(trained, tmp_path, capsys):
    texts = ["one two three", "", "six", "  ", "four one"]
    (tmp_path / "texts.txt").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    model = antiphon.load(trained)
    found = model.embed(texts)
    assert found.dtype == np.float32
    assert found.shape == (5, 24)
    assert found[[0, 2, 4]].any(1).all()
    assert not found[[1, 3]].any(), "an empty text is a vector of zeros"
    assert model.embed([]).shape == (0, 24)
    assert model.embed([""]).tolist() == [[0.0] * 24]
    for tokens in (1, 6):
        np.testing.assert_allclose(embed(model.pipeline, texts, batch_tokens=tokens), found, atol=1e-5)
    code, out, _ = ran(capsys, "predict", trained, tmp_path / "texts.txt", "--embed")
    read = np.array([line.split(" ") for line in out.splitlines()], dtype=np.float32)
    assert code == 0
    assert (read == found).all(), "every digit that float32 has"
    _, out, _ = ran(capsys, "predict", trained, tmp_path / "texts.txt", "--embed", "--json")
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["line"] for line in lines] == [1, 2, 3, 4, 5]
    assert [line["text"] for line in lines] == texts
    assert (np.array([line["vector"] for line in lines], dtype=np.float32) == found).all()


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (["--beam", "3"], "--beam"), (["--sample"], "--sample"), (["--n-best", "2"], "--n-best"), (["--scores"], "--scores"),
        (["--min-confidence", "0"], "--min-confidence"), (["--with", "x"], "--with"),
    ],
)  # fmt: skip
def test_flags_that_say_how_to_answer_are_refused(trained, capsys, flags, named):
    code, out, said = ran(capsys, "predict", trained, "--embed", *flags)
    assert (code, out) == (2, "")
    assert said == f"antiphon: {named}: it is about answers, and --embed gives vectors. Leave one of them out.\n"


RUNNING = (
    "model.kind=language_model", "data.window=6", "data.target.tokenizer={kind=words}", "model.decoder.width=5",
    "model.decoder.embedding=4", "train.max_steps=2", "train.self_check=false",
)  # fmt: skip


@pytest.mark.parametrize(
    ("sets", "write", "width"),
    [
        ((*CLASSIFIER, "train.max_steps=2"), write_labels, 24),
        ((*TAGGER, "train.max_steps=2"), write_tags, 8),
        (RUNNING, write_text, 5),
    ],
    ids=["classifier", "tagger with letters", "running text"],
)
def test_every_shape_that_was_trained_has_vectors(sets, write, width, tmp_path):
    train(load_run(None, None, {"data": {"train": [str(write(tmp_path / "data"))]}}, list(sets)), tmp_path / "run")
    model = antiphon.load(tmp_path / "run")
    found = model.embed(["one two", "", "three", "six five four"])
    assert found.shape == (4, width)
    assert not found[1].any()
    assert np.isfinite(found).all()
    np.testing.assert_allclose(model.embed(["three"])[0], found[2], atol=1e-5)


def test_what_cannot_be_read_is_refused(trained):
    model = antiphon.load(trained)
    with pytest.raises(AntiphonError) as caught:
        model.embed(["one", " ".join(["one"] * 1025)])
    assert str(caught.value) == (
        "line 2: 1,025 symbols, and this model reads at most 1,024. "
        "Split the text, or raise search.max_source where memory allows."
    )
