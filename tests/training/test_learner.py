"""One update: its parts add up, its draws are keyed, and a restored learner goes on bit by bit."""

import numpy as np
import pytest
import torch

from antiphon.build.model import build_model
from antiphon.config import schema
from antiphon.data.batch import DROPOUT, make_batch
from antiphon.data.unmerge import keys
from antiphon.layers import products
from antiphon.layers.products import quick_products
from antiphon.store import weights_of
from antiphon.training.learner import Learner
from antiphon.training.loss import cross_entropy, r_drop
from antiphon.training.schedule import learning_rate

MODEL = schema.Seq2Seq.model_validate(
    {
        "encoder": {"kind": "recurrent", "width": 4, "embedding": 5, "dropout": 0.3},
        "decoder": {"kind": "recurrent", "width": 6, "embedding": 3, "dropout": 0.3},
    }
)
BATCHES = [make_batch([[4, 5, 6], [7]], [[4], [5, 6, 7, 8]]), make_batch([[8, 9]], [[9, 4, 4]])]


def a_learner(model=MODEL, **choices) -> Learner:
    torch.manual_seed(1)
    return Learner(build_model(model, 10, 10), schema.Train(warmup=0, **choices), seed=5)


def same(a: Learner, b: Learner) -> bool:
    one, other = a.tensors(), b.tensors()
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_a_restored_learner_goes_on_bit_by_bit(optimizer):
    straight, before, after = (a_learner(ema=0.9, optimizer=optimizer) for _ in range(3))
    for step in range(3):
        straight.learn(BATCHES, step, step)
        before.learn(BATCHES, step, step)
    # As a file gives them back: in another order.
    kept = {name: tensor.clone() for name, tensor in sorted(before.tensors().items(), reverse=True)}
    after.restore(kept, 3)
    assert same(after, straight)
    for step in range(3, 6):
        straight.learn(BATCHES, step, step)
        after.learn(BATCHES, step, step)
    assert same(after, straight)


def test_it_learns_by_the_quicker_products(monkeypatch):
    learner, inside = a_learner(), []
    learn = learner.crew.learn
    monkeypatch.setattr(learner.crew, "learn", lambda tasks: inside.append(products._inside) or learn(tasks))
    learner.learn(BATCHES, 0, 0)
    assert (inside, products._inside) == ([1], 0)


def test_draws_depend_on_step_and_part_only():
    one, other = a_learner(), a_learner()
    torch.manual_seed(99)
    assert one.learn(BATCHES, 7, 0) == other.learn(BATCHES, 7, 0)
    assert same(one, other)
    assert a_learner().learn(BATCHES, 8, 0).loss != a_learner().learn(BATCHES, 7, 0).loss


def taught(learner: Learner, steps: int) -> Learner:
    """Teacher forcing written out: nothing of the learner is used but its parts."""
    for step in range(steps):
        (optimizer,) = learner.optimizers
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, learner.choice)
        learner.model.train()
        optimizer.zero_grad()
        tokens = sum(batch.target_tokens for batch in BATCHES)
        for part, batch in enumerate(BATCHES):
            torch.manual_seed(int(keys(5, step, DROPOUT, np.array([part]))[0]) >> 1)
            words_P, head = batch.target_out_BT[batch.target_mask_BT], learner.model.head
            (cross_entropy(learner.model(batch), head.weight_VE, head.bias_V, words_P, 0.1) / tokens).backward()
        torch.nn.utils.clip_grad_norm_(learner.model.parameters(), 1.0)
        optimizer.step()
    return learner


def learnt(learner: Learner, steps: int) -> Learner:
    for step in range(steps):
        learner.learn(BATCHES, step, step)
    return learner


TRANSFORMER = schema.Seq2Seq.model_validate(
    {
        "encoder": {"kind": "transformer", "width": 4, "layers": 1, "heads": 2, "feedforward": 5, "dropout": 0.3},
        "decoder": {"kind": "transformer", "width": 4, "layers": 1, "heads": 2, "feedforward": 5, "dropout": 0.3},
    }
)


@pytest.mark.parametrize("model", [MODEL, TRANSFORMER], ids=["recurrent", "transformer"])
@quick_products()  # as the learner itself does
def test_at_1_it_is_teacher_forcing_to_the_bit(model):
    plain = taught(a_learner(model), 4)
    assert same(learnt(a_learner(model), 4), plain)
    assert same(learnt(a_learner(model, teacher_forcing=schema.TeacherForcing(p=1.0, own="sampled")), 4), plain)
    # Draws that choose no word of the model's own leave those of dropout as they were.
    assert same(learnt(a_learner(model, teacher_forcing=schema.TeacherForcing(p=1 - 1e-12)), 4), plain)
    assert not same(learnt(a_learner(model, teacher_forcing=schema.TeacherForcing(p=0.2)), 4), plain)


SKIPPING = schema.Seq2Seq.model_validate(
    {
        half: {**getattr(TRANSFORMER, half).model_dump(), "layers": 3, "layer_drop": 0.9}
        for half in ("encoder", "decoder")
    }
)


def test_a_learner_that_skips_layers_is_restored_bit_by_bit():
    straight, after = learnt(a_learner(SKIPPING), 3), a_learner(SKIPPING)
    kept = {name: tensor.clone() for name, tensor in straight.tensors().items()}
    counts = {int(count) for name, count in kept.items() if name.startswith("updates.")}
    assert len(counts) > 1  # some layers have learnt more often than others
    assert sum(name.startswith("mean.") for name in kept) < len(straight.names)  # and some never
    after.restore(kept, 3)
    for step in range(3, 9):
        assert straight.learn(BATCHES, step, step) == after.learn(BATCHES, step, step)
    assert same(after, straight)


def test_a_checkpoint_that_does_not_tell_how_often_a_weight_was_changed_means_every_time():
    straight, after = learnt(a_learner(), 3), a_learner()
    kept = {name: value.clone() for name, value in straight.tensors().items() if not name.startswith("updates.")}
    after.restore(kept, 3)
    assert same(after, straight)


@pytest.mark.parametrize("model", [MODEL, TRANSFORMER], ids=["recurrent", "transformer"])
@quick_products()  # as the learner itself does
def test_r_drop_learns_from_two_passes_that_drop_different_numbers(model):
    learner, by_hand = a_learner(model, r_drop=5.0, clip=0.0), a_learner(model)
    update = learner.learn(BATCHES[:1], 0, 0)
    (batch,), head = BATCHES[:1], by_hand.model.head
    torch.manual_seed(int(keys(5, 0, DROPOUT, np.array([0]))[0]) >> 1)
    passes = [by_hand.model.train()(batch) for _ in range(2)]
    assert not torch.allclose(*passes)
    words_P = batch.target_out_BT[batch.target_mask_BT]
    loss = r_drop(*passes, head.weight_VE, head.bias_V, words_P, 0.1, 5.0) / batch.target_tokens
    loss.backward()
    assert update.loss == loss.item()
    for mine, other in zip(learner.model.parameters(), by_hand.model.parameters(), strict=True):
        assert torch.equal(mine.grad, other.grad)
    assert same(learnt(a_learner(model, r_drop=0.0), 2), taught(a_learner(model), 2))


@pytest.mark.parametrize(
    "noise",
    [
        {"teacher_forcing": schema.TeacherForcing(p=0.2)},
        {"word_dropout": 0.5},
        {"corruption": schema.Corruption(replace=0.5)},
    ],
    ids=["own words", "hidden words", "corrupted sources"],
)
def test_noise_changes_what_is_learnt_and_is_drawn_anew_in_every_step_and_part(noise):
    assert quiet(**noise).learn(BATCHES, 0, 0) == quiet(**noise).learn(BATCHES, 0, 0)
    losses = {quiet(**noise).learn(BATCHES, step, 0).loss for step in range(9)} | {quiet().learn(BATCHES, 0, 0).loss}
    assert len(losses) > 4
    twice, once = ([BATCHES[0]] * 2, [BATCHES[0]])
    assert any(
        quiet(**noise).learn(twice, step, 0).loss != quiet(**noise).learn(once, step, 0).loss for step in range(5)
    )


def test_updates_set_the_share_of_true_words():
    falling = schema.TeacherForcing(p=0.5, schedule="linear", half=10)
    update = a_learner(teacher_forcing=falling).learn(BATCHES, step=500, updates=10)
    assert update.forcing == 0.75
    assert a_learner().learn(BATCHES, 0, 0).forcing == 1.0


@pytest.mark.parametrize("own", ["best", "sampled"])
def test_weights_that_are_no_numbers_are_a_skipped_update_with_own_words_too(own):
    learner = a_learner(teacher_forcing=schema.TeacherForcing(p=0.0, own=own))
    with torch.no_grad():
        learner.model.head.bias_V.fill_(float("nan"))
    assert not learner.learn(BATCHES, 0, 0).taken


def quiet(**choices) -> Learner:
    model = MODEL.model_dump()
    model["encoder"]["dropout"] = model["decoder"]["dropout"] = 0.0
    return a_learner(schema.Seq2Seq.model_validate(model), **choices)


def test_accumulated_batches_are_one_large_batch():
    apart, together = quiet(clip=0.0), quiet(clip=0.0)
    whole = make_batch([[4, 5, 6], [7], [8, 9]], [[4], [5, 6, 7, 8], [9, 4, 4]])
    parts, one = apart.learn(BATCHES, 0, 0), together.learn([whole], 0, 0)
    assert parts.tokens == one.tokens == 11
    assert parts.loss == pytest.approx(one.loss, rel=1e-5)
    assert parts.gradient_norm == pytest.approx(one.gradient_norm, rel=1e-4)


def test_the_gradient_is_clipped_and_its_norm_told_as_it_was():
    learner = quiet(clip=0.01)
    update = learner.learn(BATCHES, 0, 0)
    clipped = torch.stack([part.grad.norm() for part in learner.model.parameters()]).norm()
    assert update.gradient_norm > 0.1
    assert clipped == pytest.approx(0.01, rel=1e-3)
    assert update.clipped
    assert not quiet(clip=100.0).learn(BATCHES, 0, 0).clipped
    assert not quiet(clip=0.0).learn(BATCHES, 0, 0).clipped


def test_only_matrices_decay():
    (optimizer,) = a_learner().optimizers
    decaying, free = optimizer.param_groups
    assert {part.dim() for part in decaying["params"]} == {2}
    assert {part.dim() for part in free["params"]} == {1}
    assert (decaying["weight_decay"], free["weight_decay"]) == (0.01, 0.0)


def test_muon_moves_the_matrices_of_both_halves_and_adamw_the_rest():
    encoder = TRANSFORMER.encoder.model_copy(update={"positions": "learned"})
    model = schema.Seq2Seq(encoder=encoder, decoder=MODEL.decoder)
    learner = a_learner(model, optimizer="muon", learning_rate=0.01)
    adamw, muon = (
        {learner.names[weight] for group in optimizer.param_groups for weight in group["params"]}
        for optimizer in learner.optimizers
    )
    assert adamw | muon == set(learner.names.values())
    assert {"source.weight_VD", "encoder.positions.table_TD", "head.weight_VE"} <= adamw
    assert {"encoder.layers.0.feedforward.out.weight", "decoder.cells.0.kernel.weight_hh_l0"} <= muon
    assert "decoder.attention.scorer.out.weight" in adamw  # a score is one number: there is nothing to turn
    before = {name: value.clone() for name, value in weights_of(learner.model).items()}
    learner.learn(BATCHES, 0, 0)
    assert not [name for name, value in weights_of(learner.model).items() if torch.equal(value, before[name])]


def test_muon_leaves_what_a_distance_is_worth_to_adamw():
    halves = {
        half: getattr(TRANSFORMER, half).model_copy(update={"positions": "relative"}) for half in ("encoder", "decoder")
    }
    learner = a_learner(schema.Seq2Seq(**halves), optimizer="muon")
    _, muon = learner.optimizers
    moved = [learner.names[weight] for group in muon.param_groups for weight in group["params"]]
    assert moved
    assert not [name for name in moved if "bias_UH" in name]
    assert [name for name in learner.names.values() if "bias_UH" in name]


def test_a_rate_means_about_the_same_for_both_optimisers():
    moved = {}
    for optimizer in ("adamw", "muon"):
        learner = a_learner(TRANSFORMER, optimizer=optimizer, learning_rate=0.01, weight_decay=0.0)
        before = learner.model.encoder.layers[0].attention.out.weight.clone()
        learner.learn(BATCHES, 0, 0)
        moved[optimizer] = (learner.model.encoder.layers[0].attention.out.weight - before).square().mean().sqrt().item()
    assert 0.1 < moved["muon"] / moved["adamw"] < 1.0


def test_the_moving_average_is_judged_and_the_weights_come_back():
    learner = a_learner(ema=0.5, learning_rate=0.1)
    for step in range(3):
        learner.learn(BATCHES, step, step)
    trained = {name: value.clone() for name, value in weights_of(learner.model).items()}
    with learner.judged() as model:
        assert all(torch.equal(value, learner.ema[name]) for name, value in weights_of(model).items())
        assert not torch.equal(weights_of(model)["head.weight_VE"], trained["head.weight_VE"])
        assert not model.training
    assert all(torch.equal(value, trained[name]) for name, value in weights_of(learner.model).items())


def test_the_weights_come_back_even_after_a_mishap():
    learner = a_learner(ema=0.5, learning_rate=0.1)
    learner.learn(BATCHES, 0, 0)
    trained = {name: value.clone() for name, value in weights_of(learner.model).items()}
    with pytest.raises(KeyboardInterrupt), learner.judged():
        raise KeyboardInterrupt
    assert all(torch.equal(value, trained[name]) for name, value in weights_of(learner.model).items())


def test_the_moving_average_is_the_recurrence_by_hand():
    learner = a_learner(ema=0.9, learning_rate=0.1)
    average = {name: value.clone() for name, value in weights_of(learner.model).items()}
    for step in range(4):
        learner.learn(BATCHES, step, step)
        memory = min(0.9, (1 + step) / (10 + step))
        average = {name: memory * old + (1 - memory) * weights_of(learner.model)[name] for name, old in average.items()}
    for name, value in learner.ema.items():
        torch.testing.assert_close(value, average[name])


def test_updates_set_the_rate_not_steps():
    learner = Learner(build_model(MODEL, 10, 10), schema.Train(warmup=10, learning_rate=1.0), seed=1)
    assert learner.learn(BATCHES, step=500, updates=4).rate == 0.5
