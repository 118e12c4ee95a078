"""Text with holes in, text out: what `Pipeline` is for models that write, for one that guesses hidden words.

B texts · N texts of a plan · S places · P hidden places · V words · K the likeliest of them · E what the head reads
"""

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from antiphon.attend.looks import Looks
from antiphon.config.schema import Masked as Choice
from antiphon.config.schema import Run, Search
from antiphon.data.batch import Batch, make_sources, plan_in_order
from antiphon.data.masking import WRITTEN, Masking, encode_with_holes, holes_in
from antiphon.data.store import PairStore
from antiphon.data.stretches import stretches
from antiphon.data.tokenize import Tokenizer
from antiphon.data.vocab import SPECIAL, START
from antiphon.errors import AntiphonError, name_lines
from antiphon.labelling.reading import BATCH_TOKENS, in_batches, refuse_too_long
from antiphon.layers.products import inference
from antiphon.models.masked import Masked, part_pairs
from antiphon.pipeline import EMPTY, Answer, Looked

_JUDGED = 0  # the seed of the holes that weights are judged by: the same for every run


class Filling:
    """A masked model with its tokeniser: what was validated is what answers."""

    completes = False

    def __init__(self, model: Masked, tokenizer: Tokenizer, run: Run) -> None:
        self.model, self.source, self.target, self.run = model, tokenizer, tokenizer, run

    @property
    def choice(self) -> Choice:
        assert isinstance(self.run.model, Choice), "a masked model was chosen"
        return self.run.model

    def encode(self, text: str) -> list[int]:
        return encode_with_holes(self.source, text)

    def answer(
        self,
        texts: Sequence[str],
        search: Search | None = None,
        first: int = 0,
        batch_tokens: int = BATCH_TOKENS,
        tell: Callable[[int], None] | None = None,
    ) -> list[list[Answer]]:
        """Each text with its holes filled, the likeliest first; an empty text has an empty answer."""
        search = search or self.run.search
        places = name_lines(len(texts), first)
        encoded = [self.encode(text) if text.strip() else [] for text in texts]
        refuse_too_long(self.run, encoded, search, places)
        for place, symbols in zip(places, encoded, strict=True):
            if symbols and not holes_in(symbols, self.source.hole):
                raise AntiphonError(f"{place}: nothing to guess. Write {WRITTEN} where a word is missing.")
        answers: list[list[Answer]] = [[EMPTY] for _ in texts]
        fronted = [[START, *symbols] if symbols else [] for symbols in encoded]
        for numbers, batch in in_batches([(symbols, []) for symbols in fronted], batch_tokens, tell):
            for n, logs_PV in zip(numbers, self._logs(batch), strict=True):
                answers[n] = self._filled(encoded[n], logs_PV, search.n_best)
        return answers

    def _logs(self, batch: Batch) -> Iterator[Tensor]:
        """The log-probabilities of every word at the holes of each text; special symbols are no words."""
        holed = replace(batch, target_mask_BT=batch.source_BS == self.source.hole)
        special_V = torch.arange(self.source.size) < len(SPECIAL)
        logits_PV = self._speak(holed)[0].masked_fill(special_V, -math.inf)
        yield from logits_PV.double().log_softmax(-1).split(holed.target_mask_BT.sum(1).tolist())

    def _speak(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Logits of words at the hidden places, and of no and yes for pairs of texts."""
        self.model.eval()
        with inference():
            words_PE, texts_BE = part_pairs(batch, self.model(batch))
            pairs = self.model.pair(texts_BE) if self.model.pair is not None else texts_BE
            return self.model.head(words_PE).float(), pairs

    def _filled(self, symbols: Sequence[int], logs_PV: Tensor, n_best: int) -> list[Answer]:
        best_PK = logs_PV.topk(min(n_best, logs_PV.shape[1] - len(SPECIAL)), dim=1)
        answers = []
        for ranks in _likeliest(best_PK.values.tolist(), n_best):
            words = [row[rank] for row, rank in zip(best_PK.indices.tolist(), ranks, strict=True)]
            each = [row[rank] for row, rank in zip(best_PK.values.tolist(), ranks, strict=True)]
            whole = list(symbols)
            for place, word in zip(holes_in(symbols, self.source.hole), words, strict=True):
                whole[place] = word
            score = math.exp(sum(each) / len(each))
            answers.append(
                Answer(
                    self.source.decode(whole), score, sum(each), tuple(self.source.pieces(words)), tuple(each), True,
                    tuple(words),
                )
            )  # fmt: skip
        return answers

    def examples(self, store: PairStore, batch_tokens: int = BATCH_TOKENS) -> Iterator[Batch]:
        """Texts with the holes by which weights are judged, the same every time."""
        texts = stretches(store, self.run.data.window, self.choice.next_sentence, _JUDGED, 0)
        masking = Masking.of(self.choice, self.source)
        for indices in plan_in_order(texts.lengths, batch_tokens):
            yield masking.load(texts, indices, _JUDGED, 0)

    def losses(self, store: PairStore, batch_tokens: int = BATCH_TOKENS) -> Iterator[tuple[float, int, int]]:
        """Per batch the summed -log P(hidden words), how many there are, and how many were guessed right."""
        for loss, count, right, _, _ in self.judged(store, batch_tokens):
            yield loss, count, right

    def judged(self, store: PairStore, batch_tokens: int = BATCH_TOKENS) -> Iterator[tuple[float, int, int, int, int]]:
        """The same, and of how many pairs of texts it was said rightly whether the second follows the first."""
        for batch in self.examples(store, batch_tokens):
            logits_PV, pairs_B2 = self._speak(batch)
            words_P = batch.target_out_BT[batch.target_mask_BT]
            logs_P = logits_PV.double().log_softmax(-1).gather(1, words_P.unsqueeze(1))
            right = int((logits_PV.argmax(1) == words_P).sum())
            told, count = 0, 0
            if batch.follows_B is not None:
                told, count = int((pairs_B2.argmax(1) == batch.follows_B).sum()), len(batch.follows_B)
            yield -logs_P.sum().item(), len(words_P), right, told, count

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        raise AntiphonError("score: a masked model knows words between words, not texts. Train a language_model.")

    def look(self, text: str, answer: Answer) -> Looked:
        """Every place of a Transformer at every other."""
        source_BS, mask_BS = make_sources([[START, *self.encode(text)]])
        looks, hidden_BS = Looks(), source_BS < 0
        self.model.eval()
        with inference():
            self.model(Batch(source_BS, mask_BS, source_BS, source_BS, hidden_BS), looks)
        return Looked(tuple(source_BS[0].tolist()), (), (), looks)

    def refuse_too_long(self, texts: Sequence[str], search: Search, places: Sequence[str]) -> None:
        """Before any of them is answered; `places` names each text, as file:line."""
        refuse_too_long(self.run, [self.encode(text) for text in texts], search, places)


def _likeliest(logs: Sequence[Sequence[float]], count: int) -> list[tuple[int, ...]]:
    """The best choices of one rank a hole, by the sum of their logarithms; each row is sorted, the best first."""
    start = (0,) * len(logs)
    queue, seen = [(-sum(row[0] for row in logs), start)], {start}
    found: list[tuple[int, ...]] = []
    while queue and len(found) < count:
        cost, ranks = heapq.heappop(queue)
        found.append(ranks)
        for hole, rank in enumerate(ranks):
            following = (*ranks[:hole], rank + 1, *ranks[hole + 1 :])
            if rank + 1 < len(logs[hole]) and following not in seen:
                seen.add(following)
                heapq.heappush(queue, (cost + logs[hole][rank] - logs[hole][rank + 1], following))
    return found
