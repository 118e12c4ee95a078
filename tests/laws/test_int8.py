"""What 8-bit weights must not change, for every pair of choices: batches change nothing, step = all at once."""

import pytest
import torch

from antiphon.data.batch import make_batch
from antiphon.data.vocab import END, PAD, START
from antiphon.layers.quantized import Int8Linear
from antiphon.predict.quantize import quantize
from antiphon.search.beam import Beam, beam_search
from tests.laws.combinations import COVERING, WRITING, name
from tests.laws.test_models import SOURCES, TARGETS, a_model, log_probs

CLOSE = {"atol": 2e-3, "rtol": 2e-3}  # 16 bits of an input are fewer than float32 has


def answers(model, sources):
    batch = make_batch(sources, [[4]] * len(sources))
    with torch.inference_mode():
        state = model.start(batch.source_BS, batch.mask_BS)
        return beam_search(model, state, [6] * len(sources), Beam(3, 1, 1.0), START, END, [PAD, START])


@pytest.mark.parametrize("choice", [*COVERING, *WRITING[::4]], ids=name)
def test_the_laws_hold_with_8_bit_weights(choice):
    model, plain = a_model(choice), a_model(choice)
    quantize(model, narrowest=1)
    assert isinstance(model.head, Int8Linear)
    kept = dict(model.encoder.named_parameters()) if hasattr(model, "encoder") else {}
    before = dict(plain.named_parameters())
    assert all(torch.equal(value, before[f"encoder.{name}"]) for name, value in kept.items())
    batch = make_batch(SOURCES, TARGETS)
    together, exact = log_probs(model, batch), log_probs(plain, batch)
    for source, target, among, before in zip(SOURCES, TARGETS, together, exact, strict=True):
        (alone,) = log_probs(model, make_batch([source], [target]))
        torch.testing.assert_close(alone, among, **CLOSE)
        torch.testing.assert_close(among, before, atol=0.5, rtol=0.0)  # so narrow a model is coarse
    with torch.inference_mode():
        state, steps = model.start(batch.source_BS, batch.mask_BS), []
        for words_N in batch.target_in_BT.unbind(1):
            log_probs_NV, state = model.step(words_N, state)
            steps.append(log_probs_NV)
    for row, whole_TV in enumerate(together):
        stepped_TV = torch.stack(steps, dim=1)[row, : len(whole_TV)]
        torch.testing.assert_close(stepped_TV, whole_TV, atol=0.05, rtol=0.05)
    for source, (among,) in zip(SOURCES, answers(model, SOURCES), strict=True):
        ((alone,),) = answers(model, [source])
        assert alone.symbols == among.symbols
        assert alone.log_probability == pytest.approx(among.log_probability, abs=5e-3)
