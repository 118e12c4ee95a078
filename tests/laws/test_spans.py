"""The laws of a model of spans: padding is never read, batches change nothing, the best span is the best of all."""

import random
from itertools import product

import pytest
import torch

from antiphon.attend.looks import Looks
from antiphon.build.model import build_model
from antiphon.config import schema
from antiphon.data.batch import Batch, make_batch
from antiphon.data.passages import cut_windows
from antiphon.data.tokenize import learn
from antiphon.data.vocab import END
from antiphon.labelling.pointing import Pointing
from antiphon.labelling.weighing import Asked, Weighed
from antiphon.models.pointing import Spans
from antiphon.store import load_folder, save_settings, save_weights, weights_of
from antiphon.training.learner import Learner
from antiphon.training.objective import summed_loss
from tests.laws.combinations import ENCODERS, VOCABULARY, drawn, every
from tests.shapes import watched

SOURCES = [[4, 5, END, 6, 7, 8], [9, END, 4], [10, 7, 5, END, 6, 8, 9, 4]]
ENDS = [[4 + 3, 4 + 4], [4 + 1, 4 + 1], [4 + 5, 4 + 7]]  # the second has no answer
SURE = [ENDS[0], [4 + 2, 4 + 2], ENDS[2]]
CLOSE = {"atol": 2e-5, "rtol": 1e-4}


def a_choice(encoder: dict, front: bool, no_answer: bool) -> schema.Spans:
    if encoder["kind"] == "recurrent":
        encoder = encoder | {"summary": "last", "widths": [] if encoder["residual"] else encoder["widths"]}
        no_answer = no_answer and (encoder["directions"] == 2 or encoder["reverse"])
    return schema.Spans.model_validate({"encoder": encoder, "front": front, "no_answer": no_answer, "longest": 3})


def choices() -> list[schema.Spans]:
    draw = random.Random(1)
    options = product(ENCODERS, (False, True), (False, True), range(2))
    return [a_choice(drawn(table, draw), front, no_answer) for table, front, no_answer, _ in options]


def name(choice: schema.Spans) -> str:
    return f"{choice.encoder.kind}-{'front' * choice.front}-{'none' * choice.no_answer}"


def a_model(choice: schema.Spans) -> Spans:
    torch.manual_seed(1)
    return build_model(choice, VOCABULARY, VOCABULARY).eval()


def a_batch(model: Spans) -> Batch:
    return make_batch(SOURCES, ENDS if model.no_answer else SURE, ended=False)


def logits(model: Spans, batch: Batch) -> torch.Tensor:
    with torch.no_grad():
        return model.logits(batch, model(batch))


def padding_is_never_read(model: Spans) -> None:
    batch = a_batch(model)
    for strange in (9, END):
        garbage = Batch(
            batch.source_BS.masked_fill(~batch.mask_BS, strange), batch.mask_BS, batch.target_in_BT,
            batch.target_out_BT, batch.target_mask_BT,
        )  # fmt: skip
        assert torch.equal(logits(model, batch), logits(model, garbage))


def batches_change_nothing(model: Spans) -> None:
    together = logits(model, a_batch(model))
    for source, row in zip(SOURCES, together, strict=True):
        alone = logits(model, make_batch([source], [[]], ended=False))[0]
        torch.testing.assert_close(alone, row[:, : len(source) + 1], **CLOSE)
        assert row[:, len(source) + 1 :].isneginf().all()


def only_the_paragraph_is_pointed_at(model: Spans) -> None:
    for source, row in zip(SOURCES, logits(model, a_batch(model)), strict=True):
        end = source.index(END)
        first = end if model.no_answer else end + 1
        assert row[:, first : len(source)].isfinite().all()
        assert row[:, :first].isneginf().all()


def the_answer_is_never_read(model: Spans) -> None:
    other = make_batch(SOURCES, SURE, ended=False)
    assert torch.equal(logits(model, a_batch(model)), logits(model, other))


def looks_change_nothing(model: Spans) -> None:
    looks = Looks()
    with torch.no_grad():
        torch.testing.assert_close(model(a_batch(model), looks), model(a_batch(model)), **CLOSE)
    for weights_BHTS in looks.encoder:
        torch.testing.assert_close(weights_BHTS.sum(-1), torch.ones(weights_BHTS.shape[:-1]))


def everything_learns(model: Spans) -> None:
    torch.manual_seed(2)
    batch = a_batch(model)
    model.train()
    loss = summed_loss(model, batch, model(batch), None, schema.Train(), None)
    loss.backward()
    model.eval()
    assert loss.isfinite()
    idle = [key for key, part in model.named_parameters() if part.grad is None or not part.grad.isfinite().all()]
    assert not idle, f"no gradient reaches {idle}"


LAWS = [
    padding_is_never_read, batches_change_nothing, only_the_paragraph_is_pointed_at, the_answer_is_never_read,
    looks_change_nothing, everything_learns,
]  # fmt: skip


@pytest.mark.parametrize("choice", choices(), ids=name)
def test_laws_hold_for_every_model_of_spans(choice):
    model = a_model(choice)
    for law in LAWS:
        law(model)


@pytest.mark.slow
def test_laws_hold_with_every_encoder():
    draw = random.Random(2)
    for table in ENCODERS:
        for encoder in every(table, draw):
            choice = a_choice(encoder(), draw.random() < 0.5, draw.random() < 0.5)
            for law in LAWS:
                law(a_model(choice))


@pytest.mark.parametrize("choice", choices()[::3], ids=name)
def test_no_name_lies(choice):
    model = a_model(choice)
    batch = a_batch(model)
    with watched() as watch:
        Learner(model, schema.Train(word_dropout=0.1), 1).learn([batch], 0, 0)
        logits(model, batch)
    assert len(watch.names) > 10


def test_smoothing_is_spread_over_what_can_be_pointed_at():
    """By hand: two open places with logits 0 and log 3, the second is right: P = 3/4."""
    model = a_model(schema.Spans(encoder=schema.RecurrentEncoder(width=1, directions=1), front=False))
    torch.nn.init.ones_(model.head.weight_2E)
    batch = make_batch([[4, END, 5, 6]], [[4 + 3, 4 + 3]], ended=False)
    said = torch.tensor([[0.0], [3.0]]).log1p() * torch.tensor(3.0).log() / torch.tensor(4.0).log()
    for smoothing in (0.0, 0.2):
        wanted = -2 * ((1 - smoothing) * torch.tensor(0.75).log() + smoothing * torch.tensor([0.25, 0.75]).log().mean())
        loss = summed_loss(model, batch, said, None, schema.Train(label_smoothing=smoothing), None)
        torch.testing.assert_close(loss, wanted)


def exhaustive(asked: Asked, windows: list[torch.Tensor], no_answer: bool, longest: int) -> list[tuple[float, object]]:
    """Every legal span of every window by itself, the likeliest first."""
    nothing = min((part[:, 0] for part in windows), key=sum)
    open_ = torch.cat([part[:, 1:] for part in windows] + [nothing[:, None]] * no_answer, dim=1).double()
    total = open_.logsumexp(1)
    found = {None: float((nothing - total).sum())} if no_answer else {}
    for window, part in zip(asked.windows, windows, strict=True):
        for start in range(window.first, window.last):
            for end in range(start, min(start + longest, window.last)):
                if all(asked.places[edge][0] < asked.places[edge][1] for edge in (start, end)):
                    ends = part[0, 1 + start - window.first] - total[0] + part[1, 1 + end - window.first] - total[1]
                    found[start, end] = max(found.get((start, end), -1e9), float(ends))
    return sorted(((score, span) for span, score in found.items()), key=lambda one: -one[0])


@pytest.mark.parametrize("no_answer", [False, True])
@pytest.mark.parametrize("size", [1, 4, 11, 30])
def test_the_best_spans_are_the_best_of_all(size, no_answer):
    draw = random.Random(size)
    torch.manual_seed(size)
    for longest, count in ((1, 1), (3, 5), (40, 7)):
        places = [(n, n + (n == 0 or draw.random() < 0.8)) for n in range(size)]
        asked = Asked("x" * size, list(range(size)), places, cut_windows([4, 5], list(range(size)), 12, 4))
        windows = [torch.randn(2, 1 + one.last - one.first).double() for one in asked.windows]
        found = Weighed(asked, windows, no_answer).best(count, longest)
        wanted = exhaustive(asked, windows, no_answer, longest)[:count]
        assert [one.symbols for one in found] == [span for _, span in wanted]
        assert [sum(one.logs) for one in found] == pytest.approx([score for score, _ in wanted])
        for one in found:
            place = None if one.symbols is None else (places[one.symbols[0]][0], places[one.symbols[1]][1])
            assert Weighed(asked, windows, no_answer).log_chance(place) == pytest.approx(sum(one.logs))


KINDS = {
    "words": schema.Words(), "marks": schema.Words(split="punctuation"), "subwords": schema.Subwords(size=300),
    "characters": schema.Characters(), "bytes": schema.Bytes(),
}  # fmt: skip


@pytest.mark.parametrize("choice", choices()[::3], ids=name)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_loaded_is_what_was_saved_and_answers_are_parts_of_paragraphs(choice, kind, tmp_path):
    data = schema.Data(train=["x.json"], source=schema.Side(tokenizer=KINDS[kind]), max_length=16)
    run = schema.Run(data=data, model=choice)
    source = learn(KINDS[kind], ["ein Haus am See?", "a house, wo"] * 20)
    model = build_model(choice, source.size, source.size).eval()
    before = Pointing(model, source, source, run)
    save_settings(tmp_path / "model", run, source, source)
    save_weights(tmp_path / "model", weights_of(model), run, source, source)
    loaded = load_folder(tmp_path / "model")
    assert loaded.run == run
    paragraphs = ["ein  Haus, e\u0301in See am\t\ufeffHaus, am See", "x", "\u3000am\nSee "]
    texts = [f"wo?\t{paragraph}" for paragraph in paragraphs]
    search = run.search.model_copy(update={"n_best": 4})
    answers = before.answer([*texts, "", texts[0]], search)
    again = Pointing(loaded.model, loaded.source, loaded.target, loaded.run)
    for one, other in zip(again.answer([*texts, "", texts[0]], search, batch_tokens=1), answers, strict=True):
        assert [(each.text, each.span) for each in one] == [(each.text, each.span) for each in other]
    assert [each.text for each in answers[3]] == [""]
    for paragraph, found in zip(paragraphs, answers, strict=False):
        assert len({each.span for each in found}) == len(found)
        assert sorted(found, key=lambda each: -each.score) == found
        for each in found:
            assert each.text == (paragraph[slice(*each.span)] if each.span else "")
            assert each.text == each.text.strip()
            assert bool(each.text) or choice.no_answer
