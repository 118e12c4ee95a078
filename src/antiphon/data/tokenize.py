"""Tokenisers: text to numbers and back, in words, characters, bytes or pieces of words; and their files."""

import json
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal, Protocol, assert_never

import numpy as np
from numpy.typing import NDArray

from antiphon.config.schema import ByteBpe, Bytes, Characters, Cutting, Labels, Spelled, Subwords, WordPiece, Words
from antiphon.data.byte_bpe import ByteBpeTokenizer, open_byte_bpe
from antiphon.data.labels import LabelTokenizer, learn_labels
from antiphon.data.raw_bytes import ByteTokenizer
from antiphon.data.spelled import SpelledTokenizer, learn_spelled
from antiphon.data.subwords import learn_subwords, open_subwords
from antiphon.data.text import normalise
from antiphon.data.vocab import FORMAT, HOLE, SPECIAL, UNKNOWN, Vocabulary, most_frequent, read_symbols, to_json
from antiphon.data.wordpiece import WordPieceTokenizer, open_wordpiece
from antiphon.data.words import AMBIGUOUS, JOINER, WORD_START, Split, cut_words, join_words, spell_words
from antiphon.errors import AntiphonError
from antiphon.files import write_whole

Choice = Cutting
SideName = Literal["source", "target"]
_InJson = Words | Characters | Bytes | Labels | Spelled | ByteBpe | WordPiece
Borrowed = ByteBpeTokenizer | WordPieceTokenizer  # of imported models


class Tokenizer(Protocol):
    """Text in, numbers out, and back; numbers 0 to 3 are padding, start, end and unknown in every kind."""

    @property
    def file_ending(self) -> str: ...

    @property
    def size(self) -> int: ...

    @property
    def hole(self) -> int:
        """The number that stands where a word is hidden: `<unk>`, unless a symbol is kept for it."""

    def encode(self, text: str) -> list[int]:
        """The normalised text as numbers, without start and end."""

    def decode(self, ids: Sequence[int]) -> str:
        """The text of the numbers, normalised and so one line; padding, start and end are silent, `<unk>` is shown."""

    def spellings(self) -> list[bytes]:
        """What each number adds to the text, in UTF-8, a space included where it begins a word; runs of spaces are one.

        A word that the next one follows without a space ends in JOINS_NEXT.
        """

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """One label a number, for pictures."""

    def words(self, ids: Sequence[int]) -> list[int] | None:
        """How many numbers each word takes, for pictures; None where numbers are not parts of words."""

    def unknown(self, text: str) -> list[str]:
        """The symbols of this text that were never seen in training, each once."""

    def splits(self) -> NDArray[np.int32] | None:
        """The two pieces that each piece was merged from, -1 where there are none; None where nothing is merged."""

    def to_bytes(self) -> bytes:
        """What its file holds."""


@dataclass(frozen=True)
class WordTokenizer:
    """One number a word; with split = "punctuation" one a mark too, with joiners that keep the spacing."""

    vocabulary: Vocabulary
    split: Split

    file_ending = "json"
    hole = HOLE

    @property
    def size(self) -> int:
        return self.vocabulary.size

    def encode(self, text: str) -> list[int]:
        return self.vocabulary.look_up(cut_words(text, self.split))

    def decode(self, ids: Sequence[int]) -> str:
        return normalise(join_words(self.vocabulary.spoken(ids), self.split))

    def spellings(self) -> list[bytes]:
        return [b""] * UNKNOWN + spell_words((SPECIAL[UNKNOWN], *self.vocabulary.learnt), self.split)

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return self.vocabulary.symbols(ids)

    def words(self, ids: Sequence[int]) -> None:
        return None

    def unknown(self, text: str) -> list[str]:
        missing = self.vocabulary.missing(cut_words(text, self.split))
        return list(dict.fromkeys(word.strip(JOINER) or JOINER for word in missing))

    def splits(self) -> None:
        return None

    def to_bytes(self) -> bytes:
        return to_json({"kind": "words", "split": self.split, "symbols": self.vocabulary.learnt})


@dataclass(frozen=True)
class CharacterTokenizer:
    """One number a character, spaces included; or one a part of it, as Unicode decomposes characters (NFD)."""

    vocabulary: Vocabulary
    decompose: bool = False

    file_ending = "json"
    hole = HOLE

    @property
    def size(self) -> int:
        return self.vocabulary.size

    def encode(self, text: str) -> list[int]:
        return self.vocabulary.look_up(cut_characters(text, self.decompose))

    def decode(self, ids: Sequence[int]) -> str:
        return normalise("".join(self.vocabulary.spoken(ids)))

    def spellings(self) -> list[bytes]:
        return [b""] * UNKNOWN + [symbol.encode() for symbol in (SPECIAL[UNKNOWN], *self.vocabulary.learnt)]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [WORD_START if symbol == " " else _standing(symbol) for symbol in self.vocabulary.symbols(ids)]

    def words(self, ids: Sequence[int]) -> None:
        return None

    def unknown(self, text: str) -> list[str]:
        return self.vocabulary.missing(cut_characters(text, self.decompose))

    def splits(self) -> None:
        return None

    def to_bytes(self) -> bytes:
        parts = {"decompose": True} if self.decompose else {}  # files from before the key existed stay as they were
        return to_json({"kind": "characters", **parts, "symbols": self.vocabulary.learnt})


def cut_characters(text: str, decompose: bool) -> str:
    text = normalise(text)
    return unicodedata.normalize("NFD", text) if decompose else text


def _standing(symbol: str) -> str:
    """A mark that would be drawn over what stands before it, with a circle to stand on."""
    return f"\u25cc{symbol}" if unicodedata.combining(symbol[0]) else symbol


def name_words(tokenizer: Tokenizer, ids: Sequence[int], counts: Sequence[int]) -> list[str]:
    """The words that so many symbols each spell; special symbols, and a space by itself, keep their sign."""
    words = [ids[end - count : end] for count, end in zip(counts, accumulate(counts), strict=True)]
    return [tokenizer.decode(word) or "".join(tokenizer.pieces(word)) for word in words]


def learn(choice: Choice, texts: Iterable[str]) -> Tokenizer:
    """Learns a tokeniser; `texts` is gone through more than once, so it must start anew each time."""
    match choice:
        case Words(size=size, split=split):
            never = AMBIGUOUS if split == "punctuation" else frozenset()
            words = Counter(word for text in texts for word in cut_words(text, split) if word not in never)
            return WordTokenizer(most_frequent(words, size), split)
        case Characters(size=size, decompose=decompose):
            counts = Counter(c for text in texts for c in cut_characters(text, decompose))
            return CharacterTokenizer(most_frequent(counts, size), decompose)
        case Bytes():
            return ByteTokenizer()
        case Subwords():
            return learn_subwords(choice, texts)
        case Labels(between=between):
            return learn_labels(between, texts)
        case Spelled(size=size, letters=letters):
            return learn_spelled(size, letters, texts)
        case ByteBpe() | WordPiece():
            raise AntiphonError(
                f'tokenizer.kind = "{choice.kind}" cannot be learnt: it comes with an imported model, which '
                'train.start names. To learn pieces of words, take kind = "subwords".'
            )
        case _:
            assert_never(choice)


def save_tokenizer(tokenizer: Tokenizer, folder: Path, side: SideName) -> str:
    """Writes the one file of this side's tokeniser and returns its name."""
    name = f"{side}.tokenizer.{tokenizer.file_ending}"
    write_whole(folder / name, lambda file: file.write(tokenizer.to_bytes()))
    return name


def load_tokenizer(folder: Path, side: SideName, choice: Choice) -> Tokenizer:
    """The tokeniser that `save_tokenizer` wrote; a sentencepiece model stands alone, for `choice` says the rest."""
    path = folder / f"{side}.tokenizer.{'model' if isinstance(choice, Subwords) else 'json'}"
    try:
        content = path.read_bytes()
    except OSError as error:
        raise AntiphonError(f"{path}: cannot be read ({error.strerror}). Is the folder whole?") from error
    try:
        if isinstance(choice, Subwords):
            return open_subwords(content, choice.model)
        return _from_json(json.loads(content), choice)
    except (ValueError, RecursionError) as error:
        ours = type(error) is ValueError  # json's own errors are other kinds, in words for programmers
        reason = str(error) if ours else "not a tokeniser file"
        raise AntiphonError(f"{path}: damaged, or of another run ({reason}). Train again, or copy it anew.") from error


def _from_json(content: Any, choice: _InJson) -> Tokenizer:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError("not a tokeniser file")
    if content.get("kind") != choice.kind:
        raise ValueError(f"it holds {str(content.get('kind'))[:40]!r}, not {choice.kind!r}")
    match choice:
        case Words(split=split):
            if content.get("split") != split:
                raise ValueError(f"its words are split at {str(content.get('split'))[:40]!r}, not {split!r}")
            return WordTokenizer(read_symbols(content), split)
        case Characters(decompose=decompose):
            vocabulary = read_symbols(content)
            if any(len(symbol) != 1 for symbol in vocabulary.learnt):
                raise ValueError("not every symbol is one character")
            if content.get("decompose", False) is not decompose:
                raise ValueError(f"its characters are {'whole' if decompose else 'decomposed'}")
            return CharacterTokenizer(vocabulary, decompose)
        case Bytes():
            return ByteTokenizer()
        case Labels(between=between):
            return LabelTokenizer(read_symbols(content), between)
        case Spelled():
            return SpelledTokenizer(read_symbols(content), read_symbols({"symbols": content.get("letters")}))
        case ByteBpe():
            return open_byte_bpe(content)
        case WordPiece():
            return open_wordpiece(content)
        case _:
            assert_never(choice)
