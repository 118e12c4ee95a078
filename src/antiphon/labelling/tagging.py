"""Words in, tags out: what `Pipeline` is for models that write, for a tagger.

B sentences · P words · Y tags
"""

import math
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from antiphon.attend.looks import Looks
from antiphon.config.schema import Run, Search
from antiphon.data.batch import Batch, make_batch
from antiphon.data.labels import LabelTokenizer
from antiphon.data.rows import encode_tagged
from antiphon.data.store import PairStore
from antiphon.data.text import normalise
from antiphon.data.tokenize import Tokenizer
from antiphon.data.vocab import START, UNKNOWN
from antiphon.errors import name_lines
from antiphon.labelling.reading import BATCH_TOKENS, in_batches, judged, refuse_too_long, speak
from antiphon.layers.products import inference
from antiphon.models.labelling import Tagger, labels_of
from antiphon.pipeline import EMPTY, Answer, Looked


class Tagging:
    """A tagger with its tokenisers: what was validated is what answers. Words are what spaces part."""

    completes = False

    def __init__(self, model: Tagger, source: Tokenizer, target: LabelTokenizer, run: Run) -> None:
        self.model, self.source, self.target, self.run = model, source, target, run

    def encode(self, text: str) -> list[int]:
        return self.pair(text)[0]

    def pair(self, text: str) -> tuple[list[int], list[int]]:
        """The symbols of a sentence, and places for its tags: which they are, is not known yet."""
        words = normalise(text).split()
        return encode_tagged(self.source, " ".join(words), [UNKNOWN] * len(words))

    def answer(
        self,
        texts: Sequence[str],
        search: Search | None = None,
        first: int = 0,
        batch_tokens: int = BATCH_TOKENS,
        tell: Callable[[int], None] | None = None,
    ) -> list[list[Answer]]:
        """The likeliest tags of each sentence's words; an empty one has an empty answer. `first` as in Pipeline."""
        answers: list[list[Answer]] = [[EMPTY] for _ in texts]
        pairs = [self.pair(text) for text in texts]
        places = name_lines(len(texts), first)
        refuse_too_long(self.run, [ids for ids, _ in pairs], search or self.run.search, places)
        for numbers, batch in in_batches(pairs, batch_tokens, tell):
            for n, answer in zip(numbers, self._answers(batch), strict=True):
                answers[n] = [answer]
        return answers

    def losses(self, store: PairStore, batch_tokens: int = BATCH_TOKENS) -> Iterator[tuple[float, int, int]]:
        """Per batch the summed -log P(tags | words), its words, and those whose tag was guessed right."""
        for batch in judged(store, batch_tokens):
            tags_P, logits_PY = labels_of(batch), speak(self.model, batch)
            guess_P = self._best(logits_PY, batch)
            yield -self._log_chances(logits_PY, tags_P, batch).sum().item(), len(tags_P), int((guess_P == tags_P).sum())

    def spoken(self, store: PairStore, batch_tokens: int = BATCH_TOKENS) -> Iterator[tuple[Tensor, Tensor]]:
        """The log-probabilities of every tag of every word, and the true tags, for calibration."""
        for batch in judged(store, batch_tokens):
            yield self._each(speak(self.model, batch), batch).float(), labels_of(batch)

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """log P(tags | words) of each pair; of a tag that was never seen in training it is minus infinity."""
        self.refuse_too_long([text for text, _ in pairs], self.run.search, name_lines(len(pairs)))
        scores = []
        for text, tags in pairs:
            numbers = self.target.encode_each(tags)
            words = normalise(text).split()
            if UNKNOWN in numbers or len(numbers) != len(words):
                scores.append(-math.inf)
                continue
            ids, places = encode_tagged(self.source, " ".join(words), numbers)
            batch = make_batch([ids], [places], ended=False)
            scores.append(self._log_chances(speak(self.model, batch), labels_of(batch), batch).sum().item())
        return scores

    def chances(self, text: str, temperature: float) -> Tensor:
        """The probability of every tag of every word of one sentence: P x Y."""
        ids, places = self.pair(text)
        batch = make_batch([ids], [places], ended=False)
        return (self._each(speak(self.model, batch), batch) / temperature).softmax(-1)

    def look(self, text: str, answer: Answer) -> Looked:
        """Every place of a Transformer at every other; a recurrent tagger looks at nothing."""
        looks, (ids, places) = Looks(), self.pair(text)
        batch = make_batch([ids], [places], ended=False)
        self.model.eval()
        with inference():
            self.model(batch, looks)
        source = batch.source_BS[0].tolist()
        if self.model.letters is not None:  # which are read before: what looks is a word
            source = [number for number, place in zip(ids, places, strict=True) if place != START]
        front = [START] if self.model.front else []
        return Looked((*front, *source), (), (), looks)

    def refuse_too_long(self, texts: Sequence[str], search: Search, places: Sequence[str]) -> None:
        """Before any of them is answered; `places` names each text, as file:line."""
        refuse_too_long(self.run, [self.encode(text) for text in texts], search, places)

    def _best(self, logits_PY: Tensor, batch: Batch) -> Tensor:
        if self.model.chain is None:
            return logits_PY.argmax(1)
        with inference():
            return self.model.chain.best(logits_PY, batch.target_mask_BT.sum(1))

    def _each(self, logits_PY: Tensor, batch: Batch) -> Tensor:
        """The log-probability of every tag of every word by itself, in double precision."""
        if self.model.chain is None:
            return logits_PY.double().log_softmax(-1)
        return self.model.chain.marginals(logits_PY, batch.target_mask_BT.sum(1))

    def _log_chances(self, logits_PY: Tensor, tags_P: Tensor, batch: Batch) -> Tensor:
        """log P(tags) of each sentence; what a chain says of it cannot be parted among its words."""
        counts_B = batch.target_mask_BT.sum(1)
        if self.model.chain is None:
            logs_P = logits_PY.double().log_softmax(-1).gather(1, tags_P.unsqueeze(1)).squeeze(1)
            return torch.stack([row.sum() for row in logs_P.split(counts_B.tolist())])
        with inference():
            return self.model.chain.log_probability(logits_PY, tags_P, counts_B).double()

    def _answers(self, batch: Batch) -> Iterator[Answer]:
        logits_PY = speak(self.model, batch)
        tags_P, counts = self._best(logits_PY, batch), batch.target_mask_BT.sum(1).tolist()
        logs_P = self._each(logits_PY, batch).gather(1, tags_P.unsqueeze(1)).squeeze(1)
        whole_B = self._log_chances(logits_PY, tags_P, batch)
        rows = zip(tags_P.split(counts), logs_P.split(counts), whole_B.tolist(), strict=True)
        for tags, logs, whole in rows:
            symbols = tuple(self.target.number(tag) for tag in tags.tolist())
            each = tuple(logs.tolist())
            yield Answer(
                self.target.decode(symbols), math.exp(sum(each) / len(each)), whole, tuple(self.target.pieces(symbols)),
                each, True, symbols,
            )  # fmt: skip
