"""The laws of a masked model: padding is never read, batches change nothing, what is hidden is not seen."""

import random
from dataclasses import replace

import numpy as np
import pytest
import torch

from antiphon.build.model import build_model
from antiphon.config import schema
from antiphon.config.schema import Train
from antiphon.data.batch import Batch
from antiphon.data.masking import Masking
from antiphon.data.store import PairStore
from antiphon.data.stretches import stretches
from antiphon.data.vocab import HOLE
from antiphon.models.masked import Masked, part_pairs
from antiphon.training.learner import Learner
from antiphon.training.objective import places, summed_loss
from tests.laws.combinations import ENCODERS, VOCABULARY, drawn
from tests.shapes import watched

LINES = [[4, 5, 6, 7], [8, 9], [], [10, 4, 6, 8, 5, 7, 9], [5, 5], [6, 10, 4]]
CLOSE = {"atol": 2e-5, "rtol": 1e-4}


def choices() -> list[schema.Masked]:
    draw, found = random.Random(1), []
    for table in ENCODERS:
        for pairs in (False, True):
            encoder = drawn(table, draw)
            if encoder["kind"] == "recurrent":
                encoder |= {"summary": "last", "widths": [] if encoder["residual"] else encoder["widths"]}
            else:
                encoder |= {"segments": 2}
            found.append(schema.Masked.model_validate({"encoder": encoder, "next_sentence": pairs}))
    return found


def name(choice: schema.Masked) -> str:
    return f"{choice.encoder.kind}-{choice.next_sentence}"


def a_batch(choice: schema.Masked, numbers: list[int] | None = None) -> Batch:
    texts = stretches(PairStore.of([([], line) for line in LINES]), 12, choice.next_sentence, 1, 0)
    chosen = np.arange(len(texts)) if numbers is None else np.array(numbers)
    return Masking(choice, np.ones(VOCABULARY, dtype=bool), HOLE).load(texts, chosen, 1, 0)


def a_model(choice: schema.Masked) -> Masked:
    torch.manual_seed(1)
    return build_model(choice, 0, VOCABULARY).eval()


def read(model: Masked, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    with torch.no_grad():
        return part_pairs(batch, model(batch))


@pytest.mark.parametrize("choice", choices(), ids=name)
def test_laws_hold_for_every_masked_model(choice):
    model, batch = a_model(choice), a_batch(choice)
    words, texts = read(model, batch)
    garbage = replace(batch, source_BS=batch.source_BS.masked_fill(~batch.mask_BS, 9))
    assert words.equal(read(model, garbage)[0])
    hidden = replace(batch, target_out_BT=batch.target_out_BT.masked_fill(batch.target_mask_BT, 9))
    assert words.equal(read(model, hidden)[0])
    counts = batch.target_mask_BT.sum(1).tolist()
    for number, among in enumerate(words.split(counts)):
        alone, pooled = read(model, a_batch(choice, [number]))
        torch.testing.assert_close(alone, among, **CLOSE)
        if choice.next_sentence:
            torch.testing.assert_close(pooled[0], texts[number], **CLOSE)


@pytest.mark.parametrize("choice", choices(), ids=name)
def test_everything_learns_and_the_names_are_true(choice):
    model, batch = a_model(choice), a_batch(choice)
    summed_loss(model, batch, model(batch), None, Train(label_smoothing=0.0), None).backward()
    # Keys of attention shift all scores alike where there is one place only, and a bias of keys always does.
    idle = [key for key, part in model.named_parameters() if part.grad is None]
    assert not idle, f"no gradient reaches {idle}"
    with watched() as watch:
        Learner(model, Train(), 1).learn([batch], 0, 0)
    assert len(watch.names) > 20


def test_the_loss_by_hand():
    """Words and pairs count alike: a pair as many times as it has hidden words."""
    choice = schema.Masked(
        encoder=schema.TransformerStack(width=8, heads=2, layers=1, feedforward=8, dropout=0.0, segments=2),
        next_sentence=True,
    )
    model, batch = a_model(choice), a_batch(choice)
    words, texts = read(model, batch)
    logs = model.head(words).log_softmax(-1)
    true = batch.target_out_BT[batch.target_mask_BT]
    pairs_B = model.pair(texts).log_softmax(-1)[torch.arange(len(texts)), batch.follows_B]
    hidden_B = batch.target_mask_BT.sum(1)
    wanted = -logs[torch.arange(len(true)), true].mean() - (pairs_B * hidden_B).sum() / hidden_B.sum()
    found = summed_loss(model, batch, model(batch), None, Train(label_smoothing=0.0), None) / places(model, batch)
    torch.testing.assert_close(found, wanted)


def test_a_second_text_is_told_from_the_first():
    choice = schema.Masked(
        encoder=schema.TransformerStack(width=8, heads=2, layers=1, feedforward=8, dropout=0.0, segments=2)
    )
    model = a_model(choice)
    words = torch.tensor([[1, 5, 2, 5, 2]])
    vectors = model.source(words)[0]
    torch.testing.assert_close(vectors[3] - vectors[1], model.source.segments_KD[1] - model.source.segments_KD[0])
    torch.testing.assert_close(vectors[2] - vectors[4], model.source.segments_KD[0] - model.source.segments_KD[1])


def test_a_hole_is_a_word_that_is_not_known():
    batch = a_batch(schema.Masked(holes=1.0, strange=0.0))
    assert (batch.source_BS[batch.target_mask_BT] == HOLE).all()


def test_a_summary_for_a_decoder_is_refused():
    with pytest.raises(
        ValueError, match=r"encoder\.summary is for a decoder, and a masked model has none: leave it out"
    ):
        schema.Masked(encoder=schema.RecurrentEncoder(summary="mean"))
