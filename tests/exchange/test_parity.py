"""Imported models against transformers' own, on random weights: the same logits at every place.

P places · V words
"""

import math

import pytest
import torch

from antiphon import import_folder
from antiphon.data.batch import Batch, make_batch, make_sources
from antiphon.data.vocab import END, PAD, SPECIAL, START, UNKNOWN
from antiphon.exchange import cutting
from antiphon.exchange.foreign import Folder
from tests.exchange.conftest import TEXTS, make_bert, make_gpt2, make_roberta

CLOSE = {"atol": 1e-4, "rtol": 0.0}
NAMES = {"gpt2": cutting.GPT2, "bert": cutting.BERT, "roberta": cutting.ROBERTA}
SHORT = ["hello world", "the quick brown fox", "it's 10:30!", "über"]


def rows_of(name, made):
    """The number there of each of our symbols."""
    kind = "wordpiece" if name == "bert" else "byte_bpe"
    return cutting.adopt(Folder(made.path), kind, NAMES[name], len(made.tokenizer)).rows


def hidden_everywhere(rows):
    """A batch of these symbols, every place of which is to be guessed."""
    source_BS, mask_BS = make_sources(rows)
    return Batch(source_BS, mask_BS, source_BS, source_BS, mask_BS)


@torch.inference_mode()
def guesses(ours, rows):
    batch, model = hidden_everywhere(rows), ours.pipeline.model
    return model.head(model(batch)).split(batch.mask_BS.sum(1).tolist())


@torch.inference_mode()
def test_gpt2_gives_the_logits_of_transformers(foreign):
    made = foreign["gpt2"]
    rows, model = rows_of("gpt2", made), made.ours.pipeline.model
    numbers = [made.ours.pipeline.target.encode(text) for text in SHORT]
    batch = make_batch([[]] * len(numbers), numbers)  # of different lengths, so some are padded
    ours_PV = model.head(model(batch)).split([len(text) + 1 for text in numbers])
    for text, logits_PV in zip(numbers, ours_PV, strict=True):
        theirs_PV = made.model(torch.tensor([[rows[START], *(rows[n] for n in text)]])).logits[0]
        torch.testing.assert_close(logits_PV[:, len(SPECIAL) :], theirs_PV[:, rows[len(SPECIAL) :]], **CLOSE)
        torch.testing.assert_close(logits_PV[:, END], theirs_PV[:, rows[END]], **CLOSE)
        for symbol in (PAD, START, UNKNOWN):  # it has none of these: they are never written
            torch.testing.assert_close(logits_PV[:, symbol], theirs_PV[:, rows[END]] - 30, **CLOSE)


def test_gpt2_finds_texts_as_likely_as_transformers_does(foreign):
    made = foreign["gpt2"]
    end = made.tokenizer.eos_token_id
    expected = []
    for text in SHORT:
        ids = torch.tensor([[end, *made.tokenizer(text)["input_ids"], end]])
        with torch.inference_mode():
            expected.append(-made.model(ids, labels=ids).loss.item() * (ids.shape[1] - 1))
    assert made.ours.score(SHORT) == pytest.approx(expected, abs=1e-3)
    perplexity = made.ours.evaluate_texts(SHORT)[0]
    symbols = sum(len(made.tokenizer(text)["input_ids"]) + 1 for text in SHORT)
    assert perplexity.value == pytest.approx(math.exp(-sum(expected) / symbols), rel=1e-4)


@torch.inference_mode()
def test_bert_guesses_words_as_transformers_does(foreign):
    made = foreign["bert"]
    rows, tokenizer = rows_of("bert", made), made.ours.pipeline.target
    pairs = [(SHORT[0], SHORT[1]), (SHORT[2], SHORT[3])]
    numbers = [[START, *tokenizer.encode(one), END, *tokenizer.encode(other)] for one, other in pairs]
    for (one, other), logits_PV in zip(pairs, guesses(made.ours, numbers), strict=True):
        asked = made.tokenizer(one, other, return_tensors="pt")
        theirs_PV = made.model(**asked).logits[0]
        assert asked["token_type_ids"].max() == 1
        torch.testing.assert_close(logits_PV, theirs_PV[:, rows], **CLOSE)


@torch.inference_mode()
def test_roberta_guesses_words_as_transformers_does(foreign):
    made = foreign["roberta"]
    rows, tokenizer = rows_of("roberta", made), made.ours.pipeline.target
    numbers = [[START, *tokenizer.encode(text)] for text in SHORT]
    for text, logits_PV in zip(SHORT, guesses(made.ours, numbers), strict=True):
        theirs_PV = made.model(**made.tokenizer(text, return_tensors="pt")).logits[0]
        torch.testing.assert_close(logits_PV, theirs_PV[:, rows], **CLOSE)


@pytest.mark.parametrize("name", ["bert", "roberta", "narrow"])
@torch.inference_mode()
def test_a_hole_is_filled_as_transformers_fills_it(foreign, tmp_path, name):
    if name == "narrow":
        name, made = "roberta", make_roberta(tmp_path / "narrow", wide=False)
        made.ours = import_folder(made.path, tmp_path / "ours")
    else:
        made = foreign[name]
    hole, rows = made.tokenizer.mask_token, rows_of(name, made)
    for text in ("hello [MASK] world", "the [MASK].", "[MASK] fox", "une[MASK]é"):
        asked = made.tokenizer(text.replace("[MASK]", hole), return_tensors="pt")
        place = int((asked["input_ids"][0] == made.tokenizer.mask_token_id).nonzero())
        logits_V = made.model(**asked).logits[0, place][rows]
        logits_V[: len(SPECIAL)] = -math.inf
        expected = logits_V.log_softmax(-1)
        (answer,) = made.ours.pipeline.answer([text])[0]
        assert answer.symbols == (int(expected.argmax()),)
        assert answer.log_probability == pytest.approx(expected.max().item(), abs=1e-4)


@torch.inference_mode()
def test_berts_next_sentence_head_comes_along(tmp_path):
    made = make_bert(tmp_path / "bert", paired=True)
    ours = import_folder(made.path, tmp_path / "ours").pipeline
    asked = made.tokenizer(SHORT[0], SHORT[1], return_tensors="pt")
    numbers = [START, *ours.target.encode(SHORT[0]), END, *ours.target.encode(SHORT[1])]
    source_BS, mask_BS = make_sources([numbers])
    batch = Batch(source_BS, mask_BS, source_BS, source_BS, mask_BS & False, follows_B=torch.ones(1).long())
    no, yes = ours.model.pair(ours.model(batch))[0]
    theirs = made.model(**asked).seq_relationship_logits[0]  # the second follows; it does not
    torch.testing.assert_close(torch.stack([yes, no]), theirs, **CLOSE)


@pytest.mark.parametrize(
    ("make", "choices"),
    [
        (make_gpt2, {"activation_function": "gelu", "layer_norm_epsilon": 1e-2}),
        (make_gpt2, {"activation_function": "relu", "tie_word_embeddings": False, "n_inner": None}),
        (make_roberta, {"hidden_act": "gelu_new", "type_vocab_size": 2, "layer_norm_eps": 1e-2}),
        (make_bert, {"layer_norm_eps": 1e-2, "type_vocab_size": 3, "lower": False}),
    ],
    ids=["gpt2 gelu", "gpt2 untied", "roberta tanh", "bert cased"],
)
@torch.inference_mode()
def test_other_choices_of_a_config_are_kept(tmp_path, make, choices):
    made = make(tmp_path / "theirs", **choices)
    ours = import_folder(made.path, tmp_path / "ours")
    name = made.model.config.model_type
    rows, text = rows_of(name, made), "The quick brown fox"
    ids = made.tokenizer(text, return_tensors="pt")["input_ids"]
    numbers = ours.pipeline.target.encode(text)
    if name == "gpt2":
        batch, model = make_batch([[]], [numbers]), ours.pipeline.model
        logits_PV, ids = model.head(model(batch)), torch.cat([ids.new_full((1, 1), rows[START]), ids], dim=1)
    else:
        (logits_PV,) = guesses(ours, [[START, *numbers]])
    places = [n for n in range(len(rows)) if n not in (PAD, START, UNKNOWN) or name != "gpt2"]
    theirs_PV = made.model(ids).logits[0]
    torch.testing.assert_close(logits_PV[:, places], theirs_PV[:, [rows[n] for n in places]], **CLOSE)


def test_shards_and_half_precision_are_read(tmp_path, foreign):
    made = foreign["gpt2"]
    made.model.save_pretrained(tmp_path / "sharded", max_shard_size="10KB")
    made.tokenizer.save_pretrained(tmp_path / "sharded")
    assert len(list((tmp_path / "sharded").glob("model-*.safetensors"))) > 1
    sharded = import_folder(tmp_path / "sharded", tmp_path / "one")
    assert sharded.score(TEXTS[:2]) == made.ours.score(TEXTS[:2])
    half = make_gpt2(tmp_path / "half")
    half.model.to(torch.bfloat16).save_pretrained(half.path)
    assert import_folder(half.path, tmp_path / "two").pipeline.model.target.weight_VD.dtype == torch.float32
