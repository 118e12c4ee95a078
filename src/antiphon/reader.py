"""A model with its tokenisers, and how likely it finds texts that are given.

N pairs · P real target places, C of them at a time · E output · V words
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from antiphon.config.schema import Run, Search, TransformerStack, seats
from antiphon.data.batch import Batch, load_batch, plan_in_order
from antiphon.data.rows import NOUNS
from antiphon.data.running import BREAK, RunningText, encode_lines, load_windows, plan_counting, spell_lines
from antiphon.data.store import PairStore
from antiphon.data.tokenize import Tokenizer
from antiphon.data.vocab import END, START
from antiphon.errors import AntiphonError, name_lines
from antiphon.layers.products import inference
from antiphon.models.model import Writer
from antiphon.models.writing import LanguageModel
from antiphon.search.ensemble import mean_probability
from antiphon.search.rules import broken

_AT_ONCE = 512  # places, because the logits of a whole batch can be larger than the rest of the model
_NEVER = -1  # the end of an answer that has none


class Reader:
    """From text to what the model reads, from what it writes to text, and the probabilities of texts in between."""

    def __init__(
        self, model: Writer, source: Tokenizer, target: Tokenizer, run: Run, partners: Sequence["Reader"] = ()
    ) -> None:
        self.model, self.source, self.target, self.run, self.partners = model, source, target, run, partners
        self.prompted = isinstance(model, LanguageModel)  # a text is read by the decoder, before what it writes
        self.completes = self.prompted and not run.has_source  # then its answer is the text itself, gone on with
        self.start, self.end = (BREAK, _NEVER) if run.rows == "running" else (START, END)

    def refuse_strangers(self, name: str, partners: Sequence[str]) -> None:
        """Models that write together need the same words; `name` and `partners` are where they come from."""
        for partner, reader in zip(partners, self.partners, strict=True):
            if (reader.prompted, reader.completes) != (self.prompted, self.completes):
                raise AntiphonError(
                    f"{partner}: not of the same kind as {name}, so they cannot write together. Name another."
                )
            if reader.target.to_bytes() != self.target.to_bytes():
                raise AntiphonError(
                    f"{partner}: its target vocabulary is not that of {name}, and models that write together need the "
                    "same. Train both with the same target texts and data.target.tokenizer."
                )

    @property
    def read_alike(self) -> bool:
        """Whether its partners read the same source symbols, so that one batch serves all."""
        return all(partner.source.to_bytes() == self.source.to_bytes() for partner in self.partners)

    def encode(self, text: str) -> list[int]:
        """What the model reads of a text; the lines of a running text are parted by breaks."""
        return encode_lines(self.target, text) if self.run.rows == "running" else self.source.encode(text)

    def spell(self, symbols: Sequence[int]) -> str:
        """The text of what the model wrote."""
        return spell_lines(self.target, symbols) if self.run.rows == "running" else self.target.decode(symbols)

    def losses(self, store: PairStore, batch_tokens: int = 4096) -> Iterator[tuple[float, int, int]]:
        """Per batch the summed -log P(target | source), its symbols, and those guessed right, true words given.

        Of several models together it is the mean of their probabilities.
        """
        self._refuse_strange_readers()
        for batch, counted_P in self._judged(store, batch_tokens):
            each_P, right_P = self._foretold(batch, counted_P)
            yield -each_P.sum().item(), len(each_P), int(right_P.sum())

    def _refuse_strange_readers(self) -> None:
        if not self.read_alike:
            raise AntiphonError(
                "perplexity: these models read different source symbols, and how likely such models together find a "
                "text is not measured. Ask each by itself."
            )

    def _foretold(self, batch: Batch, counted_P: Tensor) -> tuple[Tensor, Tensor]:
        """At every place that counts, the log-probability of the true word, and whether it was the likeliest."""
        models = [reader.model.eval() for reader in (self, *self.partners)]
        with inference():
            states = [model(batch)[counted_P].split(_AT_ONCE) for model in models]
            words_P = batch.target_out_BT[batch.target_mask_BT][counted_P]
            each, right = [], []
            for *outs_CE, words_C in zip(*states, words_P.split(_AT_ONCE), strict=True):
                heads = zip(models, outs_CE, strict=True)
                log_probs_CV = mean_probability([model.head(out_CE).log_softmax(dim=-1) for model, out_CE in heads])
                each.append(log_probs_CV.gather(1, words_C.unsqueeze(1)).squeeze(1).double())
                right.append(log_probs_CV.argmax(1) == words_C)
        return torch.cat(each), torch.cat(right)

    def score(
        self, pairs: Sequence[tuple[str, str]], search: Search | None = None, batch_tokens: int = 4096
    ) -> list[float]:
        """log P(target | source) of each pair, its end included; every text begins anew, a running one's lines too."""
        if not pairs:
            return []
        self._refuse_strange_readers()
        sources = [self.source.encode(text) if text else [] for text, _ in pairs]
        for reader in (self, *self.partners):
            reader.refuse_too_long_symbols(sources, search or self.run.search, name_lines(len(pairs)))
        store = PairStore.of(
            (source, self.target.encode(text)) for source, (_, text) in zip(sources, pairs, strict=True)
        )
        self._refuse_too_long_targets(store)
        totals = [0.0] * len(pairs)
        for indices in plan_in_order(store.lengths, batch_tokens):
            batch = self.begun(load_batch(store, indices))
            each_P, _ = self._foretold(batch, _all(batch))
            for number, row in zip(indices.tolist(), each_P.split(batch.target_mask_BT.sum(1).tolist()), strict=True):
                totals[number] = row.sum().item()
                if math.isnan(totals[number]):
                    raise broken(f"in {NOUNS[self.run.rows]} {number + 1}")
        return totals

    def begun(self, batch: Batch) -> Batch:
        """The batch with this model's own first word."""
        return replace(batch, target_in_BT=batch.target_in_BT.index_fill(1, torch.tensor([0]), self.start))

    def _judged(self, store: PairStore, batch_tokens: int) -> Iterator[tuple[Batch, Tensor]]:
        """Batches, and which of their real places count: each symbol of the store once."""
        if self.run.rows == "running":
            text = RunningText(store)
            for windows in plan_counting(len(text), self.run.data.window, batch_tokens, self.run.carries_state):
                yield load_windows(text, windows)
            return
        self._refuse_too_long_targets(store)
        for indices in plan_in_order(store.lengths, batch_tokens):
            batch = load_batch(store, indices)
            yield batch, _all(batch)

    def places(self, half: str) -> int | None:
        """How many symbols this half of the model can read at the most; None where there is no end."""
        choice = self.run.model.halves[half]
        if self.run.rows == "running" and isinstance(choice, TransformerStack):
            return self.run.data.window  # it knows no farther places, whatever their kind
        return seats(choice)

    @property
    def writes(self) -> int | None:
        """How many symbols every decoder can tell apart, of this model and its partners; None where there is no end."""
        return min(filter(None, (reader.places("decoder") for reader in (self, *self.partners))), default=None)

    def taken(self, symbols: int) -> int:
        """Places of the decoder that a text of so many symbols takes before the answer, the start not counted."""
        return (symbols if self.completes else symbols + 1) if self.prompted else 0

    def refuse_too_long(self, texts: Sequence[str], search: Search, places: Sequence[str]) -> None:
        """Before any of them is answered; `places` names each text, as file:line."""
        self.refuse_too_long_symbols([self.encode(text) for text in texts], search, places)

    def refuse_too_long_symbols(self, encoded: Sequence[Sequence[int]], search: Search, places: Sequence[str]) -> None:
        mend = "Give it less" if self.prompted else "Split the text"
        refuse_longer(encoded, places, self.longest(search), search, mend)

    def longest(self, search: Search) -> int:
        """The most symbols of a text that it reads."""
        seated = self.places(next(iter(self.run.model.halves)))
        return search.max_source if seated is None else min(search.max_source, seated - max(1, self.taken(1)))

    def _refuse_too_long_targets(self, store: PairStore) -> None:
        seated, joins = self.writes, self.prompted and not self.completes
        lengths_N = store.lengths.sum(1) if joins else store.lengths[:, 1]
        number = int(lengths_N.argmax())
        if seated is not None and lengths_N[number] >= seated - joins:
            whose = "" if self.completes else "its source and target have " if joins else "its target has "
            raise AntiphonError(
                f"{NOUNS[self.run.rows]} {number + 1}: {whose}{lengths_N[number]:,} symbols, "
                f"and this model {'reads' if joins else 'writes'} at most {seated - joins - 1:,}. "
                "Leave it out, or shorten it."
            )


def refuse_longer(
    encoded: Sequence[Sequence[int]], places: Sequence[str], longest: int, search: Search, mend: str = "Split the text"
) -> None:
    """`places` names each text, as file:line; the setting is named where it, and not the model, is what forbids it."""
    for place, symbols in zip(places, encoded, strict=True):
        if len(symbols) > longest:
            raise AntiphonError(
                f"{place}: {len(symbols):,} symbols, and this model reads at most {longest:,}. {mend}"
                + (", or raise search.max_source where memory allows." if longest == search.max_source else ".")
            )


def _all(batch: Batch) -> Tensor:
    """Every real place of a batch counts."""
    return torch.ones(batch.target_tokens, dtype=torch.bool)


@dataclass(frozen=True)
class Jury:
    """Models that have a say in which of several answers is given."""

    reverse: Reader | None = None  # from answers to texts
    model_of_answers: Reader | None = None  # a language model

    @property
    def sits(self) -> bool:
        return self.reverse is not None or self.model_of_answers is not None

    def rate(self, pairs: Sequence[tuple[str, str]], search: Search) -> list[float]:
        """What they add to the score of each (text, answer): their mean log-probability of a symbol, weighed."""
        total = [0.0] * len(pairs)
        for judge, weight, judged in (
            (self.reverse, search.reverse_weight, [(answer, text) for text, answer in pairs]),
            (self.model_of_answers, search.model_of_answers_weight, [("", answer) for _, answer in pairs]),
        ):
            if judge is not None:
                judge.refuse_too_long([source for source, _ in judged], search, ["an answer"] * len(judged))
                lengths = [len(judge.target.encode(target)) + 1 for _, target in judged]
                logs = zip(judge.score(judged, search), lengths, strict=True)
                total = [before + weight * log / length for before, (log, length) in zip(total, logs, strict=True)]
        return total


NOBODY = Jury()
