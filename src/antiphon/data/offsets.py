"""Where each symbol stands in the text as it was given: characters before normalisation, of any tokeniser.

A tokeniser may add, merge and escape spaces, but never letters. So the letters that its symbols stand for, in UTF-8 and
without spaces, are those of the normalised text in their order, and counting them tells which are whose.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import accumulate

from antiphon.data.byte_bpe import ByteBpeTokenizer
from antiphon.data.raw_bytes import ByteTokenizer
from antiphon.data.subwords import ESCAPE, SPELLED, SubwordTokenizer
from antiphon.data.text import LONE_SURROGATE, normalise
from antiphon.data.tokenize import CharacterTokenizer, Tokenizer, WordTokenizer
from antiphon.data.wordpiece import WordPieceTokenizer
from antiphon.data.words import JOINER, WORD_START, cut_words

Place = tuple[int, int]  # the first character, and the one behind the last; equal where there is none

_ESCAPED = re.compile(b"|".join([*(spelling.encode() for spelling in SPELLED), WORD_START.encode()]))


def places_of(tokenizer: Tokenizer, text: str) -> list[Place]:
    """For each number of `tokenizer.encode(text)` where it stands in `text`, the spaces around it left out."""
    if isinstance(tokenizer, WordPieceTokenizer):  # which writes letters otherwise: each is counted as it writes it
        owners = [place for letter, place in _letters(text) for _ in tokenizer.written(letter)]
        lengths = tokenizer.lengths(text)
    else:
        owners = [place for character, place in _letters(text) for _ in character.encode()]
        lengths = [len(letters) for letters in _spelt(tokenizer, text)]
    assert sum(lengths) == len(owners), "a tokeniser keeps every letter"
    found = []
    for length, end in zip(lengths, accumulate(lengths), strict=True):
        mine = owners[end - length : end]
        found.append((mine[0][0], mine[-1][1]) if mine else _nowhere(owners, end))
    return found


def _nowhere(owners: Sequence[Place], end: int) -> Place:
    """Of a symbol that is only a space: behind the letter before it."""
    before = owners[end - 1][1] if end else 0
    return before, before


def _letters(text: str) -> Iterator[tuple[str, Place]]:
    """Every character of the normalised text but spaces, and where it comes from."""
    for start, end in _composed(text):
        whole = unicodedata.normalize("NFC", LONE_SURROGATE.sub("\ufffd", text[start:end]))
        if len(whole) == end - start:
            yield from ((letter, (start + n, start + n + 1)) for n, letter in enumerate(whole) if not letter.isspace())
        else:
            yield from ((letter, (start, end)) for letter in whole if not letter.isspace())


def _composed(text: str) -> list[Place]:
    """Stretches of a text that are normalised each by itself: a letter with all that may be composed with it."""
    clean = LONE_SURROGATE.sub("\ufffd", text)
    if unicodedata.is_normalized("NFC", clean):
        return [(0, len(text))] if text else []
    for begins in (_begins_letter, str.isascii):  # nothing is ever composed with an ASCII letter behind it
        # Nor is anything with a space before it.
        starts = [0, *(n for n in range(1, len(clean)) if begins(clean[n]) or clean[n - 1].isspace())]
        parts = list(zip(starts, [*starts[1:], len(clean)], strict=True))
        normal = "".join(unicodedata.normalize("NFC", clean[start:end]) for start, end in parts)
        if normal == unicodedata.normalize("NFC", clean):
            break
    return parts


def _begins_letter(letter: str) -> bool:
    """Marks, and the vowels and last consonants of Korean syllables, are composed with what stands before them."""
    return unicodedata.category(letter)[0] != "M" and not "\u1160" <= letter <= "\u11ff"


def _spelt(tokenizer: Tokenizer, text: str) -> list[bytes]:
    """The letters of each number of `encode(text)`, known or not."""
    match tokenizer:
        case WordTokenizer(split=split):
            words = cut_words(text, split)
            # A joiner that is the user's own is a mark by itself, with ours around it.
            return [(word if split == "spaces" else word.strip(JOINER) or JOINER).encode() for word in words]
        case CharacterTokenizer():
            return [letter.strip().encode() for letter in normalise(text)]
        case ByteTokenizer():
            return [bytes([byte]).strip() for byte in normalise(text).encode()]
        case SubwordTokenizer():
            return _unescaped([tokenizer.spelt[number] for number in tokenizer.encode(text)])
        case ByteBpeTokenizer():
            return [tokenizer.spelt[number].replace(b" ", b"") for number in tokenizer.encode(text)]
        case _:
            raise AssertionError("the config holds no other tokeniser for such a model")


def _unescaped(pieces: Sequence[bytes]) -> list[bytes]:
    """Pieces without their spaces; a sign that was escaped belongs to the piece in which its spelling ends."""
    whole, ends = b"".join(pieces), list(accumulate(map(len, pieces)))
    if ESCAPE.encode() not in whole:
        return [piece.replace(WORD_START.encode(), b"") for piece in pieces]
    owner = [number for number, piece in enumerate(pieces) for _ in piece]
    found, last = [bytearray() for _ in ends], 0
    for match in [*_ESCAPED.finditer(whole), None]:
        for place in range(last, match.start() if match else len(whole)):
            found[owner[place]].append(whole[place])
        if match:
            last = match.end()
            found[owner[last - 1]] += SPELLED.get(match[0].decode(), "").encode()
    return [bytes(letters) for letters in found]
