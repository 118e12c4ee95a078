"""Beam search against a greedy loop, a plain beam search of one sentence, and exhaustive enumeration."""

import math

import pytest
import torch

from antiphon.errors import AntiphonError
from antiphon.search.beam import Beam, beam_search
from antiphon.search.choose import FEW, likeliest


def run(tools, oracle, memory, limits, beam, n_best=1, exponent=1.0):
    options = Beam(beam, n_best, exponent)
    state = tools.prefixes(*memory)
    return beam_search(oracle, state, limits, options, tools.START, tools.END, tools.FORBIDDEN), state


def allowed(tools):
    return [word for word in range(tools.WORDS) if word not in tools.FORBIDDEN]


def greedy(tools, oracle, memory, limit):
    prefix, each = (tools.START,), []
    while len(each) < limit and prefix[-1] != tools.END:
        logs = oracle.logs(memory, prefix)
        word = max(allowed(tools), key=lambda word: logs[word])
        prefix, each = (*prefix, word), [*each, logs[word]]
    return prefix[1:], each


def plain_beam(tools, oracle, memory, limit, beam, n_best, exponent):
    """The algorithm of the lectures, word for word, for one sentence."""
    open_ones, ended, cut = [((tools.START,), 0.0)], [], []

    def score(one):
        return one[1] / (len(one[0]) - 1) ** exponent

    for step in range(1, limit + 1):
        continued = [
            ((*prefix, word), total + oracle.logs(memory, prefix)[word])
            for prefix, total in open_ones
            for word in allowed(tools)
        ]
        best = sorted(continued, key=lambda one: -one[1])[:beam]
        ended = sorted(ended + [one for one in best if one[0][-1] == tools.END], key=score, reverse=True)
        open_ones = [one for one in best if one[0][-1] != tools.END]
        if not open_ones:
            break
        if len(ended) >= beam and max(map(score, open_ones)) <= score(ended[n_best - 1]):
            break
        if step == limit and len(ended) < n_best:
            cut = sorted(open_ones, key=score, reverse=True)
    return [(prefix[1:], total) for prefix, total in (ended + cut)[:n_best]]


def spelt(tools, hypothesis):
    return (*hypothesis.symbols, tools.END) if hypothesis.ended else hypothesis.symbols


@pytest.mark.parametrize("seed", range(20))
def test_beam_1_is_greedy(tools, seed):
    oracle, limits = tools.Oracle(tools.random_table(seed)), [1, 2, 5, 9, 9]
    answers, _ = run(tools, oracle, range(5), limits, beam=1)
    for memory, (answer,) in enumerate(answers):
        words, each = greedy(tools, oracle, memory, limits[memory])
        assert spelt(tools, answer) == words
        assert answer.log_probabilities == pytest.approx(each, abs=1e-12)
        assert answer.ended == (words[-1] == tools.END)


def test_beam_1_stops_at_once_where_the_end_is_the_best_word(tools):
    oracle = tools.Oracle(tools.fixed_table(0.0, 0.0, 0.6, 0.0, 0.4, 0.0, 0.0))
    ((answer,),), _ = run(tools, oracle, [0], [5], beam=1)
    assert (answer.symbols, answer.ended, len(answer.log_probabilities)) == ((), True, 1)
    assert oracle.rows == [1]


def test_beam_1_takes_the_first_of_equally_likely_words(tools):
    oracle = tools.Oracle(tools.fixed_table(0.2, 0.2, 0.0, 0.0, 0.2, 0.2, 0.2))
    ((answer,),), _ = run(tools, oracle, [0], [3], beam=1)
    assert answer.symbols == (4, 4, 4)


@pytest.mark.parametrize("exponent", [0.0, 0.6, 1.0, 1.7])
@pytest.mark.parametrize("limit", [1, 2, 4])
def test_a_wide_beam_is_exhaustive_search(tools, limit, exponent):
    oracle = tools.Oracle(tools.random_table(seed=limit))
    answers, _ = run(tools, oracle, [7, 8], [limit] * 2, beam=300, n_best=300, exponent=exponent)
    for memory, found in zip([7, 8], answers, strict=True):
        there_are = tools.everything(oracle, memory, limit)
        there_are.sort(key=lambda one: (one[0][-1] == tools.END, one[1] / len(one[0]) ** exponent), reverse=True)
        ended = [words for words, _ in there_are if words[-1] == tools.END]
        assert [spelt(tools, one) for one in found] == [words for words, _ in there_are]
        assert [one.log_probability for one in found] == pytest.approx([total for _, total in there_are])
        assert [one.ended for one in found] == [True] * len(ended) + [False] * (len(there_are) - len(ended))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("beam", "n_best"), [(2, 1), (3, 3), (5, 2), (4, 4)])
@pytest.mark.parametrize("exponent", [0.0, 1.0])
def test_the_batch_gives_what_a_plain_search_of_one_sentence_gives(tools, seed, beam, n_best, exponent):
    oracle, limits = tools.Oracle(tools.random_table(seed)), [3, 8, 1, 6]
    answers, _ = run(tools, oracle, range(4), limits, beam, n_best, exponent)
    for memory, found in enumerate(answers):
        expected = plain_beam(tools, oracle, memory, limits[memory], beam, n_best, exponent)
        assert [spelt(tools, one) for one in found] == [words for words, _ in expected]
        assert [one.log_probability for one in found] == pytest.approx([total for _, total in expected])


@pytest.mark.parametrize("beam", [1, 2, 5])
def test_a_sentence_gives_the_same_alone_and_in_any_batch(tools, beam):
    oracle, memory, limits = tools.Oracle(tools.random_table(seed=3)), list(range(9)), [4, 9, 1, 7, 12, 2, 5, 5, 8]
    together, _ = run(tools, oracle, memory, limits, beam, n_best=beam)
    order = [5, 0, 8, 3, 1, 7, 2, 6, 4]
    shuffled, _ = run(tools, oracle, order, [limits[one] for one in order], beam, n_best=beam)
    assert [shuffled[order.index(one)] for one in memory] == together
    for one in memory:
        assert run(tools, oracle, [one], [limits[one]], beam, n_best=beam)[0] == [together[one]]


def test_every_number_of_an_answer_belongs_to_its_own_words(tools):
    oracle = tools.Oracle(tools.random_table(seed=5))
    answers, _ = run(tools, oracle, range(6), [9] * 6, beam=4, n_best=4, exponent=0.7)
    for memory, found in enumerate(answers):
        assert found
        for one in found:
            words = spelt(tools, one)
            each = [oracle.logs(memory, (tools.START, *words[:place]))[word] for place, word in enumerate(words)]
            assert one.log_probabilities == pytest.approx(each, abs=1e-12)
            assert one.log_probability == pytest.approx(sum(each))
            assert one.score == pytest.approx(sum(each) / len(words) ** 0.7)
            assert not set(one.symbols) & {*tools.FORBIDDEN, tools.END}


def test_answers_come_best_first_ended_before_cut_and_no_longer_than_the_limit(tools):
    oracle, limits = tools.Oracle(tools.random_table(seed=11)), [1, 2, 3, 4, 5, 6]
    answers, _ = run(tools, oracle, range(6), limits, beam=4, n_best=4)
    assert {one.ended for found in answers for one in found} == {True, False}
    for limit, found in zip(limits, answers, strict=True):
        assert found == sorted(found, key=lambda one: (one.ended, one.score), reverse=True)
        assert all(len(spelt(tools, one)) <= limit for one in found)
        assert all(len(one.symbols) == limit for one in found if not one.ended)


def test_the_memory_is_never_repeated_and_finished_sentences_leave(tools):
    # The oracle asserts at every step that the memory has a row a sentence and the words K rows a sentence.
    oracle = tools.Oracle(tools.random_table(seed=0))
    _, state = run(tools, oracle, range(5), [1, 3, 5, 7, 9], beam=3, exponent=0.0)
    assert oracle.rows[:2] == [5, 12]
    assert oracle.rows[1:] == sorted(oracle.rows[1:], reverse=True)
    assert oracle.rows[-1] <= 3
    assert "keep" in state.calls


def test_greedy_search_never_copies_a_row_that_stays(tools):
    oracle = tools.Oracle(tools.fixed_table(0.0, 0.0, 0.1, 0.0, 0.9, 0.0, 0.0))
    _, state = run(tools, oracle, range(3), [6, 6, 6], beam=1)
    assert (oracle.rows, state.calls) == ([3] * 6, [])


def test_what_the_stepper_gave_is_not_written_to(tools):
    table_NV = torch.full((1, tools.WORDS), -math.log(tools.WORDS))

    class Stepper:
        def step(self, words_N, state):
            return table_NV.expand(len(words_N), -1), tools.prefixes(0)

    beam_search(Stepper(), tools.prefixes(0), [1], Beam(1, 1, 1.0), tools.START, tools.END, tools.FORBIDDEN)
    assert table_NV.tolist() == [pytest.approx([-math.log(tools.WORDS)] * tools.WORDS)]


def test_no_sentences_give_no_answers(tools):
    assert run(tools, tools.Oracle(tools.random_table(0)), [], [], beam=3)[0] == []


def test_a_probability_that_is_not_a_number_is_refused(tools):
    endless = tools.fixed_table(0.0, 0.0, 0.0, 0.0, 0.5, 0.3, 0.2)

    def table(memory, prefix):
        return [math.nan] * tools.WORDS if memory == 1 and len(prefix) == 2 else endless(memory, prefix)

    for beam in (1, 3):
        with pytest.raises(AntiphonError) as error:
            run(tools, tools.Oracle(table), range(3), [4] * 3, beam)
        assert str(error.value) == (
            "the model gave a probability that is not a number at word 2 of an answer: its weights are damaged or its "
            "training diverged. Take an earlier checkpoint, or train again with a lower train.learning_rate."
        )


def test_what_the_model_says_after_the_end_is_not_read(tools):
    sane = tools.random_table(seed=2)

    def table(memory, prefix):
        return [math.nan] * tools.WORDS if tools.END in prefix else sane(memory, prefix)

    broken, _ = run(tools, tools.Oracle(table), range(8), [6] * 8, beam=4, n_best=4)
    assert broken == run(tools, tools.Oracle(sane), range(8), [6] * 8, beam=4, n_best=4)[0]


def test_a_sentence_without_any_possible_word_is_refused(tools):
    oracle = tools.Oracle(tools.fixed_table(0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0))
    with pytest.raises(AntiphonError) as error:
        run(tools, oracle, [0], [4], beam=2)
    assert str(error.value) == (
        "sentence 1 of the batch: the model gave every allowed word the probability 0, so there is no answer. "
        "Allow more words, or train again with a lower train.learning_rate."
    )


@pytest.mark.parametrize("count", [1, 2, 5, 30])
@pytest.mark.parametrize("words", [31, 64, 257, 1500, 8037])
def test_the_likeliest_words_are_those_of_topk(words, count):
    logs_NV = torch.randn(11, words, generator=torch.Generator().manual_seed(words))
    logs_NV[3, 5:] = -math.inf
    best_NW, places_NW = likeliest(logs_NV, count)
    assert torch.equal(best_NW, logs_NV.topk(count).values)
    assert torch.equal(logs_NV.gather(1, places_NW), best_NW)
    assert all(len(set(places)) == count for places in places_NW.tolist())


@pytest.mark.parametrize("place", [0, 700, 1999])
def test_the_likeliest_words_show_what_is_not_a_number(place):
    logs_NV = torch.zeros(2, 2000)
    logs_NV[1, place] = math.nan
    for count in (1, 3):
        assert likeliest(logs_NV, count)[0].isnan().any(1).tolist() == [False, True]


def test_of_equally_likely_words_the_likeliest_is_the_first():
    logs_NV = torch.zeros(2, 2000)
    logs_NV[0, [70, 90, 1300, 1999]] = 1.0
    logs_NV[1, [1990, 1999]] = 1.0
    assert likeliest(logs_NV, 1)[1].tolist() == [[70], [1990]]


@pytest.mark.parametrize("beam", [1, 3])
def test_many_forbidden_words_are_forbidden_as_few_are(tools, beam):
    """Few are struck out of the best, many are forbidden beforehand: the same word named often makes them many."""
    options, answers = Beam(beam, beam, 1.0), []
    for forbidden in (tools.FORBIDDEN, tools.FORBIDDEN * FEW):
        oracle, state = tools.Oracle(tools.random_table(seed=4)), tools.prefixes(5, 6)
        answers.append(beam_search(oracle, state, [6, 6], options, tools.START, tools.END, forbidden))
    assert answers[0] == answers[1]
