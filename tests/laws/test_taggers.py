"""The laws of a tagger: padding is never read, batches change nothing, a tag a word, everything learns."""

import random
from itertools import product

import pytest
import torch

from antiphon.build.model import build_model
from antiphon.config import schema
from antiphon.data.batch import Batch, make_batch
from antiphon.data.labels import learn_labels
from antiphon.data.tokenize import learn
from antiphon.data.vocab import START
from antiphon.labelling.tagging import Tagging
from antiphon.models.labelling import Tagger
from antiphon.store import load_folder, save_settings, save_weights, weights_of
from antiphon.training.objective import summed_loss
from tests.laws.combinations import ENCODERS, VOCABULARY, drawn

# Two words of two and three symbols, one word, three words of two symbols.
SOURCES = [[4, 8, 5, 9, 10], [6, 9], [7, 8, 4, 9, 5, 10]]
TAGS = [[4, START, 5, START, START], [6, START], [5, START, 4, START, 6, START]]
CLOSE = {"atol": 2e-5, "rtol": 1e-4}


def choices() -> list[schema.Tagger]:
    draw, found = random.Random(1), []
    for table, pieces, output, letters in product(ENCODERS, ("first", "mean"), ("softmax", "chain"), (0, 3)):
        encoder = drawn(table, draw)
        if encoder["kind"] == "recurrent":
            encoder |= {"summary": "last", "widths": [] if encoder["residual"] else encoder["widths"]}
        values = {"encoder": encoder, "pieces": pieces, "output": output, "letters": letters, "hidden": letters}
        values["front"] = pieces == "mean" and not letters
        found.append(schema.Tagger.model_validate(values))
    return found


def name(choice: schema.Tagger) -> str:
    return f"{choice.encoder.kind}-{choice.pieces}-{choice.output}-{choice.letters}"


def a_model(choice: schema.Tagger) -> Tagger:
    torch.manual_seed(1)
    model = build_model(choice, VOCABULARY, 4 + 3).eval()
    if model.chain is not None:
        torch.nn.init.normal_(model.chain.moves_YY)
    return model


def logits(model: Tagger, batch: Batch) -> torch.Tensor:
    with torch.no_grad():
        return model.head(model(batch))


def padding_is_never_read(model: Tagger) -> None:
    batch = make_batch(SOURCES, TAGS, ended=False)
    garbage = Batch(
        batch.source_BS.masked_fill(~batch.mask_BS, 9), batch.mask_BS, batch.target_in_BT, batch.target_out_BT,
        batch.target_mask_BT,
    )  # fmt: skip
    assert torch.equal(logits(model, batch), logits(model, garbage))


def batches_change_nothing(model: Tagger) -> None:
    batch = make_batch(SOURCES, TAGS, ended=False)
    together = logits(model, batch).split(batch.target_mask_BT.sum(1).tolist())
    assert [len(row) for row in together] == [2, 1, 3]
    for source, tags, among_WY in zip(SOURCES, TAGS, together, strict=True):
        alone = make_batch([source], [tags], ended=False)
        torch.testing.assert_close(logits(model, alone), among_WY, **CLOSE)


def true_tags_are_never_read(model: Tagger) -> None:
    others = [[7 if tag != START else START for tag in row] for row in TAGS]
    batch, other = (make_batch(SOURCES, tags, ended=False) for tags in (TAGS, others))
    assert torch.equal(logits(model, batch), logits(model, other))


def everything_learns(model: Tagger) -> None:
    batch = make_batch(SOURCES, TAGS, ended=False)
    torch.manual_seed(2)
    model.train()
    summed_loss(model, batch, model(batch), None, schema.Train(), None).backward()
    model.eval()
    idle = [key for key, part in model.named_parameters() if part.grad is None]
    assert not idle, f"no gradient reaches {idle}"


@pytest.mark.parametrize("choice", choices(), ids=name)
def test_laws_hold_for_every_tagger(choice):
    model = a_model(choice)
    for law in (padding_is_never_read, batches_change_nothing, true_tags_are_never_read, everything_learns):
        law(model)


@pytest.mark.parametrize("choice", choices()[::3], ids=name)
@pytest.mark.parametrize("kind", ["words", "subwords", "characters", "bytes"])
def test_what_is_loaded_is_what_was_saved(choice, kind, tmp_path):
    kinds = {"words": schema.Words(), "subwords": schema.Subwords(size=300), "characters": schema.Characters()}
    tokenizer = schema.Spelled() if choice.letters else kinds.get(kind, schema.Bytes())
    data = schema.Data(train=["x.conll"], source=schema.Side(tokenizer=tokenizer), max_length=16)
    smooth = schema.Train(label_smoothing=0.0)
    run = schema.Run(data=data, model=choice, train=smooth, search=schema.Search(max_source=18))
    source = learn(tokenizer, ["ein Haus am See", "a house"] * 20)
    target = learn_labels(" ", ["DET NOUN", "ADP"])
    model = build_model(choice, source.size, target.size).eval()
    before = Tagging(model, source, target, run)
    save_settings(tmp_path / "model", run, source, target)
    save_weights(tmp_path / "model", weights_of(model), run, source, target)
    loaded = load_folder(tmp_path / "model")
    assert loaded.run == run
    texts = ["ein Haus", "", "See am", "x"]
    found = Tagging(loaded.model, loaded.source, loaded.target, loaded.run).answer(texts)
    assert found == before.answer(texts)
    assert [len(answers[0].pieces) for answers in found] == [2, 0, 2, 1]


def test_a_place_in_front_of_words_that_are_read_by_their_letters_is_refused():
    with pytest.raises(ValueError, match="front = true puts a symbol before a sentence, and with letters it is read"):
        schema.Tagger(front=True, letters=3)
