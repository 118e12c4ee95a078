"""What is asked of answers, in words: honoured by random models of every kind of tokeniser, or refused with a reason."""

import random
import re

import pytest
import torch

from antiphon.build.model import build_model
from antiphon.config.schema import Bytes, Characters, Data, Run, Search, Seq2Seq, Subwords, Words
from antiphon.data.store import PairStore
from antiphon.data.tokenize import learn
from antiphon.errors import AntiphonError
from antiphon.evaluate.utility import utility
from antiphon.pipeline import Pipeline
from antiphon.reader import Jury
from antiphon.search.rerank import expected_utilities
from antiphon.search.wishes import Wishes

TEXTS = [
    "der rote Wein (rot) ist gut.",
    "ein Herzinfarkt trifft die Katze",
    "zwei rote Katzen , drei Hunde",
    "ist das gut",
]
KINDS = {
    "words": Words(), "punctuation": Words(split="punctuation"), "characters": Characters(), "bytes": Bytes(),
    "subwords": Subwords(size=330), "unigram": Subwords(size=330, model="unigram"),
}  # fmt: skip
SMALL = {
    "encoder": {"kind": "recurrent", "width": 6, "embedding": 5},
    "decoder": {"kind": "recurrent", "width": 8, "embedding": 7, "attention": {"kind": "additive", "width": 5}},
}
TRANSFORMER = {
    "encoder": {"kind": "transformer", "width": 8, "layers": 1, "heads": 2, "feedforward": 9},
    "decoder": {"kind": "transformer", "width": 8, "layers": 2, "heads": 2, "feedforward": 9},
}


def a_pipeline(kind="subwords", seed=1, model=SMALL, partners=()):
    torch.manual_seed(seed)
    tokenizer = learn(KINDS[kind], TEXTS * 5)
    choice = Seq2Seq.model_validate(model)
    built = build_model(choice, tokenizer.size, tokenizer.size).eval()
    with torch.no_grad():
        for part in built.parameters():
            part.mul_(3.0)  # sharper, so that a random model has an opinion
    return Pipeline(built, tokenizer, tokenizer, Run(data=Data(train=["-"]), model=choice), partners)


@pytest.fixture(params=KINDS)
def pipeline(request):
    return a_pipeline(request.param)


def best(pipeline, texts, **keys):
    options = {"beam": 3, "max_length": 40, **keys}
    return [found[0] for found in pipeline.answer(texts, Search(**options))]


def test_every_answer_begins_as_it_must(pipeline):
    for keys in ({}, {"beam": 1}, {"sample": True}):
        assert all(one.text.startswith("rote Katzen") for one in best(pipeline, TEXTS, prefix="rote Katzen", **keys))


@pytest.mark.parametrize("beam", [1, 4])
def test_every_answer_contains_what_it_must(pipeline, beam):
    for one in best(pipeline, TEXTS, beam=beam, contain=["zwei", "drei Hunde"]):
        assert re.search(r"\bzwei", one.text)
        assert re.search(r"\bdrei Hunde", one.text)
        assert one.ended


@pytest.mark.parametrize("sample", [False, True])
def test_no_answer_contains_what_it_must_not_however_it_is_spelt(pipeline, sample):
    free = " ".join(one.text for one in best(pipeline, TEXTS, sample=sample))
    draw = random.Random(1)
    letters = sorted({letter for letter in free if letter.isalpha()} | {"e", "i", "n", "r"})
    avoid = [*draw.sample(letters, 3), "ot", "t d"]
    for one in best(pipeline, TEXTS, avoid=avoid, sample=sample):
        assert not any(text in one.text for text in avoid)


def test_a_text_between_spaces_is_avoided_as_a_word(pipeline):
    for one in best(pipeline, TEXTS, avoid=[" rote ", " ist "], contain=["gut"]):
        assert not {"rote", "ist"} & set(one.text.split())
        assert "gut" in one.text


def test_a_glossary_is_applied_where_its_term_occurs(pipeline):
    terms = [["Wein", "zwei Hunde"], ["katze", "Katzen"], ["Katzen", "das"]]
    found = best(pipeline, ["der Wein ist gut", "Die KATZE ist gut", "zwei katzen", "zwei Katzen"], glossary=terms)
    assert "zwei Hunde" in found[0].text
    assert "Katzen" in found[1].text
    assert found[2].symbols == best(pipeline, ["zwei katzen"])[0].symbols
    assert "das" in found[3].text


def test_terms_are_kept_as_they_are(pipeline):
    found = best(pipeline, ["ein Herzinfarkt trifft", "ist das gut"], keep=["Herzinfarkt"])
    assert "Herzinfarkt" in found[0].text
    assert found[1].symbols == best(pipeline, ["ist das gut"])[0].symbols


def test_only_the_listed_answers_are_given(pipeline):
    allowed = ["rote Katze", "rote Katzen", "zwei Hunde", "gut"]
    for keys in ({}, {"sample": True, "n_best": 5}, {"beam": 1}, {"groups": 3}):
        for found in pipeline.answer(TEXTS, Search(**{"beam": 3, "answers": allowed, **keys})):
            assert {one.text for one in found} <= set(allowed)
            assert all(one.ended for one in found)
    narrowed = {"answers": allowed, "contain": ["rote"], "avoid": ["Katzen"]}
    assert [one.text for one in best(pipeline, TEXTS, **narrowed)] == ["rote Katze"] * 4
    assert [one.text for one in best(pipeline, TEXTS, answers=allowed, prefix="zwei")] == ["zwei Hunde"] * 4
    listed = pipeline.answer(TEXTS, Search(beam=9, n_best=4, answers=allowed))
    assert all({one.text for one in found} == set(allowed) for found in listed)


MODES = {
    "gnmt and coverage": {"beam": 4, "n_best": 4, "length_penalty": "gnmt", "coverage": 0.3},
    "groups": {"beam": 6, "groups": 3, "n_best": 3, "diversity": 0.8},
    "no repeats": {"beam": 3, "no_repeat": 2, "max_repeats": 1},
    "prefix": {"beam": 3, "prefix": "zwei"},
    "demands": {"beam": 4, "n_best": 2, "contain": ["Katze"], "avoid": ["o"], "glossary": [["Wein", "gut"]]},
    "answers": {"beam": 2, "answers": ["gut", "rote Katze", "das gut"]},
    "min-p": {"sample": True, "n_best": 3, "min_p": 0.2, "avoid": ["e"]},
    "temperature": {"sample": True, "n_best": 3, "temperature": 0.7, "top_k": 6, "top_p": 0.9},
    "least risk": {"beam": 4, "n_best": 2, "mbr": "chrf"},
    "least risk of draws": {"sample": True, "draws": 4, "mbr": "bleu"},
}  # fmt: skip


@pytest.mark.parametrize("model", [SMALL, TRANSFORMER], ids=["recurrent", "transformer"])
@pytest.mark.parametrize("mode", MODES)
def test_batches_change_nothing_in_any_mode_of_search(mode, model):
    hold_to_batches(a_pipeline("subwords", model=model), Search(max_length=15, **MODES[mode]))


@pytest.mark.parametrize("model", [SMALL, TRANSFORMER], ids=["recurrent", "transformer"])
def test_batches_change_nothing_where_another_model_has_a_say(model):
    pipeline = a_pipeline("subwords", model=model)
    pipeline.jury = Jury(reverse=a_pipeline("subwords", model=model))
    hold_to_batches(pipeline, Search(max_length=15, beam=4, n_best=2))


def hold_to_batches(pipeline, search):
    texts = [*TEXTS, "gut", "der Wein", "drei rote Hunde (zwei)"]
    whole = pipeline.answer(texts, search)
    for tokens in (1, 30):
        again = pipeline.answer(texts, search, batch_tokens=tokens)
        assert [[one.symbols for one in found] for found in again] == [
            [one.symbols for one in found] for found in whole
        ]
    if not search.sample:
        backwards = pipeline.answer(texts[::-1], search)[::-1]
        assert [[one.text for one in found] for found in backwards] == [[one.text for one in found] for found in whole]


@pytest.mark.parametrize(
    ("kind", "keys", "message"),
    [
        ("words", {"contain": ["Zebra"]},
         "line 1: search.contain: 'Zebra': this model cannot write Zebra: never seen in training. "
         "Spell it otherwise, or leave it out."),
        ("words", {"glossary": [["das", "Zebra"]]},
         "line 1: search.glossary: 'Zebra': this model cannot write Zebra: never seen in training. "
         "Spell it otherwise, or leave it out."),
        ("words", {"prefix": "das Zebra"},
         "search.prefix: 'das Zebra': this model cannot write Zebra: never seen in training. "
         "Spell it otherwise, or leave it out."),
        ("words", {"answers": ["gut", "Zebra"]},
         "search.answers: 'Zebra': this model cannot write Zebra: never seen in training. "
         "Spell it otherwise, or leave it out."),
        ("subwords", {"contain": [" "]}, "line 1: search.contain: a text is empty. Leave it out."),
        ("subwords", {"avoid": ["gut", ""]}, "search.avoid: a text is empty. Leave it out."),
        ("subwords", {"answers": [""]}, "search.answers: a text is empty. Leave it out."),
        ("words", {"contain": ["das gut"], "avoid": ["s g"]},
         "line 1: no answer contains 'das gut' and avoids 's g'. Ask for less."),
        ("words", {"contain": ["das gut", "drei Hunde"], "max_length": 4},
         "line 1: an answer with 'das gut', 'drei Hunde' takes at least 5 symbols, its end counted, and 4 are allowed. "
         "Raise search.max_length where the model can, or ask for less."),
        ("words", {"prefix": "das ist gut", "max_length": 3},
         "search.prefix: 'das ist gut' takes 4 symbols, an end counted, and 3 are allowed. Shorten it, or raise "
         "search.max_length where the model can."),
        ("words", {"prefix": "das ist gut", "avoid": ["ist"]},
         "search.prefix: 'das ist gut' contains what is to be avoided, 'ist'. Drop one of them."),
        ("words", {"answers": ["gut", "das"], "contain": ["ist"]},
         "line 1: none of the 2 allowed answers keeps to everything else that is asked, in at most 40 symbols. "
         "Allow more answers, or ask for less."),
        ("words", {"answers": ["das ist gut"], "max_length": 3},
         "line 1: none of the 1 allowed answers keeps to everything else that is asked, in at most 3 symbols. "
         "Allow more answers, or ask for less."),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_a_reason(kind, keys, message):
    with pytest.raises(AntiphonError) as caught:
        best(a_pipeline(kind), ["das ist gut"], **keys)
    assert str(caught.value) == message


def test_what_is_demanded_may_go_beyond_the_ratio_but_not_the_limit():
    pipeline, phrase = a_pipeline("characters"), "ein Herzinfarkt trifft die Katze"
    (answer,) = best(pipeline, ["gut"], contain=[phrase], max_ratio=1.0, max_length=60)
    assert phrase in answer.text


def test_an_empty_text_still_has_an_empty_answer(pipeline):
    assert [one.text for one in best(pipeline, ["", " "], contain=["gut"], prefix="das")] == ["", ""]


def test_partners_write_together_and_one_alone_is_the_model_itself():
    one, two = a_pipeline("subwords", seed=1), a_pipeline("subwords", seed=2, model=TRANSFORMER)
    together = a_pipeline("subwords", seed=1, partners=[two])
    alone, mixed = best(one, TEXTS), best(together, TEXTS)
    assert [found.text for found in alone] != [found.text for found in mixed]
    twice = best(a_pipeline("subwords", seed=1, partners=[a_pipeline("subwords", seed=1)]), TEXTS)
    assert [found.symbols for found in twice] == [found.symbols for found in alone]
    for tokens in (1, 40):
        again = together.answer(TEXTS, Search(beam=3, max_length=40), batch_tokens=tokens)
        assert [each.symbols for each, *_ in again] == [each.symbols for each in mixed]


@pytest.mark.parametrize("measure", ["chrf", "bleu"])
def test_minimum_risk_gives_what_is_most_like_the_rest(pipeline, measure):
    keys = {"sample": True, "n_best": 8, "max_length": 12, "temperature": 0.8}
    drawn = pipeline.answer(TEXTS, Search(**keys))
    chosen = pipeline.answer(TEXTS, Search(**{**keys, "n_best": 2, "draws": 8, "mbr": measure}))
    for draws, found in zip(drawn, chosen, strict=True):
        texts = [one.text for one in draws]
        worth = utility(measure)
        means = {text: sum(worth(text, other) for other in texts) / len(texts) for text in texts}
        assert [one.text for one in found] == sorted(means, key=lambda text: -means[text])[:2]
        assert [one.score for one in found] == pytest.approx([means[one.text] for one in found])


def test_of_one_draw_minimum_risk_gives_that_draw(pipeline):
    keys = {"sample": True, "draws": 1, "max_length": 12}
    drawn, chosen = (best(pipeline, TEXTS, **keys, mbr=mbr) for mbr in ("none", "chrf"))
    assert [one.symbols for one in drawn] == [one.symbols for one in chosen]


def test_in_a_beam_risk_weighs_hypotheses_by_their_probability(pipeline):
    listed = pipeline.answer(TEXTS, Search(beam=4, n_best=4, max_length=12))
    chosen = best(pipeline, TEXTS, beam=4, max_length=12, mbr="chrf")
    for hypotheses, found in zip(listed, chosen, strict=True):
        texts, logs = [one.text for one in hypotheses], [one.log_probability for one in hypotheses]
        scores = expected_utilities(texts, logs, utility("chrf"))
        assert found.text == texts[scores.index(max(scores))]


def test_a_reverse_model_chooses_answers_that_fit_both_ways():
    forwards, backwards = a_pipeline("words", seed=1), a_pipeline("words", seed=2)
    listed = forwards.answer(TEXTS, Search(beam=6, n_best=6, max_length=12))
    assert any(one.ended != other.ended for one, *_, other in listed)  # some are cut, and may not win by that
    forwards.jury = Jury(reverse=backwards)
    for weight in (0.0, 5.0):
        search = Search(beam=6, n_best=3, max_length=12, reverse_weight=weight)
        for text, hypotheses, found in zip(TEXTS, listed, forwards.answer(TEXTS, search), strict=True):
            back, symbols = backwards.score([(one.text, text) for one in hypotheses]), len(text.split()) + 1
            scores = {one.text: one.score + weight * log / symbols for one, log in zip(hypotheses, back, strict=True)}
            ended = {one.text: one.ended for one in hypotheses}
            order = sorted(scores, key=lambda each: (not ended[each], -scores[each]))
            assert [one.text for one in found] == order[:3]
            if not weight:
                assert order == [one.text for one in hypotheses]
            assert [one.score for one in found] == pytest.approx([scores[one.text] for one in found], abs=1e-4)


def test_a_language_model_of_answers_has_a_say_too():
    forwards, judge = a_pipeline("words", seed=1), a_pipeline("words", seed=2)
    listed = forwards.answer(TEXTS, Search(beam=6, n_best=6, max_length=12))
    forwards.jury = Jury(model_of_answers=judge)
    search = Search(beam=6, n_best=6, max_length=12, model_of_answers_weight=3.0)
    for hypotheses, found in zip(listed, forwards.answer(TEXTS, search), strict=True):
        logs = judge.score([("", one.text) for one in hypotheses])
        scores = {
            one.text: one.score + 3.0 * log / (len(one.text.split()) + 1)
            for one, log in zip(hypotheses, logs, strict=True)
        }
        ended = {one.text: one.ended for one in hypotheses}
        assert [one.text for one in found] == sorted(scores, key=lambda each: (not ended[each], -scores[each]))


def test_the_perplexity_of_models_together_is_that_of_their_mean():
    one = a_pipeline("subwords", seed=1)
    pairs = PairStore.of([(one.source.encode("gut"), one.target.encode("das ist gut"))])
    alone = list(one.losses(pairs))
    assert list(a_pipeline("subwords", 1, SMALL, [a_pipeline("subwords", 1)]).losses(pairs)) == [
        (pytest.approx(alone[0][0], abs=1e-4), *alone[0][1:])
    ]
    other = a_pipeline("characters", seed=1)
    strangers = a_pipeline("subwords", 1, SMALL, [other])
    for ask in (lambda: list(strangers.losses(pairs)), lambda: strangers.score([("gut", "das ist gut")])):
        with pytest.raises(AntiphonError) as caught:
            ask()
        assert str(caught.value) == (
            "perplexity: these models read different source symbols, and how likely such models together find a text is "
            "not measured. Ask each by itself."
        )


def test_a_model_whose_numbers_are_broken_is_refused_in_every_mode():
    pipeline = a_pipeline("subwords")
    with torch.no_grad():
        pipeline.model.head.bias_V.fill_(float("nan"))
    for keys in MODES.values():
        with pytest.raises(AntiphonError, match=r"^the model gave a probability that is not a number at word 1 "):
            pipeline.answer(TEXTS, Search(max_length=15, **keys))


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"mbr": "chrf"}, "search.mbr: a reverse or language model chooses the answers already. Drop one of them."),
        ({"beam": 1}, "search.beam: with 1 there is one answer, and nothing to choose from. Raise it."),
    ],
)
def test_a_jury_needs_something_to_choose_from(keys, message):
    pipeline = a_pipeline("words")
    pipeline.jury = Jury(reverse=a_pipeline("words"))
    with pytest.raises(AntiphonError) as caught:
        best(pipeline, ["gut"], **keys)
    assert str(caught.value) == message


def test_of_running_text_nothing_can_be_demanded_but_much_avoided():
    tokenizer = learn(KINDS["words"], TEXTS * 5)
    for keys in ({"contain": ["gut"]}, {"answers": ["gut"]}):
        with pytest.raises(AntiphonError) as caught:
            Wishes(Search(**keys), tokenizer, -1).of("das", "line 1", 9, 9)
        assert str(caught.value) == (
            "line 1: this model writes running text, which comes to no end by itself, so nothing can be demanded of the "
            "whole. Leave out search.contain, keep, glossary and answers."
        )
    avoid = Wishes(Search(avoid=["gut"]), tokenizer, -1).avoid
    banned = avoid.judge(avoid.first(0)).words.tolist()
    assert [tokenizer.pieces([word]) for word in banned] == [["gut"], ["gut."]]
