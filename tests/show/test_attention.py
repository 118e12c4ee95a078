"""All heads of a model: weights and merging by hand, alignments, and what can be chosen; from trained-like models."""

import numpy as np
import pytest
import torch

from antiphon.build.model import build_model
from antiphon.config.toml import load_run
from antiphon.data.tokenize import learn
from antiphon.errors import AntiphonError
from antiphon.pipeline import Pipeline
from antiphon.show.attention import Heads, Link, align, merge_weights, read_attention

TEXTS = ["the cat sat on the mat", "a hat, a cat!", "cats and hats"] * 4


def a_pipeline(*sets: str) -> Pipeline:
    run = load_run(None, None, {"data": {"train": ["unread.tsv"]}}, list(sets))
    source, target = (learn(choice, TEXTS) for choice in (run.data.source.tokenizer, run.data.target_tokenizer))
    torch.manual_seed(3)
    return Pipeline(build_model(run.model, source.size, target.size), source, target, run)


SUBWORDS = "data.source.tokenizer={kind=subwords,size=300}", "data.target.tokenizer={kind=subwords,size=300}"
STACK = "{kind=transformer,width=12,layers=%d,heads=%d,feedforward=16}"
TRANSFORMER = f"model.encoder={STACK % (2, 3)}", f"model.decoder={STACK % (4, 2)}", "search.max_length=7"


@pytest.fixture(scope="module")
def found():
    return read_attention(a_pipeline(*SUBWORDS, *TRANSFORMER), "the mats, hatsat!")


def heads_of(weights_TS, rows="xyz", columns="abc") -> Heads:
    return Heads(tuple(rows), tuple(columns), np.array([[weights_TS]], dtype=np.float32))


def test_every_layer_and_head_of_every_kind(found):
    shapes = {kind: heads.weights_LHTS.shape for kind, heads in found.symbols.items()}
    places, answered = len(found.symbols["encoder"].rows), len(found.symbols["cross"].rows)
    assert shapes == {
        "cross": (4, 2, answered, places), "encoder": (2, 3, places, places), "decoder": (4, 2, answered, answered),
    }  # fmt: skip
    for view in (found.symbols, found.words):
        for heads in view.values():
            np.testing.assert_allclose(heads.weights_LHTS.sum(-1), 1, atol=1e-5)
    assert found.symbols["decoder"].columns == ("<s>", *found.symbols["decoder"].rows[:-1])
    assert not np.triu(found.symbols["decoder"].weights_LHTS, 1).any()


def test_subwords_are_merged_to_words(found):
    assert found.words["encoder"].rows == ("the", "mats", ",", "hatsat", "!", "</s>")
    assert len(found.symbols["encoder"].rows) > 6
    spelt = "".join(found.symbols["encoder"].rows[:-1]).replace("▁", " ").strip()
    assert spelt == "the mats, hatsat!"


def test_other_symbols_are_not():
    sides = "data.source.tokenizer={kind=characters}", "data.target.tokenizer={kind=words}"
    found = read_attention(a_pipeline(*sides, *TRANSFORMER), "a hat")
    assert found.words is found.symbols
    assert found.symbols["encoder"].rows == ("a", "▁", "h", "a", "t", "</s>")


def test_one_side_is_merged_without_the_other():
    sides = SUBWORDS[0], "data.target.tokenizer={kind=characters}"
    found = read_attention(a_pipeline(*sides, *TRANSFORMER), "the hat")
    assert found.words["cross"].columns == ("the", "hat", "</s>")
    assert found.words["cross"].rows == found.symbols["cross"].rows


def test_merging_by_hand():
    """Columns 1 + 2 and 3: sums. Rows 1 and 2 + 3: means."""
    weights_LHTS = np.array([[[[0.5, 0.3, 0.2], [0.1, 0.3, 0.6], [0.6, 0.0, 0.4]]]], dtype=np.float32)
    merged = merge_weights(weights_LHTS, [1, 2], [2, 1])
    np.testing.assert_allclose(merged, [[[[0.8, 0.2], [0.5, 0.5]]]], atol=1e-7)
    assert merged.dtype == np.float32


def test_links_by_hand():
    """x looked at a; y at b, and enough at a; z at its end most, so at the best of the words."""
    rows = [[0.7, 0.19, 0.11], [0.2, 0.5, 0.3], [0.02, 0.08, 0.9], [0.0, 0.0, 1.0]]
    alignment = align(heads_of(rows, "xyz.", "ab."), ended=True)
    assert (alignment.source, alignment.target) == (("a", "b"), ("x", "y", "z"))
    assert [(t, s) for t, s, _ in alignment.links] == [(0, 0), (1, 0), (1, 1), (2, 1)]
    assert alignment.links[0] == Link(0, 0, pytest.approx(0.7))
    cut = align(heads_of(rows, "xyzw", "ab."), ended=False)
    assert cut.target == ("x", "y", "z", "w")
    assert cut.links[-1] == Link(3, 0, 0.0)


def test_nothing_is_linked_to_nothing():
    assert align(heads_of([[1.0]], ".", "."), ended=True).links == ()


def test_the_last_layer_but_one_aligns():
    layers = np.array([[[[1.0, 0.0]]], [[[0.4, 0.6]]], [[[1.0, 0.0]]]], dtype=np.float32)
    assert Heads(("x",), ("a", "."), layers).aligned == 2
    assert align(Heads(("x", "."), ("a", "."), layers.repeat(2, axis=2)), True).links == (
        Link(0, 0, pytest.approx(0.4)),
    )
    assert Heads(("x",), ("a", "."), layers[:1]).aligned == 1
    assert Heads(("x",), ("a", "."), layers[:2]).aligned == 1


def test_what_is_chosen_is_drawn(found):
    whole = found.symbols["decoder"].weights_LHTS
    picture = found.picture("decoder", layer=2, head=1, symbols=True)
    np.testing.assert_array_equal(picture.weights_TS, whole[1, 0])
    assert picture.title.endswith("  (decoder, layer 2, head 1)")
    assert (picture.across, picture.down) == ("answer so far", "answer")
    np.testing.assert_array_equal(found.picture("decoder", symbols=True).weights_TS, whole[3].mean(0))
    alignment = found.picture()
    np.testing.assert_array_equal(alignment.weights_TS, found.words["cross"].weights_LHTS[2].mean(0))
    assert alignment.title == found.answer


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"layer": 5}, "--layer 5: no such layer in this model's cross attention. Give a number from 1 to 4."),
        ({"layer": 0}, "--layer 0: no such layer in this model's cross attention. Give a number from 1 to 4."),
        (
            {"of": "encoder", "head": -1},
            "--head -1: no such head in this model's encoder attention. Give a number from 1 to 3.",
        ),
    ],
)
def test_what_is_not_there_cannot_be_chosen(found, choice, message):
    with pytest.raises(AntiphonError) as caught:
        found.picture(**choice)
    assert str(caught.value) == message


RECURRENT = "model.encoder={kind=recurrent,width=8}", "model.decoder={kind=recurrent,width=8,attention={kind=%s}}"


def test_a_recurrent_model_has_one_layer_that_looks_at_the_source():
    found = read_attention(a_pipeline(*SUBWORDS, RECURRENT[0], RECURRENT[1] % "additive,width=4"), "the hat")
    assert list(found.words) == ["cross"]
    assert found.words["cross"].weights_LHTS.shape[:2] == (1, 1)
    with pytest.raises(AntiphonError) as caught:
        found.picture("encoder")
    assert str(caught.value) == "--of encoder: this model has no such attention. It has: cross."


def test_a_model_without_attention_has_nothing_to_show():
    with pytest.raises(AntiphonError) as caught:
        read_attention(a_pipeline(*SUBWORDS, RECURRENT[0], RECURRENT[1] % "none"), "the hat")
    assert str(caught.value) == (
        "show: this model has no attention, so there is nothing to draw. "
        "Look at its gradients: antiphon show --gradients."
    )


def test_a_mixed_model_shows_what_it_has():
    found = read_attention(a_pipeline(*SUBWORDS, TRANSFORMER[0], RECURRENT[1] % "none"), "the hat")
    assert list(found.words) == ["encoder"]
    assert found.alignment is None
    assert found.picture().source == ("the", "hat", "</s>")


def test_an_empty_text(found):
    empty = read_attention(a_pipeline(*SUBWORDS, *TRANSFORMER), "")
    assert empty.words["cross"].weights_LHTS.shape == (4, 2, 1, 1)
    assert empty.alignment.links == ()


def test_an_answer_as_long_as_its_seats_can_be_looked_at():
    learned = f"model.decoder={(STACK % (1, 2))[:-1]},positions=learned,max_positions=6}}", "data.max_length=5"
    found = read_attention(a_pipeline(*SUBWORDS, TRANSFORMER[0], *learned), "the hat, cats")
    rows = found.symbols["decoder"].rows
    assert (len(rows), "</s>" in rows) == (6, False)
