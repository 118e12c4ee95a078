"""Keys that change nothing: refused where a user asks for them, forgotten where a later layer overrules them."""

import pytest

from antiphon.config.schema import RecurrentDecoder, Side
from antiphon.config.text import recipe_names
from antiphon.config.toml import dump_run, load_run
from antiphon.errors import AntiphonError

PAIRS = {"data": {"train": ["pairs.tsv"]}}
LABELS = "model.kind=classifier"


def with_sets(*sets, recipe=None):
    return load_run(None, recipe, PAIRS, sets)


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        (
            ["model.encoder={directions=1, merge=mean}"],
            "model.encoder.merge: one direction has nothing to merge with: leave this key out, or take directions = 2",
        ),
        (
            ["model.decoder={query=previous, attention={kind=none}}"],
            "model.decoder.query: nothing is asked without attention: leave this key out, or choose "
            "model.decoder.attention.kind",
        ),
        (
            ["model.decoder.attention={kind=dot, reach=3}", "model.decoder.width=512"],
            'model.decoder.attention.reach: window = "all" has no edge: leave this key out, or take window = "local_m" '
            'or "local_p"',
        ),
        (
            ["data.joint=true", "data.target.tokenizer={kind=words}"],
            "data.target.tokenizer: data.joint = true has one tokeniser for both sides, data.source.tokenizer: "
            "leave this key out, or set data.joint = false",
        ),
        (
            [LABELS, "model.queries=2"],
            'model.queries: pool = "mean" asks nothing: leave this key out, or take pool = "attention"',
        ),
        (
            ["model.encoder={layers=2, widths=[5,7], width=9}"],
            "model.encoder.width: widths has one for each layer: leave this key out, or leave widths out",
        ),
        (
            ["model.decoder.residual=true"],
            "model.decoder.residual: one layer has none below it to add: leave this key out, or raise layers",
        ),
        (
            ["model.encoder={dropout=0.0, dropout_through_time=true}"],
            "model.encoder.dropout_through_time: nothing is dropped: leave this key out, or raise dropout",
        ),
        (
            ["model.encoder={kind=transformer, positions=rotary, max_positions=500}"],
            'model.encoder.max_positions: positions = "rotary" have no end: leave this key out, or take positions = '
            '"learned"',
        ),
        (
            ["model.encoder.summary=mean", "model.decoder.bridge=copy"],
            "model.encoder.summary: the decoder never reads the summary: leave this key out, or see "
            "model.decoder.bridge",
        ),
        (
            ["train.teacher_forcing.own=sampled"],
            "train.teacher_forcing.own: the true word is always read: leave this key out, or set "
            "train.teacher_forcing.p below 1",
        ),
        (
            ["model.kind=language_model", "data.window=64", "data.max_length=100"],
            "data.max_length: a running text is cut into windows, and no line is too long: leave this key out",
        ),
        (
            ["model.decoder.attention={kind=none}", "search.coverage=0.2"],
            "search.coverage: this model has no attention to its source, so nothing tells what it has read: "
            "leave this key out",
        ),
        (
            ["model.kind=language_model", "model.reads=pairs", "search.coverage=0.2"],
            "search.coverage: this model has no attention to its source, so nothing tells what it has read: "
            "leave this key out",
        ),
        (
            [LABELS, "search.beam=2"],
            'search.beam: model.kind = "classifier" weighs all answers at once, and searches for none: '
            "leave this key out",
        ),
    ],
)
def test_what_changes_nothing_is_refused(sets, message):
    with pytest.raises(AntiphonError) as caught:
        with_sets(*sets)
    assert str(caught.value) == message


def test_a_key_of_a_recipe_that_the_user_overrules_is_forgotten():
    assert with_sets("model.decoder.attention={kind=none}", recipe="rnnsearch").model.decoder.query == "current"
    assert with_sets("model.pool=last", recipe="acceptor").model.queries == 1
    assert with_sets("data.joint=true", recipe="demo-pronounce").data.target == Side()
    assert not with_sets("model.decoder.layers=1", recipe="sutskever2014").model.decoder.residual


def test_a_later_layer_overrules_a_run_file_too(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text('[data]\ntrain = "x"\n[model.encoder]\nmerge = "mean"\n', "utf-8")
    assert load_run(file, None, {}, []).model.encoder.merge == "mean"
    assert load_run(file, None, {}, ["model.encoder.directions=1"]).model.encoder.merge == "concat"
    with pytest.raises(AntiphonError, match=r"model\.encoder\.merge: one direction"):
        load_run(file, None, {}, ["model.encoder={directions=1, merge=sum}"])


def test_a_key_of_a_user_that_a_recipe_makes_idle_is_refused():
    with pytest.raises(AntiphonError, match=r"data\.target\.tokenizer: data\.joint = true"):
        with_sets("data.target.tokenizer={kind=words}", recipe="transformer-tiny")


def test_what_is_as_by_default_may_be_said():
    sets = ["model.decoder={query=current, attention={kind=none}}", "model.encoder={directions=1, merge=concat}"]
    assert with_sets(*sets).model.decoder == RecurrentDecoder(attention={"kind": "none"})


@pytest.mark.parametrize("name", recipe_names())
def test_the_whole_of_a_run_can_be_trained_again(name, tmp_path):
    run = with_sets(recipe=name)
    (tmp_path / "antiphon.toml").write_text(dump_run(run), "utf-8")
    again = load_run(tmp_path / "antiphon.toml", None, PAIRS, [])
    assert again == run
