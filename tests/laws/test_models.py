"""The laws of a model: padding is never read, batches change nothing, step = all at once, no peeking, rows picked."""

import math
from dataclasses import replace
from itertools import product
from typing import get_args

import pytest
import torch

from antiphon.attend.looks import Looks
from antiphon.build.model import build_model
from antiphon.config import schema
from antiphon.data.batch import Batch, join, make_batch
from antiphon.data.vocab import END, PAD, START
from antiphon.encode.transformer import Transformer as EncoderStack
from antiphon.models.model import Model
from antiphon.models.writing import LanguageModel
from antiphon.predict.transformer import Transformer as DecoderStack
from antiphon.search.beam import Beam, beam_search
from tests.laws.combinations import COVERING, DECODERS, ENCODERS, PROMPTED, VOCABULARY, WRITING, every_half, name

SOURCES = [[4, 5, 6, 7, 8], [9, 4], [10, 7, 5]]
TARGETS = [[5, 6, 4], [7], [8, 9, 10, 4]]
ALIKE = [[4, 5, 6], [9, 4, 8], [10, 7, 5]]
CLOSE = {"atol": 2e-5, "rtol": 1e-4}


def a_model(choice: schema.Model) -> Model:
    torch.manual_seed(1)
    return build_model(choice, VOCABULARY, VOCABULARY).eval()


def log_probs(model: Model, batch: Batch) -> list[torch.Tensor]:
    """What the model says at each place of each row, T x V a row."""
    with torch.no_grad():
        out_PV = model.head(model(batch)).log_softmax(dim=-1)
    return list(out_PV.split(batch.target_mask_BT.sum(1).tolist()))


def sources(model: Model) -> list[list[int]]:
    """What a search starts from: a source that is read as a prompt goes with equally long ones only."""
    return ALIKE if isinstance(model, LanguageModel) and model.pairs else SOURCES


def padding_is_never_read(model: Model) -> None:
    batch = make_batch(SOURCES, TARGETS)
    garbage = Batch(
        batch.source_BS.masked_fill(~batch.mask_BS, 9), batch.mask_BS,
        batch.target_in_BT.masked_fill(~batch.target_mask_BT, 8), batch.target_out_BT, batch.target_mask_BT,
    )  # fmt: skip
    for clean, dirty in zip(log_probs(model, batch), log_probs(model, garbage), strict=True):
        assert torch.equal(clean, dirty)


def batches_change_nothing(model: Model) -> None:
    together = log_probs(model, make_batch(SOURCES, TARGETS))
    for source, target, among in zip(SOURCES, TARGETS, together, strict=True):
        (alone,) = log_probs(model, make_batch([source], [target]))
        torch.testing.assert_close(alone, among, **CLOSE)


def step_is_all_at_once(model: Model) -> None:
    batch = make_batch(sources(model), TARGETS)
    with torch.no_grad():
        state, steps = model.start(batch.source_BS, batch.mask_BS), []
        for words_N in batch.target_in_BT.unbind(1):
            log_probs_NV, state = model.step(words_N, state)
            steps.append(log_probs_NV)
    stepped_BTV = torch.stack(steps, dim=1)
    for row, whole_TV in enumerate(log_probs(model, batch)):
        torch.testing.assert_close(stepped_BTV[row, : len(whole_TV)], whole_TV, **CLOSE)


def nothing_is_seen_ahead(model: Model) -> None:
    one, other = ([[5, 6, 4, 7]], [[5, 6, 9, 10]])
    (first_TV,) = log_probs(model, make_batch(SOURCES[:1], one))
    (second_TV,) = log_probs(model, make_batch(SOURCES[:1], other))
    # Place 3 is the first that has read a different word.
    torch.testing.assert_close(first_TV[:3], second_TV[:3], **CLOSE)
    assert not torch.allclose(first_TV[3], second_TV[3], atol=1e-6)


def rows_can_be_selected(model: Model) -> None:
    """Two hypotheses a sentence; then the second of them for the last two sentences, the first sentence gone."""
    batch = make_batch(sources(model), TARGETS)
    with torch.no_grad():
        _, state = model.step(torch.tensor([START] * 3), model.start(batch.source_BS, batch.mask_BS))
        state = state.select(torch.tensor([0, 0, 1, 1, 2, 2]))
        _, state = model.step(torch.tensor([4, 5, 6, 7, 8, 9]), state)
        state = state.select(torch.tensor([3, 5])).keep(torch.tensor([1, 2]))
        picked_NV, _ = model.step(torch.tensor([10, 10]), state)
    for row, (source, words) in enumerate([(sources(model)[1], [7, 10]), (sources(model)[2], [9, 10])]):
        (whole_TV,) = log_probs(model, make_batch([source], [words]))
        torch.testing.assert_close(picked_NV[row], whole_TV[2], **CLOSE)


def looks_sum_to_one(model: Model) -> None:
    """In every attention of every layer: all of it is given away, to padding and to the future exactly nothing."""
    batch, looks = make_batch(SOURCES, TARGETS), Looks()
    with torch.no_grad():
        looked, plain = model(batch, looks), model(batch)
    torch.testing.assert_close(looked, plain, **CLOSE)
    joins = isinstance(model, LanguageModel) and model.pairs
    source_BS, target_BT = batch.mask_BS, join(batch).mask_BR if joins else batch.target_mask_BT
    before_TT = torch.ones(target_BT.shape[1], target_BT.shape[1], dtype=torch.bool).tril()
    for kind, asking, open_to in (
        (looks.cross, target_BT, source_BS[:, None, None, :]),
        (looks.encoder, source_BS, source_BS[:, None, None, :]),
        (looks.decoder, target_BT, target_BT[:, None, None, :] & before_TT),
    ):
        for weights_BHTS in kind:
            places = open_to.shape[-1]
            assert weights_BHTS.shape == (*asking.shape[:1], weights_BHTS.shape[1], asking.shape[1], places)
            torch.testing.assert_close(weights_BHTS.sum(-1), torch.ones(weights_BHTS.shape[:-1]))
            real = asking[:, None, :, None].expand_as(weights_BHTS)
            assert not weights_BHTS[real & ~open_to.expand_as(weights_BHTS)].any()
    encoder, decoder = getattr(model, "encoder", None), model.decoder
    assert len(looks.encoder) == (len(encoder.layers) if isinstance(encoder, EncoderStack) else 0)
    assert len(looks.decoder) == (len(decoder.layers) if isinstance(decoder, DecoderStack) else 0)
    single = int(getattr(decoder, "attention", None) is not None)
    if isinstance(model, LanguageModel):
        single = 0
    assert len(looks.cross) == (len(decoder.layers) if encoder and isinstance(decoder, DecoderStack) else single)


def steps_look_where_all_at_once_look(model: Model) -> None:
    batch, looks, state_looks = make_batch(sources(model), TARGETS), Looks(), []
    with torch.no_grad():
        model(batch, looks)
        state = model.start(batch.source_BS, batch.mask_BS)
        for words_N in batch.target_in_BT.unbind(1):
            _, state = model.step(words_N, state, state_looks)
    if not looks.cross:
        assert not state_looks
        return
    stepped_BTS, whole_BTS = torch.stack(state_looks, dim=1), looks.cross[max(len(looks.cross) - 2, 0)].mean(1)
    real = batch.target_mask_BT
    torch.testing.assert_close(stepped_BTS[real], whole_BTS[real], **CLOSE)


def everything_learns(model: Model) -> None:
    torch.manual_seed(2)
    model.train()(make_batch(SOURCES, TARGETS)).square().sum().backward()
    model.eval()
    idle = [key for key, part in model.named_parameters() if key != "head.bias_V" and part.grad is None]
    assert idle in ([], ["head.weight_VE"]), f"no gradient reaches {idle}"


def beam_one_is_greedy(model: Model) -> None:
    batch = make_batch(sources(model), TARGETS)
    with torch.no_grad():
        found = beam_search(
            model, model.start(batch.source_BS, batch.mask_BS), [6] * 3, Beam(1, 1, 1.0), START, END, [PAD, START]
        )
        for source, (answer,) in zip(sources(model), found, strict=True):
            alone = make_batch([source], [[4]])
            state, word, words = model.start(alone.source_BS, alone.mask_BS), START, []
            while word != END and len(words) < 6:
                log_probs_NV, state = model.step(torch.tensor([word]), state)
                log_probs_NV[:, [PAD, START]] = -math.inf
                word = int(log_probs_NV.argmax())
                words.append(word)
            assert list(answer.symbols) == [word for word in words if word != END]


def wide_beam_is_exhaustive(model: Model) -> None:
    """All answers of at most two words out of three, by hand; and the same by a beam that can hold them all."""
    words, limit = [4, 5, 6], 3
    forbidden = [word for word in range(VOCABULARY) if word not in (*words, END)]
    answers = [list(answer) for length in range(limit) for answer in product(words, repeat=length)]
    rows = log_probs(model, make_batch([SOURCES[0]] * len(answers), answers))
    totals = [
        sum(float(row_TV[t, w]) for t, w in enumerate([*a, END])) for a, row_TV in zip(answers, rows, strict=True)
    ]
    ranked = sorted(zip(totals, answers, strict=True), key=lambda item: -item[0] / (len(item[1]) + 1))
    batch = make_batch(SOURCES[:1], [[4]])
    with torch.no_grad():
        state = model.start(batch.source_BS, batch.mask_BS)
        ((best, *_),) = beam_search(model, state, [limit], Beam(50, 5, 1.0), START, END, forbidden)
    total, answer = ranked[0]
    assert best.log_probability == pytest.approx(total, abs=1e-4)
    assert list(best.symbols) == answer or ranked[1][0] == pytest.approx(total, abs=1e-4)


LAWS = [
    padding_is_never_read, batches_change_nothing, step_is_all_at_once, nothing_is_seen_ahead, rows_can_be_selected,
    looks_sum_to_one, steps_look_where_all_at_once_look, everything_learns, beam_one_is_greedy, wide_beam_is_exhaustive,
]  # fmt: skip


@pytest.mark.parametrize("choice", COVERING, ids=name)
def test_laws_hold_for_every_pair_of_choices(choice):
    model = a_model(choice)
    for law in LAWS:
        law(model)


def prompts_are_read_at_once(model: LanguageModel) -> None:
    """After a prompt the model says what it says when it is given the words one by one, whatever the search begins with."""
    prompts = torch.tensor([[START, 4, 5, 6], [START, 9, 4, 10]])
    batch = make_batch([[], []], [[4, 5, 6], [9, 4, 10]])
    with torch.no_grad():
        state = model.after(prompts[:, :-1], prompts[:, -1]).select(torch.tensor([1, 0, 1])).keep(torch.tensor([0, 1]))
        said_NV, _ = model.step(torch.tensor([PAD] * 3), state)
        alone_NV, _ = model.step(torch.tensor([PAD]), model.after(prompts[:1, :0], prompts[:1, 0]))
    first_TV, second_TV = log_probs(model, batch)
    torch.testing.assert_close(said_NV, torch.stack([second_TV[3], first_TV[3], second_TV[3]]), **CLOSE)
    torch.testing.assert_close(alone_NV[0], first_TV[0], **CLOSE)


def windows_go_on(model: LanguageModel) -> None:
    """Two windows of a text, the second from where the first was left, give what the whole text gives."""
    whole = make_batch([[], []], [[4, 5, 6, 7, 8], [9, 4, 5, 10, 7]])
    read, written, real = whole.target_in_BT, whole.target_out_BT, whole.target_mask_BT
    left, right = (replace(whole, target_in_BT=read[:, cut], target_out_BT=written[:, cut], target_mask_BT=real[:, cut])
                   for cut in (slice(0, 4), slice(4, 6)))  # fmt: skip
    with torch.no_grad():
        first_PE, state = model.go_on(left, ())
        second_PE, _ = model.go_on(right, state.cells)
        whole_BTE = model(whole).unflatten(0, (2, 6))
    torch.testing.assert_close(first_PE.unflatten(0, (2, 4)), whole_BTE[:, :4], **CLOSE)
    torch.testing.assert_close(second_PE.unflatten(0, (2, 2)), whole_BTE[:, 4:], **CLOSE)


@pytest.mark.parametrize("choice", WRITING, ids=name)
def test_laws_hold_for_every_pair_of_choices_of_a_language_model(choice):
    model = a_model(choice)
    for law in (*LAWS, prompts_are_read_at_once):
        law(model)
    if choice.decoder.kind == "recurrent":
        windows_go_on(model)


def the_source_is_read(model: LanguageModel) -> None:
    one, other = (log_probs(model, make_batch([source], [[5, 6]]))[0] for source in ([4, 5, 6], [4, 9, 6]))
    assert not torch.allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("choice", PROMPTED, ids=name)
def test_laws_hold_for_every_pair_of_choices_of_a_language_model_of_pairs(choice):
    model = a_model(choice)
    for law in (*LAWS, the_source_is_read):
        law(model)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(16))
def test_laws_hold_for_every_encoder_and_every_decoder(part):
    for choice in every_half()[part::16]:
        model = a_model(choice)
        for law in LAWS:
            try:
                law(model)
            except AssertionError as error:
                raise AssertionError(f"{law.__name__} does not hold for {name(choice)}") from error


def test_the_sample_covers_what_it_claims():
    assert 50 < len(COVERING) < 250
    assert 20 < len(WRITING) < 100
    assert {model.decoder.kind for model in WRITING} == {"recurrent", "transformer"}
    assert len(every_half()) > 0.95 * (len(ENCODERS) + len(DECODERS))
    kinds = {(model.encoder.kind, model.decoder.kind) for model in COVERING}
    assert kinds == set(product(("recurrent", "transformer"), repeat=2))
    cells = {model.encoder.cell for model in COVERING if model.encoder.kind == "recurrent"}
    assert cells == set(get_args(schema.CellName))
