"""Antiphon from Python: `train`, `load`, `compare`."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from antiphon.confidence import read_calibration
from antiphon.config.toml import load_run
from antiphon.data.given import given_pairs, given_texts
from antiphon.errors import AntiphonError
from antiphon.evaluate import lengths
from antiphon.evaluate.compare import SURE, Certainty, Report, report
from antiphon.evaluate.rows import Metric, usual_metric
from antiphon.evaluate.scores import PLAIN, Scoring, gather
from antiphon.labelling.opening import open_pipeline, writing
from antiphon.pipeline import Pipeline
from antiphon.predict.quantize import quantize
from antiphon.reader import Jury
from antiphon.store import REPORT, load_folder
from antiphon.trained import Model


def load(
    folder: str | Path,
    int8: bool = False,
    partners: Sequence[str | Path] = (),
    reverse: str | Path | None = None,
    model_of_answers: str | Path | None = None,
) -> Model:
    """The model in a folder that `train` wrote; a damaged or foreign folder is refused.

    With `int8` it writes its answers with 8-bit weights: they are almost always the same, and a model that would not
    gain by it is refused. With `partners`, the folders
    of models with the same target vocabulary, all write each answer together: the mean of their probabilities counts.
    With `reverse`, the folder of a model from answers to texts, it chooses the answers that fit both ways; with a
    language `model_of_answers`, those that are likely by themselves.
    """
    loaded = load_folder(Path(folder))
    if int8 and not quantize(loaded.model):
        raise AntiphonError(
            f"int8: {folder} has no product that is large enough to gain by it: half a million weights that read 512 "
            "numbers or more. Leave it out."
        )
    beside = [writing(load(partner, int8).pipeline, str(partner)) for partner in partners]
    named = (reverse, model_of_answers)
    judges = [None if one is None else writing(load(one, int8).pipeline, str(one)) for one in named]
    for role, judge, path in zip(("reverse", "model_of_answers"), judges, named, strict=True):
        if judge is not None and judge.completes != (role == "model_of_answers"):
            wanted = "a language model of texts" if role == "model_of_answers" else "a model from answers to texts"
            raise AntiphonError(
                f"{role}: {path} is a {judge.run.model.kind}, and {wanted} is needed. Name such a folder."
            )
    calibration = read_calibration(loaded.report, str(Path(folder) / REPORT))
    temperature = 1.0 if calibration is None else calibration.fit.temperature
    pipeline = open_pipeline(loaded.model, loaded.source, loaded.target, loaded.run, temperature)
    if beside or any(judges):
        own = writing(pipeline, str(folder), "No other can write or choose with it: load it alone.")
        pipeline = Pipeline(own.model, own.source, own.target, own.run, beside, Jury(*judges))
        pipeline.refuse_strangers(str(folder), list(map(str, partners)))
    return Model(pipeline, loaded.report, calibration)


def compare(
    systems: Mapping[str, Model | Iterable[str]],
    pairs: Iterable[tuple[str, str]],
    *,
    metric: Metric | None = None,
    bins: Sequence[int] | None = None,
    beam: int | None = None,
    scoring: Scoring = PLAIN,
    certainty: Certainty = SURE,
    references: Sequence[Sequence[str]] | None = None,
) -> Report:
    """Systems on the same pairs, the first beside each of the others: a model each, or its answers in order.

    `metric` is BLEU where it is not given, or chrF where no target has the four words that BLEU counts by.
    `bins` are the longest lengths of all bins but the last; absent, bins of about as many pairs each. `references` are
    further right answers, a list a pair.
    """
    sources, targets = gather(given_pairs(pairs, "compare"), references, any_target=False)
    measured = lengths.measure(sources, bins)
    answers: dict[str, Sequence[str]] = {}
    for name, system in systems.items():
        if isinstance(system, str):
            raise AntiphonError(f"compare: {name} is a text, {system!r}. Give a model, antiphon.load(...), or answers.")
        if isinstance(system, Model):
            system.refuse_pairs("compare")
            system = [best.text for best, *_ in system.pipeline.answer(sources, system.search({"beam": beam}))]
        answers[name] = given_texts(system, f"compare: {name}")
    metric = metric or usual_metric(targets, scoring.tokenize)
    return report(lengths.compare(answers, targets, measured, metric, scoring), sources, targets, certainty)


def train(
    run: str | Path | None = None,
    *,
    recipe: str | None = None,
    data: Mapping[str, Any] | None = None,
    sets: Sequence[str] = (),
    out: str | Path | None = None,
    fresh: bool = False,
    quiet: bool = False,
) -> Model:
    """Train, or go on training: `antiphon.train(recipe="rnnsearch", data={"train": "pairs.tsv"}, out="runs/x")`.

    `data` are the keys of [data]; `sets` are strings such as "train.max_steps=2000", as after `--set`.
    """
    from antiphon.training.folder import default_out
    from antiphon.training.loop import train as train_run

    path = None if run is None else Path(run)
    chosen = load_run(path, recipe, {"data": dict(data or {})}, sets)
    folder = Path(out) if out is not None else default_out(path, recipe)
    train_run(chosen, folder, fresh, None if quiet else Console())
    return load(folder)
