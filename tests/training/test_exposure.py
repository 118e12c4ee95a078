"""Scheduled sampling: at p = 1 it is teacher forcing to the bit, at p = 0 it is free running, between them it is p."""

import math
from collections import Counter
from itertools import pairwise

import pytest
import torch

from antiphon.build.model import build_model
from antiphon.config import schema
from antiphon.data.batch import Batch, make_batch
from antiphon.data.vocab import END, PAD, SPECIAL, START, UNKNOWN
from antiphon.search.beam import Beam, beam_search
from antiphon.training.exposure import forcing, with_own_words
from antiphon.training.loss import cross_entropy
from antiphon.training.noise import Draws

SIZE = 12
DRAWS = Draws(seed=3, step=4, part=0)
FORBIDDEN = [PAD, START, UNKNOWN]


def shape(schedule, steps, p=0.0, half=100):
    return [forcing(step, schema.TeacherForcing(p=p, schedule=schedule, half=half)) for step in steps]


def test_held_is_held():
    assert [forcing(step, schema.TeacherForcing(p=0.25)) for step in (0, 10**9)] == [0.25, 0.25]
    assert forcing(0, schema.TeacherForcing()) == 1.0


def test_a_line_by_hand():
    assert shape("linear", [0, 50, 100, 150, 200, 10**9]) == [1.0, 0.75, 0.5, 0.25, 0.0, 0.0]
    assert shape("linear", [0, 100, 200, 300], p=0.5) == [1.0, 0.75, 0.5, 0.5]


def test_an_exponential_by_hand():
    assert shape("exponential", [0, 100, 200, 300]) == [1.0, 0.5, 0.25, 0.125]
    assert shape("exponential", [0, 100, 200], p=0.2) == pytest.approx([1.0, 0.6, 0.4])
    assert shape("exponential", [10**9]) == [0.0]


def test_an_inverse_sigmoid_as_in_the_paper():
    k = math.e**2
    half = k * math.log(k)  # 14.78, so 15 is near it
    paper = [k / (k + math.exp(step / k)) for step in (0, 5, 15, 40)]
    assert shape("inverse_sigmoid", [0, 5, 15, 40], half=15) == pytest.approx(paper, abs=0.01)
    assert half == pytest.approx(15, abs=0.3)
    assert shape("inverse_sigmoid", [1000], half=1000) == [0.5]
    assert shape("inverse_sigmoid", [0, 10**9], half=1000) == pytest.approx([1.0, 0.0], abs=0.006)
    assert shape("inverse_sigmoid", [1000], half=1000, p=0.4) == [0.7]


@pytest.mark.parametrize("half", [1, 2, 10, 12345, 10**9])
def test_the_inverse_sigmoid_is_the_paper_s_for_the_k_that_halves_it_there(half):
    first = shape("inverse_sigmoid", [0], half=half)[0]
    k = first / (1 - first)  # because f(0) = k / (k + 1)
    assert k * math.log(k) == pytest.approx(half, rel=1e-6)


@pytest.mark.parametrize("schedule", ["linear", "exponential", "inverse_sigmoid"])
@pytest.mark.parametrize("half", [1, 7, 5000])
def test_it_only_falls_and_stays_between_p_and_1(schedule, half):
    found = shape(schedule, range(0, 20_000, 17), p=0.1, half=half)
    assert all(before >= after for before, after in pairwise(found))
    assert all(0.1 <= p <= 1.0 for p in found)


ENCODER = {"kind": "recurrent", "width": 5, "embedding": 4, "dropout": 0.0}
STACK = {"kind": "transformer", "width": 8, "layers": 2, "heads": 2, "feedforward": 9, "dropout": 0.0}
DECODERS = {
    "lstm": {"kind": "recurrent", "width": 7, "embedding": 6, "dropout": 0.0},
    "gru at once": {"kind": "recurrent", "cell": "gru", "width": 7, "embedding": 6, "dropout": 0.0, "input_feeding": False},
    "orthogonal": {"kind": "recurrent", "cell": "orthogonal", "width": 7, "embedding": 6, "dropout": 0.0},
    "transformer": STACK,
}  # fmt: skip
BATCH = make_batch([[4, 5, 6], [7], [8, 9]], [[4, 5, 6, 7, 8, 9], [10, 11], [5, 5, 5]])


def a_model(decoder="lstm", seed=18):
    torch.manual_seed(seed)
    model = build_model(schema.Seq2Seq.model_validate({"encoder": ENCODER, "decoder": DECODERS[decoder]}), SIZE, SIZE)
    with torch.no_grad():
        # A fresh model says the same everywhere, which would test nothing.
        for part in model.parameters():
            if part.dim() > 1:
                part.mul_(5)
    return model


def one_that_says(*words):
    """A model that always writes the first of these words that it may."""
    model = a_model()
    with torch.no_grad():
        for rank, word in enumerate(words):
            model.head.bias_V[word] = 1000.0 - 100.0 * rank
    return model


def free_run(model, batch: Batch) -> torch.Tensor:
    """Word by word, one sentence at a time, each word the likeliest after those before it."""
    rows = []
    for source_S, mask_S, target_mask_T in zip(batch.source_BS, batch.mask_BS, batch.target_mask_BT, strict=True):
        state = model.start(source_S[mask_S].unsqueeze(0), mask_S[mask_S].unsqueeze(0))
        words = [START]
        for _ in range(int(target_mask_T.sum()) - 1):
            log_probabilities_1V, state = model.step(torch.tensor(words[-1:]), state)
            allowed = [word for word in range(SIZE) if word not in FORBIDDEN]
            words.append(max(allowed, key=log_probabilities_1V[0].tolist().__getitem__))
        rows.append(words + [PAD] * (len(target_mask_T) - len(words)))
    return torch.tensor(rows)


@pytest.mark.parametrize("decoder", DECODERS)
def test_at_0_the_inputs_are_those_of_a_free_run(decoder):
    model = a_model(decoder).train()
    found = with_own_words(model, BATCH, 0.0, "best", DRAWS)
    with torch.no_grad():
        free_BT = free_run(model, BATCH)
    assert torch.equal(found.target_in_BT, free_BT)
    assert not torch.equal(free_BT, BATCH.target_in_BT)
    assert len(free_BT.unique()) > 3, "START, padding, and at least two words of its own"
    assert torch.equal(found.target_out_BT, BATCH.target_out_BT)


@pytest.mark.parametrize("decoder", DECODERS)
def test_at_0_the_loss_is_that_of_the_free_run_step_by_step(decoder):
    model = a_model(decoder).train()
    found = with_own_words(model, BATCH, 0.0, "best", DRAWS)
    words_P = found.target_out_BT[found.target_mask_BT]
    loss = cross_entropy(model(found), model.head.weight_VE, model.head.bias_V, words_P, 0.0)
    with torch.no_grad():
        state, total = model.start(BATCH.source_BS, BATCH.mask_BS), 0.0
        for place, words_B in enumerate(free_run(model, BATCH).unbind(1)):
            log_probabilities_BV, state = model.step(words_B, state)
            right_B = log_probabilities_BV.gather(1, BATCH.target_out_BT[:, place : place + 1]).squeeze(1)
            total -= right_B[BATCH.target_mask_BT[:, place]].sum().item()
    assert loss.item() == pytest.approx(total, rel=1e-5)
    loss.backward()
    assert all(part.grad is not None and part.grad.isfinite().all() for part in model.parameters())


@pytest.mark.parametrize("decoder", DECODERS)
def test_at_0_the_words_are_those_that_greedy_search_answers(decoder):
    model = a_model(decoder).eval()
    found = with_own_words(model, BATCH, 0.0, "best", DRAWS).target_in_BT
    with torch.inference_mode():
        state = model.start(BATCH.source_BS, BATCH.mask_BS)
        answers = beam_search(model, state, [6, 6, 6], Beam(1, 1, 0.0), START, END, FORBIDDEN)
    read = [row[mask][1:].tolist() for row, mask in zip(found, BATCH.target_mask_BT, strict=True)]
    for words, (answer,) in zip(read, answers, strict=True):
        own = words[: words.index(END)] if END in words else words
        assert own == list(answer.symbols)[: len(own)]
        assert own or answer.symbols == ()


def test_at_1_nothing_is_written_and_the_batch_is_the_same_one(monkeypatch):
    model = a_model()
    monkeypatch.setattr(model, "step", lambda *_: pytest.fail("the model wrote a word"))
    assert with_own_words(model, BATCH, 1.0, "best", DRAWS) is BATCH
    # So it is where the draws happen to choose no word of its own.
    assert with_own_words(model, BATCH, 1 - 1e-12, "sampled", DRAWS) is BATCH


@pytest.mark.parametrize("own", ["best", "sampled"])
def test_between_them_each_word_is_the_true_one_with_probability_p(own):
    batch = make_batch([[4]] * 500, [[4] * 20] * 499 + [[4] * 5])
    found = with_own_words(one_that_says(5), batch, 0.75, own, DRAWS)
    words_P = found.target_in_BT[:, 1:][found.target_mask_BT[:, 1:]]
    assert set(words_P.tolist()) == {4, 5}
    assert (words_P == 4).double().mean() == pytest.approx(0.75, abs=0.015)
    assert (found.target_in_BT[:, 0] == START).all()
    assert (found.target_in_BT[-1, 6:] == PAD).all()
    by_place = (found.target_in_BT[:-1, 1:] == 4).double().mean(0)
    assert by_place.sub(0.75).abs().max() < 0.08


def test_an_own_word_follows_from_all_words_that_were_read_before_it():
    model = a_model("transformer").train()
    found = with_own_words(model, BATCH, 0.5, "best", DRAWS)
    own_BT = found.target_in_BT != BATCH.target_in_BT
    assert own_BT.any()
    with torch.no_grad():
        state = model.start(BATCH.source_BS, BATCH.mask_BS)
        for place in range(1, own_BT.shape[1]):
            log_probabilities_BV, state = model.step(found.target_in_BT[:, place - 1], state)
            log_probabilities_BV[:, FORBIDDEN] = -math.inf
            best_B, own_B = log_probabilities_BV.argmax(1), own_BT[:, place]
            assert torch.equal(found.target_in_BT[:, place][own_B], best_B[own_B])


def test_special_symbols_are_never_read_but_an_early_end_is():
    found = with_own_words(one_that_says(PAD, START, UNKNOWN, END, 7), BATCH, 0.0, "best", DRAWS)
    assert found.target_in_BT.tolist() == [
        [START] + [END] * 6,
        [START, END, END] + [PAD] * 4,
        [START] + [END] * 3 + [PAD] * 3,
    ]


def test_sampled_words_follow_the_model_s_distribution():
    model, many = a_model(), 20_000
    batch = make_batch([[4, 5]] * many, [[6, 7]] * many)
    found = with_own_words(model, batch, 0.0, "sampled", DRAWS).target_in_BT

    def expected(*words):
        with torch.no_grad():
            state = model.start(batch.source_BS[:1], batch.mask_BS[:1])
            for word in words:
                log_probabilities_1V, state = model.step(torch.tensor([word]), state)
        shares = log_probabilities_1V[0].exp()
        shares[FORBIDDEN] = 0
        return shares / shares.sum()

    def agree(drawn, shares):
        counts = torch.bincount(drawn, minlength=SIZE)
        spread = (shares * (1 - shares) / len(drawn)).sqrt()
        assert ((counts / len(drawn) - shares).abs() <= 4.5 * spread).all()
        assert (counts > 0).sum() > 3

    agree(found[:, 1], expected(START))
    common = Counter(found[:, 1].tolist()).most_common(1)[0][0]
    agree(found[found[:, 1] == common, 2], expected(START, common))


@pytest.mark.parametrize("own", ["best", "sampled"])
def test_the_roll_out_leaves_no_trace(own):
    model = a_model().train()
    model.decoder.dropout.rate = 0.5
    before, state = BATCH.target_in_BT.clone(), torch.get_rng_state()
    found = [with_own_words(model, BATCH, 0.3, own, DRAWS).target_in_BT for _ in range(2)]
    assert torch.equal(*found)  # so there was no dropout in it
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(BATCH.target_in_BT, before)
    assert model.training
    assert model.decoder.training
    assert all(part.grad is None for part in model.parameters())
    assert not found[0].is_inference()


def test_the_model_trains_on_even_after_a_mishap(monkeypatch):
    model = a_model().train()

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(model, "step", interrupt)
    with pytest.raises(KeyboardInterrupt):
        with_own_words(model, BATCH, 0.0, "best", DRAWS)
    assert model.training


@pytest.mark.parametrize("own", ["best", "sampled"])
def test_a_model_that_is_no_longer_a_number_still_writes_words(own):
    model = a_model()
    with torch.no_grad():
        model.head.bias_V.fill_(math.nan)
    found = with_own_words(model, BATCH, 0.0, own, DRAWS).target_in_BT
    assert int(found.min()) >= 0
    assert int(found.max()) < SIZE


def test_a_row_reads_the_same_words_whatever_stands_below_it():
    model = a_model()
    alone = with_own_words(model, make_batch([[4, 5, 6]], [[4, 5, 6]]), 0.5, "sampled", DRAWS)
    beside = with_own_words(model, make_batch([[4, 5, 6], [7] * 8], [[4, 5, 6], [5] * 9]), 0.5, "sampled", DRAWS)
    assert alone.target_in_BT[0].tolist() == beside.target_in_BT[0, :4].tolist()
    assert set(alone.target_in_BT[0].tolist()) & set(range(len(SPECIAL), SIZE))
