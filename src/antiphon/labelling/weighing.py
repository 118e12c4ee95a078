"""All spans of a paragraph, weighed against each other: the best of them, and how likely a given one is.

N symbols of the paragraph · S symbols of a window · L symbols of the longest answer
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from antiphon.data.offsets import Place
from antiphon.data.passages import Passage, symbols_at
from antiphon.predict.ends import span_scores


@dataclass(frozen=True)
class Asked:
    """A question and its paragraph, cut into windows."""

    paragraph: str
    ids: list[int]  # of the paragraph
    places: list[Place]  # where each of them stands in it
    windows: list[Passage]


@dataclass(frozen=True)
class Found:
    """A span of the paragraph's symbols, or None for no answer, and log P(start) and log P(end)."""

    symbols: tuple[int, int] | None
    logs: tuple[float, float]


class Weighed:
    """What a model says of one question: P(start) and P(end) over the places of all its windows.

    Logits of several windows are compared as they are, and of "no answer" the least is taken, for each window that
    lacks the answer says so (Devlin et al., 2019). Of one window that is its softmax. A span that stands in several
    windows counts where it is likeliest.
    """

    def __init__(self, asked: Asked, logits: Sequence[Tensor], no_answer: bool, temperature: float = 1.0) -> None:
        """`logits` are 2 x (1 + S) of each window, what is said of no answer first."""
        self.asked = asked
        parts = [part.double() / temperature for part in logits]
        nothing = min((part[:, 0] for part in parts), key=lambda ends: float(ends.sum()))
        whole = torch.cat([*(part[:, 1:] for part in parts), nothing.unsqueeze(1)][: None if no_answer else -1], dim=1)
        total = whole.logsumexp(1, keepdim=True)
        self.nothing = (nothing.unsqueeze(1) - total).squeeze(1) if no_answer else None
        self.windows = [part[:, 1:] - total for part in parts]  # 2 x S of each
        self.shut_2N = _shut(asked.places)

    def best(self, count: int, longest: int) -> list[Found]:
        """The likeliest spans, all of them weighed: start before end, at most so long, whole letters at either edge."""
        scores = [span_scores(self._lettered(n), longest) for n in range(len(self.windows))]
        flat = torch.cat([part_SL.flatten() for part_SL in scores])
        ranked = flat.sort(descending=True, stable=True)
        found: dict[tuple[int, int], float] = {}
        for score, place in zip(*(part.tolist() for part in self._first(ranked, count)), strict=True):
            if score > -math.inf:
                found.setdefault(self._span(place, longest), score)
        spans: list[tuple[float, tuple[int, int] | None]] = [(score, span) for span, score in found.items()]
        if self.nothing is not None:
            spans.append((float(self.nothing.sum()), None))
        spans.sort(key=lambda one: -one[0])
        return [Found(span, self._logs(span)) for _, span in spans[:count]]

    def log_chance(self, place: Place | None) -> float:
        """log P(start) + log P(end) of what stands at these characters, None: that there is no answer."""
        return self.log_chances([place])[0]

    def log_chances(self, places: Sequence[Place | None]) -> list[float]:
        """The same of each of these places; those in the same symbols are one."""
        spans = (None if place is None else symbols_at(self.asked.places, *place) for place in places)
        return [sum(self._logs(span)) for span in dict.fromkeys(spans)]

    def _first(self, ranked: Sequence[Tensor], count: int) -> Iterator[Tensor]:
        """Enough for so many different spans, each of which may stand in every window."""
        return (part[: count * len(self.windows)] for part in ranked)

    def _lettered(self, number: int) -> Tensor:
        """The logs of one window; at minus infinity where no answer can begin, or none can end."""
        window = self.asked.windows[number]
        return self.windows[number].masked_fill(self.shut_2N[:, window.first : window.last], -math.inf)

    def _span(self, place: int, longest: int) -> tuple[int, int]:
        """From a place among all spans of all windows to symbols of the paragraph."""
        for window in self.asked.windows:
            size = (window.last - window.first) * longest
            if place < size:
                start, further = divmod(place, longest)
                return window.first + start, window.first + start + further
            place -= size
        raise AssertionError("a place beyond the last window")

    def _logs(self, span: tuple[int, int] | None) -> tuple[float, float]:
        """In the window in which it is likeliest."""
        if span is None:
            start, end = (-math.inf, -math.inf) if self.nothing is None else self.nothing.tolist()
            return start, end
        each = [
            (float(logs[0, span[0] - window.first]), float(logs[1, span[1] - window.first]))
            for window, logs in zip(self.asked.windows, self.windows, strict=True)
            if window.first <= span[0] and span[1] < window.last
        ]
        return max(each, key=sum, default=(-math.inf, -math.inf))


def _shut(places: Sequence[Place]) -> Tensor:
    """True where no answer begins, and where none ends: at a space, and inside a letter of several symbols."""
    begins, ends = zip(*places, strict=True)
    blank = [begin == end for begin, end in places]
    inside = [before > begin for before, begin in zip((0, *ends[:-1]), begins, strict=True)]
    goes_on = [after < end for end, after in zip(ends, (*begins[1:], ends[-1]), strict=True)]
    shut = [[a or b for a, b in zip(blank, more, strict=True)] for more in (inside, goes_on)]
    return torch.tensor(shut)
