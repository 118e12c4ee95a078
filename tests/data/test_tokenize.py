"""Tokenisers of every kind, and their files."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.config.schema import Bytes, Characters, Subwords, Words
from antiphon.data.text import normalise
from antiphon.data.tokenize import learn, load_tokenizer, save_tokenizer
from antiphon.errors import AntiphonError

TEXTS = ["The cat, she sat.", "the dog (a dog) can't", "<pad> </s> é"]
CHOICES = {
    "words": Words(),
    "marks": Words(split="punctuation"),
    "characters": Characters(),
    "bytes": Bytes(),
    "bpe": Subwords(size=300),
    "unigram": Subwords(size=300, model="unigram"),
}
TOKENIZERS = {name: learn(choice, TEXTS) for name, choice in CHOICES.items()}
every_kind = pytest.mark.parametrize("name", CHOICES)


@every_kind
def test_known_text_comes_back(name):
    for text in TEXTS:
        ids = TOKENIZERS[name].encode(text)
        assert TOKENIZERS[name].decode([1, *ids, 2, 0]) == text
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
        assert tokenizer.decode(ids) == normalise(text)


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
        (Subwords(), b"garbage", "not a sentencepiece model"),
    ],
)
def test_hostile_files_are_refused(tmp_path, choice, content, reason):
    assert refusal(tmp_path, choice, content) == reason


def test_missing_file(tmp_path):
    with pytest.raises(AntiphonError) as caught:
        load_tokenizer(tmp_path, "source", Bytes())
    path = tmp_path / "source.tokenizer.json"
    assert str(caught.value) == f"{path}: cannot be read (No such file or directory). Is the folder whole?"
