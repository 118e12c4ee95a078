"""Every recipe learns on real data: a few minutes each, on a slice of multi30k or of a pronouncing dictionary."""

import gzip

import pytest

from antiphon.config.text import read_recipe, recipe_names
from antiphon.config.toml import load_run
from antiphon.data.builtin import read_pronunciations
from antiphon.training.log import read_log
from antiphon.training.loop import train

# The base model needs seconds a step on a CPU; it is the small one, wider and deeper. The others have other tasks.
APART = ("demo-dates", "demo-pronounce", "transformer-base", "pronounce", "transformer-letters", "bart-tiny")


def translates(recipe):
    model = read_recipe(recipe)["model"]
    return recipe not in APART and (model.get("kind", "seq2seq") == "seq2seq" or model.get("reads") == "pairs")


PARTS = (("train", "train"), ("valid", "dev"))
RECIPES = [name for name in recipe_names() if translates(name)]


def last_validation(folder):
    return [entry["valid"] for entry in read_log(folder / "log.jsonl") if "valid" in entry][-1]


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_learns_to_translate(recipe, real_data, tmp_path):
    """The validation loss of 4,000 captions falls well below the entropy of their words alone (about 5.5 a subword)."""
    folder = real_data / "multi30k" / "tok"
    for side in ("de", "en"):
        lines = gzip.decompress((folder / f"train.lc.norm.tok.{side}.gz").read_bytes()).splitlines(keepends=True)
        (tmp_path / f"train.{side}").write_bytes(b"".join(lines[:4000]))
    data = {"data": {"train": [str(tmp_path / "train.de")], "train_target": [str(tmp_path / "train.en")]}}
    sizes = ["data.source.tokenizer.size=2000", "train.batch_tokens=1024"]
    one = read_recipe(recipe).get("data", {}).get("joint") or recipe == "gpt-prompt"  # vocabulary for both sides
    sizes += [] if one else ["data.target.tokenizer.size=2000"]
    limits = ["train.max_steps=250", "train.warmup=50", "train.validate_every=250", "train.self_check=false"]
    train(load_run(None, recipe, data, [*sizes, *limits]), tmp_path / "run")
    assert last_validation(tmp_path / "run")["loss"] < 4.5


@pytest.mark.slow
def test_the_acceptor_learns_what_a_review_says(real_data, tmp_path):
    """After 300 steps of the 6,000 that the recipe takes, unseen reviews are told apart far better than by chance."""
    files = {
        part: str(real_data / "sst" / f"stsa.binary.{name}.gz") for part, name in (("train", "train"), ("valid", "dev"))
    }
    limits = ["train.max_steps=300", "train.validate_every=100", "train.self_check=false"]
    train(
        load_run(None, "acceptor", {"data": {part: [file] for part, file in files.items()}}, limits), tmp_path / "run"
    )
    found = [entry["valid"]["accuracy"] for entry in read_log(tmp_path / "run" / "log.jsonl") if "valid" in entry]
    assert max(found) > 0.72


@pytest.mark.slow
@pytest.mark.parametrize("texts", ["joined", "towers"])
def test_two_sentences_are_compared(texts, real_data, tmp_path):
    """Entailment of SICK after some hundred steps: better than its commonest label, which 57 % of the pairs have."""
    files = {
        part: str(real_data / "sick" / f"SICK_{name}.txt.gz") for part, name in (("train", "train"), ("valid", "trial"))
    }
    data = {part: [file] for part, file in files.items()} | {"columns": [2, 3, 5], "header": True}
    limits = [f"model.texts={texts}", "train.max_steps=400", "train.validate_every=100", "train.self_check=false"]
    train(load_run(None, "acceptor", {"data": data}, limits), tmp_path / "run")
    found = [entry["valid"]["accuracy"] for entry in read_log(tmp_path / "run" / "log.jsonl") if "valid" in entry]
    assert max(found) > 0.6


@pytest.mark.slow
def test_the_transducer_learns_parts_of_speech(real_data, tmp_path):
    """After 300 steps of the 6,000 that the recipe takes, more than four words in five of unseen sentences are right."""
    folder = real_data / "ud_english_ewt"
    data = {
        part: [str(folder / f"en_ewt-ud-{name}.conllu.gz")] for part, name in (("train", "train"), ("valid", "dev"))
    }
    limits = ["train.max_steps=300", "train.validate_every=300", "train.self_check=false"]
    train(load_run(None, "transducer", {"data": data}, limits), tmp_path / "run")
    assert last_validation(tmp_path / "run")["accuracy"] > 0.8


@pytest.mark.slow
def test_the_transducer_learns_to_find_names(real_data, tmp_path):
    """With a chain over tags, on tweets: the first hundreds of steps find some of the spans."""
    folder = real_data / "wnut17"
    data = {"train": [str(folder / "wnut17train.conll.gz")], "valid": [str(folder / "emerging.dev.conll.gz")]}
    limits = ["model.output=chain", "train.label_smoothing=0.0", "train.metric=f1", "train.max_steps=500"]
    train(load_run(None, "transducer", {"data": data}, [*limits, "train.self_check=false"]), tmp_path / "run")
    assert last_validation(tmp_path / "run")["f1"] > 0.05


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["pronounce", "transformer-letters"])
def test_a_recipe_learns_to_pronounce(recipe, real_data, tmp_path):
    """After 500 steps of the thousands that it takes, more than one phone in two of unseen words is foretold."""
    parts = read_pronunciations(real_data / "cmudict" / "cmudict.dict.gz")
    for name, pairs in (("train", parts.train), ("valid", parts.valid[:500])):
        lines = [f"{word}\t{phones}\n" for word, phones in pairs]
        (tmp_path / f"{name}.tsv").write_text("".join(lines), encoding="utf-8")
    data = {"data": {"train": [str(tmp_path / "train.tsv")], "valid": [str(tmp_path / "valid.tsv")]}}
    limits = ["train.max_steps=500", "train.validate_every=500", "train.self_check=false"]
    train(load_run(None, recipe, data, limits), tmp_path / "run")
    assert last_validation(tmp_path / "run")["accuracy"] > 0.5


@pytest.mark.slow
@pytest.mark.parametrize(("recipe", "steps"), [("rnn-lm", 300), ("gpt-tiny", 300)])
def test_a_recipe_learns_to_write(recipe, steps, real_data, tmp_path):
    """After a few of the recipe's steps a character of Shakespeare costs less than two and a quarter nats.

    Each by itself costs 3.3; one that is known by the one before it, 2.5.
    """
    text = gzip.decompress((real_data / "tinyshakespeare" / "input.txt.gz").read_bytes()).decode()
    cut = len(text) * 9 // 10
    for name, part in (("train", text[:cut]), ("valid", text[cut : cut + 20_000])):
        (tmp_path / f"{name}.txt").write_text(part, encoding="utf-8")
    data = {"data": {"train": [str(tmp_path / "train.txt")], "valid": [str(tmp_path / "valid.txt")]}}
    limits = [f"train.max_steps={steps}", f"train.validate_every={steps}", "train.self_check=false"]
    train(load_run(None, recipe, data, limits), tmp_path / "run")
    assert last_validation(tmp_path / "run")["loss"] < 2.25


@pytest.mark.slow
def test_a_recipe_learns_to_mend(real_data, tmp_path):
    """After 300 steps of the 20,000 that the recipe takes, a symbol costs far less than the entropy of symbols alone."""
    lines = gzip.decompress((real_data / "multi30k" / "raw" / "train.en.gz").read_bytes()).splitlines(keepends=True)
    (tmp_path / "train.txt").write_bytes(b"".join(lines[:8000]))
    limits = ["train.max_steps=300", "train.validate_every=300", "train.self_check=false", "train.warmup=50"]
    sizes = ["data.source.tokenizer.size=2000", "train.batch_tokens=1024"]
    train(
        load_run(None, "bart-tiny", {"data": {"train": [str(tmp_path / "train.txt")]}}, [*sizes, *limits]),
        tmp_path / "run",
    )
    assert last_validation(tmp_path / "run")["loss"] < 4.5


@pytest.fixture(scope="module")
def masked(real_data, tmp_path_factory):
    """A masked model after 600 steps on captions."""
    folder = tmp_path_factory.mktemp("masked")
    lines = gzip.decompress((real_data / "multi30k" / "raw" / "train.en.gz").read_bytes()).splitlines(keepends=True)
    (folder / "train.txt").write_bytes(b"".join(lines[:12_000]))
    limits = ["train.max_steps=600", "train.validate_every=600", "train.self_check=false"]
    sizes = ["data.target.tokenizer.size=2000", "model.next_sentence=false"]
    train(load_run(None, "bert-tiny", {"data": {"train": [str(folder / "train.txt")]}}, sizes + limits), folder / "run")
    return folder / "run"


@pytest.mark.slow
def test_bert_learns_to_fill_holes(masked):
    """A hidden symbol costs less than one of which only the frequency is known."""
    assert last_validation(masked)["loss"] < 4.5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("recipe", "file", "least"),
    [
        ("bert-classifier", "sst/stsa.binary.{}.gz", 0.65),
        ("bert-tagger", "ud_english_ewt/en_ewt-ud-{}.conllu.gz", 0.6),
    ],
)
def test_bert_is_tuned_to_label_texts_and_words(recipe, file, least, masked, real_data, tmp_path):
    data = {part: [str(real_data / file.format(name))] for part, name in PARTS}
    limits = [f"train.start.encoder={masked}", "train.max_steps=300", "train.validate_every=100"]
    train(load_run(None, recipe, {"data": data}, [*limits, "train.self_check=false"]), tmp_path / "run")
    assert last_validation(tmp_path / "run")["accuracy"] > least
