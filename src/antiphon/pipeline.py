"""Text in, text out: the one path that validation, the command line, Python and tests all use.

B sentences · T, S target and source places · P real target places, C of them at a time
E output · V words
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn.utils.parametrize import cached

from antiphon.attend.looks import Looks
from antiphon.config.schema import RecurrentDecoder, RecurrentEncoder, Run, Search, TransformerStack
from antiphon.data.batch import load_batch, make_batch, make_sources, plan_in_order
from antiphon.data.store import PairStore
from antiphon.data.tokenize import Tokenizer
from antiphon.data.vocab import END, START
from antiphon.errors import AntiphonError
from antiphon.models import Seq2Seq
from antiphon.search.beam import Beam, beam_search
from antiphon.search.record import Record
from antiphon.search.sample import Sampling, sample
from antiphon.search.step import Hypothesis
from antiphon.search.wishes import FORBIDDEN, Wish, Wishes

_BATCH_TOKENS = 2048  # source symbols searched at once; the answers do not depend on it


@dataclass(frozen=True)
class Answer:
    """One answer to one text."""

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

    source: tuple[int, ...]  # symbols, and the end
    target: tuple[int, ...]  # the answer's symbols, and its end where it has one
    read: tuple[int, ...]  # what the decoder read for each of these: the start, then the symbol before
    looks: Looks  # of a batch of one


@dataclass(frozen=True)
class Asked:
    """A text that is to be answered."""

    text: str
    symbols: Sequence[int]
    number: int  # among all that are asked for, which seeds its draws
    wish: Wish
    wishes: Wishes  # that all texts share


class Pipeline:
    """A model with its tokenisers: what was validated is what answers."""

    def __init__(self, model: Seq2Seq, source: Tokenizer, target: Tokenizer, run: Run) -> None:
        self.model, self.source, self.target, self.run = model, source, target, run

    def answer(
        self,
        texts: Sequence[str],
        search: Search | None = None,
        first: int = 0,
        batch_tokens: int = _BATCH_TOKENS,
        tell: Callable[[int], None] | None = None,
    ) -> list[list[Answer]]:
        """The best answers to each text, best first. An empty text has an empty answer.

        `first` is the number of the first text among all that are asked for, which names lines in errors and seeds
        the draws of each. `tell` hears how many texts are done.
        """
        search = search or self.run.search
        places = [f"line {first + n}" for n in range(1, len(texts) + 1)]
        asked = self.ask(texts, search, places, first)
        answers: list[list[Answer]] = [[EMPTY] for _ in texts]
        done = len(texts) - len(asked)
        lengths = np.array([[len(one.symbols), 0] for one in asked], dtype=np.int32).reshape(-1, 2)
        for indices in plan_in_order(lengths, batch_tokens):
            batch = [asked[i] for i in indices]
            for one, hypotheses in zip(batch, self.write(batch, search), strict=True):
                answers[one.number - first] = [self._answer(hypothesis) for hypothesis in hypotheses]
            done += len(batch)
            if tell:
                tell(done)
        return answers

    def ask(self, texts: Sequence[str], search: Search, places: Sequence[str], first: int = 0) -> list[Asked]:
        """All that is not empty, ready to be answered; `places` names each text in errors."""
        encoded = [self.source.encode(text) for text in texts]
        self._refuse_too_long(encoded, search, places)
        wishes = Wishes(search, self.target)
        most = min(search.max_length, _seats(self.run.model.decoder) or search.max_length)
        return [
            Asked(text, symbols, first + n, wishes.of(text, place, self.limit(len(symbols), search), most), wishes)
            for n, (text, symbols, place) in enumerate(zip(texts, encoded, places, strict=True))
            if symbols
        ]

    def losses(self, store: PairStore, batch_tokens: int = 4096) -> Iterator[tuple[float, int, int]]:
        """Per batch the summed -log P(target | source), its symbols, and those guessed right, true words given."""
        self._refuse_too_long_targets(store)
        self.model.eval()
        for indices in plan_in_order(store.lengths, batch_tokens):
            batch = load_batch(store, indices)
            with torch.inference_mode():
                words_P = batch.target_out_BT[batch.target_mask_BT]
                loss, right = 0.0, 0
                # In slices, because the logits of a whole batch can be larger than the rest of the model.
                for out_CE, words_C in zip(self.model(batch).split(512), words_P.split(512), strict=True):
                    log_probs_CV = self.model.head(out_CE).log_softmax(dim=-1)
                    loss -= log_probs_CV.gather(1, words_C.unsqueeze(1)).double().sum().item()
                    right += int((log_probs_CV.argmax(1) == words_C).sum())
                yield loss, len(words_P), right

    def look(self, text: str, answer: Answer) -> Looked:
        """The attention behind an answer, from one pass over it; so it works after any search."""
        source, looks = self.source.encode(text), Looks()
        written = (*answer.symbols, END) if answer.ended else answer.symbols
        self.model.eval()
        with torch.inference_mode():
            self.model(make_batch([source], [written[:-1]]), looks)
        return Looked((*source, END), written, (START, *written[:-1]), looks)

    def record(self, text: str, search: Search) -> tuple[Answer, Record]:
        """The best answer to one text by beam search, and all that the search weighed; an empty text needs none."""
        asked, seen = self.ask([text], search, ["the text"]), Record()
        return self._answer(self.write(asked, search, seen)[0][0]) if asked else EMPTY, seen

    def write(self, asked: Sequence[Asked], search: Search, record: Record | None = None) -> list[list[Hypothesis]]:
        """The answers to a batch of texts."""
        source_BS, mask_BS = make_sources([one.symbols for one in asked])
        limits = [one.wish.limit for one in asked]
        guide = asked[0].wishes.guide([one.wish for one in asked], mask_BS)
        self.model.eval()
        with torch.inference_mode(), cached():
            state = self.model.start(source_BS, mask_BS)
            if search.sample:
                drawing = Sampling(search.temperature, search.top_k, search.top_p, search.min_p)
                seeds = [search.seed * 1_000_003 + one.number for one in asked]
                return sample(
                    self.model, state, limits, drawing, seeds, START, END, FORBIDDEN, search.n_best, guide.rules
                )
            gnmt = search.length_penalty == "gnmt"
            beam = Beam(search.beam, search.n_best, search.length_exponent, gnmt, search.groups, search.diversity)
            return beam_search(self.model, state, limits, beam, START, END, FORBIDDEN, record, guide)

    def limit(self, source_length: int, search: Search) -> int:
        limit = search.max_length
        if search.max_ratio:
            limit = min(limit, int(search.max_ratio * source_length) + 10)
        return min(limit, _seats(self.run.model.decoder) or limit)

    def refuse_too_long(self, texts: Sequence[str], search: Search, places: Sequence[str]) -> None:
        """Before any of them is answered; `places` names each text, as file:line."""
        self._refuse_too_long([self.source.encode(text) for text in texts], search, places)

    def _refuse_too_long(self, encoded: Sequence[Sequence[int]], search: Search, places: Sequence[str]) -> None:
        longest = min(search.max_source, (_seats(self.run.model.encoder) or search.max_source + 1) - 1)
        for place, symbols in zip(places, encoded, strict=True):
            if len(symbols) > longest:
                raise AntiphonError(
                    f"{place}: {len(symbols):,} symbols, and this model reads at most {longest:,}. "
                    "Split the text, or raise search.max_source where memory allows."
                )

    def _refuse_too_long_targets(self, store: PairStore) -> None:
        seats, number = _seats(self.run.model.decoder), int(store.lengths[:, 1].argmax())
        length = int(store.lengths[number, 1])
        if seats is not None and length >= seats:
            raise AntiphonError(
                f"pair {number + 1}: its target has {length:,} symbols, and this model writes at most {seats - 1:,}. "
                "Leave it out, or shorten it."
            )

    def _answer(self, found: Hypothesis) -> Answer:
        return Answer(
            self.target.decode(found.symbols), found.score, found.log_probability,
            tuple(self.target.pieces(found.symbols)), found.log_probabilities, found.ended, found.symbols,
        )  # fmt: skip


def _seats(half: RecurrentEncoder | RecurrentDecoder | TransformerStack) -> int | None:
    """The places that learned positions can tell apart; the others have no end."""
    if isinstance(half, TransformerStack) and half.positions == "learned":
        return half.max_positions
    return None
