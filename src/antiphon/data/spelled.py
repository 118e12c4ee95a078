"""Words with their letters behind them: a word is known by name, and by its spelling where it was never seen."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from antiphon.data.text import normalise
from antiphon.data.vocab import HOLE, SPECIAL, UNKNOWN, Vocabulary, most_frequent, to_json


@dataclass(frozen=True)
class SpelledTokenizer:
    """A word is its own number and one for each of its letters; words come first, then letters."""

    words_known: Vocabulary
    letters: Vocabulary

    file_ending = "json"
    hole = HOLE

    @property
    def size(self) -> int:
        return self.words_known.size + 1 + len(self.letters.learnt)  # one is the unknown letter

    def encode(self, text: str) -> list[int]:
        return [number for word in normalise(text).split() for number in self._word(word)]

    def _word(self, word: str) -> list[int]:
        # The letters' own unknown number comes first among them, and stays apart from that of unknown words.
        letters = [number - UNKNOWN + self.words_known.size for number in self.letters.look_up(word)]
        return [*self.words_known.look_up([word]), *letters]

    def decode(self, ids: Sequence[int]) -> str:
        """By the letters; special symbols have none, and an unknown letter is shown as such."""
        spelt = [ids[end - count : end] for count, end in self._spans(ids)]
        return normalise(" ".join("".join(self.pieces([i for i in word if self._is_letter(i)])) for word in spelt))

    def spellings(self) -> list[bytes]:
        """A word itself adds the space before it, and its letters the rest."""
        letters = [letter.encode() for letter in (SPECIAL[UNKNOWN], *self.letters.learnt)]
        return [b""] * UNKNOWN + [b" "] * (self.words_known.size - UNKNOWN) + letters

    def pieces(self, ids: Sequence[int]) -> list[str]:
        letters = [i - self.words_known.size + UNKNOWN for i in ids]
        return [
            self.letters.symbols([letter])[0] if self._is_letter(i) else self.words_known.symbols([i])[0]
            for i, letter in zip(ids, letters, strict=True)
        ]

    def words(self, ids: Sequence[int]) -> list[int]:
        return [count for count, _ in self._spans(ids)]

    def _is_letter(self, number: int) -> bool:
        return number >= self.words_known.size

    def _spans(self, ids: Sequence[int]) -> list[tuple[int, int]]:
        """How many numbers each word takes, and where it ends: it begins with what is no letter."""
        starts = [place for place, number in enumerate(ids) if not self._is_letter(number) or not place]
        return [(end - start, end) for start, end in zip(starts, [*starts[1:], len(ids)], strict=True)]

    def unknown(self, text: str) -> list[str]:
        return self.letters.missing(normalise(text).replace(" ", ""))

    def splits(self) -> None:
        return None

    def to_bytes(self) -> bytes:
        content = {"kind": "spelled", "symbols": self.words_known.learnt, "letters": self.letters.learnt}
        return to_json(content)


def learn_spelled(words: int, letters: int, texts: Iterable[str]) -> SpelledTokenizer:
    counts = Counter(word for text in texts for word in normalise(text).split())
    spelt: Counter[str] = Counter()
    for word, count in counts.items():
        spelt.update({letter: count * number for letter, number in Counter(word).items()})
    return SpelledTokenizer(most_frequent(counts, words), most_frequent(spelt, letters))
