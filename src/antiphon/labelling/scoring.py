"""How good labels and tags are: scores with their signatures, and which labels a classifier confuses."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from antiphon.config.schema import Search
from antiphon.data.labels import cut_labels
from antiphon.data.rows import encode_tagged
from antiphon.data.store import PairStore
from antiphon.data.text import normalise
from antiphon.data.vocab import UNKNOWN
from antiphon.errors import AntiphonError
from antiphon.evaluate.calibration import calibration_errors
from antiphon.evaluate.labels import Confusion, confusion, label_accuracy, label_f1
from antiphon.evaluate.metrics import Score
from antiphon.evaluate.spans import marks_spans, sentence_accuracy, span_f1, tag_accuracy
from antiphon.evaluate.squad import squad_scores
from antiphon.labelling.filling import Filling
from antiphon.labelling.opening import Labelling, called
from antiphon.labelling.pointing import Pointing
from antiphon.labelling.reading import once_more, refuse_too_long
from antiphon.labelling.tagging import Tagging

_ASKED = ("n_best", "max_source")  # of [search], what there is to change where nothing is searched for


@dataclass(frozen=True)
class Marks:
    """What test examples say of a classifier, or tagged sentences of a tagger."""

    scores: list[Score]
    confusion: Confusion | None  # None where a text may have several labels, and of tags
    unseen: dict[str, int]  # labels that were never seen in training, how often: each of them counts as wrong


def mark(
    pipeline: Labelling,
    temperature: float | None,
    pairs: Sequence[tuple[str, str]],
    search: Search | None = None,
    tell: Callable[[int], None] | None = None,
) -> Marks:
    """Label the texts and compare; `temperature` is the fitted one, where there is one."""
    if not pairs:
        raise AntiphonError("evaluate: no examples are given, and there is no score of nothing. Give at least one.")
    if isinstance(pipeline, Tagging):
        return _mark_tags(pipeline, temperature, pairs, search, tell)
    target = pipeline.target
    answers = [found[0] for found in pipeline.answer([text for text, _ in pairs], search, tell=tell)]
    said, wanted = [answer.pieces for answer in answers], [cut_labels(label, target.between) for _, label in pairs]
    scores = [label_accuracy(said, wanted), label_f1(said, wanted, "macro"), label_f1(said, wanted, "micro")]
    unseen = [label for labels in wanted for label in labels if label not in target.labels]
    # Of a label that the model cannot say there is no probability.
    known = [(pipeline.encode(text), target.encode(label)) for text, label in pairs]
    store = PairStore.of([pair for pair in known if pair[0] and UNKNOWN not in pair[1] and (pair[1] or target.between)])
    scores += _told(pipeline, store, temperature, "examples", "labels")
    single = None if target.between else [labels[0] if labels else "" for labels in wanted]
    told = None if single is None else confusion([answer.text for answer in answers], single, target.labels)
    return Marks(scores, told, {label: unseen.count(label) for label in dict.fromkeys(unseen)})


def mark_answers(
    pipeline: Pointing,
    texts: Sequence[str],
    golds: Sequence[Sequence[str]],
    search: Search | None = None,
    tell: Callable[[int], None] | None = None,
) -> list[Score]:
    """Answer questions, and compare with what is right; of an answer that is blank, that there is none."""
    said = [found[0].text for found in pipeline.answer(texts, search, tell=tell)]
    return squad_scores(said, [[gold for gold in each if gold.strip()] for each in golds])


def _mark_tags(
    pipeline: Tagging,
    temperature: float | None,
    pairs: Sequence[tuple[str, str]],
    search: Search | None,
    tell: Callable[[int], None] | None,
) -> Marks:
    target, wanted = pipeline.target, [tags.split() for _, tags in pairs]
    for number, ((text, _), tags) in enumerate(zip(pairs, wanted, strict=True), start=1):
        if len(text.split()) != len(tags) or not tags:
            raise AntiphonError(
                f"sentence {number}: {len(text.split())} words and {len(tags)} tags. Give a tag for each word."
            )
    said = [found[0].pieces for found in pipeline.answer([text for text, _ in pairs], search, tell=tell)]
    scores = [tag_accuracy(said, wanted), tag_f1(said, wanted, target.labels), sentence_accuracy(said, wanted)]
    unseen = [tag for tags in wanted for tag in tags if tag not in target.labels]
    known = [encode_tagged(pipeline.source, normalise(text), target.encode_each(tags)) for text, tags in pairs]
    store = PairStore.of([pair for pair in known if UNKNOWN not in pair[1]])
    scores += _told(pipeline, store, temperature, "words", "tags")
    return Marks(scores, None, {tag: unseen.count(tag) for tag in dict.fromkeys(unseen)})


def _told(pipeline: Labelling, store: PairStore, temperature: float | None, counted: str, unit: str) -> Iterator[Score]:
    """Loss and calibration, of what the model can say at all."""
    if not len(store):
        return
    parts = list(pipeline.losses(store))
    loss = sum(loss for loss, _, _ in parts) / sum(count for _, count, _ in parts)
    yield Score("loss", loss, f"loss|unit:{counted}|version:{version('antiphon')}", higher_is_better=False)
    temperatures = list(dict.fromkeys([1.0] if temperature is None else [1.0, temperature]))
    yield from calibration_errors(pipeline.spoken(store), temperatures, unit)


def mark_holes(pipeline: Filling, texts: Sequence[str]) -> list[Score]:
    """How well hidden words are guessed, and pairs of texts told apart; the holes are the same every time."""
    encoded = [pipeline.target.encode(text) for text in texts]
    if not pipeline.run.data.window:  # with a window long texts are read in parts
        refuse_too_long(pipeline.run, encoded, once_more(pipeline.run), [f"text {n + 1}" for n in range(len(texts))])
    store = PairStore.of([([], symbols) for symbols in encoded])
    if not store.lengths.any():
        raise AntiphonError("evaluate: no texts are given, and there is no score of nothing. Give at least one.")
    losses, counts, rights, told, pairs = map(sum, zip(*pipeline.judged(store), strict=True))
    choice, signed = pipeline.choice, f"holes:{pipeline.choice.hide:g}|version:{version('antiphon')}"
    unit = f"unit:{pipeline.run.data.target_tokenizer.kind}|words:{'whole' if choice.whole_words else 'parts'}|{signed}"
    scores = [
        Score("perplexity of holes", math.exp(min(losses / counts, 700.0)), f"perplexity|{unit}", False),
        Score("guessed words", 100 * rights / counts, f"accuracy|{unit}", True),
    ]
    if pairs:
        scores.append(Score("next sentence", 100 * told / pairs, f"accuracy|pairs:half|{signed}", True))
    return scores


def tag_f1(said: Sequence[Sequence[str]], wanted: Sequence[Sequence[str]], labels: Sequence[str]) -> Score:
    """Of spans where the tags mark some; else the mean over the tags."""
    if marks_spans(labels):
        return span_f1(said, wanted)
    return label_f1([[tag] for tags in said for tag in tags], [[tag] for tags in wanted for tag in tags], "macro")


def refuse_search(pipeline: Labelling | Pointing | Filling, given: Mapping[str, Any]) -> None:
    """Labels, spans and words for holes are weighed all at once, so most of [search] means nothing to them."""
    what = "spans" if isinstance(pipeline, Pointing) else "words" if isinstance(pipeline, Filling) else "labels"
    for key in given:
        if key == "n_best" and isinstance(pipeline, Tagging) and given[key] != 1:
            raise AntiphonError(f"--n-best {given[key]}: a tagger gives the best tags of each word only. Leave it out.")
        if key not in _ASKED:
            flag = f"--{key.replace('_', '-')}"
            raise AntiphonError(
                f"{flag}: {called(pipeline)} weighs all its {what}, and searches for nothing. Leave it out."
            )
