"""Text in, labels out: what `Pipeline` is for models that write, for a classifier.

B texts · S places · H heads · Y labels, K the likeliest of them
"""

import heapq
import math
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from antiphon.attend.looks import Looks
from antiphon.config.schema import Run, Search
from antiphon.data.batch import make_batch
from antiphon.data.labels import LabelTokenizer
from antiphon.data.rows import encode_source
from antiphon.data.store import PairStore
from antiphon.data.tokenize import Tokenizer
from antiphon.data.vocab import START, UNKNOWN
from antiphon.errors import AntiphonError, name_lines
from antiphon.labelling.reading import BATCH_TOKENS, in_batches, judged, once_more, refuse_too_long, speak
from antiphon.layers.products import inference
from antiphon.models.labelling import Classifier, each_label, labels_of
from antiphon.pipeline import EMPTY, Answer, Looked


class Classifying:
    """A classifier with its tokenisers: what was validated is what answers.

    All probabilities that it tells of its answers are calibrated: logits are divided by the fitted `temperature`.
    """

    completes = False

    def __init__(
        self, model: Classifier, source: Tokenizer, target: LabelTokenizer, run: Run, temperature: float = 1.0
    ) -> None:
        self.model, self.source, self.target, self.run, self.temperature = model, source, target, run, temperature

    def encode(self, text: str) -> list[int]:
        return encode_source(self.source, text, self.run.rows)

    def answer(
        self,
        texts: Sequence[str],
        search: Search | None = None,
        first: int = 0,
        batch_tokens: int = BATCH_TOKENS,
        tell: Callable[[int], None] | None = None,
    ) -> list[list[Answer]]:
        """The likeliest labels of each text, best first; an empty text has an empty answer. `first` as in Pipeline."""
        search = search or self.run.search
        logits = self.logits(texts, search, first, batch_tokens, tell)
        return [[EMPTY] if row_Y is None else self._answers(row_Y, search.n_best) for row_Y in logits]

    def logits(
        self,
        texts: Sequence[str],
        search: Search | None = None,
        first: int = 0,
        batch_tokens: int = BATCH_TOKENS,
        tell: Callable[[int], None] | None = None,
    ) -> list[Tensor | None]:
        """What the model says of each label; None for an empty text."""
        places = name_lines(len(texts), first)
        encoded = self._encoded(texts, search or self.run.search, places)
        found: list[Tensor | None] = [None] * len(texts)
        for numbers, batch in in_batches([(symbols, []) for symbols in encoded], batch_tokens, tell):
            for n, row_Y in zip(numbers, speak(self.model, batch), strict=True):
                found[n] = row_Y
        return found

    def probabilities(self, texts: Sequence[str]) -> list[dict[str, float]]:
        """Of each label, the likeliest first; nothing for an empty text. Several labels need not sum to one."""
        logits = self.logits(texts, once_more(self.run))
        found = [{} if row_Y is None else self.chances(row_Y / self.temperature) for row_Y in logits]
        return [dict(sorted(chances.items(), key=lambda pair: -pair[1])) for chances in found]

    def chances(self, row_Y: Tensor) -> dict[str, float]:
        """The probability of each label, from its logits."""
        return dict(zip(self.target.labels, self._chances(row_Y).tolist(), strict=True))

    def probability(self, row_Y: Tensor, symbols: Sequence[int], temperature: float = 1.0) -> float:
        """P(these labels | text): of one its share, of several the product over every yes and no."""
        return math.exp(self._log_chance(row_Y / temperature, symbols))

    def losses(self, store: PairStore, batch_tokens: int = BATCH_TOKENS) -> Iterator[tuple[float, int, int]]:
        """Per batch the summed -log P(labels | text), its texts, and those all of whose labels were guessed right."""
        for batch in judged(store, batch_tokens):
            logits_BY = speak(self.model, batch)
            labels = len(self.target.labels)
            if self.model.several:
                wanted_BY = each_label(batch, labels)
                loss = F.binary_cross_entropy_with_logits(logits_BY.double(), wanted_BY.double(), reduction="sum")
                right = ((logits_BY > 0) == (wanted_BY > 0)).all(1)
            else:
                wanted_B = labels_of(batch)
                loss = F.cross_entropy(logits_BY.double(), wanted_B, reduction="sum")
                right = logits_BY.argmax(1) == wanted_B
            yield loss.item(), len(logits_BY), int(right.sum())

    def spoken(self, store: PairStore, batch_tokens: int = BATCH_TOKENS) -> Iterator[tuple[Tensor, Tensor]]:
        """Logits and the true choice of each, for calibration; of several labels each is a choice of no or yes."""
        for batch in judged(store, batch_tokens):
            logits_BY = speak(self.model, batch)
            if self.model.several:
                yes = logits_BY.flatten()
                yield (
                    torch.stack([torch.zeros_like(yes), yes], dim=1),
                    each_label(batch, logits_BY.shape[1]).flatten().long(),
                )
            else:
                yield logits_BY, labels_of(batch)

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """log P(labels | text) of each pair; of a label that was never seen in training it is minus infinity."""
        scores = []
        for row_Y, (_, labels) in zip(self.logits([text for text, _ in pairs]), pairs, strict=True):
            symbols = self.target.encode(labels)
            possible = UNKNOWN not in symbols and (symbols or self.model.several)
            if row_Y is None or not possible:
                scores.append(-math.inf)
            else:
                scores.append(self._log_chance(row_Y / self.temperature, symbols))
        return scores

    def look(self, text: str, answer: Answer) -> Looked:
        """Where the pool looked in the text, a query a head, and every place of a Transformer at every other."""
        looks, batch = Looks(), make_batch([self.encode(text)], [[]], ended=False)
        self.model.eval()
        with inference():
            self.model(batch, looks)
        source = batch.source_BS[0].tolist()
        front = [START] if self.model.front else []
        if not self.model.towers:
            return Looked((*front, *source), answer.symbols[:1], (), looks)
        end = source.index(source[-1]) + 1
        parts = [[*front, *source[:end]], [*front, *source[end:]]]
        lengths = [len(part) for part in parts]
        beside = Looks(
            [_blocks(weights, lengths) for weights in looks.encoder], [], [_row(w, lengths) for w in looks.cross]
        )
        return Looked((*parts[0], *parts[1]), answer.symbols[:1], (), beside)

    def refuse_too_long(self, texts: Sequence[str], search: Search, places: Sequence[str]) -> None:
        """Before any of them is answered; `places` names each text, as file:line."""
        self._encoded(texts, search, places)

    def _encoded(self, texts: Sequence[str], search: Search, places: Sequence[str]) -> list[list[int]]:
        if self.run.rows == "compared":
            for text, place in zip(texts, places, strict=True):
                parts = text.split("\t")
                if text.strip() and (len(parts) != 2 or not all(part.strip() for part in parts)):
                    raise AntiphonError(
                        f"{place}: this model compares two texts, and here {'are' if len(parts) > 2 else 'is'} "
                        f"{len([part for part in parts if part.strip()])}. Put a TAB between them."
                    )
        encoded = [self.encode(text) if text.strip() else [] for text in texts]
        refuse_too_long(self.run, encoded, search, places)
        return encoded

    def _chances(self, row_Y: Tensor) -> Tensor:
        return row_Y.double().sigmoid() if self.model.several else row_Y.double().softmax(-1)

    def _log_chance(self, row_Y: Tensor, symbols: Sequence[int]) -> float:
        chosen = [symbol - self.target.number(0) for symbol in symbols]
        if not self.model.several:
            return float(row_Y.double().log_softmax(-1)[chosen].sum())
        sign_Y = torch.full_like(row_Y, -1.0, dtype=torch.float64)
        sign_Y[chosen] = 1.0
        return float(F.logsigmoid(sign_Y * row_Y.double()).sum())

    def _answers(self, row_Y: Tensor, n_best: int) -> list[Answer]:
        row_Y = row_Y / self.temperature
        if self.model.several:
            chosen = _likeliest_sets(row_Y.double().tolist(), n_best)
        else:
            ranked_K = row_Y.sort(descending=True, stable=True).indices[:n_best]
            chosen = [[label] for label in ranked_K.tolist()]
        logs_Y = self._chances(row_Y).log()
        return [self._answer(row_Y, labels, logs_Y) for labels in chosen]

    def _answer(self, row_Y: Tensor, labels: Sequence[int], logs_Y: Tensor) -> Answer:
        symbols = tuple(self.target.number(label) for label in labels)
        whole = self._log_chance(row_Y, symbols)
        each = tuple(logs_Y[list(labels)].tolist())
        return Answer(
            self.target.decode(symbols), math.exp(whole), whole, tuple(self.target.pieces(symbols)), each, True, symbols
        )


def _likeliest_sets(logits: Sequence[float], count: int) -> list[list[int]]:
    """The likeliest sets of labels, best first: of the best, those labels are changed that are least sure.

    A change costs |logit|; with the costs in order, every set of changes comes from a likelier one by taking the next
    label too, or instead of the last.
    """
    order = sorted(range(len(logits)), key=lambda label: abs(logits[label]))
    costs = [abs(logits[label]) for label in order]
    best = {label for label, logit in enumerate(logits) if logit > 0}
    queue: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    found: list[list[int]] = []
    while queue and len(found) < count:
        cost, changed = heapq.heappop(queue)
        found.append(sorted(best ^ {order[place] for place in changed}))
        following = changed[-1] + 1 if changed else 0
        if following < len(order):
            heapq.heappush(queue, (cost + costs[following], (*changed, following)))
            if changed:
                swapped = cost - costs[changed[-1]] + costs[following]
                heapq.heappush(queue, (swapped, (*changed[:-1], following)))
    return found


def _blocks(weights_2HSS: Tensor, lengths: Sequence[int]) -> Tensor:
    """Two texts that never look at each other, in one picture."""
    parts_HSS = [weights_HSS[:, :n, :n] for weights_HSS, n in zip(weights_2HSS, lengths, strict=True)]
    heads = [torch.block_diag(*parts) for parts in zip(*parts_HSS, strict=True)]
    return torch.stack(heads).unsqueeze(0)


def _row(weights_2H1S: Tensor, lengths: Sequence[int]) -> Tensor:
    """Both texts side by side; what is read of each counts for half."""
    return torch.cat([w[..., :n] / 2 for w, n in zip(weights_2H1S, lengths, strict=True)], dim=-1).unsqueeze(0)
