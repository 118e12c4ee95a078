"""Antiphon from Python."""

import math
import subprocess
import sys

import numpy as np
import pytest
import torch

import antiphon
from antiphon.errors import AntiphonError
from antiphon.show.tree import read_tree
from tests.conftest import SMALL
from tests.laws.runner import write_pairs


@pytest.fixture(scope="module")
def model(trained):
    return antiphon.load(trained)


def test_a_model_answers_one_text_with_one_text(model):
    assert model("six five") == "fünf sechs"
    assert model("") == ""


def test_many_texts_with_many_answers(model):
    found = model.predict(["one", "", "two six"], beam=5, n_best=3)
    assert [len(answers) for answers in found] == [3, 1, 3]
    assert found[0][0].text == model("one")


def test_more_answers_widen_the_beam(trained):
    model = antiphon.load(trained)
    assert model.search({"n_best": 9}).beam == 9
    assert model.search({"n_best": 2}).beam == 5
    assert len(model.predict(["one"], n_best=7)[0]) == 7


def test_a_search_is_a_value_that_can_be_kept(model):
    search = model.search({"groups": 3, "n_best": 3, "avoid": ["zwei"]})
    assert (search.beam, search.groups, model.search({"beam": 9}, search).avoid) == (6, 3, ["zwei"])
    found = model.predict(["two one", "one"], search)
    assert [len(answers) for answers in found] == [2, 3]  # groups that agree leave fewer
    assert not any("zwei" in answer.text for answers in found for answer in answers)
    assert [len(answers) for answers in model.predict(["one"], search, n_best=2)] == [2]


def test_a_model_with_partners_has_a_perplexity_too(trained, model):
    together = antiphon.load(trained, partners=[trained])
    pairs = [("one", "eins"), ("two one", "eins zwei")]
    assert together.likelihood(pairs)[0].value == pytest.approx(model.likelihood(pairs)[0].value, rel=1e-4)
    assert together("six five") == model("six five")


def test_what_is_not_given_is_as_the_model_says(model):
    assert model.search({"beam": None}) == model.pipeline.run.search
    assert model.search({"beam": 2}).beam == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"beam": 0}, "search.beam: 0 is not allowed: at least 1, at most 1000"),
        ({"n_best": 9, "beam": 5}, "search: n_best 9 is more than beam 5 can give: raise beam"),
        ({"top_p": 1.5}, "search.top_p: 1.5 is not allowed: above 0, at most 1"),
        ({"temperature": float("nan")}, "search.temperature: nan is not allowed: give a finite number"),
    ],
)
def test_a_wrong_search_is_explained(model, changes, message):
    with pytest.raises(AntiphonError) as caught:
        model.predict(["one"], **changes)
    assert str(caught.value) == message


def test_sampling_is_repeatable(model):
    drawn = [model.predict(["one two three"] * 5, sample=True, seed=seed, temperature=2.0) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_scores_with_signatures(model):
    names = [score.name for score in model.evaluate([("one", "eins"), ("two one", "eins zwei")])]
    assert names == [
        "BLEU", "chrF2", "TER", "ROUGE-1", "ROUGE-2", "ROUGE-L", "exact match", "token accuracy", "WER", "CER",
        "perplexity", "bits per character", "calibration error, raw", "calibration error",
        "calibration error of words, raw", "calibration error of words",
        "calibration error of answers, raw", "calibration error of answers",
    ]  # fmt: skip


def test_further_references(model):
    pairs = [("one", "eins"), ("two", "x")]
    scores = {score.name: score.value for score in model.evaluate(pairs, references=[[], [model("two"), "y"]])}
    assert scores["exact match"] == 100.0
    with pytest.raises(AntiphonError) as caught:
        model.evaluate(pairs, references=[["eins"]])
    assert str(caught.value) == "references: 2 pairs, and references for 1; give a list for every pair."


def test_bits_and_perplexity_are_of_one_likelihood(model):
    perplexity, bits = model.likelihood([("one two", "zwei eins")])
    # Two words and an end; nine characters and an end.
    assert bits.value == pytest.approx(3 * math.log2(perplexity.value) / 10)
    assert bits.signature.startswith("bits|unit:characters|ends:counted|version:")


def test_there_is_no_score_of_nothing(model):
    for verb in ("evaluate", "likelihood"):
        with pytest.raises(AntiphonError) as caught:
            getattr(model, verb)([])
        assert str(caught.value) == f"{verb}: nothing is given, and there is no score of nothing. Give at least one."


def test_pairs_may_come_one_by_one(model):
    pairs = [("one", "eins"), ("two", "zwei")]
    assert model.evaluate(iter(pairs)) == model.evaluate(pairs)


def test_a_model_is_compared_with_answers(model):
    pairs = [("one two", "zwei eins"), ("two one six", "sechs eins zwei"), ("one", "eins")]
    answers = ["zwei eins", "", "eins"]
    found = antiphon.compare({"model": model, "file": answers}, iter(pairs), metric="exact_match", bins=[2], beam=2)
    systems = found.comparison.systems
    assert [system.name for system in systems] == ["model", "file"]
    assert [score.value for score in systems[1].by_length] == [100.0, 0.0]
    assert found.against[0].other == "file"
    assert systems[0].overall == next(
        score for score in model.evaluate(pairs, search=model.search({"beam": 2})) if score.name == "exact match"
    )


def test_a_path_is_no_system(model):
    with pytest.raises(AntiphonError) as caught:
        antiphon.compare({"a": "runs/a"}, [("one", "eins")])
    assert str(caught.value) == "compare: a is a text, 'runs/a'. Give a model, antiphon.load(...), or answers."


def test_a_picture_of_where_it_looked(model):
    found = model.show("one two", expected="zwei eins")
    assert (found.text, found.expected, found.answer) == ("one two", "zwei eins", model("one two"))
    assert found.words is found.symbols
    picture = found.picture()
    assert picture.source == ("one", "two", "</s>")
    assert picture.weights_TS.shape == (len(picture.target), 3)
    assert np.allclose(picture.weights_TS.sum(1), 1.0)


def test_the_tree_of_a_search(model):
    tree = model.show_beam("one two", beam=2)
    answer = model.predict(["one two"], beam=2)[0][0]
    assert (tree.answer, tree.search.beam) == (answer.text, 2)
    assert [node.symbol for node in tree.nodes if node.won] == ["<s>", *answer.pieces, "</s>"]
    assert model.show_beam("").answer == ""


def test_the_tree_of_a_search_that_is_told_more(model):
    search = model.search({"prefix": "zwei", "n_best": 2})
    tree, answers = model.show_beam("one two", search), model.predict(["one two"], search)[0]
    assert (tree.answer, tree.held_to) == (answers[0].text, 'prefix = "zwei"')
    assert sum(node.given is not None for node in tree.nodes) == 2
    with pytest.raises(AntiphonError) as caught:
        model.show_beam("one two", model.search({"sample": True}))
    assert str(caught.value) == "search.sample: answers that are drawn have no tree. Set it to false."


def test_the_tree_stars_the_answer_that_least_risk_chooses(trained):
    texts = ["one two", "six five", "two two six"]
    settings = {"beam": 4, "mbr": "chrf"}
    loaded = antiphon.load(trained)
    search = loaded.search(settings)
    for text, (answer, *_) in zip(texts, loaded.pipeline.answer(texts, search), strict=True):
        tree = read_tree(loaded.pipeline, text, search)
        assert [node.symbol for node in tree.nodes if node.won][1 : len(answer.pieces) + 1] == list(answer.pieces)


def test_broken_weights_give_no_score(trained):
    loaded = antiphon.load(trained)
    with torch.no_grad():
        next(iter(loaded.pipeline.model.head.parameters())).fill_(math.nan)
    mend = (
        "its weights are damaged or its training diverged. Take an earlier checkpoint, or train again with a lower "
        "train.learning_rate."
    )
    for ask, where in ((loaded.score, "in pair 1"), (loaded.likelihood, "for the texts that it is scored on")):
        with pytest.raises(AntiphonError) as caught:
            ask([("one", "eins")])
        assert str(caught.value) == f"the model gave a probability that is not a number {where}: {mend}"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"diversity": 0.9}, "search.diversity: one group differs from no other, so it means nothing. Raise groups."),
        (
            {"sample": True, "draws": 4},
            "search.draws: the first draw is given, so others mean nothing. Let mbr choose among them, or leave it out.",
        ),
    ],
)
def test_what_would_change_nothing_is_refused(model, given, message):
    with pytest.raises(AntiphonError) as caught:
        model.search(given)
    assert str(caught.value) == message


def test_an_empty_text_can_be_shown(model):
    assert model.show("").answer == ""


def test_training_from_python_and_going_on(tmp_path):
    pairs = write_pairs(tmp_path / "pairs.tsv", 40)
    again = {"data": {"train": [str(pairs)]}, "out": tmp_path / "run", "quiet": True}
    first = antiphon.train(**again, sets=[*SMALL, "train.max_steps=4"])
    second = antiphon.train(**again, sets=[*SMALL, "train.max_steps=6"])
    assert (first.report["step"], second.report["step"]) == (4, 6)


def test_the_package_shows_what_it_promises():
    assert {antiphon.AntiphonError, antiphon.Model, antiphon.compare, antiphon.load, antiphon.train}
    with pytest.raises(AttributeError, match="module 'antiphon' has no attribute 'nonsense'"):
        _ = antiphon.nonsense


def test_importing_it_does_not_import_torch():
    code = "import antiphon, sys; assert 'torch' not in sys.modules; antiphon.AntiphonError; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


PAIRS = [("one", "eins"), ("two one", "eins zwei")]


def test_unknown_targets_are_signed(model):
    assert all("unknown" not in score.signature for score in model.likelihood(PAIRS))
    for score in model.likelihood([("one", "eins sieben"), ("unseen", "eins")]):
        assert "|unknown:20.00%|version:" in score.signature, "a source is not counted"


FORMS = {"tuples": tuple, "iterators": iter, "lists of lists": lambda pairs: [list(pair) for pair in pairs]}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_pairs_come_in_any_form(model, form):
    assert model.evaluate(form(PAIRS), references=iter([("uno",), ("dos uno",)])) == model.evaluate(
        PAIRS, references=[["uno"], ["dos uno"]]
    )
    assert model.likelihood(form(PAIRS)) == model.likelihood(PAIRS)
    assert model.score(form(PAIRS)) == model.score(PAIRS)
    answers = ["eins", "zwei"]
    compared = antiphon.compare({"a": iter(answers)}, form(PAIRS))
    assert compared.comparison.systems[0].answers == ("eins", "zwei")


@pytest.mark.parametrize("form", [tuple, iter])
def test_texts_come_in_any_form(model, form):
    texts = ["one", "two one"]
    assert model.predict(form(texts)) == model.predict(texts)
    np.testing.assert_array_equal(model.embed(form(texts)), model.embed(texts))
    best = [found[0] for found in model.predict(texts)]
    assert model.confidence(form(texts), form(best)) == model.confidence(texts, best)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda model: model.predict("one"), "predict: 'one' is given, and texts are expected. Put it into a list."),
        (lambda model: model.predict(5), "predict: 5 is given, and texts are expected. Put it into a list."),
        (lambda model: model.predict(["one", 5]), "predict: text 2 is 5, and not a text. Give a str."),
        (lambda model: model.embed("one"), "embed: 'one' is given, and texts are expected. Put it into a list."),
        (
            lambda model: model.score("one"),
            "score: 'one' is given, and pairs or texts are expected. Put it into a list.",
        ),
        (
            lambda model: model.evaluate([("one", "eins"), "two"]),
            "evaluate: pair 2 is 'two', and not a source and a target. Give two texts.",
        ),
        (
            lambda model: model.likelihood([("a", "b", "c")]),
            "likelihood: pair 1 is ['a', 'b', 'c'], and not a source and a target. Give two texts.",
        ),
        (
            lambda model: model.confidence(["one"], []),
            "confidence: 1 texts and 0 answers. Give one for each text.",
        ),
        (
            lambda model: model.evaluate(PAIRS, references=["uno", "dos"]),
            "references: those of pair 1 are 'uno'. Put them into a list.",
        ),
        (
            lambda model: antiphon.compare({"a": ["eins", None]}, PAIRS),
            "compare: a: text 2 is None, and not a text. Give a str.",
        ),
    ],
)
def test_what_is_no_list_of_texts_or_pairs_is_explained(model, ask, message):
    with pytest.raises(AntiphonError) as caught:
        ask(model)
    assert str(caught.value) == message
