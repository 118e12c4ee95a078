"""The first-minute self-check passes a sound model, leaves it untouched, and catches what it is there for."""

import pytest
import torch

from antiphon.build.model import build_model
from antiphon.data.batch import Batch
from antiphon.data.prepare import prepare
from antiphon.pipeline import Pipeline
from antiphon.store import load_folder, weights_of
from antiphon.training import selfcheck
from antiphon.training.selfcheck import Verdict, self_check


@pytest.fixture
def pipeline(trained):
    """A model that has learnt nothing yet."""
    loaded = load_folder(trained)
    torch.manual_seed(1)
    model = build_model(loaded.run.model, loaded.source.size, loaded.target.size)
    return Pipeline(model, loaded.source, loaded.target, loaded.run)


@pytest.fixture
def store(trained, pipeline):
    return prepare(pipeline.run.data, trained / "tokens").train


def test_a_sound_model_learns_a_batch_by_heart_and_is_not_touched(pipeline, store):
    before = {name: value.clone() for name, value in weights_of(pipeline.model).items()}
    verdict = self_check(pipeline, store, 0.02)
    assert verdict.well
    assert verdict.agreement == 1.0
    assert verdict.line().startswith("Self-check: one batch is learnt by heart (loss ")
    assert all(torch.equal(value, before[name]) for name, value in weights_of(pipeline.model).items())


def test_targets_shifted_by_one_are_caught(pipeline, store, monkeypatch):
    """The classic: the decoder is shown the very word that it has to say."""
    real = selfcheck.load_batch

    def shown(*arguments):
        batch = real(*arguments)
        return Batch(batch.source_BS, batch.mask_BS, batch.target_out_BT, batch.target_out_BT, batch.target_mask_BT)

    monkeypatch.setattr(selfcheck, "load_batch", shown)
    verdict = self_check(pipeline, store, 0.02)
    assert not verdict.well
    assert verdict.last_loss < 0.5
    assert "Training and search disagree: please report it." in verdict.line()


def test_a_search_that_goes_wrong_is_caught(pipeline, store, monkeypatch):
    real = Pipeline.write
    monkeypatch.setattr(Pipeline, "write", lambda self, asked, search: real(self, asked[::-1], search))
    assert not self_check(pipeline, store, 0.02).well


@pytest.mark.parametrize("steps", [5, 30, 60])
def test_what_is_half_learnt_is_no_disagreement(pipeline, store, monkeypatch, steps):
    """After its first mistake a free answer may go its own way: search is not to blame."""
    monkeypatch.setattr(selfcheck, "_STEPS", steps)
    assert self_check(pipeline, store, 0.02).agreement == 1.0


def test_a_model_that_cannot_learn_is_told_plainly():
    assert Verdict(5.0, 4.9, 300, 0.1, 8).line() == (
        "Self-check FAILED: one batch cannot be learnt by heart (loss 5.00 -> 4.90 in 300 steps on 8 pairs). "
        "Look at the model's width, and whether the targets belong to their sources."
    )


def test_contradictions_are_not_asked_for(pipeline, store):
    chosen = selfcheck._short_pairs(store)
    sources = {store.source(int(index)).tobytes() for index in chosen}
    assert len(sources) == len(chosen) == 8
