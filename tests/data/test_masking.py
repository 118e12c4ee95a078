"""Hidden words: how many, what stands in their place, and that each draw is its own."""

import numpy as np
import pytest

from antiphon.config import schema
from antiphon.data.masking import Masking, encode_with_holes, hide_word, holes_in
from antiphon.data.store import PairStore
from antiphon.data.stretches import stretches
from antiphon.data.tokenize import learn
from antiphon.data.vocab import END, HOLE, SPECIAL, START

SIZE = 500
TEXT = ["the cat sat on the mat .", "a cat, and a dog: both sat.", "dogs and cats and mats"] * 30


def a_batch(epoch=0, seed=1, **choice):
    draw = np.random.default_rng(3)
    store = PairStore.of([([], draw.integers(4, SIZE, size=draw.integers(1, 40)).tolist()) for _ in range(3000)])
    begins_V = np.arange(SIZE) % 3 == 0  # every third symbol begins a word
    texts = stretches(store, 0, False, seed, epoch)
    return Masking(schema.Masked(**choice), begins_V, HOLE).load(texts, np.arange(len(texts)), seed, epoch), begins_V


def test_15_per_cent_are_hidden_and_of_these_80_10_10():
    batch, _ = a_batch()
    words = (batch.target_out_BT >= len(SPECIAL)) & batch.mask_BS
    hidden = batch.target_mask_BT
    assert abs(float(hidden.sum() / words.sum()) - 0.15) < 0.012  # at least one a text adds a little
    read, true = batch.source_BS[hidden], batch.target_out_BT[hidden]
    shares = [float((read == HOLE).float().mean()), float((read == true).float().mean())]
    assert abs(shares[0] - 0.8) < 0.02
    assert abs(shares[1] - 0.1) < 0.02
    strange = read[(read != HOLE) & (read != true)]
    assert strange.min() >= len(SPECIAL)
    assert strange.max() < SIZE
    assert len(strange.unique()) > 200  # any word, not some


def test_nothing_else_is_changed_and_every_text_has_a_hole():
    batch, _ = a_batch()
    seen = ~batch.target_mask_BT
    assert (batch.source_BS[seen] == batch.target_out_BT[seen]).all()
    assert (batch.target_mask_BT.sum(1) >= 1).all()
    assert not (batch.target_mask_BT & ((batch.target_out_BT == START) | (batch.target_out_BT == END))).any()
    assert not (batch.target_mask_BT & ~batch.mask_BS).any()


def test_holes_are_drawn_anew_in_every_epoch_and_by_every_seed():
    first, again, later, other = (a_batch(*chosen)[0].target_mask_BT for chosen in ((0,), (0,), (1,), (0, 2)))
    assert first.equal(again)
    assert not first.equal(later)
    assert not first.equal(other)


def test_a_text_has_the_same_holes_in_any_batch():
    draw = np.random.default_rng(3)
    store = PairStore.of([([], draw.integers(4, SIZE, size=n).tolist()) for n in (5, 30, 12)])
    texts, masking = stretches(store, 0, False, 1, 0), Masking(schema.Masked(), np.ones(SIZE, dtype=bool), HOLE)
    together = masking.load(texts, np.arange(3), 1, 2)
    for number in range(3):
        alone = masking.load(texts, np.array([number]), 1, 2)
        length = int(alone.mask_BS.sum())
        assert alone.source_BS[0].equal(together.source_BS[number, :length])


def test_whole_words_are_hidden_together():
    batch, begins_V = a_batch(whole_words=True)
    for ids, hidden in zip(batch.target_out_BT.numpy()[:300], batch.target_mask_BT.numpy()[:300], strict=True):
        for place in range(2, len(ids)):
            if ids[place] >= len(SPECIAL) and not begins_V[ids[place]]:
                assert hidden[place] == hidden[place - 1]


@pytest.mark.parametrize(
    "choice",
    [schema.Words(), schema.Words(split="punctuation"), schema.Subwords(size=320), schema.Characters(), schema.Bytes()],
    ids=lambda choice: choice.kind,
)
def test_a_hole_is_one_symbol_and_the_rest_of_the_text_stays(choice):
    tokenizer = learn(choice, TEXT)
    for text in ("the cat [MASK] on the mat .", "[MASK] cat", "the [MASK]", "a [MASK] [MASK] sat."):
        found = encode_with_holes(tokenizer, text)
        assert len(holes_in(found, tokenizer.hole)) == text.count("[MASK]")
        # A subword that stands for nothing else is written without a space.
        spelt = [one.replace(" ", "") for one in (tokenizer.decode(found), text.replace("[MASK]", "<unk>"))]
        assert spelt[0] == spelt[1]


def test_a_mark_after_a_hole_is_read_as_after_a_word():
    tokenizer = learn(schema.Subwords(size=320), TEXT)
    assert encode_with_holes(tokenizer, "both [MASK].")[-1] == tokenizer.encode("both sat.")[-1]


def test_without_holes_it_is_the_text_itself():
    tokenizer = learn(schema.Words(), TEXT)
    assert encode_with_holes(tokenizer, "the cat") == tokenizer.encode("the cat")
    assert hide_word("the cat sat") == "the [MASK] sat"
    assert hide_word("cat") == "[MASK]"
