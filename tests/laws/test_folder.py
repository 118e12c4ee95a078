"""Save-load-same for every pair of choices; and a folder that was mutated anywhere is refused or still the same."""

import random
import shutil
import time
import tracemalloc
from pathlib import Path

import pytest
import torch

from antiphon.build.model import build_model
from antiphon.config import schema
from antiphon.data.tokenize import Choice, learn
from antiphon.errors import AntiphonError
from antiphon.pipeline import Pipeline
from antiphon.store import (
    CONFIG,
    REPORT,
    WEIGHTS,
    Loaded,
    identity,
    load_folder,
    save_settings,
    save_weights,
    weights_of,
    write_tensors,
)
from tests.laws.combinations import COVERING, PROMPTED, WRITING, name

TEXTS = ["b a c", "d", "e f g a b c", "a"]


def a_run(model: schema.Model, tokenizer: Choice | None = None) -> schema.Run:
    side = schema.Side(tokenizer=tokenizer or schema.Words())
    if model.rows == "texts":
        data = schema.Data(train=["texts.txt"], target=side, max_length=18)
    elif isinstance(model, schema.LanguageModel):
        data = schema.Data(train=["pairs.tsv"], source=side, joint=True, max_length=8)
    else:
        data = schema.Data(train=["pairs.tsv"], source=side, target=side, joint=model.tie == "all", max_length=18)
    return schema.Run(data=data, model=model, search=schema.Search(beam=3, max_length=8))


def saved(run: schema.Run, folder: Path) -> Pipeline:
    """A model that knows nothing, with tokenisers that know a few words, on the disk and in memory."""
    target = learn(run.data.target_tokenizer, [*TEXTS * 10, "h i"])
    source = learn(run.data.source.tokenizer, TEXTS * 10) if run.has_source and not run.data.joint else target
    torch.manual_seed(4)
    model = build_model(run.model, source.size, target.size).eval()
    save_settings(folder, run, source, target)
    save_weights(folder, weights_of(model), run, source, target)
    return Pipeline(model, source, target, run)


def answers(pipeline: Pipeline) -> list[list]:
    return pipeline.answer(TEXTS)


@pytest.mark.parametrize("choice", [*COVERING[::3], *WRITING[::3], *PROMPTED[::3]], ids=name)
def test_what_is_loaded_is_what_was_saved(choice, tmp_path):
    save_load_same(choice, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("choice", [*COVERING, *WRITING, *PROMPTED], ids=name)
def test_what_is_loaded_is_what_was_saved_for_every_pair_of_choices(choice, tmp_path):
    save_load_same(choice, tmp_path)


def save_load_same(choice: schema.Model, tmp_path: Path) -> None:
    before = saved(a_run(choice), tmp_path / "model")
    loaded = load_folder(tmp_path / "model")
    assert loaded.run == before.run
    old, new = weights_of(before.model), weights_of(loaded.model)
    assert list(old) == list(new)
    assert all(torch.equal(old[key], new[key]) for key in old)
    assert not dict(before.model.named_buffers()), "what is not a parameter is not saved"
    assert answers(Pipeline(loaded.model, loaded.source, loaded.target, loaded.run)) == answers(before)


@pytest.mark.parametrize(
    "tokenizer",
    [schema.Words(), schema.Words(split="punctuation"), schema.Characters(), schema.Bytes(), schema.Subwords(size=300)],
    ids=lambda choice: choice.kind,
)
def test_every_tokeniser_travels_in_the_folder(tokenizer, tmp_path):
    before = saved(a_run(COVERING[0].model_copy(update={"tie": "none"}), tokenizer), tmp_path / "model")
    loaded = load_folder(Path(shutil.move(tmp_path / "model", tmp_path / "elsewhere")))
    assert (loaded.source.to_bytes(), loaded.target.to_bytes()) == (before.source.to_bytes(), before.target.to_bytes())


HUGE = 10**9
HOSTILE = {
    "width": {"encoder": schema.RecurrentEncoder(width=HUGE)},
    "width of 62 bits": {"encoder": schema.RecurrentEncoder(width=2**62)},
    "embedding": {"encoder": schema.RecurrentEncoder(embedding=HUGE)},
    "layers": {"encoder": schema.RecurrentEncoder(layers=1000)},
    "layers of the decoder": {"decoder": schema.TransformerStack(layers=1000)},
    "attention": {"decoder": schema.RecurrentDecoder(attention=schema.AdditiveAttention(width=HUGE))},
    "feedforward": {"encoder": schema.TransformerStack(width=HUGE, heads=1, feedforward=HUGE)},
    "positions": {"encoder": schema.TransformerStack(positions="learned", max_positions=HUGE)},
}


@pytest.mark.parametrize("model", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_config_is_refused_before_anything_large_is_made(model, tmp_path):
    """Its checksums are right: whoever made it knew how."""
    before = saved(a_run(schema.Seq2Seq(encoder=schema.RecurrentEncoder(width=4))), tmp_path / "model")
    run = a_run(schema.Seq2Seq(**model))
    save_settings(tmp_path / "model", run, before.source, before.target)
    path = tmp_path / "model" / WEIGHTS
    write_tensors(path, weights_of(before.model), identity(run, before.source, before.target))
    tracemalloc.start()
    started = time.monotonic()
    told = r"does not fit antiphon.toml: .* and \d+ more differ|antiphon.toml tells of a model that cannot be built: "
    with pytest.raises(AntiphonError, match=told):
        load_folder(tmp_path / "model")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert time.monotonic() - started < 5
    assert peak < 5e7


@pytest.fixture(scope="module")
def subword_folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("subwords") / "model"
    saved(a_run(COVERING[0].model_copy(update={"tie": "none"}), schema.Subwords(size=300)), folder)
    return folder


def mutate(path: Path, draw: random.Random) -> str:
    content = bytearray(path.read_bytes())
    place, how = (
        draw.randrange(len(content)),
        draw.choice(["flip", "flip", "flip", "cut", "insert", "swap", "overwrite"]),
    )
    match how:
        case "flip":
            content[place] ^= 1 << draw.randrange(8)
        case "cut":
            del content[place:]
        case "insert":
            content[place:place] = draw.randbytes(draw.randint(1, 9))
        case "swap":
            other = draw.randrange(len(content))
            content[place], content[other] = content[other], content[place]
        case "overwrite":
            content[place : place + 8] = draw.randbytes(8)
    path.write_bytes(content)
    return f"{how} {path.name} at byte {place}"


def refused_or_the_same(folder: Path, before: Loaded, mutant: str) -> bool:
    try:
        after = load_folder(folder)
    except AntiphonError as error:
        assert str(error).startswith(str(folder)), mutant
        assert str(error).count("\n") < 3, mutant
        return True
    old, new = weights_of(before.model), weights_of(after.model)
    assert all(torch.equal(old[key], new[key]) for key in old), mutant
    assert (after.source.to_bytes(), after.target.to_bytes()) == (before.source.to_bytes(), before.target.to_bytes())
    assert after.run.model == before.run.model, mutant
    return False


def try_mutants(original: Path, place: Path, files: list[str], count: int) -> None:
    """A flipped bit or a cut is always refused, but in a config or report that says the same of the model."""
    before, draw = load_folder(original), random.Random(9)
    for file in files:
        for number in range(count):
            folder = place / f"{file} {number}"
            shutil.copytree(original, folder, ignore=shutil.ignore_patterns("checkpoints", "tokens"))
            mutant = mutate(folder / file, draw)
            started = time.monotonic()
            refused = refused_or_the_same(folder, before, mutant)
            assert refused or file in (CONFIG, REPORT) or mutant.split()[0] not in ("flip", "cut"), mutant
            assert time.monotonic() - started < 5, mutant
            shutil.rmtree(folder)


def test_mutants_are_refused_or_the_same(trained, subword_folder, tmp_path):
    names = [WEIGHTS, CONFIG, REPORT, "source.tokenizer.json", "target.tokenizer.json"]
    try_mutants(trained, tmp_path, names, 60)
    try_mutants(subword_folder, tmp_path, ["source.tokenizer.model", WEIGHTS], 60)


@pytest.mark.slow
def test_five_thousand_mutants_are_refused_or_the_same(trained, subword_folder, tmp_path):
    names = [WEIGHTS, CONFIG, REPORT, "source.tokenizer.json", "target.tokenizer.json"]
    try_mutants(trained, tmp_path, names, 800)
    try_mutants(subword_folder, tmp_path, ["source.tokenizer.model"], 1000)
