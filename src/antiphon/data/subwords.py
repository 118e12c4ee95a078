"""Subwords: frequent pieces of words, learnt and applied by sentencepiece; what they cannot spell falls back to bytes.

V pieces
"""

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import sentencepiece
from numpy.typing import NDArray

from antiphon.config.schema import FEWEST_PIECES, Subwords
from antiphon.data.text import normalise
from antiphon.data.unmerge import split_merges, split_unigrams
from antiphon.data.vocab import END, HOLE, PAD, SILENT, SPECIAL, START, UNKNOWN
from antiphon.data.words import WORD_START, gather
from antiphon.errors import AntiphonError

RESERVED = "\u2585"  # sentencepiece leaves out training lines that hold this
# A user's own signs of these kinds are spelt with an escape, or they would come back as spaces or be left out.
ESCAPE = "\U000f2581"
SPELLINGS = {ESCAPE: ESCAPE + "0", WORD_START: ESCAPE + "1", RESERVED: ESCAPE + "5"}
SPELLED = {spelling: sign for sign, spelling in SPELLINGS.items()}
TO_SPELL, SPELT = re.compile(f"[{''.join(SPELLINGS)}]"), re.compile("|".join(SPELLED))

BYTES = 256
COVERED = 0.9999  # the share of all letters that get a piece of their own; bytes spell the rest
LETTERS = 0.75  # the share of the room that letters may take, so that some is left for pieces
SENTENCES = 2_000_000  # learning looks at a sample of this many
LONGEST_PIECE = 16  # letters, by sentencepiece's own limit
LETTERS_A_PIECE = 20  # of the corpus, at the least: of a text of 2,000 letters a hundred pieces are learnt
LONGEST = 4_000  # sentencepiece cannot learn from words of more than 65,535 letters, so long lines come in parts


def escape(text: str) -> str:
    return TO_SPELL.sub(lambda match: SPELLINGS[match[0]], text)


def unescape(text: str) -> str:
    return SPELT.sub(lambda match: SPELLED[match[0]], text)


@dataclass(frozen=True)
class SubwordTokenizer:
    """Byte-pair encoding (Sennrich et al., 2016) or a unigram model (Kudo, 2018): no text is ever unknown."""

    proto: bytes
    model: str  # bpe | unigram

    file_ending = "model"
    hole = HOLE

    @cached_property
    def processor(self) -> sentencepiece.SentencePieceProcessor:
        return sentencepiece.SentencePieceProcessor(model_proto=self.proto)

    @cached_property
    def names(self) -> list[str]:
        return [self.processor.id_to_piece(i) for i in range(self.size)]

    @cached_property
    def spelt(self) -> list[bytes]:
        """What each piece adds to the text, in UTF-8: a byte piece is a part of a letter."""
        return [b"" if i in SILENT else self._spell(i) for i in range(self.size)]

    def _spell(self, i: int) -> bytes:
        name = self.names[i]
        return bytes([int(name[3:5], 16)]) if self.processor.is_byte(i) else name.encode()

    @cached_property
    def letters(self) -> frozenset[str]:
        return frozenset("".join(name for i, name in enumerate(self.names) if self._is_learnt(i)))

    def _is_learnt(self, i: int) -> bool:
        return i >= len(SPECIAL) and not self.processor.is_byte(i)

    @property
    def size(self) -> int:
        return self.processor.get_piece_size()

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self.processor.encode(escape(normalise(text)))
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        spelt = self.spelt
        text = b"".join([spelt[i] for i in ids]).decode(errors="replace")
        # Normalised, because a model can spell line breaks in bytes, and an answer is one line.
        return normalise(unescape(text.replace(WORD_START, " ")))

    def spellings(self) -> list[bytes]:
        spaced = (unescape(name.decode(errors="surrogateescape").replace(WORD_START, " ")) for name in self.spelt)
        return [b" " if name.isspace() else name.encode(errors="surrogateescape") for name in spaced]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [unescape(self.names[i]) for i in ids]

    def words(self, ids: Sequence[int]) -> list[int]:
        return gather([None if i < len(SPECIAL) else self.names[i] for i in ids])

    def unknown(self, text: str) -> list[str]:
        """The letters without a piece: they are spelt in bytes, which the model has hardly seen."""
        spelt = dict.fromkeys(letter for letter in normalise(text) if letter != " ")
        return [letter for letter in spelt if not self.letters.issuperset(escape(letter))]

    def splits(self) -> NDArray[np.int32]:
        scores = {name: self.processor.get_score(i) for i, name in enumerate(self.names) if self._is_learnt(i)}
        ids = {name: i for i, name in enumerate(self.names) if name in scores}
        split = split_merges if self.model == "bpe" else split_unigrams
        splits_V2 = np.full((self.size, 2), -1, dtype=np.int32)
        for name in scores:
            if halves := split(name, scores):
                splits_V2[ids[name]] = [ids[half] for half in halves]
        return splits_V2

    def to_bytes(self) -> bytes:
        return self.proto


def open_subwords(proto: bytes, model: str) -> SubwordTokenizer:
    """A tokeniser from a file's bytes; ValueError when they are not a model with our special symbols and bytes."""
    tokenizer = SubwordTokenizer(proto, model)
    try:
        processor = tokenizer.processor
        special = (processor.pad_id(), processor.bos_id(), processor.eos_id(), processor.unk_id())
        count = sum(processor.is_byte(i) for i in range(len(tokenizer.spelt)))
    except (RuntimeError, ValueError, OSError) as error:
        raise ValueError("not a sentencepiece model") from error
    if special != (PAD, START, END, UNKNOWN):
        raise ValueError("a sentencepiece model with other special symbols")
    if count != BYTES:
        raise ValueError("a sentencepiece model without byte fallback")
    return tokenizer


def learn_subwords(choice: Subwords, texts: Iterable[str]) -> SubwordTokenizer:
    """Learns at most `choice.size` pieces; reads the texts twice, and gives the same pieces every time."""
    counts = _count_letters(texts)
    rare = _rare_letters(counts, choice.size)
    # A piece that is hardly ever seen is never learnt: of a small corpus there are fewer.
    size = min(
        choice.size, max(FEWEST_PIECES, len(SPECIAL) + BYTES + len(counts) + 1 + counts.total() // LETTERS_A_PIECE)
    )
    proto = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=(rare.sub("\0", part) for part in _parts(texts)),
        model_writer=proto,
        model_type=choice.model,
        vocab_size=size,
        hard_vocab_limit=False,
        character_coverage=1.0,
        byte_fallback=True,
        normalization_rule_name="identity",
        pad_id=PAD,
        bos_id=START,
        eos_id=END,
        unk_id=UNKNOWN,
        pad_piece=SPECIAL[PAD],
        input_sentence_size=SENTENCES,
        max_sentence_length=LONGEST * 8,
        num_threads=1,  # the order of additions, and so the pieces, would depend on the machine
        minloglevel=2,
    )
    return open_subwords(proto.getvalue(), choice.model)


def _parts(texts: Iterable[str]) -> Iterator[str]:
    """The texts as sentencepiece can take them: normalised, escaped, and long ones in parts."""
    for text in texts:
        rest = normalise(text)
        while len(rest) > LONGEST:
            cut = rest.rfind(" ", 1, LONGEST)
            cut = cut if cut > 0 else LONGEST
            yield escape(rest[:cut])
            rest = rest[cut:].lstrip(" ")
        yield escape(rest)


def _count_letters(texts: Iterable[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for part in _parts(texts):
        counts.update(part)
    if not counts:
        raise AntiphonError("no text to learn subwords from: every line is blank")
    del counts[" "]
    return counts


def _rare_letters(counts: Counter[str], size: int) -> re.Pattern[str]:
    """Finds the letters that get no piece: the rarest of all, and those that leave no room for pieces.

    Sentencepiece can only be told a share of at least 0.98, too much for thousands of letters in a small vocabulary;
    but it learns no piece with or across a NUL, so that is what rare letters look like to it.
    """
    ranked = sorted(counts, key=lambda letter: (-counts[letter], letter))
    shares = np.cumsum([counts[letter] for letter in ranked]) / counts.total()
    room = int((size - len(SPECIAL) - BYTES) * LETTERS)
    kept = min(room, int(np.searchsorted(shares, COVERED)) + 1)
    return re.compile(f"[\0{re.escape(''.join(ranked[kept:]))}]")
