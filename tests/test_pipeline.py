"""Text in, text out: order, emptiness, limits, and answers that no batch can change."""

import random

import pytest
import torch

from antiphon.config.toml import with_search
from antiphon.data.store import PairStore
from antiphon.data.vocab import END, START
from antiphon.errors import AntiphonError
from antiphon.layers.products import by_onednn
from antiphon.pipeline import EMPTY, Pipeline
from antiphon.store import load_folder

WORDS = ["one", "two", "three", "four", "five", "six"]


@pytest.fixture(scope="module")
def pipeline(trained):
    loaded = load_folder(trained)
    return Pipeline(loaded.model, loaded.source, loaded.target, loaded.run)


def some_texts(count, seed=1):
    draw = random.Random(seed)
    return [" ".join(draw.choices([*WORDS, "seven"], k=draw.randint(1, 9))) for _ in range(count)]


def best(answers):
    return [found[0].text for found in answers]


def searching(pipeline, **changes):
    return with_search(pipeline.run.search, changes)


def test_it_has_learnt_something(pipeline):
    assert best(pipeline.answer(["one", "six five"])) == ["eins", "fünf sechs"]


def test_what_is_empty_stays_empty(pipeline):
    texts = ["", "one", "   ", "\t", "\u3000", "two", "\r", "\n"]
    answers = pipeline.answer(texts)
    assert best(answers) == ["", "eins", "", "", "", "zwei", "", ""]
    assert answers[0] == [EMPTY]


@pytest.mark.parametrize("large", [False, True])
def test_a_search_multiplies_by_what_is_quicker_for_its_rows(pipeline, monkeypatch, large):
    asked, found = [], []
    monkeypatch.setattr("antiphon.pipeline.are_large", lambda _, rows: asked.append(rows) or large)
    monkeypatch.setattr("antiphon.layers.products.onednn_is_quicker", lambda: True)
    monkeypatch.setattr("antiphon.layers.products._ALLOWED", "ieee")
    begin = pipeline._begin
    monkeypatch.setattr(pipeline, "_begin", lambda texts: found.append(by_onednn()) or begin(texts))
    pipeline.answer(["one", "two"], searching(pipeline, beam=3))
    assert asked == [6]
    assert found == [large]


def test_nothing_asked_nothing_answered(pipeline):
    assert pipeline.answer([]) == []


def test_spaces_around_and_between_do_not_matter(pipeline):
    answers = best(pipeline.answer(["one two", "one  two", "  one two ", "one\u00a0two", "one\ttwo"]))
    assert len(set(answers)) == 1


def test_characters_never_seen_are_answered_too(pipeline):
    for text in ("seven", "一二三", "one 🙂 two", "\u0000", "a\u0301\u0301", "\ud800"):
        (answer,) = pipeline.answer([text])[0]
        assert "<unk>" not in answer.text
        assert "\n" not in answer.text


def test_answers_come_in_the_order_of_the_texts(pipeline):
    texts = some_texts(60)
    alone = [best(pipeline.answer([text]))[0] for text in texts]
    assert best(pipeline.answer(texts, batch_tokens=30)) == alone


@pytest.mark.parametrize("beam", [1, 5])
def test_no_batch_changes_an_answer(pipeline, beam):
    search, texts, draw = searching(pipeline, beam=beam), some_texts(120), random.Random(3)
    alone = dict(zip(texts, best(pipeline.answer(texts, search, batch_tokens=1)), strict=True))
    for tokens in (10, 57, 300, 5000):
        chosen = draw.sample(texts, draw.randint(20, len(texts)))
        assert best(pipeline.answer(chosen, search, batch_tokens=tokens)) == [alone[text] for text in chosen]


@pytest.mark.slow
@pytest.mark.parametrize("beam", [1, 5])
def test_no_batch_changes_a_thousand_answers(pipeline, beam):
    search, texts = searching(pipeline, beam=beam), some_texts(1000, seed=8)
    alone = best(pipeline.answer(texts, search, batch_tokens=1))
    for seed in range(5):
        draw = random.Random(seed)
        order = draw.sample(range(1000), 1000)
        found = best(pipeline.answer([texts[i] for i in order], search, batch_tokens=draw.randint(5, 3000)))
        assert found == [alone[i] for i in order]


def test_n_best_are_different_and_sorted(pipeline):
    for answers in pipeline.answer(some_texts(20), searching(pipeline, beam=5, n_best=4)):
        assert len(answers) == 4
        assert len({answer.symbols for answer in answers}) == 4
        ended = [answer for answer in answers if answer.ended]
        assert [answer.score for answer in ended] == sorted((answer.score for answer in ended), reverse=True)


def test_scores_are_what_they_say(pipeline):
    for (answer,) in pipeline.answer(some_texts(20), searching(pipeline, length_exponent=0.7)):
        assert answer.log_probability == pytest.approx(sum(answer.log_probabilities), abs=1e-5)
        assert len(answer.log_probabilities) == len(answer.symbols) + answer.ended
        assert answer.score == pytest.approx(answer.log_probability / len(answer.log_probabilities) ** 0.7)
        assert answer.pieces == tuple(answer.text.split())


def test_a_draw_depends_on_its_seed_and_number_only(pipeline):
    texts, search = some_texts(40), searching(pipeline, sample=True, n_best=3, seed=5)
    whole = pipeline.answer(texts, search)
    apart = pipeline.answer(texts[:17], search, batch_tokens=20) + pipeline.answer(texts[17:], search, first=17)
    drawn = [[answer.symbols for answer in found] for found in whole]
    assert drawn == [[answer.symbols for answer in found] for found in apart]
    other = pipeline.answer(texts, searching(pipeline, sample=True, n_best=3, seed=6))
    assert drawn != [[answer.symbols for answer in found] for found in other]
    assert len(set(map(tuple, drawn))) > 20


def test_a_too_long_text_is_refused_by_its_line(pipeline):
    long = " ".join(["one"] * 1025)
    with pytest.raises(AntiphonError) as caught:
        pipeline.answer(["one", "", long], first=1000)
    assert str(caught.value) == (
        "line 1003: 1,025 symbols, and this model reads at most 1,024. "
        "Split the text, or raise search.max_source where memory allows."
    )
    pipeline.answer([long], searching(pipeline, max_source=1025, max_length=3))


def with_seats(pipeline, side, seats):
    """The same model, said to have learned positions for so many places: only the limits are looked at."""
    stack = {"kind": "transformer", "positions": "learned", "max_positions": seats}
    tables = pipeline.run.model.model_dump() | {side: stack}
    model = type(pipeline.run.model).model_validate(tables)
    return Pipeline(pipeline.model, pipeline.source, pipeline.target, pipeline.run.model_copy(update={"model": model}))


def test_learned_positions_set_a_limit_of_their_own(pipeline):
    seated = with_seats(pipeline, "encoder", 5)
    seated.answer(["one one one one"])
    with pytest.raises(AntiphonError, match=r"line 1: 5 symbols, and this model reads at most 4\."):
        seated.answer(["one one one one one"])


def test_answers_end_where_learned_positions_end(pipeline):
    (answer,) = with_seats(pipeline, "decoder", 3).answer(["one two three four five six"])[0]
    assert len(answer.log_probabilities) <= 3


def test_a_target_beyond_the_learned_positions_is_refused(pipeline):
    store = PairStore.of([([4], [4]), ([4, 5], [4, 5, 6, 4, 5])])
    list(with_seats(pipeline, "decoder", 6).losses(store))
    with pytest.raises(AntiphonError) as caught:
        list(with_seats(pipeline, "decoder", 5).losses(store))
    assert str(caught.value) == (
        "pair 2: its target has 5 symbols, and this model writes at most 4. Leave it out, or shorten it."
    )


def test_the_length_limit_cuts_and_says_so(pipeline):
    found = pipeline.answer(["one two three four five"], searching(pipeline, beam=1, max_length=2))[0][0]
    assert (len(found.log_probabilities), found.ended) == (2, False)
    ratio = pipeline.answer(["one"], searching(pipeline, beam=1, max_ratio=0.001))[0][0]
    assert len(ratio.symbols) <= 10


def test_told_how_many_are_done(pipeline):
    told = []
    pipeline.answer(["one", "", "two two", "three"], batch_tokens=4, tell=told.append)
    assert told == sorted(told)
    assert told[-1] == 4


def test_losses_are_the_same_in_any_batch(pipeline):
    draw = random.Random(2)
    store = PairStore.of(
        [
            (draw.choices(range(4, 10), k=draw.randint(1, 7)), draw.choices(range(4, 10), k=draw.randint(1, 7)))
            for _ in range(50)
        ]
    )
    totals = []
    for tokens in (1, 40, 4096):
        parts = list(pipeline.losses(store, tokens))
        totals.append([sum(column) for column in zip(*parts, strict=True)])
    assert totals[0][1:] == totals[1][1:] == totals[2][1:]
    assert totals[0][1] == store.lengths[:, 1].sum() + 50
    assert totals[0][0] == pytest.approx(totals[1][0], rel=1e-5)
    assert totals[0][0] == pytest.approx(totals[2][0], rel=1e-5)


def test_where_it_looked(pipeline):
    (answer,) = pipeline.answer(["one two three"])[0]
    looked = pipeline.look("one two three", answer)
    assert looked.source == (*pipeline.source.encode("one two three"), END)
    assert looked.target == (*answer.symbols, END)
    assert looked.read == (START, *answer.symbols)
    (weights_BHTS,) = looked.looks.cross
    assert weights_BHTS.shape == (1, 1, len(looked.target), 4)
    torch.testing.assert_close(weights_BHTS.sum(-1), torch.ones(1, 1, len(looked.target)))
    assert looked.looks.encoder == looked.looks.decoder == []


def test_an_answer_that_was_cut_has_no_end_to_look_at(pipeline):
    (answer,) = pipeline.answer(["one two three"], searching(pipeline, max_length=2))[0]
    looked = pipeline.look("one two three", answer)
    assert (answer.ended, looked.target) == (False, answer.symbols)
    assert looked.read == (START, *answer.symbols[:-1])
    assert looked.looks.cross[0].shape == (1, 1, 2, 4)
