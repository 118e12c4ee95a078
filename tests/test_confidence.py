"""Confidence: calibrated, the same in any batch, after any search, and never able to change an answer."""

import json
import math
from dataclasses import replace
from importlib.metadata import version

import pytest
import torch

import antiphon
from antiphon.build.model import build_model
from antiphon.confidence import CERTAIN, calibrate, judge_answers, read_calibration
from antiphon.config.toml import load_run
from antiphon.data.store import PairStore
from antiphon.errors import AntiphonError
from antiphon.evaluate.calibration import expected_calibration_error
from antiphon.evaluate.rouge import in_common
from antiphon.pipeline import Pipeline
from antiphon.store import load_folder
from antiphon.sureness import answer_errors
from antiphon.trained import Model
from tests.laws.runner import WORDS

TEXTS = ["one two", "six", "", "five five five four", "three one two six"]


@pytest.fixture(scope="module")
def model(trained):
    return antiphon.load(trained)


def stored(model, pairs):
    pipeline = model.pipeline
    return PairStore.of((pipeline.source.encode(source), pipeline.target.encode(target)) for source, target in pairs)


def best(model, texts=TEXTS, **search):
    return [found[0] for found in model.predict(texts, **search)]


def test_training_leaves_a_calibration_and_the_card_tells_of_it(trained, model):
    report = json.loads((trained / "report.json").read_bytes())["calibration"]
    assert set(report) == {
        "temperature", "loss_before", "loss_after", "error_before", "error_after", "symbols", "usual",
    }  # fmt: skip
    assert model.calibration.to_dict() == report
    assert report["loss_after"] <= report["loss_before"]
    errors = f"{report['error_before']:.4f}, and {report['error_after']:.4f} at temperature {report['temperature']:.3f}"
    assert f"| calibration error | {errors} |" in (trained / "README.md").read_text(encoding="utf-8")


def test_the_temperature_of_the_folder_is_that_of_its_weights(trained, model):
    from antiphon.data.prepare import prepare

    prepared = prepare(load_folder(trained).run.data, trained / "tokens")
    found = calibrate(model.pipeline, prepared.valid, prepared.valid_pairs)
    assert found.fit.temperature == pytest.approx(model.calibration.fit.temperature, rel=1e-4)
    assert found.usual == model.calibration.usual


@pytest.mark.parametrize("search", [{"beam": 1}, {"beam": 4}, {"sample": True, "temperature": 1.5, "seed": 3}])
def test_at_temperature_one_it_is_what_the_search_saw(model, search):
    answers = best(model, **search)
    for answer, sure in zip(answers, judge_answers(model.pipeline, None, TEXTS, answers), strict=True):
        logs = answer.log_probabilities
        assert sure.sentence == pytest.approx(math.exp(sum(logs) / len(logs)) if logs else 1.0, abs=2e-5)
        assert sure.probability == pytest.approx(math.exp(answer.log_probability), abs=2e-5)
        assert [text for text, _ in sure.words] == list(answer.pieces)
        assert [p for _, p in sure.words] == pytest.approx([math.exp(log) for log in logs[: len(sure.words)]], abs=2e-5)


def test_a_temperature_by_hand(model):
    answer = best(model)[0]
    hot = replace(model.calibration, fit=replace(model.calibration.fit, temperature=2.0))
    sure = judge_answers(model.pipeline, hot, TEXTS[:1], [answer])[0]
    step, state = model.pipeline.model, model.pipeline.model.start(
        torch.tensor([[*model.pipeline.source.encode(TEXTS[0]), 2]]), torch.ones(1, 3, dtype=torch.bool)
    )  # fmt: skip
    total, word = 0.0, 1
    for symbol in (*answer.symbols, 2):
        with torch.inference_mode():
            logs_NV, state = step.step(torch.tensor([word]), state)
        total += (logs_NV[0] / 2).log_softmax(-1)[symbol].item()
        word = symbol
    assert sure.probability == pytest.approx(math.exp(total), abs=1e-5)


def test_a_text_has_the_same_confidence_alone_and_in_any_batch(model):
    answers = best(model)
    together = model.confidence(TEXTS, answers)
    backwards = model.confidence(TEXTS[::-1], answers[::-1])[::-1]
    alone = [model.confidence([text], [answer])[0] for text, answer in zip(TEXTS, answers, strict=True)]
    for one, other, third in zip(together, backwards, alone, strict=True):
        assert one.sentence == pytest.approx(other.sentence, abs=2e-6) == pytest.approx(third.sentence, abs=2e-6)
        assert one.warnings == other.warnings == third.warnings


def test_an_answer_that_the_limit_cut_has_no_end_to_be_sure_of(model):
    answer = model.pipeline.answer(TEXTS[4:], model.search({"max_length": 2, "beam": 1}))[0][0]
    assert not answer.ended
    sure = judge_answers(model.pipeline, None, TEXTS[4:], [answer])[0]
    assert sure.sentence == pytest.approx(math.exp(answer.log_probability / len(answer.symbols)), abs=2e-5)


def test_an_empty_text_is_answered_for_certain(model):
    assert model.confidence([""], [best(model)[2]]) == [CERTAIN]


def test_calibration_changes_no_answer(trained, run_folder):
    report = json.loads((run_folder / "report.json").read_bytes())
    report["calibration"]["temperature"] = 3.9
    (run_folder / "report.json").write_text(json.dumps(report), encoding="utf-8")
    hot, own = antiphon.load(run_folder), antiphon.load(trained)
    assert hot.predict(TEXTS, n_best=3) == own.predict(TEXTS, n_best=3)
    assert hot.confidence(TEXTS, best(own)) != own.confidence(TEXTS, best(own))


def test_a_folder_from_before_calibration_answers_as_ever(trained, run_folder):
    report = json.loads((run_folder / "report.json").read_bytes())
    del report["calibration"]
    (run_folder / "report.json").write_text(json.dumps(report), encoding="utf-8")
    old = antiphon.load(run_folder)
    assert old.calibration is None
    assert old("six five") == antiphon.load(trained)("six five")
    scores = [score.name for score in old.evaluate([("six five", "fünf sechs")])]
    of = ("calibration error", "calibration error of words", "calibration error of answers")
    assert scores[-3:] == [f"{name}, raw" for name in of]


def test_the_calibration_of_words_and_answers_is_that_of_what_predict_tells(model):
    pairs = [
        ("six five", "fünf sechs"),
        ("one two three", "drei zwei eins"),
        ("four", "vier fünf"),
        ("two six", "sechs"),
    ]
    texts, targets = zip(*pairs, strict=True)
    answers = best(model, texts)
    scores = {score.name: score for score in model.evaluate(pairs)}
    bare = Model(model.pipeline, {})
    for asked, ending in ((bare, ", raw"), (model, "")):
        sure = asked.confidence(texts, answers)
        right = [answer.text == target for answer, target in zip(answers, targets, strict=True)]
        error = expected_calibration_error([one.probability for one in sure], right)
        assert scores[f"calibration error of answers{ending}"].value == pytest.approx(100 * error)
        words = [word for one in sure for word in one.words]
        known = [part for answer, target in zip(answers, targets, strict=True)
                 for part in in_common(answer.text.split(), target.split())]  # fmt: skip
        error = expected_calibration_error([chance for _, chance in words], known)
        assert scores[f"calibration error of words{ending}"].value == pytest.approx(100 * error)
    temperature = f"{model.calibration.fit.temperature:.4g}"
    assert scores["calibration error of words"].signature == (
        f"ece|bins:15|unit:words|right:lcs|temperature:{temperature}|version:{version('antiphon')}"
    )
    assert scores["calibration error of answers, raw"].signature == (
        f"ece|bins:15|unit:answers|right:exact|temperature:1|version:{version('antiphon')}"
    )


def test_the_nearest_reference_and_case_count(model):
    (answer,) = best(model, ["six five"])
    references = ["eins", f"{answer.text} eins".upper()]
    told = {
        lowercase: [score.value for score in answer_errors(
            model.pipeline, None, ["six five"], [answer], [references], lowercase
        )]
        for lowercase in (False, True)
    }  # fmt: skip
    (sure,) = Model(model.pipeline, {}).confidence(["six five"], [answer])
    chances = [chance for _, chance in sure.words]
    whole = 100 * sure.probability  # wrong either way
    assert told[False] == pytest.approx([100 * expected_calibration_error(chances, [False] * len(chances)), whole])
    # Words in capitals are not in the vocabulary, so even without regard to case the reference has unknown words only.
    assert told[True] == told[False]
    near = [score.value for score in answer_errors(
        model.pipeline, None, ["six five"], [answer], [["eins", f"{answer.text} eins"]]
    )]  # fmt: skip
    assert near[0] == pytest.approx(100 * expected_calibration_error(chances, [True] * len(chances)))


def test_answers_without_a_word_have_no_calibration_of_words(model):
    answer = replace(best(model, ["six"])[0], text="", symbols=(), ended=True)
    scores = list(answer_errors(model.pipeline, None, ["six"], [answer], [["sechs"]]))
    assert [score.name for score in scores] == ["calibration error of answers, raw"]


def test_weights_that_are_not_finite_have_no_calibration(trained):
    pipeline = antiphon.load(trained).pipeline
    with torch.no_grad():
        pipeline.model.head.bias_V.fill_(math.nan)
    pairs = [("six five", "fünf sechs")]
    assert calibrate(pipeline, PairStore.of([([4, 5], [4, 5])]), pairs) is None


def test_guards_on_a_real_model(model):
    answer = best(model)[0]
    symbol = model.pipeline.target.encode("eins")[0]
    loop = replace(answer, text="eins " * 12, symbols=(symbol,) * 12, ended=True)
    copy = replace(answer, text="one two")
    long = "one two three four five six " * 3
    found = model.confidence(["one two", "one two", long], [loop, copy, replace(answer, text="", symbols=())])
    kinds = [[warning.partition(":")[0] for warning in sure.warnings] for sure in found]
    assert "repeats itself" in kinds[0]
    assert "gives the source back" in kinds[1]
    assert "too short" in kinds[2]


def test_words_that_no_symbol_of_an_answer_looked_at(model):
    text = "one two three four five six"
    task = replace(model.calibration.usual, unread=0.3, shortest=0.0)
    short = replace(best(model)[0], text="eins", symbols=tuple(model.pipeline.target.encode("eins")))
    sure = judge_answers(model.pipeline, replace(model.calibration, usual=task), [text], [short])[0]
    assert [warning.partition(":")[0] for warning in sure.warnings] == ["left out"]
    assert set(sure.warnings[0].removeprefix("left out: nothing looked at ").split()) < set(text.split())


def test_doubts_name_low_confidence_first(model):
    sure = replace(CERTAIN, sentence=0.25, warnings=("gives the source back",))
    assert sure.doubts(0.5) == ("low confidence: 0.2500 is less than 0.5", "gives the source back")
    assert sure.doubts(0.25) == ("gives the source back",)
    assert CERTAIN.doubts(1.0) == ()


@pytest.mark.parametrize("value", [0, -1, 1e9, math.nan, math.inf])
def test_a_damaged_temperature_is_refused(run_folder, value):
    report = json.loads((run_folder / "report.json").read_bytes())
    report["calibration"]["temperature"] = value
    (run_folder / "report.json").write_text(json.dumps(report), encoding="utf-8")
    with pytest.raises(AntiphonError) as caught:
        antiphon.load(run_folder)
    assert str(caught.value) == (
        f"{run_folder / 'report.json'}: calibration.temperature: {value:g} is damaged: a number from 0.25 to 4 belongs "
        "there. Copy the file anew, or delete the whole calibration."
    )


@pytest.mark.parametrize(
    "told", [1, "x", [], {}, {"temperature": 1.0}, {"temperature": "warm"}, {"temperature": None}, True]
)
def test_a_calibration_of_another_shape_is_refused(told):
    with pytest.raises(AntiphonError) as caught:
        read_calibration({"calibration": told}, "x/report.json")
    assert str(caught.value) == "x/report.json: calibration: damaged. Copy the file anew, or delete that entry."


@pytest.mark.parametrize(
    ("name", "value"), [("unread", 1.5), ("copies", -0.1), ("shortest", math.nan), ("repeats", -1)]
)
def test_damaged_guards_are_refused(model, name, value):
    told = model.calibration.to_dict()
    with pytest.raises(AntiphonError, match=rf"^r: calibration\.{name}: .* is damaged"):
        read_calibration({"calibration": told | {"usual": told["usual"] | {name: value}}}, "r")


def test_a_model_without_attention_is_calibrated_and_nothing_is_said_to_be_unread(trained, model):
    from antiphon.data.prepare import prepare

    run = load_run(None, None, {"data": {"train": ["x"]}}, [*WORDS, "model.decoder.attention={kind=none}"])
    torch.manual_seed(1)
    blind = build_model(run.model, model.pipeline.source.size, model.pipeline.target.size)
    pipeline = Pipeline(blind, model.pipeline.source, model.pipeline.target, run)
    prepared = prepare(load_folder(trained).run.data, trained / "tokens")
    found = calibrate(pipeline, prepared.valid, prepared.valid_pairs)
    assert found.usual.unread == 1.0
    answers = [given[0] for given in pipeline.answer(TEXTS)]
    told = [warning for sure in judge_answers(pipeline, found, TEXTS, answers) for warning in sure.warnings]
    assert not [warning for warning in told if warning.startswith("left out")]
