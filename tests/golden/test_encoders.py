"""Recurrent encoders against what their choices mean: the same weights, arranged by hand."""

import pytest
import torch

from antiphon.attend import pool
from antiphon.build.model import build_encoder
from antiphon.config.schema import RecurrentEncoder
from antiphon.layers.dropout import Dropout

WORDS_BSD = torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(1))
MASK_BS = torch.tensor([[True, True, True, True], [True, True, False, False]])
ALONE = torch.ones(1, 2, dtype=torch.bool)


def an_encoder(**choices):
    torch.manual_seed(2)
    choice = RecurrentEncoder(**{"cell": "gru", "width": 5, "embedding": 3, "dropout": 0.0, **choices})
    return build_encoder(choice, carry=False).eval()


@pytest.mark.parametrize(("merge", "by_hand"), [("mean", lambda a, b: (a + b) / 2), ("sum", lambda a, b: a + b)])
def test_directions_are_joined_by_mean_or_sum(merge, by_hand):
    apart = an_encoder(merge="concat")(WORDS_BSD, MASK_BS)
    joined = an_encoder(merge=merge)(WORDS_BSD, MASK_BS)
    torch.testing.assert_close(joined.states_BSM, by_hand(*apart.states_BSM.chunk(2, dim=2)))
    torch.testing.assert_close(joined.summary_BM, by_hand(*apart.summary_BM.chunk(2, dim=1)))


def test_directions_are_joined_by_a_projection():
    apart, projected = an_encoder(merge="concat"), an_encoder(merge="project")
    apart.layers[0].readers = projected.layers[0].readers
    by_hand_BSM = projected.layers[0].join.out(apart(WORDS_BSD, MASK_BS).states_BSM)
    torch.testing.assert_close(projected(WORDS_BSD, MASK_BS).states_BSM, by_hand_BSM)


def test_the_last_state_is_where_each_direction_ends():
    memory = an_encoder()(WORDS_BSD, MASK_BS)
    forward_BSD, backward_BSD = memory.states_BSM.chunk(2, dim=2)
    torch.testing.assert_close(memory.summary_BM[1], torch.cat([forward_BSD[1, 1], backward_BSD[1, 0]]))


def test_a_reversed_source_is_read_from_its_end_and_the_memory_keeps_its_order():
    backwards = an_encoder(directions=1, reverse=True)(WORDS_BSD[1:, :2], ALONE)
    forwards = an_encoder(directions=1)(WORDS_BSD[1:, :2].flip(1), ALONE)
    torch.testing.assert_close(backwards.states_BSM, forwards.states_BSM.flip(1))
    torch.testing.assert_close(backwards.summary_BM, forwards.summary_BM)


def test_a_residual_layer_adds_what_it_reads():
    plain, added = an_encoder(layers=2), an_encoder(layers=2, residual=True)
    torch.testing.assert_close(
        added(WORDS_BSD, MASK_BS).states_BSM - plain(WORDS_BSD, MASK_BS).states_BSM,
        an_encoder(layers=2).layers[0](WORDS_BSD, MASK_BS.sum(1), _turn, False)[0],
        atol=1e-6, rtol=1e-5,
    )  # fmt: skip


def _turn(x_BSD: torch.Tensor) -> torch.Tensor:
    """Each row of WORDS_BSD, turned round within its length, by hand."""
    return torch.stack([x_BSD[0].flip(0), torch.cat([x_BSD[1, :2].flip(0), x_BSD[1, 2:]])])


def test_mean_and_maximum_pass_over_padding():
    states_BSM = torch.tensor([[[1.0, -4.0], [3.0, -2.0], [99.0, 99.0]]])
    mask_BS = torch.tensor([[True, True, False]])
    assert pool.mean(states_BSM, mask_BS).tolist() == [[2.0, -3.0]]
    assert pool.maximum(states_BSM, mask_BS).tolist() == [[3.0, -2.0]]


def test_a_learned_query_weighs_the_places():
    """With W = 0 but its bias, all places score alike: the mean of the real ones."""
    states_BSM, mask_BS = torch.tensor([[[1.0], [3.0], [99.0]]]), torch.tensor([[True, True, False]])
    query = pool.LearnedQuery(1)
    torch.nn.init.zeros_(query.key.weight)
    torch.testing.assert_close(query(states_BSM, mask_BS), torch.tensor([[2.0]]))


def test_dropout_through_time_drops_the_same_numbers_at_every_place():
    torch.manual_seed(1)
    dropped_BSD = Dropout(0.5, through_time=True).train()(torch.ones(3, 4, 50))
    assert torch.equal(dropped_BSD, dropped_BSD[:, :1].expand_as(dropped_BSD))
    assert not torch.equal(dropped_BSD[0], dropped_BSD[1])
