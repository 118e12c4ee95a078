"""Subwords."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.config.schema import Subwords
from antiphon.data import subwords
from antiphon.data.subwords import ESCAPE, learn_subwords, open_subwords
from antiphon.data.text import normalise
from antiphon.data.vocab import END, START
from antiphon.errors import AntiphonError

TEXTS = [f"the {noun} {verb} on the {place}" for noun in ("cat", "dog", "hen") for verb in ("sat", "slept")
         for place in ("mat", "roof", "straße")]  # fmt: skip
KINDS = {model: learn_subwords(Subwords(model=model, size=330), TEXTS) for model in ("bpe", "unigram")}

# What has tripped tokenisers before, among all of Unicode.
AWKWARD = [
    "\x00", "\u2581", "\u2585", ESCAPE, "0", "1", "5", "\ud800", "\udfff", "<pad>", "</s>", "<unk>", "<0x41>",
    "\u2047", "\ufeff", "\ufffd", "\uffff", "e", "\u0301", "한", "\u1112", "\u1161", "👨\u200d👩\u200d👧", "\u2028",
    "\x85", "the", " ",
]  # fmt: skip
any_text = st.lists(st.one_of(st.sampled_from(AWKWARD), st.characters())).map("".join)


@pytest.fixture(params=KINDS)
def tokenizer(request):
    return KINDS[request.param]


@settings(max_examples=1500, deadline=None)
@given(any_text)
def test_any_text_comes_back(text):
    for tokenizer in KINDS.values():
        ids = tokenizer.encode(text)
        assert tokenizer.decode(ids) == normalise(text)
        assert all(3 < i < tokenizer.size for i in ids)  # nothing special, nothing unknown
        assert bool(ids) == bool(normalise(text))


@pytest.mark.slow
def test_a_hundred_thousand_texts_come_back():
    random = Random(1)
    for _ in range(100_000):
        parts = [
            random.choice(AWKWARD) if random.random() < 0.7 else chr(random.randrange(0x110000)) for _ in range(12)
        ]
        text = "".join(parts[: random.randrange(13)])
        for tokenizer in KINDS.values():
            assert tokenizer.decode(tokenizer.encode(text)) == normalise(text)


def test_special_symbols_have_their_numbers(tokenizer):
    assert tokenizer.pieces([0, 1, 2, 3]) == ["<pad>", "<s>", "</s>", "<unk>"]
    assert tokenizer.decode([1, *tokenizer.encode("the cat"), 3, 2, 0, 0]) == "the cat<unk>"


def test_pieces_show_where_a_word_starts(tokenizer):
    assert "".join(tokenizer.pieces(tokenizer.encode("the cat"))) == "▁the▁cat"


def test_words_are_counted_in_pieces_and_special_symbols_stand_alone(tokenizer):
    ids = [START, *tokenizer.encode("▁▁ zzz qqq"), END]
    counts = tokenizer.words(ids)
    ends = [sum(counts[: n + 1]) for n in range(len(counts))]
    words = [tokenizer.decode(ids[end - count : end]) for count, end in zip(counts, ends, strict=True)]
    assert words == ["", "▁▁", "zzz", "qqq", ""]


def test_any_numbers_can_be_decoded(tokenizer):
    assert tokenizer.decode([4 + 0xE2, 4 + 0x41]) == "\ufffdA"


def test_unknown_names_letters_without_a_piece(tokenizer):
    assert tokenizer.unknown("the 漢字 cat 漢") == ["漢", "字"]


def test_learning_twice_gives_the_same(tokenizer):
    assert learn_subwords(Subwords(model=tokenizer.model, size=330), TEXTS).proto == tokenizer.proto


def test_sampling_long_corpora_gives_the_same(monkeypatch):
    monkeypatch.setattr(subwords, "SENTENCES", 101)
    texts = [f"{text} {n}" for n, text in enumerate(TEXTS * 20)]
    first, second = (learn_subwords(Subwords(size=330), texts) for _ in range(2))
    assert first.proto == second.proto


@pytest.mark.parametrize("model", ["bpe", "unigram"])
@pytest.mark.parametrize(
    "texts",
    [
        ["a"],
        ["ab", "cd", "ef"],
        ["\x00"],
        ["\u2581 \u2585"],
        ["<s> </s> <pad>"],
        ["ab" * 40_000],
        ["\U0001f600" * 9_000],
    ],
    ids=["a letter", "three lines", "NUL", "reserved", "special", "a long word", "many bytes"],
)
def test_small_and_odd_corpora(model, texts):
    tokenizer = learn_subwords(Subwords(model=model, size=8000), texts)
    assert 260 < tokenizer.size < 8000
    assert all(tokenizer.decode(tokenizer.encode(text)) == normalise(text) for text in texts)


@pytest.mark.parametrize("model", ["bpe", "unigram"])
def test_more_letters_than_room(model):
    letters = ["".join(map(chr, range(0x4E00, 0x4E00 + 900)))] + ["一 一"] * 9
    tokenizer = learn_subwords(Subwords(model=model, size=300), letters)
    assert tokenizer.size <= 300
    assert "一" in tokenizer.letters  # the frequent ones have the room
    assert tokenizer.decode(tokenizer.encode(letters[0])) == letters[0]


def test_long_lines_are_learnt_from_whole():
    tokenizer = learn_subwords(Subwords(size=400), ["so " * 5_000 + "zebra " * 5_000])
    assert tokenizer.pieces(tokenizer.encode("so zebra")) == ["▁so", "▁zebra"]


def test_nothing_to_learn_from():
    with pytest.raises(AntiphonError) as caught:
        learn_subwords(Subwords(), ["", "  "])
    assert str(caught.value) == "no text to learn subwords from: every line is blank"


@pytest.mark.parametrize("content", [b"", b"\x00" * 50, b"not a model", KINDS["bpe"].proto[:200]])
def test_damaged_models_are_refused(content):
    with pytest.raises(ValueError, match="sentencepiece model"):
        open_subwords(content, "bpe")


def test_splits_spell_the_same(tokenizer):
    splits_V2 = tokenizer.splits()
    assert splits_V2.shape == (tokenizer.size, 2)
    assert (splits_V2[:260] == -1).all()  # special symbols and bytes
    for i, halves in enumerate(splits_V2.tolist()):
        if halves[0] >= 0:
            assert "".join(tokenizer.pieces(halves)) == tokenizer.pieces([i])[0]
    if tokenizer.model == "bpe":
        assert [len(name) for name, (half, _) in zip(tokenizer.names, splits_V2, strict=True) if half < 0][260:] == [
            1
        ] * len(tokenizer.letters)


@pytest.mark.parametrize("model", ["bpe", "unigram"])
def test_of_a_small_corpus_pieces_are_few_and_seen_often(model):
    """Else every text would be a piece of its own, and nothing that was not trained on could ever be written."""
    numbers = [str(n * 7919 % 99991) for n in range(600)]
    tokenizer = learn_subwords(Subwords(model=model), numbers)
    assert tokenizer.size < 450
    lengths = [len(tokenizer.encode(number)) for number in numbers]
    assert sum(lengths) > 1.7 * len(numbers)
