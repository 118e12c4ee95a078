import contextlib
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.config.keys import all_tables
from antiphon.config.schema import Data, RecurrentEncoder, Run, Search, Seq2Seq, Train
from antiphon.config.toml import load_run
from antiphon.errors import AntiphonError

PAIRS = {"data": {"train": ["pairs.tsv"]}}
NO_PAIRS = 'data.train: no training pairs are named. Give --train FILE, or data.train = "FILE" in the run file'


def complaint(*sets, data=PAIRS):
    """What the user is told who gives these --set."""
    with pytest.raises(AntiphonError) as caught:
        load_run(None, None, data, sets)
    return str(caught.value)


def known(table):
    return f"Known: {', '.join(table.model_fields)}"


@pytest.mark.parametrize(
    ("given", "message", "table"),
    [
        ("train.max_step=5", 'train.max_step: no such key. Did you mean "max_steps"?', Train),
        ("train.Max-Steps=5", 'train.Max-Steps: no such key. Did you mean "max_steps"?', Train),
        ("trian.max_steps=5", 'trian: no such key. Did you mean "train"?', Run),
        ("search.top_=5", 'search.top_: no such key. Did you mean "top_k" or "top_p"?', Search),
        ("train.batch_size=5", 'train.batch_size: no such key. Did you mean "batch_tokens"?', Train),
        ("data.zebra=5", "data.zebra: no such key.", Data),
        ("train.kind=5", "train.kind: no such key.", Train),
        ("train.a b=5", "train.'a b': no such key.", Train),
    ],
)
def test_unknown_keys_of_a_table(given, message, table):
    assert complaint(given) == f"{message} {known(table)}"


@pytest.mark.parametrize(
    ("given", "message", "table"),
    [
        (
            "model.batch_tokens=5",
            'model.batch_tokens: no such key where kind = "seq2seq". Did you mean "train.batch_tokens"?',
            Seq2Seq,
        ),
        ("max_steps=5", 'max_steps: no such key. Did you mean "train.max_steps"?', Run),
        ("epochs=5", 'epochs: no such key. Did you mean "train.max_epochs"?', Run),
        ("encoder.width=5", 'encoder: no such key. Did you mean "model.encoder"?', Run),
        ("train.beam=5", 'train.beam: no such key. Did you mean "search.beam"?', Train),
        (
            "train.dropout=0",
            'train.dropout: no such key. Did you mean "model.encoder.dropout" or "model.decoder.dropout"?',
            Train,
        ),
        (
            "data.tokenizer=0",
            'data.tokenizer: no such key. Did you mean "data.source.tokenizer" or "data.target.tokenizer"?',
            Data,
        ),
    ],
)
def test_keys_that_live_elsewhere_get_their_address(given, message, table):
    assert complaint(given) == f"{message} {known(table)}"


@pytest.mark.parametrize("key", ["heads", "head"])
def test_keys_of_another_kind_name_that_kind(key):
    assert complaint(f"model.encoder.{key}=4") == (
        f'model.encoder.{key}: no such key where kind = "recurrent"; kind = "transformer" has "heads". '
        f"{known(RecurrentEncoder)}"
    )


def test_unknown_keys_below_a_kind_have_the_user_s_address():
    assert complaint("model.decoder.attention.wdith=4") == (
        'model.decoder.attention.wdith: no such key where kind = "additive". Did you mean "width"? Known: kind, weights, window, reach, values, width'
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            "model.decoder.attention.kind=aditive",
            "model.decoder.attention.kind: no such choice as 'aditive'. "
            'Did you mean "additive"? Known: none, dot, scaled_dot, bilinear, additive, cosine, location, multi_head',
        ),
        ("model.encoder.kind=3", "model.encoder.kind: no such choice as 3. Known: recurrent, transformer"),
        (
            "model.kind=seq",
            "model.kind: no such choice as 'seq'. Known: seq2seq, language_model, classifier, tagger, masked, spans",
        ),
        (
            "model.encoder.cell=LSTM",
            "model.encoder.cell: no such choice as 'LSTM'. Did you mean \"lstm\"? Known: elman, lstm, gru, peephole, full_peephole, coupled, orthogonal",
        ),
        ("model.encoder.directions=3", "model.encoder.directions: no such choice as 3. Known: 1, 2"),
        ("model.encoder.directions='2'", "model.encoder.directions: '2' is not allowed: write 2"),
        ("model.encoder=transformer", "model.encoder: 'transformer' is not a table: write { kind = \"transformer\" }"),
        (
            "model.encoder=lstm",
            "model.encoder: 'lstm' is not a table: write { kind = ... }. Known: recurrent, transformer",
        ),
        ("data.source=words", "data.source: 'words' is not a table: give its keys, one by one. Known: tokenizer"),
    ],
)
def test_choices(given, message):
    assert complaint(given) == message


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("train.max_steps=many", "train.max_steps: 'many' is not a whole number"),
        ("train.max_steps=3.0", "train.max_steps: 3.0 is not a whole number: write 3"),
        ("train.max_steps=1e3", "train.max_steps: 1000.0 is not a whole number: write 1000"),
        ("train.max_steps=3.5", "train.max_steps: 3.5 is not a whole number"),
        ("train.max_steps='300'", "train.max_steps: '300' is not a whole number: write 300 without quotes"),
        ("train.max_steps=007", "train.max_steps: '007' is not a whole number: write 7 without quotes"),
        ("train.max_steps=true", "train.max_steps: true is not a whole number"),
        ("train.max_steps={a=1}", "train.max_steps: a table is not a whole number"),
        ("train.max_steps=[1]", "train.max_steps: [1] is not a whole number"),
        ("train.max_steps=2024-05-06", "train.max_steps: 2024-05-06 is not a whole number"),
        ("train.clip='0.1'", "train.clip: '0.1' is not a number: write 0.1 without quotes"),
        ("train.clip='inf'", "train.clip: 'inf' is not a number"),
        ("train.clip=true", "train.clip: true is not a number"),
        ("train.self_check=1", "train.self_check: 1 is not true or false: write true"),
        ("train.self_check=False", "train.self_check: 'False' is not true or false: write false"),
        ("train.self_check=no", "train.self_check: 'no' is not true or false: write false"),
        ("train.self_check=2", "train.self_check: 2 is not true or false"),
        ("train.betas=0.9", "train.betas: 0.9 is not a list"),
        ("train.betas=[0.9, x]", "train.betas[1]: 'x' is not a number"),
        ("data.train=5", 'data.train: 5 is not a file name or a list of file names: write "5"'),
        ("data.train={a=1}", "data.train: a table is not a file name or a list of file names"),
        ("data.train=[a, 5]", 'data.train[1]: 5 is not text: write "5"'),
        (
            "train=5",
            "train: 5 is not a table: give its keys, one by one. "
            "Known: max_steps, max_epochs, max_minutes, batch_tokens, accumulate, optimizer, ...",
        ),
    ],
)
def test_wrong_types(given, message):
    assert complaint(given) == message


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("model.encoder.dropout=1.5", "model.encoder.dropout: 1.5 is not allowed: at least 0, below 1"),
        ("model.encoder.dropout=-1", "model.encoder.dropout: -1 is not allowed: at least 0, below 1"),
        ("model.encoder.width=0", "model.encoder.width: 0 is not allowed: at least 1"),
        ("search.beam=100000", "search.beam: 100000 is not allowed: at least 1, at most 1000"),
        (
            "model.encoder.layers=1000000000",
            "model.encoder.layers: 1000000000 is not allowed: at least 1, at most 1000",
        ),
        ("search.top_p=0", "search.top_p: 0 is not allowed: above 0, at most 1"),
        ("data.source.tokenizer.size=3", "data.source.tokenizer.size: 3 is not allowed: at least 300"),
        ("train.betas=[0.9, 1.0]", "train.betas[1]: 1.0 is not allowed: at least 0, below 1"),
        ("train.betas=[0.9]", "train.betas: [0.9] has too few values: at least 2"),
        ("train.betas=[0.1, 0.2, 0.3]", "train.betas: [0.1, 0.2, 0.3] has too many values: at most 2"),
        ("train.clip=inf", "train.clip: inf is not allowed: give a finite number"),
        ("train.betas=[0.9, nan]", "train.betas[1]: nan is not allowed: give a finite number"),
        ("seed=0x" + "f" * 9000, "seed: this whole number is too large: 64 bits must hold it"),
    ],
)
def test_wrong_values(given, message):
    assert complaint(given) == message


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            "model.encoder={kind=transformer, heads=3}",
            "model.encoder: width 256 cannot be shared among 3 heads: choose a divisor",
        ),
        ("train.max_steps=0", "train: this run would never end: set max_steps, max_epochs or max_minutes"),
        ("search.n_best=9", "search: n_best 9 is more than beam 5 can give: raise beam"),
    ],
)
def test_the_schema_s_own_words_follow_the_address(given, message):
    assert complaint(given) == message


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        (
            ["model.encoder={kind=transformer, width=12, heads=4, positions=rotary}"],
            "model.encoder: rotary positions turn pairs of numbers, and 3 a head is odd: change it",
        ),
        (["model.tie=output"], 'model: tie = "output" needs equal model.decoder.embedding (256) and width (512)'),
        (
            ["model.tie=all", "model.decoder.embedding=512", "data.joint=true"],
            'model: tie = "all" needs equal embedding widths: the source has 256, the target 512',
        ),
        (
            ["model.encoder.width=100", "model.decoder.attention={kind=dot}"],
            "model: dot attention needs equal widths: model.decoder.width is 512, the memory's 200; "
            'change one, or take attention.kind = "bilinear"',
        ),
        (
            ["model.encoder.width=100", "model.decoder.bridge=copy"],
            'model: bridge = "copy" needs equal widths: model.decoder.width is 512, the memory\'s 200; '
            'change one, or take bridge = "transform"',
        ),
        (
            ["model.decoder.bridge=zero", "model.decoder.attention={kind=none}"],
            'model.decoder: bridge = "zero" without attention shows the decoder nothing of the input: change one',
        ),
        (
            ["model.decoder={input_feeding=false, readout_feeding=false}"],
            "model.decoder: what attention reads goes nowhere: "
            "set input_feeding, layer_feeding or readout_feeding to true",
        ),
        (
            ["model.decoder.layer_feeding=true"],
            "model.decoder: layer_feeding = true needs a second layer: add it, or leave this key false",
        ),
        (
            ["model.decoder={layer_feeding=true, layers=2, attention={kind=none}}"],
            "model.decoder: layer_feeding = true needs an attention: add it, or leave this key false",
        ),
        (
            ["model.encoder.widths=[512,256]"],
            "model.encoder: widths names 2 layers, and layers is 1: make them equal",
        ),
        (
            ["model.encoder={widths=[512,256], layers=2, residual=true}"],
            "model.encoder: residual = true adds a layer's input to its output, so all widths must be equal",
        ),
        (
            ["model.decoder.attention={kind=location, span=4}"],
            "model.decoder.attention: a filter over 4 places has no middle: take 5",
        ),
        (
            ["model.decoder.attention={kind=multi_head, heads=3}"],
            "model.decoder.attention: width 256 cannot be shared among 3 heads: choose a divisor",
        ),
        (
            ["model.encoder.width=128", "model.decoder={bridge=copy, layers=2, widths=[512,256]}"],
            'model: bridge = "copy" needs equal widths: model.decoder.width is 512, the memory\'s 256; '
            'change one, or take bridge = "transform"',
        ),
        (
            ["model.encoder.summary=attention", "model.decoder.bridge=copy"],
            'model: encoder.summary = "attention" learns a query for a decoder that never reads the summary; '
            'leave it at "last", or take bridge = "transform" or summary_every_step = true',
        ),
        (
            ["train.schedule=cosine", "train.max_steps=0", "train.max_epochs=2"],
            'train: schedule = "cosine" needs max_steps: the rate reaches zero there',
        ),
        (
            ["train.teacher_forcing={p=0.5, half=100}"],
            'train.teacher_forcing: half = 100 means nothing while p is held: set schedule = "linear", say',
        ),
        (
            ["train.teacher_forcing.schedule=linear", "train.teacher_forcing.p=0.5"],
            'train.teacher_forcing: schedule = "linear" needs half: the step at which p has fallen half the way',
        ),
        (
            ["train.teacher_forcing={schedule=exponential, half=100}"],
            'train.teacher_forcing: schedule = "exponential" falls from 1 to p, and p is 1: '
            "lower p, to 0.0 for example",
        ),
        (["train.teacher_forcing.p=1.5"], "train.teacher_forcing.p: 1.5 is not allowed: at least 0, at most 1"),
        (
            ["train.teacher_forcing.schedule=sigmoid"],
            "train.teacher_forcing.schedule: no such choice as 'sigmoid'. "
            'Did you mean "inverse_sigmoid"? Known: held, linear, exponential, inverse_sigmoid',
        ),
        (
            ["train.teacher_forcing=0.5"],
            "train.teacher_forcing: 0.5 is not a table: give its keys, one by one. Known: p, schedule, half, own",
        ),
        (
            ["train.corruption.shuffle=0.1"],
            "train.corruption.shuffle: no such key. Known: swap, replace, drop",
        ),
        (
            ["search.max_source=100"],
            "search.max_source (100) must be at least data.max_length (256), or a validation pair could be refused",
        ),
        (
            ["model.encoder={kind=transformer, positions=learned, max_positions=200}"],
            "model.encoder.max_positions (200) must be above data.max_length (256), "
            "to seat the longest training pair and its end",
        ),
        (
            ["model.encoder={kind=transformer, heads=4, kv_heads=3}"],
            "model.encoder: 4 heads cannot share 3 kv_heads evenly: choose a divisor",
        ),
        (
            ["model.decoder={kind=transformer, heads=4, kv_heads=8}"],
            "model.decoder: 4 heads cannot share 8 kv_heads evenly: choose a divisor",
        ),
        (
            ["train.r_drop=5.0", "model.encoder.dropout=0.0", "model.decoder={kind=transformer, dropout=0.0}"],
            "train.r_drop compares two passes that drop different numbers, and this model drops none: "
            "raise model.encoder.dropout or model.decoder.dropout",
        ),
        (
            ["train.r_drop=5.0", "model={kind=tagger, head_dropout=0.0, encoder={kind=recurrent, dropout=0.0}}"],
            "train.r_drop compares two passes that drop different numbers, and this model drops none: "
            "raise model.encoder.dropout or model.head_dropout",
        ),
        (
            ["model.kind=language_model", "model.decoder={kind=transformer, segments=2}"],
            "model.decoder.segments tells two texts apart that an encoder reads at once: leave it out",
        ),
    ],
)
def test_choices_that_do_not_go_together(sets, message):
    assert complaint(*sets) == message


def test_words_about_the_whole_run_have_their_addresses_already():
    sets = ["model.tie=all", "model.decoder.width=256"]
    assert complaint(*sets).startswith('model.tie = "all" shares one embedding')


def test_no_training_pairs():
    for data in [{}, {"data": {}}, {"data": {"train": []}}, {"data": {"valid": ["v.tsv"]}}]:
        assert complaint(data=data) == NO_PAIRS


def test_file_names_that_cannot_be():
    assert complaint("data.valid=") == "data.valid: '' is not a file name"
    assert complaint(data={"data": {"train": ["a\0b"]}}) == r"data.train: 'a\x00b' is not a file name"
    assert complaint(data={"data": {"train": ["\udce9"]}}) == r"data.train[0]: '\udce9' is not UTF-8. Rename the file"
    assert complaint("search.prefix=\udce9") == r"search.prefix: '\udce9' is not UTF-8. Give it in UTF-8"


def test_a_misspelt_key_comes_before_what_it_leaves_missing():
    assert (
        complaint("data.trian=x", data={})
        == f'data.trian: no such key. Did you mean "train"? {known(Data)}\n{NO_PAIRS}'
    )


def test_two_problems_in_full_and_the_rest_counted():
    sets = ["train.clip=a", "train.warmup=a", "train.ema=a", "seed=a"]
    assert complaint(*sets[:2]) == "train.warmup: 'a' is not a whole number\ntrain.clip: 'a' is not a number"
    assert complaint(*sets) == "seed: 'a' is not a whole number\ntrain.warmup: 'a' is not a whole number\nand 2 more"


NAMES = sorted({key for _, table in all_tables() for key in table.model_fields} | {"zebra", "", "a\nb"})
KINDS = sorted({table.model_fields["kind"].default for _, table in all_tables() if "kind" in table.model_fields})
PLAIN = st.one_of(
    st.sampled_from(KINDS), st.text(max_size=5), st.integers(), st.floats(), st.booleans(), st.just(date(2024, 5, 6))
)


def some_table(inner):
    return st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)


ANYTHING = st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=3) | some_table(inner), max_leaves=8)


@settings(max_examples=60, deadline=None)
@given(
    st.fixed_dictionaries({}, optional={key: some_table(ANYTHING) for key in ("data", "model", "train", "search")}),
    some_table(ANYTHING),
)
def test_whatever_is_given_is_a_run_or_told_in_three_lines(tables, more):
    for data in (tables, tables | more, PAIRS | more):
        with contextlib.suppress(AntiphonError):
            load_run(None, "transformer-tiny", data, [])
        try:
            load_run(None, None, data, [])
        except AntiphonError as error:
            assert 1 <= len(str(error).splitlines()) <= 3
