"""A question and its paragraph in numbers: where the paragraph is too long, in windows that overlap."""

from collections.abc import Sequence
from dataclasses import dataclass

from antiphon.data.corpus import Pair
from antiphon.data.offsets import Place, places_of
from antiphon.data.questions import part, read_golds
from antiphon.data.tokenize import Tokenizer
from antiphon.data.vocab import END, SPECIAL

LONG_QUESTION = "question longer than half of data.max_length"
IN_NO_WINDOW = "answer in no window: raise data.max_length, or lower data.stride"


@dataclass(frozen=True)
class Passage:
    """What a model reads at once: the question, its end, and the paragraph's symbols from number `first` on."""

    ids: list[int]
    end: int  # where the question's end stands; pointed at, it says that there is no answer
    first: int

    @property
    def last(self) -> int:
        """The paragraph's symbol behind the last that is read."""
        return self.first + len(self.ids) - self.end - 1


def cut_windows(question: Sequence[int], paragraph: Sequence[int], longest: int, stride: int) -> list[Passage]:
    """Windows of at most `longest` symbols with the question, each `stride` after the one before (Devlin et al., 2019).

    Without a stride it is half of `longest`. None where the question takes more than half of the room.
    """
    if 2 * len(question) > longest:
        return []
    room = max(longest - len(question) - 1, 1)
    step = min(stride or max(longest // 2, 1), room)
    firsts = range(0, max(len(paragraph) - room, 0) + step, step)
    return [Passage([*question, END, *paragraph[first : first + room]], len(question), first) for first in firsts]


def symbols_at(places: Sequence[Place], start: int, end: int) -> tuple[int, int] | None:
    """The first and the last symbol that stand on these characters."""
    touched = [number for number, (begin, behind) in enumerate(places) if begin < end and behind > start]
    return (touched[0], touched[-1]) if touched else None


@dataclass(frozen=True)
class Passages:
    """A question as it is learnt from: in each window where its answer begins and ends."""

    rows: list[tuple[list[int], list[int]]]
    without: int = 0  # windows that do not hold the answer
    exact: bool = True  # False where the answer begins or ends inside a symbol
    reason: str = ""  # why it cannot be learnt from


def encode_passages(tokenizer: Tokenizer, pair: Pair, no_answer: bool, longest: int, stride: int) -> Passages:
    """The windows of a question; those without its answer only where `no_answer` can be said. Its first answer counts.

    Places are numbered from the question's beginning, behind the special symbols, so that none is taken for one.
    """
    question, paragraph = part(pair.source)
    windows = cut_windows(tokenizer.encode(question), tokenizer.encode(paragraph), longest, stride)
    golds, exact = read_golds(pair.target), True
    found: tuple[int, int] | None = None
    if golds:
        places = places_of(tokenizer, paragraph)
        stripped = golds[0].text.strip()
        start = golds[0].start + golds[0].text.index(stripped)
        found = symbols_at(places, start, start + len(stripped))
        assert found is not None, "an answer has letters, and each of them is in a symbol"
        exact = (places[found[0]][0], places[found[1]][1]) == (start, start + len(stripped))
    if not windows:
        return Passages([], reason=LONG_QUESTION)
    rows, without = [], 0
    for window in windows:
        if found is not None and window.first <= found[0] and found[1] < window.last:
            moved = window.end + 1 - window.first
            rows.append((window.ids, [place + moved + len(SPECIAL) for place in found]))
            continue
        without += bool(golds)
        if no_answer:
            rows.append((window.ids, [window.end + len(SPECIAL)] * 2))
    # Where no window has the answer, none may learn that there is none.
    return Passages([], reason=IN_NO_WINDOW) if without == len(windows) else Passages(rows, without, exact)
