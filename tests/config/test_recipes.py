from importlib import resources

import pytest

from antiphon.config.schema import RecurrentDecoder, RecurrentEncoder, TransformerStack
from antiphon.config.text import recipe_names
from antiphon.config.toml import load_run

PAIRS = {"data": {"train": ["pairs.tsv"]}}


@pytest.mark.parametrize("name", recipe_names())
def test_a_recipe_needs_nothing_but_pairs(name):
    assert load_run(None, name, PAIRS, []).data.train == ["pairs.tsv"]


@pytest.mark.parametrize("name", recipe_names())
def test_a_recipe_is_short_says_what_it_is_and_names_no_files(name):
    lines = (resources.files("antiphon") / "recipes" / f"{name}.toml").read_text("utf-8").splitlines()
    assert len(lines) <= 30
    assert lines[0].startswith("# ")
    assert not any(line.startswith(("train =", "valid =", "test =")) for line in lines)


@pytest.mark.parametrize(
    "name", ["rnnsearch", "transformer-tiny", "transformer-small", "transformer-base", "transformer-lstm"]
)
def test_a_promised_recipe_names_its_paper(name):
    file = resources.files("antiphon") / "recipes" / f"{name}.toml"
    assert "et al., " in file.read_text("utf-8").splitlines()[0]


def halves(name):
    model = load_run(None, name, PAIRS, []).model
    return model.encoder, model.decoder


def test_rnnsearch_is_that_of_the_paper():
    encoder, decoder = halves("rnnsearch")
    assert encoder == RecurrentEncoder(cell="gru", width=256, directions=2)
    assert decoder == RecurrentDecoder(cell="gru", width=512, query="previous", input_feeding=True)
    assert decoder.attention.kind == "additive"


def test_transformer_tiny_is_that_of_the_paper():
    stack = TransformerStack(width=128, layers=4, heads=4, feedforward=256, dropout=0.3)
    assert halves("transformer-tiny") == (stack, stack)


def test_transformer_base_has_the_sizes_of_the_paper():
    stack = TransformerStack(width=512, layers=6, heads=8, feedforward=2048, dropout=0.1)
    assert halves("transformer-base") == (stack, stack)


def test_transformer_lstm_is_a_hybrid():
    encoder, decoder = halves("transformer-lstm")
    assert isinstance(encoder, TransformerStack)
    assert isinstance(decoder, RecurrentDecoder)
    assert decoder.cell == "lstm"
