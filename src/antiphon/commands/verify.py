"""`antiphon verify`: the promises, proved on the user's own model.

T target places · V words · B sentences · S source places · H heads
"""

import json
import random
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import torch

from antiphon.api import load
from antiphon.commands.lines import named, read_inputs, say_json
from antiphon.commands.promises import (
    FEW,
    Proof,
    constraints_are_honoured,
    one_alone_is_itself,
    one_draw_is_that_draw,
    texts_of,
)
from antiphon.config.schema import Search
from antiphon.data.masking import hide_word
from antiphon.data.prepare import VALID_PAIRS
from antiphon.data.rows import has_questions
from antiphon.data.vocab import SPECIAL
from antiphon.errors import AntiphonError
from antiphon.labelling.filling import Filling
from antiphon.labelling.opening import Answering, open_pipeline
from antiphon.labelling.pointing import Pointing
from antiphon.layers.products import inference
from antiphon.pipeline import Pipeline
from antiphon.store import TOKENS, WEIGHTS, load_folder, read_tensors, save_settings, save_weights, weights_of

_TEXTS = 64
_WRITTEN = 50  # symbols that a language model adds to each, for it may never come to an end
_CLOSE = 1e-3  # of a log-probability: float32 in another order of sums


class Broken(AntiphonError):
    """A promise that does not hold is our bug, not the user's mistake."""

    code = 1


def run_verify(folder: Path, file: Path | None, as_json: bool) -> None:
    model = load(folder)
    texts = list(read_inputs(file)) if file is not None else some_texts(folder, model.pipeline)
    if file is not None and not any(text.strip() for text in texts):
        raise AntiphonError(f"{file}: no line in it holds text. Give some inputs, or none for invented ones.")
    proofs = []
    with named([f"{file or 'text'}:{number}" for number in range(1, len(texts) + 1)], 0):
        for proof in prove(folder, model.pipeline, texts):
            proofs.append(proof)
            if not as_json:
                print(f"{'holds ' if proof.holds else 'BROKEN'}  {proof.promise}: {proof.detail}", flush=True)
    if as_json:
        say_json({"model": str(folder), "texts": len(texts), "proofs": [asdict(proof) for proof in proofs]})
    broken = [proof.promise for proof in proofs if not proof.holds]
    if broken:
        raise Broken(f"{folder}: broken: {', '.join(broken)}. Please report it with this model's antiphon.toml.")


def some_texts(folder: Path, pipeline: Answering) -> list[str]:
    """Validation sources where the run is still there; otherwise random symbols of the model's own vocabulary."""
    with suppress(OSError, ValueError, LookupError, TypeError):  # it may be gone, for it is no part of the model
        lines = (folder / TOKENS / VALID_PAIRS).read_text(encoding="utf-8").splitlines()[:_TEXTS]
        if lines:
            pairs = [json.loads(line) for line in lines]
            return [_asked(str(source), str(target), pipeline) for source, target in pairs]
    draw = random.Random(1)  # noqa: S311 (reproducible, not secret)
    numbers = range(len(SPECIAL), pipeline.source.size)
    parts = 2 if pipeline.run.rows == "compared" or has_questions(pipeline.run.rows) else 1
    found = [
        "\t".join(pipeline.source.decode(draw.choices(numbers, k=draw.randint(1, 20))) for _ in range(parts))
        for _ in range(_TEXTS)
    ]
    return [hide_word(text) for text in found] if isinstance(pipeline, Filling) else found


def _asked(source: str, target: str, pipeline: Answering) -> str:
    """A language model is asked to complete the first half of a text, a masked one to guess its middle word."""
    if isinstance(pipeline, Filling):
        return hide_word(target)
    return target[: len(target) // 2].rstrip() if pipeline.completes else source


def prove(folder: Path, pipeline: Answering, texts: Sequence[str]) -> Iterator[Proof]:
    if not isinstance(pipeline, Pipeline):
        yield _checksums(folder)
        yield _batches_change_nothing(pipeline, texts, 1)
        yield from _rows_sum_to_one(pipeline, texts)
        yield _save_load_same(pipeline, texts)
        yield _empty_stays_empty(pipeline)
        return
    if pipeline.completes:
        shorter = pipeline.run.search.model_copy(update={"max_length": _WRITTEN})
        run = pipeline.run.model_copy(update={"search": shorter})
        pipeline = Pipeline(pipeline.model, pipeline.source, pipeline.target, run)
    yield _checksums(folder)
    for beam in (1, 5):
        yield _batches_change_nothing(pipeline, texts, beam)
    yield _step_is_all_at_once(pipeline, texts)
    yield from _rows_sum_to_one(pipeline, texts)
    yield _save_load_same(pipeline, texts)
    yield constraints_are_honoured(pipeline, texts)
    if not pipeline.completes:
        yield one_alone_is_itself(pipeline, texts)
    yield one_draw_is_that_draw(pipeline, texts)
    if not pipeline.completes:
        yield _empty_stays_empty(pipeline)


def _checksums(folder: Path) -> Proof:
    tensors, facts = read_tensors(folder / WEIGHTS)
    total = sum(tensor.numel() for tensor in tensors.values())
    names = [facts[side][:8] for side in ("source", "target") if side in facts]
    return Proof(
        "checksums",
        True,
        f"{len(tensors)} tensors, {total:,} numbers, tokenisers {' '.join(names)}",
    )


def _batches_change_nothing(pipeline: Answering, texts: Sequence[str], beam: int) -> Proof:
    search = pipeline.run.search.model_copy(update={"beam": beam, "groups": 1, "n_best": 1, "sample": False})
    alone = texts_of(pipeline.answer(texts, search, batch_tokens=1))
    shuffled = list(range(len(texts)))
    random.Random(2).shuffle(shuffled)  # noqa: S311
    different, tried = set(), 0
    for tokens in (1, 40, 200, 1000, 10_000):
        found = texts_of(pipeline.answer([texts[i] for i in shuffled], search, batch_tokens=tokens))
        different |= {i for i, text in zip(shuffled, found, strict=True) if text != alone[i]}
        tried += 1
    how = "" if not isinstance(pipeline, Pipeline) else ", greedy" if beam == 1 else f", beam {beam}"
    where = f"; first: {texts[min(different)]!r}" if different else ""
    return Proof(
        f"batches change nothing{how}",
        not different,
        f"{len(texts)} texts alone, shuffled, in {tried} sizes of batch: {len(different)} differ{where}",
    )


def _step_is_all_at_once(pipeline: Pipeline, texts: Sequence[str]) -> Proof:
    own = pipeline.run.search
    greedy = Search(beam=1, max_ratio=own.max_ratio, max_length=own.max_length, max_source=own.max_source)
    worst = 0.0
    for text, (answer,) in zip(texts, pipeline.answer(texts, greedy), strict=True):
        if not answer.symbols:
            continue
        batch = pipeline.written(text, answer)
        with inference():
            log_probs_TV = pipeline.model.head(pipeline.model(batch)).log_softmax(dim=-1)
        words_T = batch.target_out_BT[0]
        whole = log_probs_TV.gather(1, words_T.unsqueeze(1)).squeeze(1).tolist()[-len(answer.log_probabilities) :]
        worst = max(worst, *(abs(a - b) for a, b in zip(whole, answer.log_probabilities, strict=True)))
    return Proof("step = all at once", worst < _CLOSE, f"log-probabilities differ by at most {worst:.1e}")


def _rows_sum_to_one(pipeline: Answering, texts: Sequence[str]) -> Iterator[Proof]:
    """Of every layer and head."""
    if isinstance(pipeline, Pointing):
        return  # it shows where an answer begins and ends instead
    some = [text for text in texts if text.strip()][:FEW]
    least, most, rows = 1.0, 1.0, 0
    for text, found in zip(some, pipeline.answer(some), strict=True):
        looks = pipeline.look(text, found[0]).looks
        for kind in (looks.encoder, looks.decoder, looks.cross):
            for weights_BHTS in kind:
                sums = weights_BHTS.double().sum(-1)
                least, most, rows = min(least, sums.min().item()), max(most, sums.max().item()), rows + sums.numel()
    if rows:  # a model without attention has none
        holds = 1 - _CLOSE < least <= most < 1 + _CLOSE
        yield Proof("attention rows sum to one", holds, f"{rows:,} rows, sums from {least:.6f} to {most:.6f}")


def _save_load_same(pipeline: Answering, texts: Sequence[str]) -> Proof:
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / "copy"
        save_settings(copy, pipeline.run, pipeline.source, pipeline.target)
        save_weights(copy, weights_of(pipeline.model), pipeline.run, pipeline.source, pipeline.target)
        loaded = load_folder(copy)
        again = open_pipeline(loaded.model, loaded.source, loaded.target, loaded.run)
        same = texts_of(again.answer(texts[:16])) == texts_of(pipeline.answer(texts[:16]))
    before, after = weights_of(pipeline.model), weights_of(loaded.model)
    equal = all(torch.equal(before[name], after[name]) for name in before)
    return Proof(
        "save-load-same",
        same and equal,
        f"weights {'equal' if equal else 'DIFFER'}, answers {'equal' if same else 'DIFFER'}",
    )


def _empty_stays_empty(pipeline: Answering) -> Proof:
    answers = texts_of(pipeline.answer(["", "   "]))
    return Proof("an empty line has an empty answer", answers == ["", ""], repr(answers))
