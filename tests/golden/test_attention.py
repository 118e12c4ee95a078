"""Attention of recurrent decoders against arithmetic by hand: scores, windows, weights, values."""

import math

import pytest
import torch
from torch import nn

from antiphon.attend.attention import Attention
from antiphon.attend.memory import Memory
from antiphon.attend.scores import Additive, Bilinear, Cosine, Dot, LocationAware, ScaledDot
from antiphon.attend.weights import Hard, softmax, sparsemax
from antiphon.attend.windows import Monotonic, Predictive, everywhere

QUERY, PLACES = torch.tensor([[[1.0, 2.0]]]), torch.tensor([[[3.0, 0.0, 1.0], [0.0, 4.0, 1.0]]])
FIRST = torch.tensor([0])
KEEP, DROP_THIRD = [[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]


def with_weights(module: nn.Module, **weights: list) -> nn.Module:
    for name, value in weights.items():
        getattr(module, name).weight = nn.Parameter(torch.tensor(value))
    return module


def memory_of(states_BSM: torch.Tensor, *real: bool) -> Memory:
    return Memory(states_BSM, torch.tensor([real or [True] * states_BSM.shape[1]]), states_BSM.mean(1))


def test_dot_attention_by_hand():
    """Scores 1 and 2 over two places, the third is padding: weights 1/(1+e) and e/(1+e)."""
    memory = memory_of(torch.tensor([[[1.0, 0.0], [2.0, 1.0], [9.0, 9.0]]]), True, True, False)
    attention = Attention(Dot(), everywhere, softmax, memory_width=2, values=0)
    context_BTM, weights_BHTS = attention(torch.tensor([[[1.0, 0.0]]]), attention.prepare(memory), FIRST, None)
    second = math.e / (1 + math.e)
    torch.testing.assert_close(weights_BHTS, torch.tensor([[[[1 - second, second, 0.0]]]]))
    torch.testing.assert_close(context_BTM, torch.tensor([[[1 - second + 2 * second, second]]]))


def test_additive_score_by_hand():
    """v = 2, W = 1, U = 3, no bias: 2 tanh(q + 3 m)."""
    scorer = with_weights(Additive(1, 1, 1), query=[[1.0]], memory=[[3.0]], out=[[2.0]])
    nn.init.zeros_(scorer.query.bias)
    scores_BHTS = scorer(torch.tensor([[[0.1]]]), scorer.keys(torch.tensor([[[0.2], [-0.5]]])), None)
    torch.testing.assert_close(scores_BHTS, torch.tensor([[[[2 * math.tanh(0.7), 2 * math.tanh(-1.4)]]]]))


def test_additive_scores_of_two_queries_and_three_places_by_hand():
    """v = (2, 1), W and U swap nothing: 2 tanh(q1 + m1) + tanh(q2 + m2) at each of 2 x 3."""
    scorer = with_weights(Additive(2, 2, 2), query=KEEP, memory=KEEP, out=[[2.0, 1.0]])
    nn.init.zeros_(scorer.query.bias)
    queries, places = [(0.1, 0.2), (0.3, -0.4)], [(0.5, 0.0), (-0.1, 0.6), (0.0, 0.0)]
    scores_BHTS = scorer(torch.tensor([queries]), scorer.keys(torch.tensor([places])), None)
    want_TS = [[2 * math.tanh(q1 + m1) + math.tanh(q2 + m2) for m1, m2 in places] for q1, q2 in queries]
    torch.testing.assert_close(scores_BHTS, torch.tensor([[want_TS]]))


def test_location_aware_score_by_hand():
    """As above, and the filter (10, 1, 100) lies over the weights (0.5, 0.5, 0), L = 0.01.

    Filtered: 1*0.5 + 100*0.5, 10*0.5 + 1*0.5 + 100*0, 10*0.5, each a hundredth of that in the sum.
    """
    scorer = with_weights(
        LocationAware(1, 1, 1, filters=1, span=3),
        query=[[1.0]], memory=[[3.0]], out=[[2.0]], filters=[[[10.0, 1.0, 100.0]]], location=[[0.01]],
    )  # fmt: skip
    nn.init.zeros_(scorer.query.bias)
    keys = scorer.keys(torch.tensor([[[0.2], [-0.5], [0.0]]]))
    scores_BHTS = scorer(torch.tensor([[[0.1]]]), keys, torch.tensor([[[0.5, 0.5, 0.0]]]))
    inner = [0.7 + 0.505, -1.4 + 0.055, 0.1 + 0.05]
    assert scores_BHTS.flatten().tolist() == pytest.approx([2 * math.tanh(value) for value in inner])


def test_scaled_dot_score_by_hand():
    """W keeps the query, U drops the third number: (1*3, 2*4) / sqrt(2)."""
    scorer = with_weights(ScaledDot(2, 3, 2, heads=1), query=KEEP, memory=DROP_THIRD)
    scores_BHTS = scorer(QUERY, scorer.keys(PLACES), None)
    torch.testing.assert_close(scores_BHTS, torch.tensor([[[[3 / math.sqrt(2), 8 / math.sqrt(2)]]]]))


def test_multi_head_scores_by_hand():
    """Two heads of one number each: the first meets 1 with 3 and 0, the second 2 with 0 and 4."""
    scorer = with_weights(ScaledDot(2, 3, 2, heads=2), query=KEEP, memory=DROP_THIRD)
    assert scorer(QUERY, scorer.keys(PLACES), None).tolist() == [[[[3.0, 0.0]], [[0.0, 8.0]]]]


def test_multi_head_attention_is_torchs():
    """With the output product of torch's left at the identity, which here is the business of whoever reads."""
    ours = Attention(ScaledDot(5, 6, 8, heads=2), everywhere, softmax, memory_width=6, values=8)
    theirs = nn.MultiheadAttention(8, 2, kdim=6, vdim=6, bias=False, batch_first=True)
    theirs.q_proj_weight = nn.Parameter(torch.eye(8))
    theirs.k_proj_weight, theirs.v_proj_weight = ours.scorer.memory.weight, ours.values.weight
    theirs.out_proj.weight = nn.Parameter(torch.eye(8))
    memory, query_BTQ = memory_of(torch.randn(1, 4, 6), True, True, True, False), torch.randn(1, 3, 5)
    got_BTM, weights_BHTS = ours(query_BTQ, ours.prepare(memory), torch.arange(3), None)
    want_BTM, want_BHTS = theirs(
        ours.scorer.query(query_BTQ), memory.states_BSM, memory.states_BSM,
        key_padding_mask=~memory.mask_BS, average_attn_weights=False,
    )  # fmt: skip
    torch.testing.assert_close(got_BTM, want_BTM)
    torch.testing.assert_close(weights_BHTS, want_BHTS)


def test_bilinear_score_by_hand():
    """W m = (m1 + m3, m2): places become (4, 0) and (1, 4); q . them = 4 and 9."""
    scorer = with_weights(Bilinear(2, 3), memory=[[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    assert scorer(QUERY, scorer.keys(PLACES), None).tolist() == [[[[4.0, 9.0]]]]


def test_cosine_score_by_hand():
    """Directions (1, 2)/sqrt 5 against (1, 0) and (0, 1), five times their cosine."""
    scorer = with_weights(Cosine(2, 3, 2), query=KEEP, memory=DROP_THIRD)
    scores_BHTS = scorer(QUERY, scorer.keys(PLACES), None)
    torch.testing.assert_close(scores_BHTS, torch.tensor([[[[5 / math.sqrt(5), 10 / math.sqrt(5)]]]]))


REAL = torch.tensor([[True] * 6 + [False] * 2])


@pytest.mark.parametrize(
    ("place", "seen"),
    [(0, [0, 1]), (3, [2, 3, 4]), (5, [4, 5]), (9, [4, 5])],
    ids=["at the start", "in the middle", "at the end", "beyond the end"],
)
def test_a_monotonic_window_goes_along_with_the_answer(place, seen):
    scores_BHTS = torch.randn(1, 1, 1, 8)
    kept, mask = Monotonic(reach=1)(scores_BHTS, torch.zeros(1, 1, 2), torch.tensor([place]), REAL)
    assert torch.equal(kept, scores_BHTS)
    assert mask.flatten().nonzero().flatten().tolist() == seen


def test_a_predicted_window_by_hand():
    """v = (2, 0), W = 1: the centre is 5 sigma(2 tanh(1)) = 4.11; a normal curve with deviation reach / 2 = 1."""
    window = with_weights(Predictive(2, reach=2), query=KEEP, out=[[2.0, 0.0]])
    scores, mask = window(torch.zeros(1, 1, 1, 8), QUERY, FIRST, REAL)
    centre = 5 / (1 + math.exp(-2 * math.tanh(1.0)))
    assert mask.flatten().nonzero().flatten().tolist() == [3, 4, 5]
    assert scores.flatten()[3:6].tolist() == pytest.approx([-((s - centre) ** 2) / 2 for s in (3, 4, 5)], abs=1e-5)


def test_a_predicted_window_is_luongs_up_to_its_sum():
    """There softmax over the window times a normal curve; here the same numbers, divided by their sum."""
    window, scores_BHTS = Predictive(2, reach=2), torch.randn(1, 1, 1, 8)
    near, mask = window(scores_BHTS, QUERY, FIRST, REAL)
    luong = softmax(scores_BHTS, mask) * window(torch.zeros(1, 1, 1, 8), QUERY, FIRST, REAL)[0].exp()
    torch.testing.assert_close(softmax(near, mask), luong / luong.sum())


def test_a_predicted_centre_learns():
    window = Predictive(2, reach=3)
    scores, mask = window(torch.randn(1, 1, 1, 8), QUERY, FIRST, REAL)
    softmax(scores, mask)[..., 2].sum().backward()
    assert all(part.grad.abs().sum() > 0 for part in window.parameters())


def test_sparsemax_by_hand():
    """Scores 1, 0.5, -1 and one of padding: threshold 0.25, so shares 0.75, 0.25, 0, 0 (the paper's equation 4)."""
    shares = sparsemax(torch.tensor([1.0, 0.5, -1.0, 9.0]), torch.tensor([True, True, True, False]))
    torch.testing.assert_close(shares, torch.tensor([0.75, 0.25, 0.0, 0.0]))


def test_sparsemax_gradients_are_those_of_finite_differences():
    torch.manual_seed(1)
    scores = torch.randn(2, 1, 3, 5, dtype=torch.double, requires_grad=True)
    mask = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])[:, None, None]
    assert torch.autograd.gradcheck(lambda scores: sparsemax(scores, mask), (scores,))


def test_hard_weights_choose_in_answers_and_share_in_training():
    scores, mask = torch.tensor([0.0, 2.0, 1.0, 9.0]), torch.tensor([True, True, True, False])
    assert Hard().eval()(scores, mask).tolist() == [0.0, 1.0, 0.0, 0.0]
    torch.testing.assert_close(Hard().train()(scores, mask), softmax(scores, mask))


def test_learned_values_are_read_instead_of_the_memory():
    attention = Attention(Bilinear(2, 3), everywhere, softmax, memory_width=3, values=4)
    context_BTM, weights_BHTS = attention(QUERY, attention.prepare(memory_of(PLACES)), FIRST, None)
    torch.testing.assert_close(context_BTM, weights_BHTS[:, 0] @ (PLACES @ attention.values.weight.t()))
    assert attention.width == 4
