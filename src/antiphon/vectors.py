"""Sentence vectors: what a model makes of a text before it answers, one vector each.

N texts · M width of a vector
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from antiphon.config.schema import Classifier, LanguageModel, Run, memory_width, output_width
from antiphon.data.batch import Batch, make_batch, plan_in_order
from antiphon.data.vocab import START
from antiphon.errors import AntiphonError, name_lines
from antiphon.labelling.classifying import Classifying
from antiphon.labelling.filling import Filling
from antiphon.labelling.opening import Answering
from antiphon.labelling.pointing import Pointing
from antiphon.labelling.reading import refuse_too_long
from antiphon.labelling.tagging import Tagging
from antiphon.layers.products import inference
from antiphon.pipeline import Pipeline

Vectors = NDArray[np.float32]
Row = tuple[Sequence[int], Sequence[int]]
_BATCH_TOKENS = 8192  # symbols read at once; the vectors do not depend on it


def embed(pipeline: Answering, texts: Sequence[str], first: int = 0, batch_tokens: int = _BATCH_TOKENS) -> Vectors:
    """The mean over a text's places of what the encoder leaves there, or a language model's decoder: N x M.

    Of a classifier it is what its pool gives. An empty text is a vector of zeros. `first` as in Pipeline.answer.
    """
    if isinstance(pipeline, Pointing):
        raise AntiphonError(
            "embed: a model of spans reads a question with its paragraph, and has no vector of a text. "
            "Take the model that it started from, or a classifier."
        )
    found_NM = np.zeros((len(texts), vector_width(pipeline.run)), dtype=np.float32)
    pipeline.model.eval()
    for numbers, batch in _batches(pipeline, _rows(pipeline, texts, first), batch_tokens):
        with inference():
            found_NM[numbers] = pipeline.model.vectors(batch).float().numpy()
    return found_NM


def vector_width(run: Run) -> int:
    match run.model:
        case LanguageModel(decoder=decoder):
            return output_width(decoder)
        case Classifier() as model:
            return model.pooled_width
        case model:
            return memory_width(model.encoder)


def _rows(pipeline: Answering, texts: Sequence[str], first: int) -> list[Row]:
    """What the model reads of each text: as a source, or where it has none as a target."""
    places, search = name_lines(len(texts), first), pipeline.run.search
    if isinstance(pipeline, Tagging):
        tagged = [pipeline.pair(text) for text in texts]
        refuse_too_long(pipeline.run, [ids for ids, _ in tagged], search, places)
        return list(tagged)
    if isinstance(pipeline, Classifying) and pipeline.model.towers:
        _refuse_two(texts, places)
    encoded = [pipeline.encode(text) if text.strip() else [] for text in texts]
    if not isinstance(pipeline, Pipeline):
        refuse_too_long(pipeline.run, encoded, search, places)
        front = [START] if isinstance(pipeline, Filling) else []  # which a masked model never does without
        return [([*front, *symbols] if symbols else [], []) for symbols in encoded]
    pipeline.refuse_too_long_symbols(encoded, search, places)
    return [([], symbols) if pipeline.completes else (symbols, []) for symbols in encoded]


def _refuse_two(texts: Sequence[str], places: Sequence[str]) -> None:
    for text, place in zip(texts, places, strict=True):
        if "\t" in text:
            raise AntiphonError(
                f"{place}: this model reads two texts each by itself, and a vector is of one. Give each its own line."
            )


def _batches(pipeline: Answering, rows: Sequence[Row], batch_tokens: int) -> Iterator[tuple[list[int], Batch]]:
    """The texts that are not empty, with their numbers."""
    asked = [n for n, row in enumerate(rows) if any(row)]
    lengths_N2 = np.array([[len(rows[n][0]), len(rows[n][1])] for n in asked], dtype=np.int32).reshape(-1, 2)
    for indices in plan_in_order(lengths_N2, batch_tokens):
        numbers = [asked[i] for i in indices]
        sources, targets = [rows[n][0] for n in numbers], [rows[n][1] for n in numbers]
        if isinstance(pipeline, Pipeline):
            yield numbers, pipeline.begun(make_batch(sources, targets))
        else:
            yield numbers, make_batch(sources, targets, ended=False)
