"""Language models from the command line and from Python: prompts, free writing, scores, and what is refused."""

import json
import math
import random
from itertools import pairwise
from pathlib import Path

import pytest
import torch

import antiphon
from antiphon.build.model import build_model
from antiphon.commands.promises import constraints_are_honoured
from antiphon.commands.verify import run_verify
from antiphon.config.schema import Search
from antiphon.config.toml import load_run
from antiphon.data.running import encode_lines, spell_lines
from antiphon.data.store import PairStore
from antiphon.errors import AntiphonError
from antiphon.evaluate.texts import text_scores
from antiphon.pipeline import Pipeline
from antiphon.training.loop import train
from antiphon.training.selfcheck import self_check

NEXT = {"one": "two", "two": "three", "three": "four", "four": "one"}
COMMON = (
    "model.kind=language_model", "data.target.tokenizer={kind=words}", "train.batch_tokens=200", "train.max_steps=120",
    "train.warmup=10", "train.validate_every=60", "train.save_every=60", "train.learning_rate=0.02", "search.max_length=12",
    "train.label_smoothing=0.0",
)  # fmt: skip
RECURRENT = (*COMMON, "model.decoder={kind=recurrent,cell=gru,width=16,embedding=16,dropout=0.0}")
RUNNING = (
    *COMMON, "data.window=12", "train.self_check=false",
    "model.decoder={kind=transformer,width=16,layers=1,heads=2,feedforward=32,dropout=0.0,positions=rotary}",
)  # fmt: skip


def counting(count=300, seed=1):
    """Texts that count up from anywhere, round and round: the next word is sure, the end is not."""
    draw, texts = random.Random(seed), []
    for _ in range(count):
        words = [draw.choice(list(NEXT))]
        while len(words) < 3 or draw.random() < 0.7:
            words.append(NEXT[words[-1]])
        texts.append(" ".join(words[:9]))
    return texts


def trained(place, sets):
    (place / "text.txt").write_text("".join(f"{text}\n" for text in counting()), encoding="utf-8")
    train(load_run(None, None, {"data": {"train": [str(place / "text.txt")]}}, list(sets)), place / "run")
    return antiphon.load(place / "run")


@pytest.fixture(scope="module")
def counter(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("texts"), RECURRENT)


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("running"), RUNNING)


def test_lines_longer_than_the_window_are_validated_on(tmp_path):
    (tmp_path / "text.txt").write_text("\n".join([" ".join([*NEXT] * 30)] * 40), encoding="utf-8")
    sets = [*RUNNING, "train.max_steps=2", "train.validate_every=2"]
    train(load_run(None, None, {"data": {"train": [str(tmp_path / "text.txt")]}}, sets), tmp_path / "run")
    assert antiphon.load(tmp_path / "run").report["step"] == 2


@pytest.mark.parametrize("name", ["counter", "runner"])
def test_constraints_are_proved_on_it(name, request, capsys):
    folder = request.getfixturevalue(name).pipeline.run.data.train[0].replace("text.txt", "run")
    run_verify(Path(folder), None, as_json=True)
    proofs = {proof["promise"]: proof for proof in json.loads(capsys.readouterr().out)["proofs"]}
    assert all(proof["holds"] for proof in proofs.values())
    tried = int(proofs["constraints are honoured"]["detail"].split()[0])
    assert tried >= 8, "demanded and avoided of texts, avoided in running text"


def test_a_constraint_that_is_not_honoured_is_found(counter, monkeypatch):
    real = Pipeline.answer
    monkeypatch.setattr(Pipeline, "answer", lambda self, texts, search=None: real(self, texts, Search(max_length=12)))
    proof = constraints_are_honoured(counter.pipeline, ["one", "two", "three"])
    assert not proof.holds
    assert proof.detail.endswith("in 3 texts: 3 not honoured; first: 'one'")


def is_counted(text):
    words = text.split()
    return all(NEXT[before] == after for before, after in pairwise(words))


def test_a_prompt_is_completed(counter):
    for text in ("one", "three four", "two three four one"):
        (answer,) = counter.predict([text])[0]
        assert answer.text.startswith(text)
        assert is_counted(answer.text)


def test_an_empty_line_is_written_from_the_start(counter):
    answers = counter.predict(["", "  "], sample=True, n_best=3)
    assert [len(found) for found in answers] == [3, 3]
    assert all(answer.text and is_counted(answer.text) for found in answers for answer in found)


def test_no_batch_changes_a_completion(counter, runner):
    texts = [" ".join(text.split()[: n % 4]) for n, text in enumerate(counting(30, seed=2))]
    for model in (counter, runner):
        together = model.predict(texts, beam=3)
        assert [model.predict([text], beam=3)[0][0].text for text in texts] == [found[0].text for found in together]
    drawn = counter.predict(texts, sample=True)
    assert [
        found[0].text for found in counter.pipeline.answer(texts, counter.search({"sample": True}), batch_tokens=9)
    ] == [found[0].text for found in drawn]


def test_an_unknown_word_of_a_prompt_is_kept(counter):
    (answer,) = counter.predict(["one zebra"])[0]
    assert answer.text.startswith("one zebra")
    assert "<unk>" not in answer.text


def test_a_running_text_goes_on_over_line_breaks(runner):
    (answer,) = runner.predict(["one\ntwo"], sample=True, n_best=1)[0]
    assert answer.text.startswith("one\ntwo")
    assert len(answer.symbols) == 12 - 3  # the window is full
    assert not answer.ended


def test_lines_are_spelt_as_they_were_read(runner):
    tokenizer = runner.pipeline.target
    for text in ("one two\n\nthree", "\none\n", ""):
        assert spell_lines(tokenizer, encode_lines(tokenizer, text)) == text


def test_what_is_likely_scores_high(counter):
    right, wrong = counter.score(["one two three four", "one three two four"])
    assert right > wrong + 5
    (whole,) = counter.score(["one two three"])
    assert counter.predict(["one two three"], beam=1)[0][0].log_probability < 0
    symbols = 4
    found = {score.name: score.value for score in counter.evaluate_texts(["one two three"])}
    assert found["perplexity"] == pytest.approx(math.exp(-whole / symbols), rel=1e-4)


def test_every_unit_tells_of_the_same_likelihood():
    scores = {score.name: score for score in text_scores(8 * math.log(2), 4, "subwords", ["é b", "c"])}
    assert scores["perplexity"].value == pytest.approx(4)
    assert scores["word perplexity"].value == pytest.approx(2 ** (8 / 5))
    assert scores["bits per character"].value == pytest.approx(8 / 6)
    assert scores["bits per byte"].value == pytest.approx(8 / 7)
    assert scores["bits per byte"].signature.startswith("bits|unit:bytes|ends:counted|version:")


def test_the_share_of_unknown_words_is_signed(counter):
    """Nothing is paid for the letters of a word that is not known, and who reads the score is told."""
    assert all("unknown" not in score.signature for score in counter.evaluate_texts(["one two three"]))
    few, many = (counter.evaluate_texts([f"one two {word}"]) for word in ("zebra", "hippopotamus"))
    for short, long in zip(few, many, strict=True):
        assert "|unknown:25.00%|version:" in short.signature
        assert short.signature == long.signature
    assert few[0].value == many[0].value, "both are any unknown word"


def test_a_running_text_is_counted_once_whatever_the_batch(runner):
    texts = counting(20, seed=3)
    first, *_ = runner.evaluate_texts(texts)
    store = PairStore.of([([], runner.pipeline.target.encode(text)) for text in texts])
    for tokens in (1, 30, 1000):
        parts = list(runner.pipeline.losses(store, tokens))
        assert sum(count for _, count, _ in parts) == store.target_tokens
        loss = sum(loss for loss, _, _ in parts) / store.target_tokens
        assert math.exp(loss) == pytest.approx(first.value, rel=1e-4)
    assert first.value < 2.5


def test_the_folder_holds_what_there_is(counter, tmp_path):
    folder = counter.pipeline.run.data.train[0].replace("text.txt", "run")
    names = {path.name for path in Path(folder).iterdir()}
    assert "target.tokenizer.json" in names
    assert "source.tokenizer.json" not in names
    report = json.loads((Path(folder) / "report.json").read_text())
    assert report["validation"]["accuracy"] > 0.5


def test_what_has_no_pairs_says_so(counter):
    for verb in (lambda: counter.evaluate([("a", "b")]), lambda: antiphon.compare({"a": counter}, [("one", "two")])):
        with pytest.raises(AntiphonError, match="a language model completes texts and answers no sources"):
            verb()


def test_a_reverse_model_is_one_that_reads_answers(counter):
    folder = counter.pipeline.run.data.train[0].replace("text.txt", "run")
    with pytest.raises(AntiphonError) as caught:
        antiphon.load(folder, reverse=folder)
    assert str(caught.value) == (
        f"reverse: {folder} is a language_model, and a model from answers to texts is needed. Name such a folder."
    )


def test_what_means_nothing_while_answers_are_drawn_or_searched_for_is_refused(counter):
    drawn = counter.search({"sample": True, "temperature": 0.5})
    for changes, message in (
        (
            {"temperature": 0.5},
            "search.temperature: nothing is drawn, so it means nothing. Add --sample (sample = true)",
        ),
        ({"sample": True, "beam": 3}, "search.beam: answers are drawn, so it means nothing. Add --no-sample (sample"),
        ({"reverse_weight": 2.0}, "search.reverse_weight: no such model has a say, so it means nothing. Name one"),
    ):
        with pytest.raises(AntiphonError) as caught:
            counter.search(changes)
        assert str(caught.value).startswith(message)
    assert counter.search({"sample": False, "beam": 3}, drawn).beam == 3


def refusal(sets, text="one two\n", place=None):
    (place / "text.txt").write_text(text, encoding="utf-8")
    with pytest.raises(AntiphonError) as caught:
        train(load_run(None, None, {"data": {"train": [str(place / "text.txt")]}}, [*RECURRENT, *sets]), place / "run")
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "data.train: {} is empty. Is it the right file?"),
        ("\n\n", "data.train: {} holds no text, only blank lines. Is it the right file?"),
        (
            "one\teins\ntwo\tzwei\n",
            "data.train: {0} has several columns: 2 of 2 lines hold a TAB. "
            "Plain text is read here; take one column of it: cut -f2 {0}. "
            'A language model learns pairs with model.reads = "pairs".',
        ),
    ],
)
def test_a_file_that_is_no_text_is_refused(text, message, tmp_path):
    assert refusal([], text, tmp_path) == message.format(tmp_path / "text.txt")


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        (
            ["data.source.tokenizer={kind=bytes}"],
            "data.source.tokenizer: a language model has no source (its tokeniser is data.target.tokenizer): "
            "leave this key out",
        ),
        (["data.joint=true"], "data.joint: a language model has no source: leave this key out"),
        (["train.corruption.drop=0.1"], "train.corruption: a language model has no source: leave this key out"),
        (
            ["data.train_target=x"],
            'data.train_target: a language model has no source (unless model.reads = "pairs"): leave this key out',
        ),
        (["train.metric=bleu"], 'train.metric = "bleu" judges answers, and a text has none: take "loss"'),
        (
            ["data.window=8", "data.target.tokenizer={kind=subwords,size=300,dropout=0.1}"],
            "data.target.tokenizer.dropout spells a text anew, and a window is cut by symbols: "
            "set it to 0, or data.window = 0",
        ),
        (
            ["data.window=8", "train.teacher_forcing.p=0.5"],
            "train.teacher_forcing writes from a text's beginning: leave it out, or set data.window = 0",
        ),
        (
            ["data.window=8", "model.decoder.max_positions=7"],
            'model.decoder.max_positions: no such key where kind = "recurrent"; kind = "transformer" has "max_positions". '
            "Known: kind, cell, width, layers, widths, embedding, scale_embedding, residual, dropout, dropout_through_time",
        ),
        (
            ["model.decoder.attention.kind=dot"],
            'model.decoder.attention: no such key where kind = "recurrent"; model.kind = "seq2seq" has "attention". '
            "Known: kind, cell, width, layers, widths, embedding, scale_embedding, residual, dropout, dropout_through_time",
        ),
    ],
)
def test_choices_that_a_text_cannot_have(sets, message, tmp_path):
    assert refusal(sets, place=tmp_path) == message


def test_a_window_must_be_seated():
    decoder = "model.decoder={kind=transformer,positions=learned,max_positions=7}"
    with pytest.raises(AntiphonError) as caught:
        load_run(None, None, {"data": {"train": ["x"]}}, [*COMMON, "data.window=8", decoder])
    assert str(caught.value) == "model.decoder.max_positions (7) must be at least data.window (8)"


def test_a_window_needs_a_language_model():
    with pytest.raises(AntiphonError) as caught:
        load_run(None, None, {"data": {"train": ["x"]}}, ["data.window=8"])
    assert str(caught.value) == 'data.window cuts a running text, which needs model.kind = "language_model" or "masked"'


def test_a_prompt_that_is_too_long_is_refused(counter, runner):
    with pytest.raises(AntiphonError) as caught:
        runner.predict(["one", " ".join(["one"] * 12)])
    assert str(caught.value) == "line 2: 12 symbols, and this model reads at most 11. Give it less."
    with pytest.raises(AntiphonError) as caught:
        counter.predict([" ".join(["one"] * 1025)])
    assert str(caught.value) == (
        "line 1: 1,025 symbols, and this model reads at most 1,024. "
        "Give it less, or raise search.max_source where memory allows."
    )


def test_attention_and_gradients_can_be_seen(counter, runner):
    shown = runner.show("one two")
    assert set(shown.symbols) == {"decoder"}
    assert shown.symbols["decoder"].rows[:2] == ("one", "two")
    assert shown.alignment is None
    with pytest.raises(AntiphonError, match="this model has no attention"):
        counter.show("one two")
    (chain,) = counter.gradients("one two").chains
    assert chain.symbols[:3] == ("<s>", "one", "two")


def test_one_text_is_learnt_by_heart_before_all_others(counter, runner):
    for pipeline in (counter.pipeline, runner.pipeline):
        torch.manual_seed(1)
        fresh = build_model(pipeline.run.model, 0, pipeline.target.size)
        store = PairStore.of([([], pipeline.target.encode(text)) for text in ("", *counting(50))])
        verdict = self_check(Pipeline(fresh, pipeline.source, pipeline.target, pipeline.run), store, 0.02)
        assert verdict.well
        assert verdict.line().endswith("on 1 text), and free answers agree with forced ones.")
