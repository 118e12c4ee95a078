"""Every symbol's characters in the text as it was given, whatever tokeniser cut it and however it was normalised."""

import random

import pytest

from antiphon.config.schema import Bytes, Characters, Subwords, Words
from antiphon.data.byte_bpe import LETTERS as ALPHABET
from antiphon.data.byte_bpe import ByteBpeTokenizer
from antiphon.data.offsets import places_of
from antiphon.data.text import normalise
from antiphon.data.tokenize import learn
from antiphon.data.vocab import HOLE, Vocabulary
from antiphon.data.wordpiece import WordPieceTokenizer

TEXTS = [
    "The cat, e\u0301te\u0301  sat: on\tthe mat.\n Was it?",
    "か\u3099き\u3099 東京タワー",
    "\u1112\u1161\u11ab\u1100",
]
CHOICES = {
    "spaces": Words(), "marks": Words(split="punctuation"), "few words": Words(split="punctuation", size=3),
    "characters": Characters(), "few characters": Characters(size=4), "bytes": Bytes(), "bpe": Subwords(size=320),
    "unigram": Subwords(size=320, model="unigram"),
}  # fmt: skip
# Letters that compose, decompose and grow, spaces of all kinds, a byte-order mark, half a pair, and our own signs.
LETTERS = list(
    "ab e,.'\t\n\u0301\u0327▁▅\U000f2581\uffed015ÅK\u1112\u1161\u11ab\ud800\u0958か\u3099\u2126\u00a0\ufeff\u0344"
)


@pytest.fixture(scope="module", params=CHOICES)
def tokenizer(request):
    return learn(CHOICES[request.param], TEXTS * 5)


def test_the_symbols_of_a_text_are_all_its_letters_in_order(tokenizer):
    draw = random.Random(1)
    for text in [*TEXTS, *("".join(draw.choices(LETTERS, k=draw.randint(0, 14))) for _ in range(500))]:
        places = places_of(tokenizer, text)
        assert len(places) == len(tokenizer.encode(text)), repr(text)
        assert all(start <= end for start, end in places)
        assert places == sorted(places), repr(text)
        covered = {place for start, end in places for place in range(start, end)}
        assert all(text[place].isspace() or place in covered for place in range(len(text))), repr(text)
        for start, end in places:
            assert text[start:end] == text[start:end].strip(), repr(text)


def test_a_symbol_that_is_known_spells_its_place(tokenizer):
    for text in TEXTS:
        ids = tokenizer.encode(text)
        for number, (start, end) in zip(ids, places_of(tokenizer, text), strict=True):
            spelt = tokenizer.decode([number])
            if "<unk>" not in spelt and "\ufffd" not in spelt:
                assert spelt.strip() == normalise(text[start:end]), (text, number)


@pytest.mark.parametrize(
    ("choice", "pieces"),
    [
        (Words(), ["The", "cat,", "e\u0301te\u0301", "sat:"]),
        (Words(split="punctuation"), ["The", "cat", ",", "e\u0301te\u0301"]),
        (Characters(), ["T", "h", "e", ""]),
        (Bytes(), ["T", "h", "e", ""]),
    ],
)
def test_places_by_hand(choice, pieces):
    places = places_of(learn(choice, TEXTS), TEXTS[0])
    assert [TEXTS[0][start:end] for start, end in places][:4] == pieces


def test_both_bytes_of_a_letter_are_the_letter():
    text = "é e\u0301"
    places = places_of(learn(Bytes(), [""]), text)
    assert [text[start:end] for start, end in places] == ["é", "é", "", "e\u0301", "e\u0301"]


def test_wordpiece_counts_letters_as_it_writes_them():
    symbols = ("the", "cat", "##s", "ete", ",", "東", ".", "[MASK]")
    tokenizer = WordPieceTokenizer(Vocabulary(symbols), 11, lower=True, strip_accents=True, part_ideographs=True)
    text = "The  Cats, E\u0301té 東京\u200b zzz ."
    found = [text[start:end] for start, end in places_of(tokenizer, text)]
    assert found == ["The", "Cat", "s", ",", "E\u0301té", "東", "京", "zzz", "."]
    draw = random.Random(2)
    for text in ["".join(draw.choices(LETTERS, k=draw.randint(0, 14))) for _ in range(500)]:
        assert len(places_of(tokenizer, text)) == len(tokenizer.encode(text)), repr(text)


def test_byte_level_pieces_stand_where_their_bytes_do():
    tokenizer = ByteBpeTokenizer(Vocabulary((*ALPHABET.values(), "Th")), ("T h",), HOLE, False, False)
    text = "The é"
    assert [text[start:end] for start, end in places_of(tokenizer, text)] == ["Th", "e", "", "é", "é"]
