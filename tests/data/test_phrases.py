"""Glossaries and the spelling of phrases."""

import pytest

from antiphon.config.schema import Bytes, Characters, Subwords, Words
from antiphon.data.phrases import Glossary, read_glossary, spell
from antiphon.data.tokenize import learn
from antiphon.data.words import JOINS_NEXT
from antiphon.errors import AntiphonError

TEXTS = ["der rote Wein, (rot) ist gut.", "ein Herzinfarkt trifft die Katze", "手机很好 用", "a\tb"] * 20
KINDS = [Words(), Words(split="punctuation"), Characters(), Bytes(), Subwords(size=340)]


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("a heart attack, and a heart", ["Herzinfarkt", "Herz"]),
        ("Heart attack", ["Herzinfarkt"]),
        ("hearts and heartattack", []),
        ("the US and us", ["USA"]),
        ("give it to us", []),
        ("C++ is old", ["C++ (Sprache)"]),
        ("heart  \n attack", ["Herzinfarkt"]),
        ("我的手机很好", ["phone"]),
        ("", []),
    ],
)
def test_terms_are_found_as_whole_words_the_longer_first(text, targets):
    glossary = Glossary([
        ["heart", "Herz"], ["heart attack", "Herzinfarkt"], ["US", "USA"], ["C++", "C++ (Sprache)"], ["手机", "phone"],
    ])  # fmt: skip
    assert glossary.targets(text) == targets


def test_a_glossary_is_two_columns_and_notes():
    lines = ["heart attack\tHerzinfarkt", "", "  US \tUSA\tcountry"]
    assert read_glossary(lines, "g.tsv") == [["heart attack", "Herzinfarkt"], ["US", "USA"]]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["a\tb", "heart attack"], "g.tsv:2: no TAB. A line of a glossary is a source term, TAB, a target term."),
        (["heart\t "], "g.tsv:1: its target term is empty. Fill it in, or delete the line."),
        (["\tHerz"], "g.tsv:1: its source term is empty. Fill it in, or delete the line."),
        ([], "g.tsv: no term in it. A line of a glossary is a source term, TAB, a target term."),
        ([" ", "\t"], "g.tsv: no term in it. A line of a glossary is a source term, TAB, a target term."),
    ],
)
def test_a_wrong_glossary_is_refused_by_line(lines, message):
    with pytest.raises(AntiphonError) as caught:
        read_glossary(lines, "g.tsv")
    assert str(caught.value) == message


@pytest.mark.parametrize("choice", KINDS, ids=lambda choice: f"{choice.kind}-{getattr(choice, 'split', '')}")
def test_spellings_join_to_the_text(choice):
    tokenizer = learn(choice, TEXTS)
    spellings = tokenizer.spellings()
    assert len(spellings) == tokenizer.size
    for text in TEXTS[:4]:
        joined = b"".join(spellings[i] for i in tokenizer.encode(text))
        joined = joined.replace(bytes([JOINS_NEXT]) + b" ", b"").replace(bytes([JOINS_NEXT]), b"")
        assert " ".join(joined.decode().split()) == tokenizer.decode(tokenizer.encode(text))


@pytest.mark.parametrize("choice", KINDS, ids=lambda choice: f"{choice.kind}-{getattr(choice, 'split', '')}")
def test_a_phrase_is_spelt_as_inside_a_sentence(choice):
    tokenizer = learn(choice, TEXTS)
    whole = [1, *tokenizer.encode("ein Herzinfarkt trifft die Katze")]
    for phrase in ("Herzinfarkt", "ein Herzinfarkt", "trifft die"):
        spellings = spell(tokenizer, phrase, "contain")
        assert any(list(each) == whole[i : i + len(each)] for each in spellings for i in range(len(whole)))


def test_scripts_without_spaces_need_none_before_a_phrase():
    tokenizer = learn(Characters(), TEXTS)
    assert [tokenizer.decode(each) for each in spell(tokenizer, "很好", "contain")] == ["很好"]
    assert len(spell(tokenizer, "Wein", "contain")) == 2
