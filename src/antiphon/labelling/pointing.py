"""A question and its paragraph in, the answer out: what `Pipeline` is for models that write, for one that points.

B windows · S places · C ends that are pointed at
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from antiphon.attend.looks import Looks
from antiphon.config.schema import Run, Search
from antiphon.config.schema import Spans as SpansChoice
from antiphon.data.batch import Batch, make_batch
from antiphon.data.offsets import places_of
from antiphon.data.passages import Passage, cut_windows
from antiphon.data.questions import part
from antiphon.data.store import PairStore
from antiphon.data.tokenize import Tokenizer
from antiphon.data.vocab import START
from antiphon.errors import AntiphonError, name_lines
from antiphon.labelling.reading import BATCH_TOKENS, in_batches, judged, once_more
from antiphon.labelling.weighing import Asked, Found, Weighed
from antiphon.layers.products import inference
from antiphon.models.pointing import Spans, ends_of
from antiphon.pipeline import EMPTY, Answer

LINE = "A line is question TAB paragraph."
_NEVER = -1e4  # a logit that is as good as minus infinity, and can be multiplied by zero


@dataclass(frozen=True)
class Pointed:
    """Where a model pointed in the window that holds its answer."""

    answer: Answer
    read: tuple[int, ...]  # all that was read there: the place in front, the question, the window, their ends
    window: tuple[int, ...]  # the paragraph's symbols
    chances: Tensor  # 2 x (1 + S): P(start) and P(end) within the window, that of no answer first
    looks: Looks


class Pointing:
    """A model of spans with its tokeniser: what was validated is what answers.

    A text is a question, a TAB, and the paragraph that the answer is taken from, letter by letter.
    """

    completes = False

    def __init__(self, model: Spans, source: Tokenizer, target: Tokenizer, run: Run) -> None:
        assert isinstance(run.model, SpansChoice), "the config of such a model"
        self.model, self.source, self.target, self.run = model, source, target, run
        self.longest = run.model.longest

    def encode(self, text: str) -> list[int]:
        """The first window of a question."""
        return self.ask(text).windows[0].ids

    def answer(
        self,
        texts: Sequence[str],
        search: Search | None = None,
        first: int = 0,
        batch_tokens: int = BATCH_TOKENS,
        tell: Callable[[int], None] | None = None,
    ) -> list[list[Answer]]:
        """The likeliest spans of each paragraph, best first; an empty text has an empty answer. `first` as in Pipeline.

        Where there is no answer, the text is empty and so is its span.
        """
        search = search or self.run.search
        places = name_lines(len(texts), first)
        weighed = self.weigh(texts, search, places, batch_tokens, tell)
        return [
            [self._answer(one.asked, found) for found in one.best(search.n_best, self.longest)] if one else [EMPTY]
            for one in weighed
        ]

    def weigh(
        self,
        texts: Sequence[str],
        search: Search,
        places: Sequence[str],
        batch_tokens: int = BATCH_TOKENS,
        tell: Callable[[int], None] | None = None,
        temperature: float = 1.0,
    ) -> list[Weighed | None]:
        """What the model says of every span of every paragraph; None for an empty text."""
        asked = [self._ask(text, search, place) for text, place in zip(texts, places, strict=True)]
        rows = [(n, window) for n, one in enumerate(asked) if one for window in one.windows]
        logits: list[Tensor] = [torch.zeros(0)] * len(rows)
        hear = None if tell is None else lambda done: tell(done * len(texts) // len(rows))
        for numbers, batch in in_batches([(window.ids, []) for _, window in rows], batch_tokens, hear):
            for n, row_2S in zip(numbers, self._speak(batch), strict=True):
                window = rows[n][1]
                logits[n] = row_2S[:, window.end : len(window.ids)]
        each = iter(logits)
        return [
            Weighed(one, [next(each) for _ in one.windows], self.model.no_answer, temperature) if one else None
            for one in asked
        ]

    def chances(self, texts: Sequence[str], answers: Sequence[Answer], temperature: float) -> list[float | None]:
        """P(start) P(end) of each text's answer at this temperature; None for an empty text."""
        weighed = self.weigh(texts, once_more(self.run), texts, temperature=temperature)
        return [
            None if one is None else round(math.exp(one.log_chance(answer.span)), 6)
            for one, answer in zip(weighed, answers, strict=True)
        ]

    def losses(self, store: PairStore, batch_tokens: int = BATCH_TOKENS) -> Iterator[tuple[float, int, int]]:
        """Per batch the summed -log P(start, end), its windows, and those of which both ends were the likeliest."""
        for batch in judged(store, batch_tokens):
            logs_B2S, ends_B2 = self._speak(batch).double().log_softmax(-1), ends_of(batch)
            right_B = (logs_B2S.argmax(2) == ends_B2).all(1)
            yield -logs_B2S.gather(2, ends_B2.unsqueeze(2)).sum().item(), len(ends_B2), int(right_B.sum())

    def spoken(self, store: PairStore, batch_tokens: int = BATCH_TOKENS) -> Iterator[tuple[Tensor, Tensor]]:
        """The logits of every start and every end, and the true ones, for calibration."""
        for batch in judged(store, batch_tokens):
            yield self._speak(batch).clamp(min=_NEVER).flatten(0, 1), ends_of(batch).flatten()

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """log P(answer) of each pair: all places of the paragraph where it stands; "" says that there is none."""
        texts = [text for text, _ in pairs]
        places = name_lines(len(pairs))
        scores = []
        for one, (_, answer) in zip(self.weigh(texts, self.run.search, places), pairs, strict=True):
            if one is None:
                scores.append(-math.inf)
                continue
            starts = [match.start() for match in re.finditer(f"(?={re.escape(answer)})", one.asked.paragraph)]
            logs = one.log_chances([(start, start + len(answer)) for start in starts] if answer else [None])
            scores.append(float(torch.tensor(logs).logsumexp(0)))
        return scores

    def point(self, text: str) -> Pointed:
        """The answer to one text, and what was said and looked at in its window."""
        asked, answer = self.ask(text), self.answer([text], self.run.search.model_copy(update={"n_best": 1}))[0][0]
        window = self._window_of(asked, answer)
        looks, batch = Looks(), make_batch([window.ids], [[]], ended=False)
        logits_B2S = self._speak(batch, looks)
        chances = logits_B2S[0, :, window.end : len(window.ids)].double().softmax(-1)
        front = (START,) if self.model.front else ()
        read = (*front, *batch.source_BS[0].tolist())
        return Pointed(answer, read, tuple(window.ids[window.end + 1 :]), chances, looks)

    def _window_of(self, asked: Asked, answer: Answer) -> Passage:
        if answer.span is None:
            return asked.windows[0]
        holding = [window for window in asked.windows if asked.places[window.last - 1][1] >= answer.span[1]]
        return holding[0]

    def refuse_too_long(self, texts: Sequence[str], search: Search, places: Sequence[str]) -> None:
        """Before any of them is answered; `places` names each text, as file:line."""
        for text, place in zip(texts, places, strict=True):
            self._ask(text, search, place)

    def ask(self, text: str) -> Asked:
        asked = self._ask(text, self.run.search, "text")
        if asked is None:
            raise AntiphonError(f"text: nothing is asked. {LINE}")
        return asked

    def _ask(self, text: str, search: Search, place: str) -> Asked | None:
        if not text.strip():
            return None
        question, paragraph = part(text)
        if "\t" not in text:
            raise AntiphonError(f"{place}: no TAB in it. {LINE}")
        for what, given in (("question", question), ("paragraph", paragraph)):
            if not given.strip():
                raise AntiphonError(f"{place}: the {what} is empty. {LINE}")
        asked, ids = self.source.encode(question), self.source.encode(paragraph)
        if len(asked) + len(ids) > search.max_source:
            raise AntiphonError(
                f"{place}: question and paragraph have {len(asked) + len(ids):,} symbols, and search.max_source is "
                f"{search.max_source:,}. Shorten them, or raise it: --max-source {len(asked) + len(ids)}"
            )
        windows = cut_windows(asked, ids, self.run.data.max_length, self.run.data.stride)
        if not windows:
            raise AntiphonError(
                f"{place}: the question has {len(asked):,} symbols, more than half of the {self.run.data.max_length:,} "
                "that this model reads at once. Shorten it."
            )
        return Asked(paragraph, ids, places_of(self.source, paragraph), windows)

    def _speak(self, batch: Batch, looks: Looks | None = None) -> Tensor:
        """The logits of both ends at every place: B x 2 x S."""
        self.model.eval()
        with inference():
            return self.model.logits(batch, self.model(batch, looks)).float()

    def _answer(self, asked: Asked, found: Found) -> Answer:
        whole = sum(found.logs)
        if found.symbols is None:
            return Answer("", math.exp(whole), whole, (), found.logs, True, ())
        start, end = found.symbols
        symbols, span = tuple(asked.ids[start : end + 1]), (asked.places[start][0], asked.places[end][1])
        text = asked.paragraph[slice(*span)]
        return Answer(text, math.exp(whole), whole, tuple(self.source.pieces(symbols)), found.logs, True, symbols, span)
