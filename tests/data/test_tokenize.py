"""Tokenisers of every kind, and their files."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from antiphon.config.schema import ByteBpe, Bytes, Characters, Data, Subwords, WordPiece, Words
from antiphon.data.byte_bpe import LETTERS, open_byte_bpe
from antiphon.data.text import normalise
from antiphon.data.tokenize import learn, load_tokenizer, save_tokenizer
from antiphon.data.vocab import to_json
from antiphon.data.wordpiece import open_wordpiece
from antiphon.errors import AntiphonError

DECOMPOSED = {"kind": "characters", "decompose": True}
TEXTS = ["The cat, she sat.", "the dog (a dog) can't", "<pad> </s> é"]
CHOICES = {
    "words": Words(),
    "marks": Words(split="punctuation"),
    "characters": Characters(),
    "decomposed": Characters(decompose=True),
    "bytes": Bytes(),
    "bpe": Subwords(size=300),
    "unigram": Subwords(size=300, model="unigram"),
}
TOKENIZERS = {name: learn(choice, TEXTS) for name, choice in CHOICES.items()}

# Those of imported models cannot be learnt. `Ġ` is a space in the alphabet of bytes.
MERGES = ["t h", "Ġ th", "Ġth e", "th e", "c a", "Ġ ca", "Ġca t", "Ġ Ġ"]
BYTE_BPE = {
    "kind": "byte_bpe", "symbols": [*LETTERS.values(), *(merge.replace(" ", "") for merge in MERGES), "<mask>"],
    "merges": MERGES, "hole": "<mask>", "prefix_space": False, "wide_hole": True,
}  # fmt: skip
PIECES = [
    "[MASK]",
    *map(chr, range(33, 127)),
    *(f"##{chr(n)}" for n in range(33, 127)),
    "the",
    "cat",
    "##at",
    "é",
    "##é",
]
WORDPIECE = {
    "kind": "wordpiece", "symbols": PIECES, "hole": "[MASK]", "lower": False, "strip_accents": False,
    "part_ideographs": True,
}  # fmt: skip
CHOICES |= {"byte_bpe": ByteBpe(), "wordpiece": WordPiece()}
TOKENIZERS |= {"byte_bpe": open_byte_bpe(BYTE_BPE), "wordpiece": open_wordpiece(WORDPIECE)}
every_kind = pytest.mark.parametrize("name", CHOICES)


def spaced(name, text):
    """WordPiece forgets which marks were touching, and what cannot be seen."""
    return " ".join(TOKENIZERS[name].cut(text)) if name == "wordpiece" else text


@every_kind
def test_known_text_comes_back(name):
    for text in TEXTS:
        ids = TOKENIZERS[name].encode(text)
        assert TOKENIZERS[name].decode([1, *ids, 2, 0]) == spaced(name, text)
        assert min(ids) > 3
        assert max(ids) < TOKENIZERS[name].size
        assert TOKENIZERS[name].unknown(text) == [] or name in ("bpe", "unigram")


@every_kind
@settings(max_examples=300, deadline=None)
@given(text=st.text(st.characters()))
def test_any_text_is_taken_and_never_becomes_a_control_symbol(name, text):
    tokenizer = TOKENIZERS[name]
    ids = tokenizer.encode(text)
    assert not {0, 1, 2} & set(ids)
    assert (3 in ids) == (3 in ids and bool(tokenizer.unknown(text)))
    assert len(tokenizer.pieces(ids)) == len(ids)
    if 3 not in ids:
        assert tokenizer.decode(ids) == normalise(spaced(name, text))
        assert tokenizer.encode(tokenizer.decode(ids)) == ids


@given(st.text(st.characters()))
def test_bytes_know_everything(text):
    assert TOKENIZERS["bytes"].decode(TOKENIZERS["bytes"].encode(text)) == normalise(text)


def test_unknown_is_shown_and_named():
    words, marks, characters = (TOKENIZERS[name] for name in ("words", "marks", "characters"))
    assert words.decode(words.encode("the zebra sat.")) == "the <unk> sat."
    assert words.unknown("zebra the zebra yak") == ["zebra", "yak"]
    assert marks.unknown("the; dog;x") == [";", "x"]
    assert characters.decode(characters.encode("cat?")) == "cat<unk>"
    assert characters.unknown("cat? 7") == ["?", "7"]


def test_a_users_own_joiner_is_unknown():
    tokenizer = learn(Words(split="punctuation"), ["a￭ ￭ ￭￭ b"])
    assert tokenizer.decode(tokenizer.encode("a￭ ￭ b")) == "a <unk> <unk> b"
    assert learn(Words(), ["a￭b"]).unknown("a￭b") == []


def test_pieces_are_labels():
    assert TOKENIZERS["characters"].pieces(TOKENIZERS["characters"].encode("a d")) == ["a", "▁", "d"]
    assert TOKENIZERS["bytes"].pieces([1, *TOKENIZERS["bytes"].encode("a é")]) == ["<s>", "a", "▁", "<0xC3>", "<0xA9>"]
    assert TOKENIZERS["marks"].pieces(TOKENIZERS["marks"].encode("cat,")) == ["cat", "￭,"]


def test_characters_are_cut_into_what_they_are_composed_of():
    tokenizer = learn(Characters(decompose=True), ["\ud55c\uae00 café"])
    ids = tokenizer.encode("\ud55cé")
    assert tokenizer.pieces(ids) == ["\u1112", "\u1161", "\u11ab", "e", "\u25cc\u0301"]
    assert tokenizer.decode(ids) == "\ud55cé"
    assert tokenizer.unknown("\uac04") == []  # a syllable never seen, of letters that were
    assert learn(Characters(), ["\ud55c\uae00 café"]).unknown("\uac04") == ["\uac04"]


@pytest.mark.parametrize(
    "data", [{"target": {"tokenizer": DECOMPOSED}}, {"source": {"tokenizer": DECOMPOSED}, "joint": True}]
)
def test_what_is_written_is_written_whole(data):
    with pytest.raises(ValidationError) as caught:
        Data.model_validate({"train": "x"} | data)
    assert "tokenizer.decompose is for a source that is only read: leave it out where it is written" in str(
        caught.value
    )


def test_plain_characters_are_kept_as_before_they_could_be_decomposed():
    assert learn(Characters(), ["ab"]).to_bytes() == to_json({"kind": "characters", "symbols": ("a", "b")})


def test_sizes_are_kept():
    assert learn(Words(size=2), ["a a b b c"]).size == 4 + 2
    assert learn(Characters(size=1), ["aab"]).size == 4 + 1
    assert TOKENIZERS["bytes"].size == 260


@every_kind
def test_any_numbers_make_one_line(name):
    tokenizer = TOKENIZERS[name]
    text = tokenizer.decode(list(range(tokenizer.size)) * 2)
    assert text == normalise(text)
    assert len(text.splitlines()) == 1


def test_broken_bytes_are_shown_as_such():
    assert TOKENIZERS["bytes"].decode([4 + 0xC3, 3, 4 + 0x41]) == "\ufffd<unk>A"


@every_kind
def test_saved_and_loaded_is_the_same(name, tmp_path):
    choice, tokenizer = CHOICES[name], TOKENIZERS[name]
    ending = "model" if choice.kind == "subwords" else "json"
    assert save_tokenizer(tokenizer, tmp_path, "source") == f"source.tokenizer.{ending}"
    assert [entry.name for entry in tmp_path.iterdir()] == [f"source.tokenizer.{ending}"]
    loaded = load_tokenizer(tmp_path, "source", choice)
    assert loaded == tokenizer
    assert loaded.to_bytes() == tokenizer.to_bytes()


def refusal(tmp_path, choice, content):
    path = tmp_path / f"target.tokenizer.{'model' if choice.kind == 'subwords' else 'json'}"
    path.write_bytes(content)
    with pytest.raises(AntiphonError) as caught:
        load_tokenizer(tmp_path, "target", choice)
    start, end = f"{path}: damaged, or of another run (", "). Train again, or copy it anew."
    assert str(caught.value).startswith(start)
    assert str(caught.value).endswith(end)
    return str(caught.value)[len(start) : -len(end)]


def with_symbols(kind, *symbols, **more):
    return json.dumps({"format": 1, "kind": kind, "symbols": symbols, **more}).encode()


@pytest.mark.parametrize(
    ("choice", "content", "reason"),
    [
        (Characters(), b"", "not a tokeniser file"),
        (Characters(), b"\xff\xfe", "not a tokeniser file"),
        (Characters(), b"[" * 100_000, "not a tokeniser file"),
        (Characters(), b"[1]", "not a tokeniser file"),
        (Characters(), b'{"format": 2}', "not a tokeniser file"),
        (Characters(), with_symbols("words", "a"), "it holds 'words', not 'characters'"),
        (
            Words(),
            with_symbols("words", "a", split="punctuation"),
            "its words are split at 'punctuation', not 'spaces'",
        ),
        (Characters(), with_symbols("characters", "a", 7), "its symbols are not texts"),
        (Characters(), with_symbols("characters", "a", ""), "its symbols are not texts"),
        (Characters(), with_symbols("characters", "a", "a"), "a symbol stands in it twice"),
        (Characters(), with_symbols("characters", "ab"), "not every symbol is one character"),
        (Characters(), with_symbols("characters", "\n"), "its symbols are not normalised text"),
        (Characters(), with_symbols("characters", "\ud800"), "its symbols are not normalised text"),
        (Characters(decompose=True), with_symbols("characters", "a"), "its characters are whole"),
        (Characters(), with_symbols("characters", "a", decompose=True), "its characters are decomposed"),
        (Subwords(), b"garbage", "not a sentencepiece model"),
    ],
)
def test_hostile_files_are_refused(tmp_path, choice, content, reason):
    assert refusal(tmp_path, choice, content) == reason


@pytest.mark.parametrize(
    ("choice", "content", "reason"),
    [
        (ByteBpe(), BYTE_BPE | {"merges": ["ab"]}, "its merges are not pairs of symbols"),
        (ByteBpe(), BYTE_BPE | {"merges": ["a b"]}, "'a b' is merged, and 'ab' is no symbol"),
        (ByteBpe(), BYTE_BPE | {"symbols": ["a", "<mask>"]}, "no symbol for byte 33"),
        (ByteBpe(), BYTE_BPE | {"hole": "[MASK]"}, "its symbol of a hidden word is no symbol"),
        (ByteBpe(), BYTE_BPE | {"wide_hole": 1}, "it does not say how it reads spaces"),
        (WordPiece(), WORDPIECE | {"symbols": ["a b", "[MASK]"]}, "its symbols are not words"),
        (WordPiece(), WORDPIECE | {"symbols": ["\ud800", "[MASK]"]}, "its symbols are not words"),
        (WordPiece(), WORDPIECE | {"hole": None}, "its symbol of a hidden word is no symbol"),
        (WordPiece(), WORDPIECE | {"lower": "yes"}, "it does not say how it writes letters"),
    ],
)
def test_hostile_files_of_imported_tokenisers_are_refused(tmp_path, choice, content, reason):
    assert refusal(tmp_path, choice, json.dumps({"format": 1, **content}).encode()) == reason


@pytest.mark.parametrize("choice", [ByteBpe(), WordPiece()])
def test_imported_tokenisers_cannot_be_learnt(choice):
    with pytest.raises(AntiphonError) as caught:
        learn(choice, TEXTS)
    assert str(caught.value) == (
        f'tokenizer.kind = "{choice.kind}" cannot be learnt: it comes with an imported model, which train.start names. '
        'To learn pieces of words, take kind = "subwords".'
    )


def test_byte_pairs_are_merged_in_their_order():
    tokenizer = TOKENIZERS["byte_bpe"]
    assert tokenizer.pieces(tokenizer.encode("the cat thet é")) == [
        "the", "▁cat", "▁the", "t", "▁", "<0xC3>", "<0xA9>",
    ]  # fmt: skip
    assert tokenizer.words(tokenizer.encode("the cat, é")) == [1, 1, 1, 3]
    splits_V2, names = tokenizer.splits(), tokenizer.labels
    assert [names[half] for half in splits_V2[names.index("▁the")]] == ["▁th", "e"]
    assert (splits_V2[:260] == -1).all()
    assert tokenizer.encode("a" * 50_000) == tokenizer.encode("a") * 50_000  # in no time


def test_a_hole_takes_the_space_before_it_along():
    tokenizer = TOKENIZERS["byte_bpe"]
    assert tokenizer.pieces(tokenizer.encode_around("the [MASK] cat", "[MASK]")) == ["the", "<mask>", "▁cat"]
    narrow = open_byte_bpe(BYTE_BPE | {"wide_hole": False})
    assert narrow.pieces(narrow.encode_around("the [MASK] cat", "[MASK]")) == ["the", "▁", "<mask>", "▁cat"]
    tokenizer = TOKENIZERS["wordpiece"]
    assert tokenizer.pieces(tokenizer.encode_around("the [MASK], cats", "[MASK]")) == [
        "the",
        "[MASK]",
        ",",
        "cat",
        "##s",
    ]


def test_the_longest_piece_is_taken_first():
    tokenizer = TOKENIZERS["wordpiece"]
    assert tokenizer.pieces(tokenizer.encode("bat cathe thé")) == ["b", "##at", "cat", "##h", "##e", "t", "##h", "##é"]
    assert tokenizer.decode(tokenizer.encode("The cat, 漢")) == "The cat , <unk>"
    assert tokenizer.unknown("the 漢字 übel " + "a" * 101) == ["漢", "字", "übel", "a" * 101]
    assert tokenizer.words(tokenizer.encode("cats, cats")) == [2, 1, 2]
    small = open_wordpiece(WORDPIECE | {"lower": True, "strip_accents": True})
    assert list(small.cut("Crème BRÛLÉE\x07 ΟΔΟΣ")) == ["creme", "brulee", "οδοσ"]


def test_missing_file(tmp_path):
    with pytest.raises(AntiphonError) as caught:
        load_tokenizer(tmp_path, "source", Bytes())
    path = tmp_path / "source.tokenizer.json"
    assert str(caught.value) == f"{path}: cannot be read (No such file or directory). Is the folder whole?"
