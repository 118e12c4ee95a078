"""The laws of a classifier: padding is never read, batches change nothing, looks sum to one, everything learns."""

import random
from itertools import product

import pytest
import torch

from antiphon.attend.looks import Looks
from antiphon.build.model import build_model
from antiphon.config import schema
from antiphon.config.keys import choices_of
from antiphon.data.batch import Batch, make_batch
from antiphon.data.labels import learn_labels
from antiphon.data.tokenize import learn
from antiphon.data.vocab import END
from antiphon.labelling.classifying import Classifying
from antiphon.models.labelling import Classifier
from antiphon.store import load_folder, save_settings, save_weights, weights_of
from antiphon.training.objective import summed_loss
from tests.laws.combinations import ENCODERS, VOCABULARY, drawn, every

SOURCES = [[4, 5, 6, END, 7, 8], [9, END, 4], [10, 7, END, 5, 6, 8, 9]]  # as two texts, or as one with a strange word
LABELS = 5
CLOSE = {"atol": 2e-5, "rtol": 1e-4}
FIELDS = schema.Classifier.model_fields
KEYS = ("pool", "labels", "texts")


def a_choice(encoder: dict, pool: str, labels: str, texts: str) -> schema.Classifier | None:
    """None where the schema has a reason to refuse it."""
    if encoder["kind"] == "recurrent":
        encoder = encoder | {"summary": "last", "widths": [] if encoder["residual"] else encoder["widths"]}
    if (pool == "last" and encoder["kind"] == "transformer") or (pool == "cls" and encoder["kind"] == "recurrent"):
        return None
    values = {"encoder": encoder, "pool": pool, "labels": labels, "texts": texts, "hidden": 3 * (labels == "one")}
    return schema.Classifier.model_validate(values | {"queries": 2 if pool == "attention" else 1})


def choices() -> list[schema.Classifier]:
    """Every pool, kind of label and number of texts with every kind of encoder, each drawn anew."""
    draw = random.Random(1)
    options = product(ENCODERS, *(choices_of(FIELDS[key]) for key in KEYS))
    found = [a_choice(drawn(table, draw), *rest) for table, *rest in options]
    return [choice for choice in found if choice]


def name(choice: schema.Classifier) -> str:
    return f"{choice.encoder.kind}-{choice.pool}-{choice.labels}-{choice.texts}"


def a_model(choice: schema.Classifier) -> Classifier:
    torch.manual_seed(1)
    return build_model(choice, VOCABULARY, 4 + LABELS).eval()


def targets(model: Classifier) -> list[list[int]]:
    return [[4, 6], [], [8]] if model.several else [[4], [8], [6]]


def logits(model: Classifier, batch: Batch) -> torch.Tensor:
    with torch.no_grad():
        return model.head(model(batch))


def padding_is_never_read(model: Classifier) -> None:
    batch = make_batch(SOURCES, targets(model), ended=False)
    garbage = Batch(
        batch.source_BS.masked_fill(~batch.mask_BS, 9), batch.mask_BS, batch.target_in_BT, batch.target_out_BT,
        batch.target_mask_BT,
    )  # fmt: skip
    assert torch.equal(logits(model, batch), logits(model, garbage))


def batches_change_nothing(model: Classifier) -> None:
    together_BY = logits(model, make_batch(SOURCES, [[]] * 3, ended=False))
    for source, row_Y in zip(SOURCES, together_BY, strict=True):
        torch.testing.assert_close(logits(model, make_batch([source], [[]], ended=False))[0], row_Y, **CLOSE)


def looks_sum_to_one(model: Classifier) -> None:
    batch, looks = make_batch(SOURCES, targets(model), ended=False), Looks()
    with torch.no_grad():
        torch.testing.assert_close(model(batch, looks), model(batch), **CLOSE)
    for weights_BHTS in [*looks.encoder, *looks.cross]:
        torch.testing.assert_close(weights_BHTS.sum(-1), torch.ones(weights_BHTS.shape[:-1]))
    if not model.towers:
        hidden = torch.nn.functional.pad(~batch.mask_BS, (int(model.front), 0))
        for weights_BH1S in looks.cross:
            assert not weights_BH1S[hidden[:, None, None].expand_as(weights_BH1S)].any()


def everything_learns(model: Classifier) -> None:
    torch.manual_seed(2)
    batch = make_batch(SOURCES, targets(model), ended=False)
    model.train()
    summed_loss(model, batch, model(batch), None, schema.Train(), None).backward()
    model.eval()
    idle = [key for key, part in model.named_parameters() if part.grad is None]
    assert not idle, f"no gradient reaches {idle}"


LAWS = [padding_is_never_read, batches_change_nothing, looks_sum_to_one, everything_learns]


@pytest.mark.parametrize("choice", choices(), ids=name)
def test_laws_hold_for_every_classifier(choice):
    model = a_model(choice)
    for law in LAWS:
        law(model)


@pytest.mark.slow
def test_laws_hold_with_every_encoder():
    draw = random.Random(2)
    for table in ENCODERS:
        for encoder in every(table, draw):
            pool, labels, texts = (draw.choice(choices_of(FIELDS[key])) for key in KEYS)
            choice = a_choice(encoder(), pool, labels, texts)
            for law in LAWS if choice else []:
                law(a_model(choice))


@pytest.mark.parametrize("choice", choices()[::2], ids=name)
def test_what_is_loaded_is_what_was_saved(choice, tmp_path):
    between = "," if choice.labels == "several" else ""
    side = schema.Side(tokenizer=schema.Words())
    run = schema.Run(data=schema.Data(train=["x.tsv"], source=side, max_length=16), model=choice)
    source, target = learn(schema.Words(), ["a b c d"]), learn_labels(between, ["good", "bad", "so so"])
    model = build_model(choice, source.size, target.size).eval()
    before = Classifying(model, source, target, run)
    save_settings(tmp_path / "model", run, source, target)
    save_weights(tmp_path / "model", weights_of(model), run, source, target)
    loaded = load_folder(tmp_path / "model")
    assert loaded.run == run
    texts = ["a b\tc", "d\ta a", ""] if choice.texts != "one" else ["a b c", "", "d"]
    assert Classifying(loaded.model, loaded.source, loaded.target, loaded.run).answer(texts) == before.answer(texts)
