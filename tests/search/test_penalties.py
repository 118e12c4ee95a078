"""Penalties of length and coverage, and groups that keep apart: against exhaustive enumeration and plain searches."""

import math

import pytest
import torch

from antiphon.errors import AntiphonError
from antiphon.search.beam import Beam, Guide, beam_search
from antiphon.search.coverage import UNREAD, Coverage
from antiphon.search.rules import length_penalty


def spelt(tools, hypothesis):
    return (*hypothesis.symbols, tools.END) if hypothesis.ended else hypothesis.symbols


def real_places(tools, memory):
    return torch.tensor([[place < tools.places(key) for place in range(tools.PLACES)] for key in memory])


def run(tools, oracle, memory, limits, options, coverage=0.0):
    guide = Guide(coverage=Coverage(coverage, real_places(tools, memory)) if coverage else None)
    state = tools.prefixes(*memory)
    return beam_search(oracle, state, limits, options, tools.START, tools.END, tools.FORBIDDEN, guide=guide)


def by_hand(tools, memory, words, total, exponent, gnmt, weight):
    """s(Y, X) = log P / lp + cp, as Wu et al. (2016) write it."""
    length = ((5 + len(words)) / 6) ** exponent if gnmt else len(words) ** exponent
    sums = [0.0] * tools.places(memory)
    for place in range(len(words)):
        looked = tools.looked_at(memory, (tools.START, *words[:place]))
        sums = [before + now for before, now in zip(sums, looked, strict=False)]
    return total / length + weight * sum(math.log(max(min(each, 1.0), UNREAD)) for each in sums)


def test_the_length_penalty_of_gnmt_by_hand():
    assert length_penalty(1, 0.6, gnmt=True) == 1.0
    assert length_penalty(7, 1.0, gnmt=True) == 2.0
    assert length_penalty(19, 0.5, gnmt=True) == 2.0
    assert length_penalty(4, 0.5, gnmt=False) == 2.0


@pytest.mark.parametrize("limit", [1, 2, 4])
@pytest.mark.parametrize(
    ("exponent", "gnmt", "weight"), [(0.0, True, 0.0), (0.6, True, 0.0), (1.4, True, 0.2), (1.0, False, 0.4)]
)
def test_a_wide_beam_is_exhaustive_search_under_every_penalty(tools, limit, exponent, gnmt, weight):
    oracle, memory = tools.Oracle(tools.random_table(seed=limit)), [7, 8, 9]
    answers = run(tools, oracle, memory, [limit] * 3, Beam(300, 300, exponent, gnmt), weight)
    for key, found in zip(memory, answers, strict=True):
        expected = [
            (words[-1] == tools.END, by_hand(tools, key, words, total, exponent, gnmt, weight), words)
            for words, total in tools.everything(oracle, key, limit)
        ]
        expected.sort(reverse=True)
        assert [spelt(tools, one) for one in found] == [words for *_, words in expected]
        assert [one.score for one in found] == pytest.approx([score for _, score, _ in expected])


@pytest.mark.parametrize("seed", range(6))
def test_with_coverage_a_narrow_beam_scores_as_by_hand(tools, seed):
    oracle, memory = tools.Oracle(tools.random_table(seed)), [0, 1, 2, 3]
    for key, found in zip(memory, run(tools, oracle, memory, [7] * 4, Beam(3, 3, 0.8, True), 0.3), strict=True):
        assert found == sorted(found, key=lambda one: (one.ended, one.score), reverse=True)
        for one in found:
            words = spelt(tools, one)
            assert one.score == pytest.approx(by_hand(tools, key, words, one.log_probability, 0.8, True, 0.3))


def test_coverage_prefers_the_answer_that_has_read_its_source(tools):
    """Two answers, nearly as likely; the likelier one has never looked at the first place."""

    class Anywhere:
        def select(self, rows_N):
            return self

    class Stepper:
        def step(self, words_N, state, look=None):
            likely = math.log(0.51), math.log(0.49)
            logs = [
                [-math.inf, -math.inf, 0.0 if word != tools.START else -math.inf, -math.inf]
                + ([*likely, -math.inf] if word == tools.START else [-math.inf] * 3)
                for word in words_N.tolist()
            ]
            if look is not None:
                look.append(torch.tensor([[1.0, 0.0] if word == 5 else [0.0, 1.0] for word in words_N.tolist()]))
            return torch.tensor(logs), state

    def best(weight):
        guide = Guide(coverage=Coverage(weight, torch.ones(1, 2, dtype=torch.bool)) if weight else None)
        options = Beam(2, 1, 0.0)
        ((answer,),) = beam_search(
            Stepper(), Anywhere(), [4], options, tools.START, tools.END, tools.FORBIDDEN, guide=guide
        )
        return answer.symbols

    assert (best(0.0), best(0.1)) == ((4,), (5,))


def test_a_model_without_attention_has_no_coverage(tools):
    class Blind(tools.Oracle):
        def step(self, words_N, state, look=None):
            return super().step(words_N, state)

    with pytest.raises(AntiphonError) as error:
        run(tools, Blind(tools.random_table(1)), [1], [4], Beam(2, 1, 1.0), coverage=0.2)
    assert str(error.value) == (
        "search.coverage: this model has no attention to its source, so nothing tells what it has read. "
        "Leave it at 0, or take a model with attention."
    )


def plain_diverse(tools, oracle, memory, limit, options):
    """Vijayakumar et al. (2018) for one sentence, group after group within each step."""
    width = options.width
    groups = [{"open": [((tools.START,), 0.0)], "ended": [], "cut": []} for _ in range(options.groups)]
    usable = [word for word in range(tools.WORDS) if word not in tools.FORBIDDEN]

    def score(one):
        return one[1] / (len(one[0]) - 1) ** options.length_exponent

    for step in range(1, limit + 1):
        taken = []
        for group in groups:
            continued = [
                (prefix, word, total + oracle.logs(memory, prefix)[word])
                for prefix, total in group["open"]
                for word in usable
            ]
            continued.sort(key=lambda one: -(one[2] - options.diversity * taken.count(one[1])))
            best = continued[:width]
            group["taken"] = [word for _, word, _ in best]
            taken += group["taken"]
            best = [((*prefix, word), total) for prefix, word, total in best]
            group["ended"] += [one for one in best if one[0][-1] == tools.END]
            group["open"] = [one for one in best if one[0][-1] != tools.END]
            group["ended"].sort(key=score, reverse=True)
            if step == limit:
                group["cut"] = sorted(group["open"], key=score, reverse=True)
            bar = score(group["ended"][min(options.n_best, width) - 1]) if len(group["ended"]) >= width else -math.inf
            if not group["open"] or max(map(score, group["open"])) <= bar:
                group["open"] = []
    turns = []
    for kind in ("ended", "cut"):
        for rank in range(width):
            row = [(group["ended"] + group["cut"])[:width] for group in groups]
            row = [one[rank] for one in row if rank < len(one) and (one[rank][0][-1] == tools.END) == (kind == "ended")]
            turns += sorted(row, key=score, reverse=True)
    chosen = list(dict.fromkeys(turns))[: options.n_best]
    return sorted(chosen, key=lambda one: (one[0][-1] == tools.END, score(one)), reverse=True)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(("beam", "groups", "n_best"), [(2, 2, 2), (6, 3, 3), (6, 2, 6), (4, 4, 2)])
@pytest.mark.parametrize("diversity", [0.0, 0.8, 5.0])
def test_groups_keep_apart_as_in_a_plain_search_of_one_sentence(tools, seed, beam, groups, n_best, diversity):
    oracle, limits = tools.Oracle(tools.random_table(seed)), [3, 8, 1, 6]
    options = Beam(beam, n_best, 1.0, False, groups, diversity)
    answers = run(tools, oracle, range(4), limits, options)
    for memory, found in enumerate(answers):
        expected = plain_diverse(tools, oracle, memory, limits[memory], options)
        assert [spelt(tools, one) for one in found] == [prefix[1:] for prefix, _ in expected]
        assert [one.log_probability for one in found] == pytest.approx([total for _, total in expected])


def test_groups_give_more_different_first_words(tools):
    oracle = tools.Oracle(tools.random_table(seed=3, sharpness=3.0))

    def first_words(options):
        answers = run(tools, oracle, range(20), [6] * 20, options)
        return sum(len({spelt(tools, one)[0] for one in found}) for found in answers)

    assert first_words(Beam(4, 4, 1.0, False, 4, 99.0)) == 80
    assert first_words(Beam(4, 4, 1.0)) < 60


@pytest.mark.parametrize("limit", [1, 3])
def test_wide_groups_find_what_there_is(tools, limit):
    oracle = tools.Oracle(tools.random_table(seed=limit))
    (found,) = run(tools, oracle, [7], [limit], Beam(600, 600, 1.0, False, 2, 0.7))
    expected = sorted(
        tools.everything(oracle, 7, limit), key=lambda one: (one[0][-1] == tools.END, one[1] / len(one[0]))
    )
    assert [spelt(tools, one) for one in found] == [words for words, _ in reversed(expected)]


@pytest.mark.parametrize(
    ("options", "coverage"),
    [(Beam(4, 4, 0.9, True), 0.0), (Beam(3, 3, 0.9, True), 0.25), (Beam(6, 4, 1.0, False, 3, 0.7), 0.0),
     (Beam(4, 4, 1.0, True, 2, 0.7), 0.3)],
    ids=["gnmt", "coverage", "groups", "all"],
)  # fmt: skip
def test_a_sentence_gives_the_same_alone_and_in_any_batch(tools, options, coverage):
    oracle, memory, limits = tools.Oracle(tools.random_table(seed=3)), list(range(9)), [4, 9, 1, 7, 12, 2, 5, 5, 8]
    together = run(tools, oracle, memory, limits, options, coverage)
    order = [5, 0, 8, 3, 1, 7, 2, 6, 4]
    shuffled = run(tools, oracle, order, [limits[one] for one in order], options, coverage)
    assert [shuffled[order.index(one)] for one in memory] == together
    for one in memory:
        assert run(tools, oracle, [one], [limits[one]], options, coverage) == [together[one]]
