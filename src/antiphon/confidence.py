"""How sure a model may be of an answer: calibrated probabilities of its words, and signs that it went wrong.

B batch · T, S target and source places · P real target places, C of them at a time · E output · V words
N pairs · Y labels
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from antiphon.attend.looks import Looks, aligning
from antiphon.data.batch import make_batch, plan_in_order
from antiphon.data.store import PairStore
from antiphon.data.tokenize import Tokenizer, name_words
from antiphon.data.vocab import END
from antiphon.errors import AntiphonError
from antiphon.evaluate import guards
from antiphon.evaluate.calibration import LEAST, MOST, Fit, fit_temperature
from antiphon.evaluate.guards import Usual, longest_repeat, unread_words
from antiphon.labelling.classifying import Classifying
from antiphon.labelling.filling import Filling
from antiphon.labelling.opening import Answering
from antiphon.labelling.pointing import Pointing
from antiphon.labelling.reading import once_more
from antiphon.labelling.tagging import Tagging
from antiphon.layers.products import inference
from antiphon.pipeline import Answer, Pipeline

SYMBOLS = 5_000  # of the validation pairs that a temperature is fitted on, at the most
_AT_ONCE = 256  # places whose logits are held
_BATCH_TOKENS = 2048


@dataclass(frozen=True)
class Confidence:
    """How sure a model may be of one answer."""

    sentence: float  # the geometric mean of the calibrated probabilities of its symbols, the end included
    probability: float  # their product: that this very answer is right, as far as the model knows
    words: tuple[tuple[str, float], ...]  # each word, and the product of its symbols
    warnings: tuple[str, ...]  # what went wrong, whatever the probability

    def doubts(self, least: float) -> tuple[str, ...]:
        """Why not to give this answer to someone who wants at least this confidence; nothing where all is well."""
        low = (f"low confidence: {self.sentence:.4f} is less than {least:g}",) if self.sentence < least else ()
        return low + self.warnings


CERTAIN = Confidence(1.0, 1.0, (), ())  # of the empty answer to an empty text


@dataclass(frozen=True)
class Calibration:
    """What the validation pairs say of a model's probabilities, and of what is usual in its task."""

    fit: Fit
    usual: Usual

    def to_dict(self) -> dict[str, Any]:
        return asdict(self.fit) | {"usual": asdict(self.usual)}


def read_calibration(report: Mapping[str, Any], place: str) -> Calibration | None:
    """What `report.json` says; None where it says nothing, and a damaged value is refused."""
    told = report.get("calibration")
    if told is None:
        return None
    try:
        numbers = {name: float(told[name]) for name in Fit.__annotations__}
        limits = {name: float(told["usual"][name]) for name in Usual.__annotations__}
    except (TypeError, KeyError, ValueError, OverflowError):
        raise AntiphonError(f"{place}: calibration: damaged. Copy the file anew, or delete that entry.") from None
    bounds = dict.fromkeys((*numbers, *limits), (0.0, math.inf))
    bounds |= {"temperature": (LEAST, MOST), "copies": (0.0, 1.0), "unread": (0.0, 1.0)}
    for name, value in (numbers | limits).items():
        low, high = bounds[name]
        if not (low - 1e-9 <= value <= high + 1e-9 and math.isfinite(value)):
            allowed = f"from {low:g} to {high:g}" if math.isfinite(high) else f"of at least {low:g}"
            raise AntiphonError(
                f"{place}: calibration.{name}: {value:g} is damaged: a number {allowed} belongs there. "
                "Copy the file anew, or delete the whole calibration."
            )
    fit = Fit(**{**numbers, "symbols": int(numbers["symbols"])})  # type: ignore[arg-type]
    return Calibration(fit, Usual(**{**limits, "repeats": int(limits["repeats"])}))  # type: ignore[arg-type]


def calibrate(pipeline: Pipeline, store: PairStore, pairs: Sequence[tuple[str, str]]) -> Calibration | None:
    """Fit a temperature on some of these pairs at even distances, and see what is usual among them all.

    None where the model's numbers are not finite.
    """
    chosen = _spread(store)
    sources, targets = [store.source(n).tolist() for n in chosen], [store.target(n).tolist() for n in chosen]
    outputs: list[Tensor] = []
    words: list[Tensor] = []
    unread: list[float] = []
    for read in _read(pipeline, sources, [(*target, END) for target in targets]):
        outputs.append(read.out_PE)
        words.append(read.words_P)
        for number, weights_TS in zip(read.numbers if read.looked else [], read.looked, strict=True):
            counts = word_counts(pipeline.source, sources[number])
            unread.append(len(unread_words(weights_TS, counts)) / max(len(counts), 1))
    fit = fit_temperature(lambda: _speak(pipeline, torch.cat(outputs), torch.cat(words)))
    if fit is None:
        return None
    repeats = [longest_repeat(target) for target in targets]
    copies = sum(guards.is_copy(*pair) for pair in pairs) / len(pairs)
    ratios = (store.lengths[:, 1] + 1) / (store.lengths[:, 0] + 1)
    return Calibration(fit, guards.usual(repeats, copies, ratios.tolist(), unread))


def spoken(pipeline: Pipeline, store: PairStore) -> Iterator[tuple[Tensor, Tensor]]:
    """The logits at every target place of these pairs, some at a time, and the true words there."""
    numbers = range(len(store))
    targets = [(*store.target(n).tolist(), END) for n in numbers]
    for read in _read(pipeline, [store.source(n).tolist() for n in numbers], targets, look=False):
        yield from _speak(pipeline, read.out_PE, read.words_P)


def judge_answers(
    pipeline: Answering, calibration: Calibration | None, texts: Sequence[str], answers: Sequence[Answer]
) -> list[Confidence]:
    """How sure the model may be of each answer, from one more pass over it; so it works after any search.

    Without a calibration the temperature is 1, and nothing is known of what is usual.
    """
    if pipeline.completes:
        raise AntiphonError(
            "confidence: a language model goes on from a text and answers none. Ask for its scores instead: --scores."
        )
    if isinstance(pipeline, Pipeline) and pipeline.partners:
        raise AntiphonError(
            "confidence: each model was calibrated by itself, and of several together nothing is known. Leave one out."
        )
    temperature = 1.0 if calibration is None else calibration.fit.temperature
    if isinstance(pipeline, Filling):
        raise AntiphonError("confidence: of guessed words the scores are the probabilities. Ask for them: --scores.")
    if isinstance(pipeline, Classifying):
        return _judge_labels(pipeline, temperature, texts, answers)
    if isinstance(pipeline, Tagging):
        return [_judge_tags(pipeline, temperature, *pair) for pair in zip(texts, answers, strict=True)]
    if isinstance(pipeline, Pointing):
        chances = pipeline.chances(texts, answers, temperature)
        return [CERTAIN if one is None else Confidence(one, one, (), ()) for one in chances]
    task = guards.UNKNOWN_TASK if calibration is None else calibration.usual
    written = [(*answer.symbols, END) if answer.ended else answer.symbols for answer in answers]
    asked = [n for n, text in enumerate(texts) if written[n] and pipeline.source.encode(text)]
    sources = [pipeline.source.encode(texts[n]) for n in asked]
    found = [CERTAIN] * len(texts)
    for read in _read(pipeline, sources, [written[n] for n in asked]):
        logs = [
            (logits_CV / temperature).log_softmax(-1).gather(1, words_C.unsqueeze(1)).squeeze(1).double()
            for logits_CV, words_C in _speak(pipeline, read.out_PE, read.words_P)
        ]
        rows = torch.cat(logs).split([len(written[asked[number]]) for number in read.numbers])
        for place, (number, row) in enumerate(zip(read.numbers, rows, strict=True)):
            n, source = asked[number], sources[number]
            counts = word_counts(pipeline.source, source)
            missing = unread_words(read.looked[place], counts) if read.looked else []
            labels = name_words(pipeline.source, source, counts)
            told = guards.warnings(
                source, answers[n].symbols, (texts[n], answers[n].text), [labels[word] for word in missing],
                len(counts), task,
            )  # fmt: skip
            found[n] = _confidence(pipeline.target, answers[n], row.tolist(), told)
    return found


def _judge_labels(
    pipeline: Classifying, temperature: float, texts: Sequence[str], answers: Sequence[Answer]
) -> list[Confidence]:
    """The calibrated probability of the labels that were given, and of each."""
    found = []
    for answer, row_Y in zip(answers, pipeline.logits(texts, once_more(pipeline.run)), strict=True):
        if row_Y is None:
            found.append(CERTAIN)
            continue
        whole = round(pipeline.probability(row_Y, answer.symbols, temperature), 6)
        chances = pipeline.chances(row_Y / temperature)
        words = tuple((label, round(chances[label], 6)) for label in answer.pieces)
        found.append(Confidence(whole, whole, words, ()))
    return found


def _judge_tags(pipeline: Tagging, temperature: float, text: str, answer: Answer) -> Confidence:
    """The calibrated probability of each tag by itself; of the sentence their geometric mean."""
    if not answer.symbols:
        return CERTAIN
    chances_PY = pipeline.chances(text, temperature).tolist()
    each = [row[symbol - pipeline.target.number(0)] for row, symbol in zip(chances_PY, answer.symbols, strict=True)]
    logs = [math.log(max(chance, 1e-30)) for chance in each]
    words = tuple((tag, round(chance, 6)) for tag, chance in zip(answer.pieces, each, strict=True))
    return Confidence(round(math.exp(sum(logs) / len(logs)), 6), round(math.exp(sum(logs)), 6), words, ())


def _confidence(target: Tokenizer, answer: Answer, logs: Sequence[float], warnings: tuple[str, ...]) -> Confidence:
    counts = word_counts(target, answer.symbols)
    labels = name_words(target, answer.symbols, counts)
    ends = list(accumulate(counts))
    words = tuple(
        (label, round(math.exp(sum(logs[end - count : end])), 6))
        for label, count, end in zip(labels, counts, ends, strict=True)
    )
    total = sum(logs)
    # Rounded, because the last digits may depend on what else is in the batch.
    return Confidence(round(math.exp(total / len(logs)), 6), round(math.exp(total), 6), words, warnings)


def word_counts(tokenizer: Tokenizer, symbols: Sequence[int]) -> list[int]:
    """How many symbols each word takes; where symbols are no parts of words, each is one."""
    counts = tokenizer.words(symbols)
    return [1] * len(symbols) if counts is None else counts


def _spread(store: PairStore) -> list[int]:
    """Pairs at even distances, with about as many symbols as a fit needs."""
    pairs = max(1, min(len(store), SYMBOLS * len(store) // store.target_tokens))
    return [place * len(store) // pairs for place in range(pairs)]


@dataclass(frozen=True)
class _Read:
    """A batch that the model went over with the true words before each place."""

    numbers: list[int]  # which of the pairs these are
    out_PE: Tensor  # what the head reads
    words_P: Tensor  # what stands there
    looked: list[NDArray[np.float32]]  # of each pair T x S; nothing without attention


def _read(
    pipeline: Pipeline, sources: Sequence[Sequence[int]], written: Sequence[Sequence[int]], look: bool = True
) -> Iterator[_Read]:
    lengths_N2 = np.array([(len(s), len(w)) for s, w in zip(sources, written, strict=True)], dtype=np.int32)
    for indices in plan_in_order(lengths_N2.reshape(-1, 2), _BATCH_TOKENS):
        numbers, looks = indices.tolist(), Looks()
        # The batch adds an end of its own, which takes the place of the last symbol: nothing is read after that.
        batch = make_batch([sources[n] for n in numbers], [written[n][:-1] for n in numbers])
        with inference():
            out_PE = pipeline.model.eval()(batch, looks if look else None)
        looked: list[NDArray[np.float32]] = []
        if looks.cross:
            weights_BTS = looks.cross[aligning(len(looks.cross))].mean(1).float().numpy()
            looked = [weights_BTS[row, : len(written[n]), : len(sources[n])] for row, n in enumerate(numbers)]
        words_P = torch.tensor([word for n in numbers for word in written[n]])
        yield _Read(numbers, out_PE, words_P, looked)


def _speak(pipeline: Pipeline, out_PE: Tensor, words_P: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """In slices, because the logits of a whole batch can be larger than the rest of the model."""
    for out_CE, words_C in zip(out_PE.split(_AT_ONCE), words_P.split(_AT_ONCE), strict=True):
        with inference():
            yield pipeline.model.head(out_CE), words_C
