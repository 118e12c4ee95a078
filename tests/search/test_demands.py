"""Phrases that must be said: they are, wherever some answer within the limit holds them all; and in good places."""

import random
from itertools import product

import pytest

from antiphon.search.avoid import Avoid, Spellings
from antiphon.search.beam import Beam, Guide, beam_search
from antiphon.search.demands import EXACT, Demand, Demands
from antiphon.search.words import NoRepeat, Prefix

SPELT = Spellings((b"", b"", b"", b"?", b" a", b" b", b" c"))
WORDS = (4, 5, 6)


def holds(words, phrase):
    return any(words[i : i + len(phrase)] == phrase for i in range(len(words) - len(phrase) + 1))


def demand(tools, phrases, avoid=None):
    """A phrase is a tuple of words, or a list of tuples of which one must be said."""
    spellings = [phrase if isinstance(phrase, list) else [phrase] for phrase in phrases]
    return Demand(spellings, avoid, tools.START, tools.END, tools.FORBIDDEN)


def run(tools, oracle, memory, limits, demands, beam=4, n_best=1, rules=()):
    guide = Guide(rules=rules, demands=Demands(demands, tools.END))
    state, options = tools.prefixes(*memory), Beam(beam, n_best, 1.0)
    return beam_search(oracle, state, limits, options, tools.START, tools.END, tools.FORBIDDEN, guide=guide)


def spells(words):
    return " " + "".join("abc"[word - 4] + " " for word in words)


def a_case(draw):
    phrases = [tuple(draw.choices(WORDS, k=draw.randint(1, 3))) for _ in range(draw.randint(1, 4))]
    texts = [spells(draw.choices(WORDS, k=draw.randint(1, 3))) for _ in range(draw.randint(0, 2))]
    texts = [text if draw.random() < 0.5 else text.strip() for text in texts]
    prefix = tuple(draw.choices(WORDS, k=draw.choice((0, 0, 1, 2))))
    return phrases, texts, prefix, draw.randint(2, 8), draw.randint(1, 5)


ALL = {length: [spells(words) for words in product(WORDS, repeat=length)] for length in range(8)}


def possible(phrases, texts, prefix, limit):
    """Whether any answer at all that ends within the limit keeps to everything."""
    wanted, begins = [spells(phrase) for phrase in phrases], spells(prefix)[:-1]
    return any(
        text.startswith(begins) and all(one in text for one in wanted) and not any(one in text for one in texts)
        for length in range(len(prefix), limit)
        for text in ALL[length]
    )


@pytest.mark.parametrize("quarter", range(4))
def test_a_thousand_random_cases_are_met_wherever_they_can_be(tools, quarter):
    draw, met, impossible = random.Random(quarter), 0, 0
    while met < 250:
        phrases, texts, prefix, limit, beam = a_case(draw)
        avoid = Avoid(texts, SPELT, tools.END) if texts else None
        wanted = demand(tools, phrases, avoid)
        place, banned = wanted.first(), False
        for word in prefix:
            banned |= avoid is not None and not avoid.allowed_V(place[2])[word]
            place = wanted.then(place, word)
        plan = None if banned else wanted.plan(place)
        fits = plan is not None and len(prefix) + len(plan) + 1 <= limit
        assert fits == possible(phrases, texts, prefix, limit), (phrases, texts, prefix, limit)
        if not fits:
            impossible += 1
            continue
        met += 1
        oracle = tools.Oracle(tools.random_table(met, sharpness=3.0))
        rules = [*([Prefix(prefix)] if prefix else []), *([avoid] if avoid else [])]
        ((answer,),) = run(tools, oracle, [met], [limit], [wanted], beam, 1, rules)
        assert answer.ended
        assert answer.symbols[: len(prefix)] == prefix
        assert all(holds(answer.symbols, phrase) for phrase in phrases), (phrases, answer.symbols)
        assert not any(text in spells(answer.symbols) for text in texts)
    assert impossible > 50


@pytest.mark.parametrize("phrases", [[(4, 5)], [(6,), (4, 4)], [(4, 5), (5, 4)]])
def test_a_wide_beam_finds_the_best_answer_that_holds_them(tools, phrases):
    for seed in range(3):
        oracle, limit = tools.Oracle(tools.random_table(seed)), 6
        ((answer,),) = run(tools, oracle, [seed], [limit], [demand(tools, phrases)], beam=1000)
        there_are = [
            (total / len(words), words)
            for words, total in tools.everything(oracle, seed, limit)
            if words[-1] == tools.END and all(holds(words, phrase) for phrase in phrases)
        ]
        score, words = max(there_are)
        assert (*answer.symbols, tools.END) == words
        assert answer.score == pytest.approx(score)


def test_a_beam_says_the_phrase_where_it_fits_best(tools):
    """The model says b c, then ends; a costs little after b, and much anywhere else."""
    costs = {(): (-9, -0.1, -9, -9), (5,): (-1, -9, -0.6, -9), (5, 4): (-9, -9, -0.1, -9), (5, 6): (-9, -9, -9, -0.1)}

    def table(memory, prefix):
        a, b, c, end = costs.get(prefix[1:], (-9, -9, -9, -0.1))
        return [-99.0, -99.0, end, -99.0, a, b, c]

    ((answer,),) = run(tools, tools.Oracle(table), [0], [8], [demand(tools, [(4,)])], beam=4)
    assert answer.symbols == (5, 4, 6)


def test_every_answer_of_an_n_best_list_holds_them(tools):
    oracle = tools.Oracle(tools.random_table(3))
    for found in run(tools, oracle, range(9), [9] * 9, [demand(tools, [(4, 6), (5, 5)])] * 9, beam=5, n_best=5):
        assert found
        assert all(holds(one.symbols, (4, 6)) and holds(one.symbols, (5, 5)) for one in found)


def test_sentences_with_and_without_demands_share_a_batch(tools):
    oracle, memory, limits = tools.Oracle(tools.random_table(seed=3)), list(range(9)), [6, 9, 5, 7, 12, 4, 5, 5, 8]
    kinds = [None, demand(tools, [(4, 5)]), demand(tools, [(6, 6), (5,)])]
    demands = [kinds[one % 3] for one in memory]
    for beam in (1, 4):
        together = run(tools, oracle, memory, limits, demands, beam, beam)
        order = [5, 0, 8, 3, 1, 7, 2, 6, 4]
        shuffled = run(tools, oracle, order, [limits[i] for i in order], [demands[i] for i in order], beam, beam)
        assert [shuffled[order.index(one)] for one in memory] == together
        for one in memory:
            assert run(tools, oracle, [one], [limits[one]], [demands[one]], beam, beam) == [together[one]]
        free = beam_search(
            oracle, tools.prefixes(*memory), limits, Beam(beam, beam, 1.0), tools.START, tools.END, tools.FORBIDDEN
        )
        assert [together[one] for one in memory if demands[one] is None] == free[::3]


def test_one_of_several_spellings_is_enough_and_one_may_stand_at_the_beginning_only(tools):
    spellings = [(tools.START, 5, 5), (4, 5, 5)]
    for seed in range(30):
        oracle = tools.Oracle(tools.random_table(seed))
        ((answer,),) = run(tools, oracle, [0], [6], [demand(tools, [spellings])], beam=3)
        assert answer.symbols[:2] == (5, 5) or holds(answer.symbols, (4, 5, 5))


def test_what_is_demanded_is_not_blocked(tools):
    oracle, rules = tools.Oracle(tools.random_table(1)), [NoRepeat(1)]
    ((answer,),) = run(tools, oracle, [0], [6], [demand(tools, [(4, 4, 5, 4)])], rules=rules)
    assert holds(answer.symbols, (4, 4, 5, 4))


def test_overlapping_phrases_share_their_words(tools):
    wanted = demand(tools, [(4, 5, 6), (5, 6, 4)])
    assert wanted.plan(wanted.first()) == (4, 5, 6, 4)
    wanted = demand(tools, [(4, 5), (4, 5, 6)])
    assert wanted.plan(wanted.first()) == (4, 5, 6)


def test_many_phrases_are_said_one_after_the_other(tools):
    phrases = list(product(WORDS, repeat=2))
    assert len(phrases) > EXACT
    wanted = demand(tools, phrases)
    needed = len(wanted.plan(wanted.first()))
    assert needed <= 2 * len(phrases)
    for seed in range(20):
        for beam in (1, 3):
            ((answer,),) = run(tools, tools.Oracle(tools.random_table(seed)), [0], [needed + 1], [wanted], beam)
            assert all(holds(answer.symbols, phrase) for phrase in phrases)


def test_what_cannot_be_is_known_beforehand(tools):
    avoid = Avoid(["a b"], SPELT, tools.END)
    assert demand(tools, [(4, 5)], avoid).plan(demand(tools, [(4, 5)], avoid).first()) is None
    apart = demand(tools, [(4,), (5,)], avoid)
    assert apart.plan(apart.first()) == (5, 4)
    nothing_between = demand(tools, [(4,), (5,), (5, 4, 4)], Avoid(["a b", "b b", "c"], SPELT, tools.END))
    assert nothing_between.plan(nothing_between.first()) == (5, 4, 4)
