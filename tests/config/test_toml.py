import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from antiphon.config.keys import choices_of, holds_paths, item_of, tables_of
from antiphon.config.schema import (
    AdditiveAttention,
    DotAttention,
    RecurrentEncoder,
    Run,
    Side,
    Subwords,
    TransformerStack,
    Words,
)
from antiphon.config.toml import differences, dump_run, load_run, read_resolved
from antiphon.errors import AntiphonError

PAIRS = {"data": {"train": ["pairs.tsv"]}}


@pytest.fixture
def run_file(tmp_path, monkeypatch):
    """Writes run.toml into the working directory and gives its name."""
    monkeypatch.chdir(tmp_path)

    def write(text, name="run.toml"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")
        return Path(name)

    return write


def with_sets(*sets, recipe=None):
    return load_run(None, recipe, PAIRS, sets)


def test_training_pairs_alone_are_a_run():
    assert load_run(None, None, PAIRS, []) == Run.model_validate(PAIRS)


def test_each_layer_lies_over_the_one_before(run_file):
    file = run_file('[data]\ntrain = "pairs.tsv"\n[train]\nmax_steps = 1\nwarmup = 1\npatience = 1\n')
    run = load_run(file, "rnnsearch", {"train": {"warmup": 2, "patience": 2}}, ["train.patience=3"])
    assert run.model.decoder.query == "previous"
    assert (run.train.max_steps, run.train.warmup, run.train.patience) == (1, 2, 3)


def test_what_was_given_is_not_changed():
    given = {"data": {"train": ["./pairs.tsv"]}, "model": {"encoder": {"width": 3}}}
    load_run(None, "rnnsearch", given, ["model.encoder.layers=2"])
    assert given == {"data": {"train": ["./pairs.tsv"]}, "model": {"encoder": {"width": 3}}}


def test_tables_of_one_kind_merge():
    encoder = with_sets("model.encoder.dropout=0.5", recipe="transformer-tiny").model.encoder
    assert encoder == TransformerStack(width=128, layers=4, heads=4, feedforward=256, dropout=0.5)


def test_another_kind_replaces_the_whole_table():
    assert with_sets("model.encoder.kind=recurrent", recipe="transformer-small").model.encoder == RecurrentEncoder()


def test_a_base_without_kind_is_of_the_default_kind(run_file):
    file = run_file('[data]\ntrain = "x"\n[model.encoder]\nwidth = 128\ndirections = 1\n')
    assert load_run(file, None, {}, []).model.encoder == RecurrentEncoder(width=128, directions=1)
    assert load_run(file, None, {}, ["model.encoder.kind=recurrent"]).model.encoder.width == 128
    assert load_run(file, None, {}, ["model.encoder.kind=transformer"]).model.encoder == TransformerStack()
    assert load_run(file, None, {}, ["model.kind=seq2seq"]).model.encoder.width == 128


def test_kinds_are_filled_in_at_every_depth():
    run = with_sets("data.target.tokenizer={size=500}", "model.decoder.attention.width=7")
    assert run.data.target.tokenizer == Subwords(size=500)
    assert run.model.decoder.attention == AdditiveAttention(width=7)


def test_new_sources_do_not_keep_old_targets(run_file):
    file = run_file('[data]\ntrain = "a.en"\ntrain_target = "a.de"\nvalid = "v.en"\nvalid_target = "v.de"\n')
    data = load_run(file, None, PAIRS, []).data
    assert (data.train, data.train_target) == (["pairs.tsv"], [])
    assert (data.valid, data.valid_target) == (["v.en"], ["v.de"])
    assert load_run(file, None, {"data": {"train_target": "b.de"}}, []).data.train == ["a.en"]
    data = load_run(file, None, {}, ["data.train_target=b.de", "data.train=b.en"]).data
    assert (data.train, data.train_target) == (["b.en"], ["b.de"])


def test_paths_are_relative_to_the_file_that_names_them(run_file):
    text = '[data]\ntrain = ["a.tsv", "/far/b.tsv"]\nvalid = "../v.tsv"\n'
    assert load_run(run_file(text), None, {}, []).data.train == ["a.tsv", "/far/b.tsv"]
    file = run_file(text, "deep/run.toml")
    data = load_run(file, None, {"data": {"test": ["./t.tsv"]}}, ["data.test_target=t.de"]).data
    assert data.train == ["deep/a.tsv", "/far/b.tsv"]
    assert data.valid == ["deep/../v.tsv"]
    assert (data.test, data.test_target) == (["t.tsv"], ["t.de"])
    assert load_run(file, None, {}, ["data.train=x.tsv"]).data.train == ["x.tsv"]


def test_sets_are_toml_values_or_bare_words():
    run = with_sets(
        "train.schedule=cosine", "train.clip = 2", "train.betas=[0.8, 0.9]", "train.self_check=false",
        'data.valid=["a.tsv", "b=c.tsv"]', "data.test=a.tsv", 'data.source.tokenizer={kind="words", size=9}',
    )  # fmt: skip
    assert (run.train.schedule, run.train.clip, run.train.betas) == ("cosine", 2.0, [0.8, 0.9])
    assert not run.train.self_check
    assert (run.data.valid, run.data.test) == (["a.tsv", "b=c.tsv"], ["a.tsv"])
    assert run.data.source.tokenizer == Words(size=9)


def test_sets_are_understood_when_the_shell_has_taken_the_quotes():
    run = with_sets(
        "model.decoder.attention={kind=dot}",
        "data.valid=[a.tsv, 2\\b.tsv]",
        "data.source.tokenizer={kind=words,size=9}",
    )
    assert run.model.decoder.attention == DotAttention()
    assert run.data.valid == ["a.tsv", "2\\b.tsv"]
    assert run.data.source.tokenizer == Words(size=9)


def test_sets_are_one_layer_and_the_last_word_counts():
    assert with_sets("seed=1", "seed=2").seed == 2
    sets = ["model.encoder.heads=2", "model.encoder.kind=transformer"]
    assert with_sets(*sets) == with_sets(*reversed(sets))


def test_a_value_cannot_smuggle_in_another_key():
    assert with_sets("data.test=1\nother = 2").data.test == ["1\nother = 2"]


@pytest.mark.parametrize("text", ["train.max_steps", "=5", ".a=5", "train..max_steps=5", ""])
def test_a_set_without_key_or_value(text):
    with pytest.raises(AntiphonError) as caught:
        with_sets(text)
    assert str(caught.value) == f"--set {text}: give KEY=VALUE, such as --set train.max_steps=500"


def test_dump_is_plain_and_in_order():
    text = dump_run(with_sets("data.valid=v.tsv", recipe="rnnsearch"))
    assert text.startswith(
        "# A whole run: every key with its value, given or by default.\n"
        'seed = 1\n\n[data]\ntrain = ["pairs.tsv"]\ntrain_target = []\nvalid = ["v.tsv"]\n'
    )
    assert '\n\n[data.source]\ntokenizer = {kind = "subwords", size = 8000, model = "bpe", dropout = 0.0}\n' in text
    assert (
        'attention = {kind = "additive", weights = "softmax", window = "all", reach = 10, values = 0, width = 256}\nquery = "previous"\n'
        in text
    )
    assert list(tomllib.loads(text)) == list(Run.model_fields)


def test_dump_holds_every_key():
    run = with_sets()
    assert tomllib.loads(dump_run(run)) == run.model_dump()


NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=9)
# Few widths and heads, so that most of the runs that are drawn fit together.
FITTING = {
    "width": [64, 128], "layers": [2], "widths": [[], [], [64, 128]], "embedding": [64, 128], "heads": [1, 2, 4],
    "kv_heads": [0, 1], "span": [3, 15], "half": [0, 9], "n_best": [1, 2], "max_steps": [0, 7],
    "groups": [1], "coverage": [0.0, 0.0, 0.5],
    "between": ["", ","], "queries": [1],
}  # fmt: skip


def values(name, field):
    """Anything that this key may hold."""
    tables = tables_of(field)
    if tables:
        return st.one_of([contents(table) for table in tables])
    if name in FITTING:
        return st.sampled_from(FITTING[name])
    if choices_of(field):
        return st.sampled_from(choices_of(field))
    if holds_paths(field):
        return st.lists(NAMES, min_size=int(field.is_required()), max_size=2)
    if field.annotation is bool:
        return st.booleans()
    if field.annotation is str:
        return NAMES
    low = max([getattr(rule, "ge", getattr(rule, "gt", 0)) for rule in field.metadata], default=0)
    if field.annotation is int:
        high = min([rule.le for rule in field.metadata if hasattr(rule, "le")], default=2**63 - 1)
        return st.integers(low, high)
    if field.annotation is float:
        high = min([getattr(rule, "le", getattr(rule, "lt", 1e300)) for rule in field.metadata], default=1e300)
        return st.floats(low, high, exclude_min=True, exclude_max=True)
    return st.lists(values(name, item_of(field)), min_size=2, max_size=2)


def contents(table):
    drawn = st.fixed_dictionaries({name: values(name, field) for name, field in table.model_fields.items()})
    # A table that is refused is drawn again here, before a whole run is refused because of it.
    return drawn.filter(lambda tables: is_fit(table, tables))


def is_fit(table, tables):
    try:
        table.model_validate(tables)
    except ValidationError:
        return False
    return True


def whole_runs():
    """A language model is drawn with the data that it can have: without a source, and with a window or without."""
    sourceless = {
        "train_target": [],
        "valid_target": [],
        "test_target": [],
        "source": Side().model_dump(),
        "joint": False,
    }

    def fitted(tables):
        tables["data"] |= {"stride": 0, "denoise": {}}
        tables["train"]["start"] = {}
        if tables["model"].get("decoder", {}).get("kind") == "transformer":
            tables["model"]["decoder"]["segments"] = 0
        for side in ("source", "target"):
            if tables["data"][side]["tokenizer"]["kind"] in ("labels", "spelled", "wordpiece", "byte_bpe"):
                tables["data"][side] = Side().model_dump()
        if tables["model"]["kind"] in ("classifier", "tagger"):
            data = {key: value for key, value in tables["data"].items() if key != "target"}
            columns = [2, 1] if tables["model"].get("texts", "one") == "one" else [2, 3, 1]
            data |= {"window": 0, "joint": False, "columns": columns}
            learning = {"metric": "accuracy", "corruption": {}, "teacher_forcing": {}, "r_drop": 0.0}
            if tables["model"]["kind"] == "tagger":
                tables["model"]["letters"] = 0
                data["header"] = False
                data["source"]["tokenizer"].pop("dropout", None)
                learning |= {"balance": 0.0, "label_smoothing": 0.0}
            return tables | {"data": data, "train": tables["train"] | learning}
        tables["data"] |= {"columns": [], "header": False}
        if tables["model"]["kind"] == "spans":
            tables["data"]["source"]["tokenizer"].pop("dropout", None)
            data = tables["data"] | sourceless | {"source": tables["data"]["source"], "joint": True, "window": 0}
            learning = {"metric": "f1", "corruption": {}, "teacher_forcing": {}, "r_drop": 0.0, "balance": 0.0}
            tables["train"] |= learning
            return tables | {"data": data | {"target": Side().model_dump()}}
        tables["train"] |= {"balance": 0.0}
        if tables["model"]["kind"] == "language_model":
            tables["model"]["reads"] = "texts"
        if tables["model"]["kind"] == "masked":
            tables["data"]["target"]["tokenizer"].pop("dropout", None)
            tables["model"]["next_sentence"] = False
            tables["train"] |= {"word_dropout": 0.0, "r_drop": 0.0}
        elif "encoder" in tables["model"]:
            return tables | {"data": tables["data"] | {"window": 0}}
        learning = {"metric": "loss", "corruption": {}, "teacher_forcing": {}}
        window = {"window": tables["data"]["window"] % 2 * 8}
        return tables | {"data": tables["data"] | sourceless | window, "train": tables["train"] | learning}

    drawn = st.fixed_dictionaries({name: values(name, field) for name, field in Run.model_fields.items()})
    return drawn.map(fitted).filter(lambda tables: is_fit(Run, tables))


@settings(max_examples=60, deadline=None)
@given(whole_runs())
def test_what_is_dumped_is_loaded_again(tmp_path_factory, tables):
    run = Run.model_validate(tables)
    file = tmp_path_factory.mktemp("run") / "antiphon.toml"
    file.write_bytes(dump_run(run).encode())
    assert read_resolved(file) == run


def test_a_resolved_run_keeps_its_paths(run_file):
    file = run_file(dump_run(load_run(None, None, {"data": {"train": ["sub/pairs.tsv"]}}, [])), "model/antiphon.toml")
    assert read_resolved(file).data.train == ["sub/pairs.tsv"]


def test_a_folder_from_when_processes_shared_a_step_is_read(run_file):
    file = run_file('[data]\ntrain = ["x"]\n[train]\naccumulate = 2\nprocesses = 2\n', "model/antiphon.toml")
    assert read_resolved(file).train.accumulate == 2


def test_a_resolved_run_that_is_wrong_names_its_file(run_file):
    with pytest.raises(AntiphonError) as caught:
        read_resolved(run_file('[data]\ntrain = ["x"]\n[search]\nbeam = 0\n', "model/antiphon.toml"))
    assert str(caught.value) == "model/antiphon.toml: search.beam: 0 is not allowed: at least 1, at most 1000"


def test_differences_name_the_keys_and_both_values():
    before = with_sets("data.valid=v.tsv")
    after = with_sets("seed=2", "train.schedule=cosine", "model.decoder.attention.kind=dot", "search.sample=true")
    assert differences(before, before) == []
    assert differences(before, after) == [
        "seed: 1 -> 2",
        "data.valid: ['v.tsv'] -> []",
        "model.decoder.attention.kind: 'additive' -> 'dot'",
        "train.schedule: 'inverse_sqrt' -> 'cosine'",
        "search.sample: false -> true",
    ]


def test_reading_a_run_imports_neither_torch_nor_tomlkit():
    code = (
        "import sys; from antiphon.config.toml import load_run;"
        "load_run(None, 'rnnsearch', {'data': {'train': 'x'}}, []);"
        "sys.exit(bool({'torch', 'numpy', 'tomlkit'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_folder_to_start_from_overrules_the_shape_of_a_recipe(tmp_path, run_file):
    sets = ["model.kind=language_model", "data.target.tokenizer={kind=words}", "model.decoder={kind=recurrent,width=8}"]
    (tmp_path / "antiphon.toml").write_text(dump_run(load_run(None, None, {"data": {"train": ["x"]}}, sets)), "utf-8")
    start = f"train.start.decoder={tmp_path}"
    run = with_sets(start, recipe="gpt-prompt")
    assert (run.model.decoder.kind, run.model.decoder.width, run.model.decoder.dropout) == ("recurrent", 8, 0.2)
    assert (run.model.tie, run.model.reads) == ("none", "pairs")
    assert run.data.source.tokenizer == Words()
    assert with_sets(start, "model.decoder.dropout=0.4", recipe="gpt-prompt").model.decoder.dropout == 0.4
    with pytest.raises(AntiphonError, match="reads with the tokeniser it was trained with"):
        with_sets(start, "data.source.tokenizer={kind=bytes}", recipe="gpt-prompt")
    file = run_file(f'[data]\ntrain = "x"\n[train.start]\ndecoder = "{tmp_path}"\n')
    assert load_run(file, "gpt-prompt", {}, []).model.decoder.width == 8
    run = with_sets(start, recipe="transformer-tiny")
    assert (run.data.joint, run.model.tie, run.data.target.tokenizer) == (False, "none", Words())
    assert run.model.encoder.width == 128


@pytest.mark.parametrize(("theirs", "ours"), [("none", "none"), ("output", "output")])
def test_a_decoder_that_is_started_from_keeps_its_tie(tmp_path, theirs, ours):
    sets = ["model.kind=language_model", "model.decoder={kind=transformer,width=8,heads=2}", f"model.tie={theirs}"]
    (tmp_path / "antiphon.toml").write_text(dump_run(load_run(None, None, {"data": {"train": ["x"]}}, sets)), "utf-8")
    for kind in ("language_model", "seq2seq"):
        chosen = [f"model.kind={kind}", f"train.start.decoder={tmp_path}"]
        run = load_run(None, None, {"data": {"train": ["x"]}}, chosen)
        assert (run.model.tie, run.model.decoder.width) == (ours, 8)
        assert load_run(None, None, {"data": {"train": ["x"]}}, [*chosen, "model.tie=none"]).model.tie == "none"
