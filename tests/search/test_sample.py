"""Sampling against known distributions, and against itself in other batches."""

import math
from collections import Counter

import pytest
import torch

from antiphon.errors import AntiphonError
from antiphon.search.beam import Beam, beam_search
from antiphon.search.sample import Sampling, draw_words, sample

PLAIN = Sampling(temperature=1.0, top_k=0, top_p=1.0)
BOLD = Sampling(temperature=1.3, top_k=3, top_p=0.9)
COIN = (0.05, 0.05, 0.1, 0.0, 0.5, 0.2, 0.1)  # pad, start, end, unknown and three words


def draw(tools, oracle, memory, limits, options=PLAIN, seeds=None, n=1):
    state, seeds = tools.prefixes(*memory), [*memory] if seeds is None else seeds
    return sample(oracle, state, limits, options, seeds, tools.START, tools.END, tools.FORBIDDEN, n)


def spelt(tools, hypothesis):
    return (*hypothesis.symbols, tools.END) if hypothesis.ended else hypothesis.symbols


def frequencies(tools, options, draws=8000):
    """How often each first word is drawn where the model always says COIN."""
    (answers,) = draw(tools, tools.Oracle(tools.fixed_table(*COIN)), [0], [1], options, n=draws)
    return Counter(spelt(tools, answer)[0] for answer in answers)


def assert_follows(observed, shares):
    """Pearson's chi-square below a bound that a fair draw exceeds about once in a hundred thousand seeds."""
    draws, total = sum(observed.values()), sum(shares.values())
    assert set(observed) <= set(shares)
    distance = sum(
        (observed[word] - draws * share / total) ** 2 / (draws * share / total) for word, share in shares.items()
    )
    freedom = len(shares) - 1
    assert distance < freedom + 6.2 * math.sqrt(2 * max(freedom, 1)) + 6


def test_the_words_come_as_often_as_the_model_says(tools):
    assert_follows(frequencies(tools, PLAIN), {2: 0.1, 4: 0.5, 5: 0.2, 6: 0.1})


def test_the_bound_would_notice_a_wrong_distribution(tools):
    with pytest.raises(AssertionError):
        assert_follows(frequencies(tools, PLAIN), {2: 0.1, 4: 0.5, 5: 0.17, 6: 0.13})


def test_whole_answers_come_as_often_as_their_probabilities_multiply_to(tools):
    everything = tools.random_table(seed=4, sharpness=0.5)

    def table(memory, prefix):
        weights = [math.exp(log) for log in everything(memory, prefix)]
        total = sum(weight for word, weight in enumerate(weights) if word not in tools.FORBIDDEN)
        return [-math.inf if word in tools.FORBIDDEN else math.log(w / total) for word, w in enumerate(weights)]

    (answers,) = draw(tools, tools.Oracle(table), [0], [3], n=8000)
    probability = {spelt(tools, answer): math.exp(answer.log_probability) for answer in answers}
    assert len(probability) == 1 + 3 + 9 + 27
    assert sum(probability.values()) == pytest.approx(1.0)
    assert_follows(Counter(spelt(tools, answer) for answer in answers), probability)


def test_the_temperature_is_an_exponent_of_the_probabilities(tools):
    for temperature in (0.5, 2.0):
        shares = {word: share ** (1 / temperature) for word, share in {2: 0.1, 4: 0.5, 5: 0.2, 6: 0.1}.items()}
        assert_follows(frequencies(tools, Sampling(temperature, 0, 1.0)), shares)


def test_top_k_draws_from_the_k_likeliest_in_their_proportion(tools):
    assert_follows(frequencies(tools, Sampling(1.0, 2, 1.0)), {4: 0.5, 5: 0.2})


def test_a_top_k_beyond_the_vocabulary_allows_all(tools):
    assert frequencies(tools, Sampling(1.0, 1000, 1.0)) == frequencies(tools, PLAIN)


def test_top_p_draws_from_the_fewest_likeliest_that_hold_enough(tools):
    # Of what is allowed (0.9) the likeliest word holds 0.556, the two likeliest 0.778.
    assert set(frequencies(tools, Sampling(1.0, 0, 0.55))) == {4}
    assert_follows(frequencies(tools, Sampling(1.0, 0, 0.56)), {4: 0.5, 5: 0.2})
    assert_follows(frequencies(tools, Sampling(1.0, 0, 0.77)), {4: 0.5, 5: 0.2})
    assert len(frequencies(tools, Sampling(1.0, 0, 0.79))) >= 3


def test_top_p_counts_what_top_k_left(tools):
    # Of the two likeliest (0.5 and 0.2) the first holds 0.714.
    assert set(frequencies(tools, Sampling(1.0, 2, 0.71))) == {4}
    assert set(frequencies(tools, Sampling(1.0, 2, 0.72))) == {4, 5}


def test_min_p_draws_from_what_is_likely_beside_the_likeliest(tools):
    # The likeliest has 0.5, so 0.4 of it is 0.2, which one more word reaches.
    assert_follows(frequencies(tools, Sampling(1.0, 0, 1.0, 0.4)), {4: 0.5, 5: 0.2})
    assert_follows(frequencies(tools, Sampling(1.0, 0, 1.0, 0.2)), {2: 0.1, 4: 0.5, 5: 0.2, 6: 0.1})
    assert set(frequencies(tools, Sampling(1.0, 0, 1.0, 0.99), draws=100)) == {4}


def test_a_hair_of_top_p_still_leaves_the_best_word(tools):
    assert set(frequencies(tools, Sampling(1.0, 0, 1e-12), draws=100)) == {4}


@pytest.mark.parametrize("options", [Sampling(1.0, 1, 1.0), Sampling(1e-6, 0, 1.0)], ids=["top 1", "cold"])
def test_top_1_and_no_temperature_are_greedy(tools, options):
    oracle, limits = tools.Oracle(tools.random_table(seed=6)), [1, 4, 9, 9, 9]
    drawn = draw(tools, oracle, range(5), limits, options)
    state = tools.prefixes(*range(5))
    greedy = beam_search(oracle, state, limits, Beam(1, 1, 0.0), tools.START, tools.END, tools.FORBIDDEN)
    assert drawn == greedy


@pytest.mark.parametrize("options", [PLAIN, BOLD], ids=["plain", "bold"])
def test_a_sentence_draws_the_same_alone_and_in_any_batch(tools, options):
    oracle, memory, limits = tools.Oracle(tools.random_table(seed=1)), list(range(7)), [3, 9, 1, 7, 12, 2, 5]
    together = draw(tools, oracle, memory, limits, options, n=3)
    order = [4, 0, 6, 2, 5, 1, 3]
    shuffled = draw(tools, oracle, order, [limits[one] for one in order], options, n=3)
    assert [shuffled[order.index(one)] for one in memory] == together
    for one in memory:
        assert draw(tools, oracle, [one], [limits[one]], options, n=3) == [together[one]]
        assert draw(tools, oracle, [one], [limits[one]], options, n=1) == [together[one][:1]]


def test_another_seed_and_another_draw_give_other_answers(tools):
    oracle = tools.Oracle(tools.fixed_table(0.0, 0.0, 0.0, 0.0, 0.3, 0.3, 0.4))
    seeds = [0, 1, 2, -1, 2**64 - 2, 2**70 + 5]
    answers = draw(tools, oracle, [0] * 6, [40] * 6, seeds=seeds, n=4)
    assert len({answer.symbols for found in answers for answer in found}) == 24
    assert draw(tools, oracle, [0], [40], seeds=[-1], n=4) == [answers[3]]


def test_the_log_probability_is_the_models_own(tools):
    oracle = tools.Oracle(tools.random_table(seed=9))
    answers = draw(tools, oracle, range(4), [8] * 4, BOLD, n=5)
    for memory, found in enumerate(answers):
        assert len(found) == 5
        for one in found:
            words = spelt(tools, one)
            each = [oracle.logs(memory, (tools.START, *words[:place]))[word] for place, word in enumerate(words)]
            assert one.log_probabilities == pytest.approx(each, abs=1e-12)
            assert one.log_probability == one.score == pytest.approx(sum(each))
            assert not set(one.symbols) & {*tools.FORBIDDEN, tools.END}


def test_limits_are_kept_and_the_cut_answers_say_so(tools):
    oracle, limits = tools.Oracle(tools.random_table(seed=13)), [1, 2, 3, 30]
    answers = draw(tools, oracle, range(4), limits, n=9)
    assert {one.ended for one in answers[1]} == {True, False}
    for limit, found in zip(limits, answers, strict=True):
        assert all(len(spelt(tools, one)) <= limit for one in found)
        assert all(len(one.symbols) == limit for one in found if not one.ended)


def test_draws_that_are_done_leave_the_batch(tools):
    oracle = tools.Oracle(tools.random_table(seed=2))
    answers = draw(tools, oracle, range(3), [1, 9, 9], n=5)
    lengths = [[len(one.log_probabilities) for one in found] for found in answers]
    expected = [
        sum(max(found) > step for found in lengths) * max(sum(length > step for length in found) for found in lengths)
        for step in range(max(map(max, lengths)))
    ]
    assert oracle.rows == expected
    assert expected[0] == 15 > expected[1] > expected[-1]


def test_no_sentences_give_no_answers(tools):
    assert draw(tools, tools.Oracle(tools.random_table(0)), [], []) == []


def test_a_probability_that_is_not_a_number_is_refused(tools):
    oracle = tools.Oracle(lambda memory, prefix: [-1.0] * 6 + [math.nan])
    with pytest.raises(AntiphonError) as error:
        draw(tools, oracle, [0, 1], [4, 4])
    assert str(error.value) == (
        "the model gave a probability that is not a number at word 1 of an answer: its weights are damaged or its "
        "training diverged. Take an earlier checkpoint, or train again with a lower train.learning_rate."
    )


def test_what_the_model_says_after_the_end_is_not_read(tools):
    sane = tools.random_table(seed=8)

    def table(memory, prefix):
        return [math.nan] * tools.WORDS if tools.END in prefix else sane(memory, prefix)

    broken = draw(tools, tools.Oracle(table), range(4), [7] * 4, n=4)
    assert broken == draw(tools, tools.Oracle(sane), range(4), [7] * 4, n=4)


def test_a_sentence_without_any_possible_word_is_refused(tools):
    def table(memory, prefix):
        return [-math.inf if memory == 5 else -1.0] * tools.WORDS

    with pytest.raises(AntiphonError) as error:
        draw(tools, tools.Oracle(table), [4, 5], [4, 4])
    assert str(error.value) == (
        "sentence 2 of the batch: the model gave every allowed word the probability 0, so there is no answer. "
        "Allow more words, or train again with a lower train.learning_rate."
    )


def test_a_chance_of_exactly_nothing_never_draws_an_impossible_word():
    weights_NV = torch.tensor([[0.0, 0.0, 0.4, 0.0, 0.6, 0.0]], dtype=torch.float64).expand(4, -1).contiguous()
    chances_BK = torch.tensor([[0.0, 0.4], [0.39, 1.0 - 2.0**-53]], dtype=torch.float64)
    assert draw_words(weights_NV, chances_BK).tolist() == [[2, 4], [2, 4]]
