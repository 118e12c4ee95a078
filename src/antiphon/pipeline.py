"""Text in, text out: the one path that validation, the command line, Python and tests all use.

B sentences · S, T source and target places · N texts
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from antiphon.attend.looks import Looks
from antiphon.config.schema import Run, Search
from antiphon.data.batch import Batch, join, make_batch, make_sources, plan_in_order
from antiphon.data.text import normalise
from antiphon.data.tokenize import Tokenizer
from antiphon.data.vocab import PAD, START
from antiphon.errors import AntiphonError, name_lines
from antiphon.evaluate.utility import utility
from antiphon.layers.once import once
from antiphon.layers.products import are_large, inference
from antiphon.models.model import Writer
from antiphon.models.writing import LanguageModel
from antiphon.reader import NOBODY, Jury, Reader
from antiphon.search.beam import Beam, beam_search
from antiphon.search.ensemble import Ensemble, EnsembleState
from antiphon.search.record import Record
from antiphon.search.rerank import best_first, expected_utilities
from antiphon.search.rules import DeadEnd
from antiphon.search.sample import Sampling, sample
from antiphon.search.step import Hypothesis, State, Stepper
from antiphon.search.wishes import FORBIDDEN, Asked, Wishes

_BATCH_TOKENS = 2048  # source symbols searched at once; the answers do not depend on it


@dataclass(frozen=True)
class Answer:
    """One answer to one text; of a language model the text, completed. All but `text` is of what the model wrote."""

    text: str
    score: float  # log-probability / length ^ exponent
    log_probability: float
    pieces: tuple[str, ...]  # its symbols, as labels
    log_probabilities: tuple[float, ...]  # one a symbol, and one for the end where there is one
    ended: bool  # False where the length limit cut it
    symbols: tuple[int, ...]
    span: tuple[int, int] | None = None  # of a part of a paragraph: its first character, and the one behind its last


EMPTY = Answer("", 0.0, 0.0, (), (), True, ())


@dataclass(frozen=True)
class Looked:
    """Where a model looked while it wrote one answer."""

    source: tuple[int, ...]  # symbols, and the end; of a language model nothing
    target: tuple[int, ...]  # the answer's symbols, after those of a prompt or source, and its end where it has one
    read: tuple[int, ...]  # what the decoder read for each of these: the start, then the symbol before
    looks: Looks  # of a batch of one


class Pipeline(Reader):
    """A model that answers: what was validated is what is given to users.

    With `partners` it writes answers together with them; a jury has a say in which of those that it found are given.
    """

    def __init__(
        self,
        model: Writer,
        source: Tokenizer,
        target: Tokenizer,
        run: Run,
        partners: Sequence["Pipeline"] = (),
        jury: Jury = NOBODY,
    ) -> None:
        super().__init__(model, source, target, run, partners)
        self.writers, self.jury = (self, *partners), jury
        # What a hole hides is written after a hole, which has the number of the unknown.
        self.forbidden = (PAD, START) if run.data.denoise.target == "spans" else FORBIDDEN

    def answer(
        self,
        texts: Sequence[str],
        search: Search | None = None,
        first: int = 0,
        batch_tokens: int = _BATCH_TOKENS,
        tell: Callable[[int], None] | None = None,
    ) -> list[list[Answer]]:
        """The best answers to each text, best first. An empty text has an empty answer, but of a language model.

        `first` is the number of the first text among all that are asked for, which names lines in errors and seeds
        the draws of each. `tell` hears how many texts are done.
        """
        search = search or self.run.search
        self._refuse_idle_choosers(search)
        places = name_lines(len(texts), first)
        asked = self.ask(texts, search, places, first)
        answers: list[list[Answer]] = [[EMPTY] for _ in texts]
        done = len(texts) - len(asked)
        for batch in self.batches(asked, batch_tokens):
            found = [
                [self._answer(each, one) for each in hypotheses]
                for one, hypotheses in zip(batch, self.write(batch, search), strict=True)
            ]
            for one, chosen in zip(batch, self._choose(batch, found, search), strict=True):
                answers[one.number - first] = chosen
            done += len(batch)
            if tell:
                tell(done)
        return answers

    def batches(self, asked: Sequence[Asked], batch_tokens: int = _BATCH_TOKENS) -> Iterator[list[Asked]]:
        """Texts of similar length together; prompts are read all at once, so of these only equally long ones."""
        lengths_N2 = np.array([[len(one.symbols), 0] for one in asked], dtype=np.int32).reshape(-1, 2)
        for indices in plan_in_order(lengths_N2, batch_tokens):
            longer = np.diff(lengths_N2[indices, 0]) * self.prompted
            for alike in np.split(indices, np.flatnonzero(longer) + 1):
                yield [asked[i] for i in alike]

    def _choose(self, asked: Sequence[Asked], found: list[list[Answer]], search: Search) -> list[list[Answer]]:
        """Of what was found for each text the answers that are given, where something else than the search decides."""
        if not self._chooses(search):
            return found
        if search.mbr != "none":
            worth = utility(search.mbr)
            logs = [None if search.sample else [answer.log_probability for answer in answers] for answers in found]
            scores = [expected_utilities(_texts(f), own, worth) for f, own in zip(found, logs, strict=True)]
        else:
            pairs = [(one.text, answer.text) for one, answers in zip(asked, found, strict=True) for answer in answers]
            more = iter(self.jury.rate(pairs, search))
            scores = [[answer.score + next(more) for answer in answers] for answers in found]
        chosen = []
        for answers, own in zip(found, scores, strict=True):
            order = best_first(own, _texts(answers), [answer.ended or search.sample for answer in answers])
            chosen.append([replace(answers[place], score=own[place]) for place in order[: search.n_best]])
        return chosen

    def _refuse_idle_choosers(self, search: Search) -> None:
        if self.jury.sits and search.mbr != "none":
            raise AntiphonError(
                "search.mbr: a reverse or language model chooses the answers already. Drop one of them."
            )
        if self.jury.sits and search.candidates == 1:
            raise AntiphonError("search.beam: with 1 there is one answer, and nothing to choose from. Raise it.")

    def _chooses(self, search: Search) -> bool:
        return search.mbr != "none" or self.jury.sits

    def ask(self, texts: Sequence[str], search: Search, places: Sequence[str], first: int = 0) -> list[Asked]:
        """All that is not empty, ready to be answered; `places` names each text in errors."""
        encoded = [self.encode(text) for text in texts]
        self.refuse_too_long_symbols(encoded, search, places)
        for partner in self.writers[1:]:
            partner.refuse_too_long(texts, search, places)
        wishes, asked = Wishes(search, self.target, self.end), []
        for n, (text, symbols, place) in enumerate(zip(texts, encoded, places, strict=True)):
            if symbols or self.completes:
                usual, most = self.limit(len(symbols), search), self._seated(len(symbols), search.max_length)
                asked.append(Asked(text, symbols, first + n, wishes.of(text, place, usual, most), wishes))
        return asked

    def look(self, text: str, answer: Answer) -> Looked:
        """The attention behind an answer, from one pass over it; so it works after any search."""
        batch, looks = self.written(text, answer), Looks()
        self.model.eval()
        with inference():
            self.model(batch, looks)
        source = batch.source_BS[0].tolist() if not self.prompted else []
        written, read = batch.target_out_BT[0].tolist(), batch.target_in_BT[0].tolist()
        if self.run.joins:
            read = join(batch).words_BR[0].tolist()
            written = [*read[1:], written[-1]]
        return Looked(tuple(source), tuple(written), tuple(read), looks)

    def written(self, text: str, answer: Answer) -> Batch:
        """An answer as it would be learnt from, after what it answers, up to its end or its last symbol."""
        asked = self.encode(text)
        source, before = ([], asked) if self.completes else (asked, [])
        batch = self.begun(make_batch([source], [[*before, *answer.symbols]]))
        return batch if answer.ended else batch.shorter()

    def record(self, text: str, search: Search) -> tuple[Answer, Record]:
        """The best answer to one text by beam search, and all that the search weighed; an empty text needs none."""
        self._refuse_idle_choosers(search)
        asked, seen = self.ask([text], search, ["the text"]), Record()
        if not asked:
            return EMPTY, seen
        (hypotheses,) = self.write(asked, search, seen)
        found = [self._answer(each, asked[0]) for each in hypotheses]
        (chosen,) = self._choose(asked, [found], search)
        seen.give([(answer.symbols, answer.ended) for answer in chosen])
        return chosen[0], seen

    def write(self, asked: Sequence[Asked], search: Search, record: Record | None = None) -> list[list[Hypothesis]]:
        """The answers to a batch of texts."""
        _, mask_BS = make_sources([one.symbols for one in asked])
        limits, n_best = [one.wish.limit for one in asked], search.n_best
        if self._chooses(search):
            n_best = search.candidates
        guide = asked[0].wishes.guide([one.wish for one in asked], mask_BS)
        with inference(are_large(self.model, len(asked) * max(search.beam, n_best))), once():
            stepper, state = self._begin(asked)
            try:
                if search.sample:
                    drawing = Sampling(search.temperature, search.top_k, search.top_p, search.min_p)
                    seeds = [search.seed * 1_000_003 + one.number for one in asked]
                    return sample(
                        stepper, state, limits, drawing, seeds, START, self.end, self.forbidden, n_best, guide.rules
                    )
                gnmt = search.length_penalty == "gnmt"
                beam = Beam(search.beam, n_best, search.length_exponent, gnmt, search.groups, search.diversity)
                return beam_search(stepper, state, limits, beam, START, self.end, self.forbidden, record, guide)
            except DeadEnd as end:
                raise DeadEnd(end.sentence, f"line {asked[end.sentence].number + 1}") from None

    def _begin(self, asked: Sequence[Asked]) -> tuple[Stepper, State]:
        """What writes the answers, and its state before the first word."""
        states: list[State] = []
        for writer in self.writers:
            sources = [one.symbols if writer is self else writer.encode(one.text) for one in asked]
            model = writer.model.eval()
            if isinstance(model, LanguageModel) and not model.pairs:
                prompts_BT = torch.tensor([[writer.start, *symbols] for symbols in sources])
                states.append(model.after(prompts_BT[:, :-1], prompts_BT[:, -1]))
            else:
                states.append(model.start(*make_sources(sources)))
        if len(states) == 1:
            return self.model, states[0]
        return Ensemble([writer.model for writer in self.writers]), EnsembleState(tuple(states))

    def limit(self, source_length: int, search: Search) -> int:
        limit = search.max_length
        if search.max_ratio:
            limit = min(limit, int(search.max_ratio * source_length) + 10)
        return self._seated(source_length, limit)

    def _seated(self, source_length: int, limit: int) -> int:
        """The limit, or as many words as all decoders can tell apart after what they have read."""
        return limit if self.writes is None else min(limit, self.writes - self.taken(source_length))

    def _answer(self, found: Hypothesis, asked: Asked) -> Answer:
        return Answer(
            self._complete(asked, found.symbols) if self.completes else self.spell(found.symbols), found.score,
            found.log_probability, tuple(self.target.pieces(found.symbols)), found.log_probabilities, found.ended,
            found.symbols,
        )  # fmt: skip

    def _complete(self, asked: Asked, symbols: Sequence[int]) -> str:
        """The prompt in its own words, unknown ones too, and what follows it."""
        before, whole = self.spell(asked.symbols), self.spell([*asked.symbols, *symbols])
        own = "\n".join(map(normalise, asked.text.split("\n") if self.run.rows == "running" else [asked.text]))
        return own + whole[len(before) :] if whole.startswith(before) else whole


def _texts(answers: Sequence[Answer]) -> list[str]:
    return [answer.text for answer in answers]
