"""Rules on words: a wide beam under a rule is exhaustive search among what the rule allows, and draws keep to it too."""

import math
from collections import Counter
from itertools import product

import pytest
import torch

from antiphon.data.words import JOINS_NEXT
from antiphon.errors import AntiphonError
from antiphon.search.avoid import Avoid, Spellings
from antiphon.search.beam import Beam, Guide, beam_search
from antiphon.search.sample import Sampling, sample
from antiphon.search.words import Answers, AnswersOfEach, Held, Never, NoLoop, NoRepeat, Only, Prefix

SPELT = Spellings((b"", b"", b"", b"?", b" a", b"b", b" ab"))
ANSWERS = [(4, 5), (4, 5, 6), (6,), (), (5, 5, 5, 5, 5)]


def run(tools, oracle, memory, limits, rules, beam=300, n_best=300):
    state, options = tools.prefixes(*memory), Beam(beam, n_best, 1.0)
    return beam_search(
        oracle, state, limits, options, tools.START, tools.END, tools.FORBIDDEN, guide=Guide(rules=rules)
    )


def draw(tools, oracle, memory, limits, rules, n):
    state, options = tools.prefixes(*memory), Sampling(1.0, 0, 1.0)
    return sample(oracle, state, limits, options, [*memory], tools.START, tools.END, tools.FORBIDDEN, n, rules)


def spelt(tools, hypothesis):
    return (*hypothesis.symbols, tools.END) if hypothesis.ended else hypothesis.symbols


def ngrams(words, n):
    return [words[i : i + n] for i in range(len(words) - n + 1)]


def loops(words, times):
    """Whether some words are said more than `times` times in a row."""
    spans = [(i, n) for n in range(1, len(words) + 1) for i in range(len(words) - n * (times + 1) + 1)]
    return any(words[i : i + n * (times + 1)] == words[i : i + n] * (times + 1) for i, n in spans)


def as_text(words):
    return " " + " ".join(b"".join(SPELT.words[word] for word in words).decode().split()) + " "


RULES = {
    "prefix": (lambda end: Prefix((5, 4)), lambda words, end: words[:2] == (5, 4)),
    "no word twice": (lambda end: NoRepeat(1), lambda words, end: max(Counter(words).values()) == 1),
    "no two words twice": (lambda end: NoRepeat(2), lambda words, end: max(Counter(ngrams(words, 2)).values(), default=1) == 1),
    "no three words twice": (lambda end: NoRepeat(3), lambda words, end: max(Counter(ngrams(words, 3)).values(), default=1) == 1),
    "no loop": (lambda end: NoLoop(1), lambda words, end: not loops(words, 1)),
    "no loop of three": (lambda end: NoLoop(2), lambda words, end: not loops(words, 2)),
    "answers": (
        lambda end: AnswersOfEach([Answers(ANSWERS, end)] * 9),
        lambda words, end: any((*one, end)[: len(words)] == words for one in ANSWERS),
    ),
    "avoid inside words": (lambda end: Avoid(["ab"], SPELT, end), lambda words, end: "ab" not in as_text(words)),
    "avoid a word": (
        lambda end: Avoid([" a "], SPELT, end),
        # What was cut may still go on, and it is the last word that is not over yet.
        lambda words, end: " a " not in (as_text(words) if words[-1] == end else as_text(words)[:-1]),
    ),
    "avoid several": (
        lambda end: Avoid(["a a", "bb"], SPELT, end),
        lambda words, end: "a a" not in as_text(words) and "bb" not in as_text(words),
    ),
}  # fmt: skip


@pytest.mark.parametrize("limit", [3, 5])
@pytest.mark.parametrize("name", RULES)
def test_a_wide_beam_finds_all_that_the_rule_allows_and_nothing_else(tools, name, limit):
    make, allows = RULES[name]
    oracle = tools.Oracle(tools.random_table(seed=limit))
    for memory, found in zip([7, 8], run(tools, oracle, [7, 8], [limit] * 2, [make(tools.END)], 500, 500), strict=True):
        there_are = [one for one in tools.everything(oracle, memory, limit) if allows(one[0], tools.END)]
        assert len(there_are) > 0
        assert limit < 5 or len(there_are) < len(tools.everything(oracle, memory, limit))
        there_are.sort(key=lambda one: (one[0][-1] == tools.END, one[1] / len(one[0])), reverse=True)
        assert [spelt(tools, one) for one in found] == [words for words, _ in there_are]
        assert [one.log_probability for one in found] == pytest.approx([total for _, total in there_are])


@pytest.mark.parametrize("name", RULES)
def test_draws_and_narrow_beams_keep_to_the_rule_in_any_batch(tools, name):
    make, allows = RULES[name]
    oracle, memory, limits = tools.Oracle(tools.random_table(seed=1)), list(range(7)), [3, 9, 2, 7, 12, 2, 5]
    if name == "no word twice":
        limits = [min(limit, 4) for limit in limits]
    for search in (
        lambda keys, ends: run(tools, oracle, keys, ends, [make(tools.END)], 3, 3),
        lambda keys, ends: draw(tools, oracle, keys, ends, [make(tools.END)], 4),
    ):
        together = search(memory, limits)
        assert all(allows(spelt(tools, one), tools.END) for found in together for one in found)
        order = [4, 0, 6, 2, 5, 1, 3]
        shuffled = search(order, [limits[one] for one in order])
        assert [shuffled[order.index(one)] for one in memory] == together
        for one in memory:
            assert search([one], [limits[one]]) == [together[one]]


def test_rules_compose_and_what_is_forced_is_not_blocked(tools):
    oracle = tools.Oracle(tools.random_table(seed=2))
    rules = [NoRepeat(1), Prefix((4, 4, 5)), Avoid(["b"], SPELT, tools.END)]
    found = run(tools, oracle, [3], [6], rules, 50, 50)[0]
    assert all(one.symbols[:3] == (4, 4, 5) for one in found)
    # The word b may be forced, but not chosen: " ab" holds it too, and "a" was said.
    assert {one.symbols[3:] for one in found} == {()}


def test_a_prefix_is_cut_at_the_limit(tools):
    ((only,),) = run(tools, tools.Oracle(tools.random_table(0)), [0], [2], [Prefix((4, 5, 6))])
    assert (only.symbols, only.ended) == ((4, 5), False)


def test_no_way_out_is_an_error(tools):
    nothing = Avoid([" ", "b"], SPELT, tools.END)
    for search in (run, lambda *given: draw(*given, 2)):
        with pytest.raises(
            AntiphonError, match=r"^sentence 1 of the batch: the model gave every allowed word the prob"
        ):
            search(tools, tools.Oracle(tools.random_table(0)), [0], [5], [nothing])


def test_without_rules_nothing_is_copied():
    logs_NV = torch.zeros(2, 7)
    assert Held([], range(2)).hold(logs_NV) is logs_NV
    assert Held([NoRepeat(2)], range(2)).hold(logs_NV) is logs_NV
    changed_NV = Held([Prefix([4])], range(2)).hold(logs_NV)
    assert changed_NV.tolist() == [[-math.inf] * 4 + [0.0] + [-math.inf] * 2] * 2
    assert not logs_NV.any()


def test_a_word_that_joins_the_next_leaves_no_space():
    spellings = Spellings((b"", b"", b"", b"?", b" (\xff", b" rot", b")", b" x"))
    assert spellings.words[4][-1] == JOINS_NEXT
    for text, words in (("(rot", (4, 5)), ("(rot)", (4, 5, 6)), ("rot)", (5, 6)), (" rot", (5,)), (" rot ", (5, 7))):
        rule = Avoid([text], spellings, end=2)
        state = rule.first(0)
        for word in words[:-1]:
            assert word not in (rule.judge(state) or Never(torch.tensor([]))).words.tolist()
            state = rule.then(state, word)
        assert words[-1] in rule.judge(state).words.tolist(), text
    joined = Avoid(["( rot"], spellings, end=2)
    assert joined.judge(joined.then(joined.first(0), 4)) is None


@pytest.mark.parametrize("texts", [["ab", "b a"], ["aa"], ["a a a", " b"], ["ba", "aab", " a "]])
def test_the_automaton_of_avoided_texts_is_right_for_every_answer(texts):
    """All answers of up to six words: the first word that is forbidden is the one that completes a text."""
    rule = Avoid(texts, SPELT, end=2)
    for words in product((4, 5, 6), repeat=6):
        state, said = rule.first(0), ()
        for word in words:
            verdict = rule.judge(state)
            bad = set() if verdict is None else set(verdict.words.tolist())
            text = as_text(said) if said else " "
            for each in (4, 5, 6):
                after = as_text((*said, each))[:-1]
                assert (each in bad) == any(one in after for one in texts), (said, each)
            assert (2 in bad) == any(one in text for one in texts)
            if word in bad:
                break
            state, said = rule.then(state, word), (*said, word)


def test_what_a_rule_says():
    assert Prefix((4,)).judge(0).words.tolist() == [4]
    assert isinstance(Prefix((4,)).judge(0), Only)
    assert Prefix((4,)).judge(1) is None
    assert NoRepeat(3).judge((4, 5, 6, 4, 5)).words.tolist() == [6]
    assert NoLoop(1).judge((4, 5, 6, 4, 5)).words.tolist() == [5, 6]
    assert NoLoop(2).judge((4, 5, 4, 5, 4)).words.tolist() == [5]
    tree = AnswersOfEach([Answers([(4, 5)], end=2)])
    assert tree.judge(tree.then(tree.first(0), 6)) is None
