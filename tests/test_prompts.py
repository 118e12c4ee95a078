"""A language model of pairs: source, end and target in one row, of which the target is learnt and answered."""

import json
import math
from pathlib import Path

import pytest
import torch

import antiphon
from antiphon.build.model import build_model
from antiphon.commands.verify import run_verify
from antiphon.config import schema
from antiphon.config.toml import load_run
from antiphon.data.batch import join, make_batch
from antiphon.data.vocab import END, PAD, START
from antiphon.errors import AntiphonError
from antiphon.training.exposure import with_own_words
from antiphon.training.learner import Learner
from antiphon.training.loop import train
from antiphon.training.noise import Draws
from tests.laws.runner import write_pairs

COMMON = (
    "model.kind=language_model", "model.reads=pairs", "data.source.tokenizer={kind=words}", "train.batch_tokens=600",
    "train.max_steps=250", "train.warmup=20", "train.validate_every=125", "train.save_every=125", "search.beam=3",
    "train.learning_rate=0.02", "train.label_smoothing=0.0",
)  # fmt: skip
RECURRENT = (*COMMON, "model.decoder={kind=recurrent,cell=gru,width=32,embedding=16,dropout=0.0}")
TRANSFORMER = (
    *COMMON, "data.max_length=8", "train.metric=exact_match", "train.learning_rate=0.01", "train.self_check=false",
    "model.decoder={kind=transformer,width=16,layers=2,heads=2,feedforward=32,dropout=0.0,positions=learned,"
    "max_positions=18}",
)  # fmt: skip
TEXTS = ["one two", "six", "three one four five", "", "two two six"]


def trained(place, sets):
    pairs = write_pairs(place / "pairs.tsv")
    train(load_run(None, None, {"data": {"train": [str(pairs)]}}, list(sets)), place / "run")
    return antiphon.load(place / "run")


@pytest.fixture(scope="module")
def recurrent(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("recurrent"), RECURRENT)


@pytest.fixture(scope="module")
def transformer(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("transformer"), TRANSFORMER)


def test_a_pair_is_one_row_without_a_gap():
    joined = join(make_batch([[4, 5, 6], [7]], [[8], [9, 10]]))
    assert joined.words_BR.tolist() == [[START, 4, 5, 6, END, 8], [START, 7, END, 9, 10, PAD]]
    assert joined.mask_BR.sum(1).tolist() == [6, 5]
    assert joined.learnt_BR.nonzero().tolist() == [[0, 4], [0, 5], [1, 2], [1, 3], [1, 4]]


@pytest.mark.parametrize("decoder", [schema.RecurrentWriter(width=8), schema.TransformerStack(width=8, heads=2)])
def test_the_loss_is_that_of_the_joined_row_in_a_plain_model_at_the_targets_places(decoder):
    """The same weights in a language model of texts, each row by itself, all written out."""
    models = []
    for reads in ("texts", "pairs"):
        torch.manual_seed(3)
        models.append(build_model(schema.LanguageModel(decoder=decoder, reads=reads), 11, 11).eval())
    plain, prompted = models
    sources, targets = [[4, 5, 6], [7], [9, 4]], [[8], [9, 10, 4], [5, 6]]
    batch = make_batch(sources, targets)
    with torch.no_grad():
        logs = prompted.head(prompted(batch)).log_softmax(-1)
        found = logs.gather(1, batch.target_out_BT[batch.target_mask_BT].unsqueeze(1)).squeeze(1)
        wanted = []
        for source, target in zip(sources, targets, strict=True):
            row = make_batch([[]], [[*source, END, *target]])
            logs_TV = plain.head(plain(row)).log_softmax(-1)
            wanted += logs_TV.gather(1, row.target_out_BT[0].unsqueeze(1)).squeeze(1)[len(source) + 1 :].tolist()
    torch.testing.assert_close(found, torch.tensor(wanted), atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("own", ["best", "sampled"])
@pytest.mark.parametrize("decoder", [schema.RecurrentWriter(width=8), schema.TransformerStack(width=8, heads=2)])
def test_own_words_are_what_the_model_would_write(decoder, own):
    torch.manual_seed(3)
    model = build_model(schema.LanguageModel(decoder=decoder, reads="pairs"), 11, 11).train()
    batch = make_batch([[4, 5, 6], [7], [9, 4]], [[8, 4], [9, 10, 4], [5, 6, 7, 8]])
    assert with_own_words(model, batch, 1.0, own, Draws(1, 2, 0)) is batch
    mixed = with_own_words(model, batch, 0.0, own, Draws(1, 2, 0))
    assert model.training
    assert torch.equal(mixed.target_in_BT[:, 0], batch.target_in_BT[:, 0])
    assert torch.equal(mixed.target_in_BT[~batch.target_mask_BT], batch.target_in_BT[~batch.target_mask_BT])
    assert not torch.isin(mixed.target_in_BT[batch.target_mask_BT][1:], torch.tensor([PAD])).any()
    if own == "best":  # every own word is the likeliest after all own words before it
        with torch.no_grad():
            logits_PV = model.eval().head(model(mixed))
        logits_PV[:, [PAD, START, 3]] = -math.inf
        rows = logits_PV.argmax(1).split(batch.target_mask_BT.sum(1).tolist())
        for row, read in zip(rows, mixed.target_in_BT, strict=True):
            assert read[1 : len(row)].tolist() == row[:-1].tolist()


def test_a_source_has_an_answer_and_no_completion(recurrent, transformer):
    for model, least in ((recurrent, 0.7), (transformer, 0.5)):
        assert not model.pipeline.completes
        assert model("") == ""
        pairs = [line.split("\t") for line in write_pairs_of(model)]
        found = [answers[0].text for answers in model.predict([source for source, _ in pairs])]
        right = sum(answer == target for answer, (_, target) in zip(found, pairs, strict=True))
        assert right >= least * len(pairs), (right, len(pairs))


def write_pairs_of(model):
    with open(model.pipeline.run.data.train[0], encoding="utf-8") as file:
        return file.read().splitlines()[::5]


def test_no_batch_changes_an_answer(recurrent, transformer):
    for model in (recurrent, transformer):
        for search in ({"beam": 3}, {"beam": 1}, {"sample": True}):
            chosen = model.search(search)
            together = [found[0].text for found in model.pipeline.answer(TEXTS, chosen)]
            alone = [model.pipeline.answer([text], chosen, first=n)[0][0].text for n, text in enumerate(TEXTS)]
            assert alone == together


def test_every_search_works(transformer):
    search = transformer.search
    assert transformer.predict(["one two"], search({"prefix": "drei"}))[0][0].text.startswith("drei")
    assert "sechs" in transformer.predict(["one two"], search({"contain": ["sechs"]}))[0][0].text
    assert "eins" not in transformer.predict(["one two"], search({"avoid": ["eins"]}))[0][0].text
    labels = ["zwei eins", "vier", "fünf fünf"]
    assert [found[0].text for found in transformer.predict(["one two", "four"], search({"answers": labels}))] == labels[
        :2
    ]
    assert len(transformer.predict(["one two three"], search({"groups": 3, "n_best": 3, "diversity": 50.0}))[0]) == 3
    assert transformer.predict(["one two"], search({"mbr": "chrf"}))[0][0].text


def test_targets_are_judged_like_those_of_any_pairs(recurrent):
    scores = {score.name: score.value for score in recurrent.evaluate([("one two", "zwei eins"), ("six", "sechs")])}
    assert {"BLEU", "exact match", "perplexity"} <= set(scores)
    logs = recurrent.score([("one two", "zwei eins"), ("six", "sechs")])
    assert scores["perplexity"] == pytest.approx(math.exp(-sum(logs) / 5), rel=1e-4)
    assert recurrent.score([("one two", "eins zwei")])[0] < logs[0]
    with pytest.raises(AntiphonError) as caught:
        recurrent.evaluate_texts(["one"])
    assert str(caught.value) == "evaluate_texts: this model answers sources. Give it pairs: model.evaluate(pairs)."
    sure = recurrent.confidence(["six"], recurrent.predict(["six"])[0])
    assert 0 < sure[0].sentence <= 1


def test_attention_and_gradients_can_be_seen(recurrent, transformer):
    shown = transformer.show("one two")
    heads = shown.symbols["decoder"]
    answer = tuple(shown.answer.split())
    assert heads.rows == ("one", "two", "</s>", *answer, "</s>")
    assert heads.columns == ("<s>", "one", "two", "</s>", *answer)
    (chain,) = recurrent.gradients("one two").chains
    assert chain.symbols[:4] == ("<s>", "one", "two", "</s>")
    assert recurrent.show_beam("one two", beam=3) is not None


def test_the_promises_hold_on_it(recurrent, capsys):
    folder = recurrent.pipeline.run.data.train[0].replace("pairs.tsv", "run")
    run_verify(Path(folder), None, as_json=True)
    proofs = json.loads(capsys.readouterr().out)["proofs"]
    assert all(proof["holds"] for proof in proofs)
    assert {"an ensemble of one is the model", "an empty line has an empty answer"} <= {p["promise"] for p in proofs}


def test_models_of_one_vocabulary_write_together(recurrent):
    folder = recurrent.pipeline.run.data.train[0].replace("pairs.tsv", "run")
    both = antiphon.load(folder, partners=[folder])
    assert [found[0].text for found in both.predict(TEXTS)] == [found[0].text for found in recurrent.predict(TEXTS)]


def test_what_does_not_fit_is_refused(transformer):
    with pytest.raises(AntiphonError) as caught:
        transformer.predict(["one", " ".join(["one"] * 17)])
    assert str(caught.value) == "line 2: 17 symbols, and this model reads at most 16. Give it less."
    (answer,) = transformer.predict([" ".join(["one"] * 14)])[0]
    assert len(answer.symbols) <= 3
    with pytest.raises(AntiphonError) as caught:
        transformer.score([("one", "eins"), (" ".join(["one"] * 10), " ".join(["eins"] * 7))])
    assert str(caught.value) == (
        "pair 2: its source and target have 17 symbols, and this model reads at most 16. Leave it out, or shorten it."
    )


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        (["data.joint=false"], 'data.joint: model.reads = "pairs" has one vocabulary for both sides: leave it out'),
        (
            ["data.target.tokenizer={kind=bytes}"],
            'data.target.tokenizer: model.reads = "pairs" has one vocabulary for both sides, and its tokeniser is '
            "data.source.tokenizer: leave this key out",
        ),
        (["data.window=8"], 'data.window cuts a running text, which needs model.reads = "texts"'),
        (
            ["model.decoder={kind=transformer,positions=learned,max_positions=513}"],
            "model.decoder.max_positions (513) must be above 1 + 2 x data.max_length (256), to seat the longest source, "
            "its end and the longest target in one row",
        ),
    ],
)
def test_choices_that_pairs_cannot_have(sets, message):
    with pytest.raises(AntiphonError) as caught:
        load_run(None, None, {"data": {"train": ["x"]}}, [*COMMON, *sets])
    assert str(caught.value) == message


def test_one_vocabulary_is_what_pairs_have_by_default():
    run = load_run(None, None, {"data": {"train": ["x"]}}, list(COMMON))
    assert run.data.joint
    assert run.rows == "pairs"
    data = schema.Data(train=["x"])
    assert schema.Run(data=data, model=schema.LanguageModel(reads="pairs")).data.joint
    assert not schema.Run(data=data).data.joint


def test_noise_reaches_the_source_of_a_row():
    torch.manual_seed(3)
    model = build_model(schema.LanguageModel(reads="pairs"), 11, 11)
    batch, lost = make_batch([[4, 5, 6, 7]] * 3, [[8]] * 3), []
    for drop in (0.0, 0.9):
        noise = schema.Train(corruption=schema.Corruption(drop=drop), label_smoothing=0.0)
        lost.append(int(Learner(model, noise, 1).lesson.disturb(batch, 1.0, Draws(1, 0, 0)).mask_BS.sum()))
    assert lost[1] < lost[0] == int(batch.mask_BS.sum())


SHORT = ("train.max_steps=1", "train.self_check=false", "train.learning_rate=1e-9", "train.warmup=0", "train.average=0")


@pytest.fixture(scope="module")
def writer(tmp_path_factory):
    """The folder of a model that has learnt to write, and next to nothing."""
    place = tmp_path_factory.mktemp("writer")
    (place / "text.txt").write_text("one two three\nsix eins zwei\n" * 20, encoding="utf-8")
    decoder = "model.decoder={kind=transformer,width=16,layers=1,heads=2,feedforward=32,dropout=0.0}"
    texts = ("model.kind=language_model", "data.target.tokenizer={kind=words}", decoder, *SHORT)
    train(load_run(None, None, {"data": {"train": [str(place / "text.txt")]}}, list(texts)), place / "run")
    return place / "run"


@pytest.mark.parametrize("recipe", [None, "gpt-prompt"])
def test_a_model_of_texts_is_trained_further_by_prompts(writer, recipe, tmp_path):
    """GPT: first to write, then to answer, with the same words and weights; a recipe gives way to the folder."""
    pairs = write_pairs(tmp_path / "pairs.tsv")
    kind = () if recipe else ("model.kind=language_model", "model.reads=pairs")
    sets = (*kind, f"train.start.decoder={writer}", *SHORT)
    train(load_run(None, recipe, {"data": {"train": [str(pairs)]}}, list(sets)), tmp_path / "run")
    first, answering = antiphon.load(writer), antiphon.load(tmp_path / "run")
    assert answering.pipeline.target.to_bytes() == first.pipeline.target.to_bytes()
    theirs, ours = (dict(one.pipeline.model.named_parameters()) for one in (first, answering))
    assert set(ours) == set(theirs)
    for key, value in ours.items():
        torch.testing.assert_close(value, theirs[key], atol=1e-6, rtol=1e-4)
    assert not answering.pipeline.completes


def test_a_decoder_of_a_seq2seq_starts_from_a_model_of_texts(writer, tmp_path):
    """Words, layers and head are those of the folder; what looks at the source is new."""
    pairs = write_pairs(tmp_path / "pairs.tsv")
    encoder = "model.encoder={kind=transformer,width=16,layers=1,heads=2,feedforward=32}"
    sets = ("data.source.tokenizer={kind=words}", encoder, f"train.start.decoder={writer}", *SHORT)
    train(load_run(None, None, {"data": {"train": [str(pairs)]}}, list(sets)), tmp_path / "run")
    first, answering = antiphon.load(writer), antiphon.load(tmp_path / "run")
    assert answering.pipeline.target.to_bytes() == first.pipeline.target.to_bytes()
    theirs, ours = (dict(one.pipeline.model.named_parameters()) for one in (first, answering))
    for key, value in theirs.items():
        torch.testing.assert_close(ours[key], value, atol=1e-6, rtol=1e-4)
    new = {key for key in ours if key not in theirs and not key.startswith(("source.", "encoder."))}
    assert new
    assert all("memory_attention" in key for key in new), new
