"""A recorded search is the same search, and its record is all that it weighed."""

import math

import pytest
import torch

from antiphon.search.beam import Beam, beam_search
from antiphon.search.record import Record, Weighed


def search(tools, oracle, memory, limit, beam, record=None):
    options = Beam(beam, beam, 1.0)
    state = tools.prefixes(*memory)
    return beam_search(oracle, state, [limit] * len(memory), options, tools.START, tools.END, tools.FORBIDDEN, record)


@pytest.mark.parametrize("beam", [1, 2, 5])
@pytest.mark.parametrize("seed", range(5))
def test_recording_changes_no_answer(tools, seed, beam):
    table = tools.random_table(seed)
    assert search(tools, tools.Oracle(table), [3], 9, beam, Record()) == search(
        tools, tools.Oracle(table), [3], 9, beam
    )


def test_two_steps_by_hand(tools):
    after = {(): {4: 0.6, 5: 0.3, 2: 0.1}, (4,): {2: 0.5, 4: 0.3, 5: 0.2}, (5,): {2: 0.9, 4: 0.06, 5: 0.04}}

    def table(memory, prefix):
        chances = after[prefix[1:]]
        return [math.log(chances[word]) if word in chances else -math.inf for word in range(tools.WORDS)]

    record = Record()
    search(tools, tools.Oracle(table), [0], 9, 2, record)
    seen = [
        [(one.parent, one.word, round(math.exp(one.log_probability), 6), round(math.exp(one.total), 6), one.slot) for one in step]
        for step in record.steps
    ]  # fmt: skip
    assert seen == [
        [(0, 4, 0.6, 0.6, 0), (0, 5, 0.3, 0.3, 1), (0, 2, 0.1, 0.1, None)],
        [
            (0, 2, 0.5, 0.3, 0), (1, 2, 0.9, 0.27, 1),
            (0, 4, 0.3, 0.18, None), (0, 5, 0.2, 0.12, None), (1, 4, 0.06, 0.018, None), (1, 5, 0.04, 0.012, None),
        ],
    ]  # fmt: skip
    assert [(last.step, last.slot, last.ended) for last in record.answers] == [(2, 0, True), (2, 1, True)]
    assert record.given == record.answers[:1]
    assert [one.word for one in record.path(record.answers[1])] == [5, tools.END]
    record.give([((5,), True), ((4,), True)])
    assert record.given == record.answers[::-1]


@pytest.mark.parametrize("seed", range(10))
def test_what_is_kept_is_the_best_of_what_is_weighed(tools, seed):
    record = Record()
    search(tools, tools.Oracle(tools.random_table(seed)), [1], 8, 3, record)
    before = {0: 0.0}
    for step in record.steps:
        kept, cut = [one for one in step if one.slot is not None], [one for one in step if one.slot is None]
        assert len(kept) <= 3
        assert min(one.total for one in kept) >= max([one.total for one in cut], default=-math.inf)
        for one in step:
            assert one.total == pytest.approx(before[one.parent] + one.log_probability)
            assert one.word not in tools.FORBIDDEN
        before = {one.slot: one.total for one in kept if one.word != tools.END}


def test_one_sentence_at_a_time(tools):
    with pytest.raises(AssertionError, match="one sentence"):
        search(tools, tools.Oracle(tools.random_table(1)), [1, 2], 8, 3, Record())


def test_an_empty_slot_is_not_recorded():
    record, impossible = Record(), float("-inf")
    totals_BJ, kept = torch.tensor([[-1.0, impossible]]), torch.tensor([[-1.5, impossible]])
    proposed = torch.tensor([[-0.5, impossible], [-0.1, -0.2]]), torch.tensor([[4, 0], [4, 5]])
    record.add(totals_BJ, proposed, kept, torch.tensor([[0, 1]]), torch.tensor([[4, 4]]), torch.tensor([[-0.5, -0.1]]))
    assert record.steps == [[Weighed(0, 4, -0.5, -1.5, 0)]]
