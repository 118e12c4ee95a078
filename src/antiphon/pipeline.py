"""Text in, text out: the one path that validation, the command line, Python and tests all use.

B sentences · T, S target and source places · P real target places, C of them at a time
E output · V words
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils.parametrize import cached

from antiphon.attend.looks import Looks
from antiphon.config.schema import Run, Search, TransformerStack, seats
from antiphon.data.batch import Batch, Indices, load_batch, make_batch, make_sources, plan_in_order
from antiphon.data.rows import NOUNS
from antiphon.data.running import BREAK, RunningText, encode_lines, load_windows, plan_counting, spell_lines
from antiphon.data.store import PairStore
from antiphon.data.text import normalise
from antiphon.data.tokenize import Tokenizer
from antiphon.data.vocab import END, PAD, START, UNKNOWN
from antiphon.errors import AntiphonError
from antiphon.models import LanguageModel, Model
from antiphon.search.beam import Beam, beam_search
from antiphon.search.sample import Sampling, sample
from antiphon.search.step import Hypothesis

_BATCH_TOKENS = 2048  # source symbols searched at once; the answers do not depend on it
_NEVER = -1  # the end of an answer that has none


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


EMPTY = Answer("", 0.0, 0.0, (), (), True, ())


@dataclass(frozen=True)
class Looked:
    """Where a model looked while it wrote one answer."""

    source: tuple[int, ...]  # symbols, and the end; of a language model nothing
    target: tuple[int, ...]  # the answer's symbols, after those of a prompt, and its end where it has one
    read: tuple[int, ...]  # what the decoder read for each of these: the start, then the symbol before
    looks: Looks  # of a batch of one


class Pipeline:
    """A model with its tokenisers: what was validated is what answers."""

    def __init__(self, model: Model, source: Tokenizer, target: Tokenizer, run: Run) -> None:
        self.model, self.source, self.target, self.run = model, source, target, run
        self.completes = isinstance(model, LanguageModel)  # then a text is a prompt, and its answer goes on from it
        self.start, self.end = (BREAK, _NEVER) if run.rows == "running" else (START, END)

    def encode(self, text: str) -> list[int]:
        """What the model reads of a text; the lines of a running text are parted by breaks."""
        return encode_lines(self.target, text) if self.run.rows == "running" else self.source.encode(text)

    def spell(self, symbols: Sequence[int]) -> str:
        """The text of what the model wrote."""
        return spell_lines(self.target, symbols) if self.run.rows == "running" else self.target.decode(symbols)

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
        encoded = [self.encode(text) for text in texts]
        self._refuse_too_long(encoded, search, [f"line {first + n}" for n in range(1, len(texts) + 1)])
        asked = [n for n, symbols in enumerate(encoded) if symbols or self.completes]
        answers: list[list[Answer]] = [[EMPTY] for _ in texts]
        done = len(texts) - len(asked)
        lengths = np.array([[len(encoded[n]), 0] for n in asked], dtype=np.int32).reshape(-1, 2)
        planned = plan_in_order(lengths, batch_tokens)
        for indices in _equally_long(planned, lengths[:, 0]) if self.completes else planned:
            numbers = [asked[i] for i in indices]
            found = self.write([encoded[n] for n in numbers], [first + n for n in numbers], search)
            for n, hypotheses in zip(numbers, found, strict=True):
                answers[n] = [self._answer(hypothesis, texts[n], encoded[n]) for hypothesis in hypotheses]
            done += len(numbers)
            if tell:
                tell(done)
        return answers

    def losses(self, store: PairStore, batch_tokens: int = 4096) -> Iterator[tuple[float, int, int]]:
        """Per batch the summed -log P(target | source), its symbols, and those guessed right, true words given."""
        for batch, counted_P in self._judged(store, batch_tokens):
            each_P, right_P = self._foretold(batch, counted_P)
            yield -each_P.sum().item(), len(each_P), int(right_P.sum())

    def _foretold(self, batch: Batch, counted_P: Tensor) -> tuple[Tensor, Tensor]:
        """At every place that counts, the log-probability of the true word, and whether it was the likeliest."""
        self.model.eval()
        with torch.inference_mode():
            states_PE, words_P = self.model(batch)[counted_P], batch.target_out_BT[batch.target_mask_BT][counted_P]
            each, right = [], []
            # In slices, because the logits of a whole batch can be larger than the rest of the model.
            for out_CE, words_C in zip(states_PE.split(512), words_P.split(512), strict=True):
                log_probs_CV = self.model.head(out_CE).log_softmax(dim=-1)
                each.append(log_probs_CV.gather(1, words_C.unsqueeze(1)).squeeze(1).double())
                right.append(log_probs_CV.argmax(1) == words_C)
        return torch.cat(each), torch.cat(right)

    def score(self, pairs: Sequence[tuple[str, str]], batch_tokens: int = 4096) -> list[float]:
        """log P(target | source) of each pair, its end included; every text begins anew, a running one's lines too."""
        store = PairStore.of((self.source.encode(s) if s else [], self.target.encode(t)) for s, t in pairs)
        self._refuse_too_long_targets(store)
        totals = [0.0] * len(pairs)
        for indices in plan_in_order(store.lengths, batch_tokens):
            batch = self._begun(load_batch(store, indices))
            each_P, _ = self._foretold(batch, _all(batch))
            for number, row in zip(indices.tolist(), each_P.split(batch.target_mask_BT.sum(1).tolist()), strict=True):
                totals[number] = row.sum().item()
        return totals

    def _begun(self, batch: Batch) -> Batch:
        """The batch with this model's own first word."""
        return replace(batch, target_in_BT=batch.target_in_BT.index_fill(1, torch.tensor([0]), self.start))

    def _judged(self, store: PairStore, batch_tokens: int) -> Iterator[tuple[Batch, Tensor]]:
        """Batches, and which of their real places count: each symbol of the store once."""
        if self.run.rows == "running":
            text, recurrent = RunningText(store), not isinstance(self.run.model.decoder, TransformerStack)
            for windows in plan_counting(len(text), self.run.data.window, batch_tokens, recurrent):
                yield load_windows(text, windows)
            return
        self._refuse_too_long_targets(store)
        for indices in plan_in_order(store.lengths, batch_tokens):
            batch = load_batch(store, indices)
            yield batch, _all(batch)

    def look(self, text: str, answer: Answer) -> Looked:
        """The attention behind an answer, from one pass over it; so it works after any search."""
        batch, looks = self.written(text, answer), Looks()
        self.model.eval()
        with torch.inference_mode():
            self.model(batch, looks)
        source = batch.source_BS[0].tolist() if self.run.has_source else []
        written, read = batch.target_out_BT[0].tolist(), batch.target_in_BT[0].tolist()
        return Looked(tuple(source), tuple(written), tuple(read), looks)

    def written(self, text: str, answer: Answer) -> Batch:
        """An answer as it would be learnt from, after what it answers, up to its end or its last symbol."""
        asked = self.encode(text)
        source, before = ([], asked) if self.completes else (asked, [])
        batch = self._begun(make_batch([source], [[*before, *answer.symbols]]))
        return batch if answer.ended else batch.shorter()

    def write(self, sources: Sequence[Sequence[int]], numbers: Sequence[int], search: Search) -> list[list[Hypothesis]]:
        limits = [self._limit(len(source), search) for source in sources]
        forbidden = [PAD, START, UNKNOWN]
        self.model.eval()
        with torch.inference_mode(), cached():
            if isinstance(self.model, LanguageModel):
                prompts = torch.tensor([[self.start, *source] for source in sources])
                state = self.model.after(prompts[:, :-1], prompts[:, -1])
            else:
                state = self.model.start(*make_sources(sources))
            if search.sample:
                drawing = Sampling(search.temperature, search.top_k, search.top_p)
                seeds = [search.seed * 1_000_003 + number for number in numbers]
                return sample(self.model, state, limits, drawing, seeds, START, self.end, forbidden, search.n_best)
            beam = Beam(search.beam, search.n_best, search.length_exponent)
            return beam_search(self.model, state, limits, beam, START, self.end, forbidden)

    def _limit(self, source_length: int, search: Search) -> int:
        limit = search.max_length
        if search.max_ratio:
            limit = min(limit, int(search.max_ratio * source_length) + 10)
        places = self._places("decoder")
        return limit if places is None else min(limit, places - (source_length if self.completes else 0))

    def _places(self, half: str) -> int | None:
        """How many symbols this half of the model can read at the most; None where there is no end."""
        choice = self.run.model.halves[half]
        if self.run.rows == "running" and isinstance(choice, TransformerStack):
            return self.run.data.window  # it knows no farther places, whatever their kind
        return seats(choice)

    def refuse_too_long(self, texts: Sequence[str], search: Search, places: Sequence[str]) -> None:
        """Before any of them is answered; `places` names each text, as file:line."""
        self._refuse_too_long([self.encode(text) for text in texts], search, places)

    def _refuse_too_long(self, encoded: Sequence[Sequence[int]], search: Search, places: Sequence[str]) -> None:
        longest = min(search.max_source, (self._places(next(iter(self.run.model.halves))) or search.max_source + 1) - 1)
        for place, symbols in zip(places, encoded, strict=True):
            if len(symbols) > longest:
                raise AntiphonError(
                    f"{place}: {len(symbols):,} symbols, and this model reads at most {longest:,}. "
                    + ("Give it less" if self.completes else "Split the text")
                    + (", or raise search.max_source where memory allows." if longest == search.max_source else ".")
                )

    def _refuse_too_long_targets(self, store: PairStore) -> None:
        seated, number = self._places("decoder"), int(store.lengths[:, 1].argmax())
        length = int(store.lengths[number, 1])
        if seated is not None and length >= seated:
            raise AntiphonError(
                f"{NOUNS[self.run.rows]} {number + 1}: its {'text' if self.completes else 'target'} has {length:,} "
                f"symbols, and this model writes at most {seated - 1:,}. "
                "Leave it out, or shorten it."
            )

    def _answer(self, found: Hypothesis, text: str, asked: Sequence[int]) -> Answer:
        return Answer(
            self._complete(text, asked, found.symbols) if self.completes else self.spell(found.symbols), found.score,
            found.log_probability, tuple(self.target.pieces(found.symbols)), found.log_probabilities, found.ended,
            found.symbols,
        )  # fmt: skip

    def _complete(self, prompt: str, asked: Sequence[int], symbols: Sequence[int]) -> str:
        """The prompt in its own words, unknown ones too, and what follows it."""
        before, whole = self.spell(asked), self.spell([*asked, *symbols])
        own = "\n".join(map(normalise, prompt.split("\n") if self.run.rows == "running" else [prompt]))
        return own + whole[len(before) :] if whole.startswith(before) else whole


def _equally_long(planned: list[Indices], lengths_N: NDArray[np.int32]) -> Iterator[Indices]:
    """Prompts are read all at once, so only equally long ones share a batch."""
    for indices in planned:
        yield from np.split(indices, np.flatnonzero(np.diff(lengths_N[indices])) + 1)


def _all(batch: Batch) -> Tensor:
    """Every real place of a batch counts."""
    return torch.ones(batch.target_tokens, dtype=torch.bool)
