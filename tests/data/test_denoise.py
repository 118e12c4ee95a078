"""Holes in texts: how much they hide, how long they are, what is learnt of them, and how a person writes them."""

import json

import numpy as np
import pytest

from antiphon.config.schema import Bytes, Characters, Data, Denoise, Subwords, Words
from antiphon.data.batch import SPANS as DIGGING
from antiphon.data.batch import load_batch
from antiphon.data.denoise import dig, dig_all, spans
from antiphon.data.holes import Holed, judged
from antiphon.data.prepare import VALID_PAIRS, prepare
from antiphon.data.store import PairStore
from antiphon.data.tokenize import learn
from antiphon.data.unmerge import keys
from antiphon.data.vocab import HOLE, UNKNOWN

WHOLE, SPANS = Denoise(target="whole"), Denoise(target="spans", rate=0.15)
TEXT = "the cat sat on the mat and the dog lay on the rug"


def drawn(count, seed=1, epoch=0):
    return keys(seed, epoch, DIGGING, np.arange(count))


def test_a_hole_is_what_is_unknown():
    assert HOLE == UNKNOWN


@pytest.mark.parametrize("choice", [WHOLE, SPANS], ids=["whole", "spans"])
def test_both_sides_of_a_pair_give_the_text_back(choice):
    """The source tells what is left, the target what is hidden: put together they are the text."""
    for number, key in enumerate(drawn(300)):
        text = np.arange(10, 11 + number % 40)
        source, target = dig(text, choice, key)
        assert (source == HOLE).any()
        if choice.target == "whole":
            assert target.tolist() == text.tolist()
            left = [symbol for symbol in source.tolist() if symbol != HOLE]
            assert left == [symbol for symbol in text.tolist() if symbol in left]
            continue
        hidden = iter("".join(chr(symbol) for symbol in target).split(chr(HOLE))[1:])
        mended = "".join(next(hidden) if symbol == HOLE else chr(symbol) for symbol in source)
        assert mended == "".join(map(chr, text))
        assert next(hidden, None) is None


@pytest.mark.parametrize(("rate", "mean"), [(0.3, 3.0), (0.15, 3.0), (0.5, 1.5), (0.2, 1.0), (0.3, 10.0)])
def test_holes_hide_the_share_and_have_the_length_that_is_asked(rate, mean):
    choice, symbols = Denoise(target="whole", rate=rate, mean_length=mean), 97
    found = [spans(symbols, choice, key) for key in drawn(2000)]
    lengths = np.concatenate([length for _, length in found])
    assert lengths.sum() / (2000 * symbols) == pytest.approx(rate, rel=0.01)
    assert lengths.mean() == pytest.approx(mean, rel=0.03)
    assert lengths.min() >= 1
    for begins, length in found:
        assert (begins[1:] > begins[:-1] + length[:-1]).all(), "two holes touch"
        assert begins[-1] + length[-1] <= symbols


def test_lengths_are_geometric():
    choice = Denoise(target="whole", rate=0.3, mean_length=3.0)
    lengths = np.concatenate([spans(400, choice, key)[1] for key in drawn(500)])
    for length in range(1, 6):
        assert (lengths == length).mean() == pytest.approx(1 / 3 * (2 / 3) ** (length - 1), abs=0.01)


def test_every_place_is_hidden_as_often_as_any_other():
    hidden = np.zeros(200)
    for key in drawn(2000):
        for begin, length in zip(*spans(200, WHOLE, key), strict=True):
            hidden[begin : begin + length] += 1
    # A hole cannot go over an edge, so there it is a little less.
    assert hidden[5:-5] / 2000 == pytest.approx(np.full(190, 0.3), abs=0.05)


def test_short_texts_keep_something_and_lose_something():
    for choice in (WHOLE, Denoise(target="spans", rate=0.9, mean_length=1.0)):
        for symbols in range(2, 12):
            for key in drawn(50):
                source, target = dig(np.arange(10, 10 + symbols), choice, key)
                assert 0 < (source == HOLE).sum() < len(source) <= symbols
                assert len(target) <= symbols
    assert dig(np.array([9]), SPANS, drawn(1)[0])[0].tolist() == [HOLE]
    assert [part.tolist() for part in dig(np.array([], dtype=np.int64), WHOLE, drawn(1)[0])] == [[], []]


def test_holes_are_a_function_of_seed_epoch_and_text_alone():
    texts = [np.arange(4, 24)] * 6
    first = dig_all(texts, WHOLE, drawn(6))[0]
    assert [one.tolist() for one in dig_all(texts[:3], WHOLE, drawn(3))[0]] == [one.tolist() for one in first[:3]]
    for other in (drawn(6, seed=2), drawn(6, epoch=1)):
        assert [one.tolist() for one in dig_all(texts, WHOLE, other)[0]] != [one.tolist() for one in first]
    assert len({tuple(one.tolist()) for one in first}) > 3


def test_a_batch_of_texts_has_its_epochs_holes():
    store = PairStore.of([([], list(range(10, 30))), ([], list(range(40, 50)))])
    one, again, later = (load_batch(store, np.array([1, 0]), 7, epoch, denoise=WHOLE) for epoch in (3, 3, 4))
    assert one.source_BS.equal(again.source_BS)
    assert not one.source_BS.equal(later.source_BS)
    assert one.target_out_BT.equal(later.target_out_BT)
    alone = load_batch(store, np.array([0]), 7, 3, denoise=WHOLE)
    assert alone.source_BS[0].tolist() == one.source_BS[1][one.mask_BS[1]].tolist()


TOKENIZERS = [Words(), Words(split="punctuation"), Characters(), Bytes(), Subwords(size=300)]


@pytest.mark.parametrize("choice", TOKENIZERS, ids=lambda choice: choice.kind)
def test_a_person_writes_a_hole_as_mask(choice):
    inner = learn(choice, [TEXT] * 20)
    holed = Holed(inner)
    assert holed.encode(TEXT) == inner.encode(TEXT)
    assert holed.encode("[MASK]") == [HOLE]
    assert holed.encode("") == []
    symbols = [*inner.encode("the cat"), HOLE, HOLE, *inner.encode("the mat"), HOLE]
    worded = choice.kind in ("words", "subwords")  # where a space before a hole is part of it, as of any word
    text = "the cat [MASK] [MASK] the mat [MASK]" if worded else "the cat[MASK][MASK]the mat[MASK]"
    assert holed.encode(text) == symbols
    assert holed.decode(symbols) == text
    assert holed.pieces(symbols)[-1] == "[MASK]"
    assert holed.spellings()[HOLE] == (b" [MASK]" if worded else b"[MASK]")
    assert holed.unknown("the [MASK] cat") == []
    counts = holed.words(symbols)
    assert (counts is None) == (inner.words(symbols) is None)
    if counts is not None:
        assert sum(counts) == len(symbols)
        assert counts[-1] == 1
    assert (holed.size, holed.file_ending, holed.to_bytes()) == (inner.size, inner.file_ending, inner.to_bytes())


@pytest.mark.parametrize("choice", [Characters(), Bytes(), Subwords(size=300), Words()], ids=lambda choice: choice.kind)
def test_a_source_that_is_written_down_is_read_as_it_was(choice):
    """Of subwords nearly always: half a word may be cut into other pieces than the whole was."""
    inner = learn(choice, [TEXT] * 20)
    holed, same = Holed(inner), 0
    for number in range(100):
        source, _ = judged(inner.encode(TEXT), WHOLE, number)
        same += holed.encode(holed.decode(source)) == source
    assert same == 100 if choice.kind == "words" else same >= 80


@pytest.mark.parametrize("denoise", [WHOLE, SPANS], ids=["whole", "spans"])
def test_validation_texts_have_the_same_holes_for_ever(denoise, tmp_path):
    texts = [" ".join(TEXT.split()[n % 5 :]) + f" {n % 7}" for n in range(60)]
    (tmp_path / "texts.txt").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    data = Data(train=[str(tmp_path / "texts.txt")], denoise=denoise, joint=True)
    prepared = prepare(data, tmp_path / "tokens", rows="texts")
    assert not prepared.train.lengths[:, 0].any()
    assert prepared.valid.lengths.min() > 0
    for number, (source, target) in enumerate(prepared.valid_pairs):
        ids = prepared.valid.source(number).tolist(), prepared.valid.target(number).tolist()
        assert source == prepared.source.decode(ids[0])
        assert "[MASK]" in source
        assert ("[MASK]" in target) == (denoise.target == "spans")
        if denoise.target == "whole":
            assert ids == judged(ids[1], denoise, number)
            assert target in texts
    assert prepared.length_ratio > 0
    assert prepare(data, tmp_path / "tokens", rows="texts").valid_pairs == prepared.valid_pairs
    pairs = [json.loads(line) for line in (tmp_path / "tokens" / VALID_PAIRS).read_text().splitlines()]
    assert [tuple(pair) for pair in pairs] == prepared.valid_pairs
