"""Labels: a closed list that a classifier chooses from, learnt from the training file."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from antiphon.data.text import normalise
from antiphon.data.vocab import HOLE, SPECIAL, UNKNOWN, Vocabulary, most_frequent, to_json


@dataclass(frozen=True)
class LabelTokenizer:
    """One number a label, the most frequent first; `between` parts the labels of one text where there are several."""

    vocabulary: Vocabulary
    between: str

    file_ending = "json"
    hole = HOLE

    @property
    def size(self) -> int:
        return self.vocabulary.size

    @property
    def labels(self) -> tuple[str, ...]:
        return self.vocabulary.learnt

    def encode(self, text: str) -> list[int]:
        """A label that was never seen in training is `<unk>`: no model can say it."""
        return self.vocabulary.look_up(cut_labels(text, self.between))

    def encode_each(self, text: str) -> list[int]:
        """A number a word, each time it comes: the tags of a sentence."""
        return self.vocabulary.look_up(normalise(text).split())

    def decode(self, ids: Sequence[int]) -> str:
        return self.between.join(self.vocabulary.spoken(ids))

    def spellings(self) -> list[bytes]:
        return [b""] * UNKNOWN + [label.encode() for label in (SPECIAL[UNKNOWN], *self.labels)]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return self.vocabulary.symbols(ids)

    def words(self, ids: Sequence[int]) -> None:
        return None

    def unknown(self, text: str) -> list[str]:
        return self.vocabulary.missing(cut_labels(text, self.between))

    def splits(self) -> None:
        return None

    def to_bytes(self) -> bytes:
        return to_json({"kind": "labels", "symbols": self.labels})

    def knows(self, text: str) -> bool:
        return UNKNOWN not in self.encode(text)

    def number(self, label: int) -> int:
        """The symbol of a label that is counted from 0, as a head counts them."""
        return label + len(SPECIAL)


def cut_labels(text: str, between: str) -> list[str]:
    """The labels of one text, each once."""
    parts = text.split(between) if between else [text]
    return [label for label in dict.fromkeys(map(normalise, parts)) if label]


def learn_labels(between: str, texts: Iterable[str]) -> LabelTokenizer:
    counts = Counter(label for text in texts for label in cut_labels(text, between))
    return LabelTokenizer(most_frequent(counts, len(counts)), between)
