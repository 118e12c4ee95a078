"""Antiphon from Python: `train`, `load`, and a model that answers."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from antiphon.confidence import Calibration, Confidence, judge_answers, read_calibration, spoken
from antiphon.config.schema import Search
from antiphon.config.toml import load_run, with_search
from antiphon.data.store import PairStore
from antiphon.data.text import normalise
from antiphon.errors import AntiphonError
from antiphon.evaluate import lengths, metrics
from antiphon.evaluate.calibration import calibration_error
from antiphon.evaluate.compare import SURE, Certainty, Report, report
from antiphon.evaluate.endpoint import Endpoint
from antiphon.evaluate.geval import judge_by_model
from antiphon.evaluate.metrics import Score
from antiphon.evaluate.rows import Metric
from antiphon.evaluate.scores import PLAIN, Scoring, gather, score_all
from antiphon.evaluate.texts import text_scores
from antiphon.labelling.opening import Answering, Labelling, open_pipeline, writing
from antiphon.labelling.scoring import Marks, mark, refuse_search
from antiphon.pipeline import Answer, Pipeline
from antiphon.predict.quantize import quantize
from antiphon.reader import Jury
from antiphon.show.attention import Attention, read_attention
from antiphon.show.chains import Gradients
from antiphon.show.recurrence import read_chains
from antiphon.show.tree import BeamTree, read_tree
from antiphon.store import REPORT, load_folder


class Model:
    """A trained model: text in, text out."""

    def __init__(self, pipeline: Answering, report: Mapping[str, Any], calibration: Calibration | None = None) -> None:
        self.pipeline, self.report, self.calibration = pipeline, report, calibration

    def __call__(self, text: str) -> str:
        return self.pipeline.answer([text])[0][0].text

    def predict(
        self,
        texts: Sequence[str],
        search: Search | None = None,
        *,
        beam: int | None = None,
        n_best: int | None = None,
        length_exponent: float | None = None,
        sample: bool | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int | None = None,
    ) -> list[list[Answer]]:
        """The best answers to each text, best first; what is not given is as the model's [search] says.

        For all that a search can be told, give one: `model.predict(texts, model.search({"groups": 3, "n_best": 3}))`.
        """
        changes = {
            "beam": beam, "n_best": n_best, "length_exponent": length_exponent, "sample": sample,
            "temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed,
        }  # fmt: skip
        return self.pipeline.answer(texts, self.search(changes, search))

    def search(self, changes: Mapping[str, Any], base: Search | None = None) -> Search:
        """The model's own [search], or another, with these keys changed; None leaves a key as it is.

        More answers or groups than its beam has room for widen the beam, unless a beam is given too.
        """
        given = {key: value for key, value in changes.items() if value is not None}
        if isinstance(self.pipeline, Labelling):
            refuse_search(self.pipeline, given)
        own = base or self.pipeline.run.search
        n_best, groups = given.get("n_best", own.n_best), given.get("groups", own.groups)
        if "beam" not in given and isinstance(n_best, int) and isinstance(groups, int) and groups > 0:
            given["beam"] = math.ceil(max(own.beam, n_best) / groups) * groups
        return with_search(own, given)

    def evaluate(
        self,
        pairs: Iterable[tuple[str, str]],
        scoring: Scoring = PLAIN,
        search: Search | None = None,
        tell: Callable[[int], None] | None = None,
        any_target: bool = False,
        references: Sequence[Sequence[str]] | None = None,
        endpoint: Endpoint | None = None,
    ) -> list[Score]:
        """Answers the sources and scores them against the targets; perplexity is found without answering.

        With `any_target` a source that comes several times is asked once, and any of its targets is right. `references`
        are further right answers, a list a pair. A language model at `endpoint` is asked to judge too.
        """
        if isinstance(self.pipeline, Labelling):
            return self.mark(pairs, tell).scores
        self.refuse_pairs("evaluate")
        pairs, judge = list(pairs), scoring.meteor()
        if not pairs:
            raise AntiphonError("evaluate: no pairs are given, and there is no score of nothing. Give at least one.")
        sources, targets = gather(pairs, references, any_target)
        answers = [found[0].text for found in self.pipeline.answer(sources, search, tell=tell)]
        judged = judge_by_model(endpoint, sources, targets, answers) if endpoint else []
        scores = score_all(answers, targets, scoring, judge)
        return [*scores, *self.likelihood(pairs), *self._calibration_errors(pairs), *judged]

    def refuse_pairs(self, verb: str) -> None:
        """Before a verb that asks for answers to sources."""
        if self.pipeline.completes:
            raise AntiphonError(
                f"{verb}: a language model completes texts and answers no sources. "
                "Score it on plain text: antiphon evaluate, or model.evaluate_texts(texts)."
            )

    def mark(self, examples: Iterable[tuple[str, str]], tell: Callable[[int], None] | None = None) -> Marks:
        """Scores of labels, or of tags parted by spaces; which labels are confused, and which were never seen."""
        if not isinstance(self.pipeline, Labelling):
            raise AntiphonError("mark: this model gives no labels. Ask for its scores: model.evaluate(pairs).")
        temperature = None if self.calibration is None else self.calibration.fit.temperature
        return mark(self.pipeline, temperature, list(examples), tell)

    def evaluate_texts(self, texts: Iterable[str]) -> list[Score]:
        """A language model's perplexity a symbol and a word, and its bits a character and a byte.

        Of a running text, `texts` are its lines, one after the other.
        """
        if not self.pipeline.completes:
            raise AntiphonError("evaluate_texts: this model answers sources. Give it pairs: model.evaluate(pairs).")
        texts = [normalise(text) for text in texts]
        store = PairStore.of([([], self.pipeline.target.encode(text)) for text in texts])
        parts = list(self.pipeline.losses(store))
        loss, symbols = sum(loss for loss, _, _ in parts), sum(count for _, count, _ in parts)
        return text_scores(loss, symbols, self.pipeline.run.data.target_tokenizer.kind, texts)

    def score(self, pairs: Iterable[tuple[str, str] | str]) -> list[float]:
        """log P(target | source) of each pair, or log P(text) of each text: how likely the model finds them."""
        whole = [("", pair) if isinstance(pair, str) else pair for pair in pairs]
        return self.pipeline.score(whole)

    def likelihood(self, pairs: Iterable[tuple[str, str]]) -> list[Score]:
        """Perplexity and bits per character of the targets, the true words before each being given."""
        pairs, unit = list(pairs), self.pipeline.run.data.target_tokenizer.kind
        parts = list(self.pipeline.losses(self._encode(pairs)))
        loss, symbols = sum(loss for loss, _, _ in parts), sum(count for _, count, _ in parts)
        texts = [normalise(target) for _, target in pairs]
        bits = [score for score in text_scores(loss, symbols, unit, texts) if score.name == "bits per character"]
        return [metrics.perplexity(loss, symbols, unit), *bits]

    def _calibration_errors(self, pairs: Iterable[tuple[str, str]]) -> list[Score]:
        """How far its probabilities are from how often it is right: as they are, and at its fitted temperature."""
        store, unit = self._encode(pairs), self.pipeline.run.data.target_tokenizer.kind
        fitted = [] if self.calibration is None else [self.calibration.fit.temperature]
        pipeline = writing(self.pipeline, "evaluate")
        return [calibration_error(lambda: spoken(pipeline, store), one, unit) for one in (1.0, *fitted)]

    def _encode(self, pairs: Iterable[tuple[str, str]]) -> PairStore:
        source, target = self.pipeline.source, self.pipeline.target
        return PairStore.of([(source.encode(text), target.encode(answer)) for text, answer in pairs])

    def confidence(self, texts: Sequence[str], answers: Sequence[Answer]) -> list[Confidence]:
        """How sure the model may be of each text's answer: calibrated probabilities, and signs that it went wrong."""
        return judge_answers(self.pipeline, self.calibration, texts, answers)

    def show(self, text: str, expected: str | None = None) -> Attention:
        """Where the model looked: every layer and head, in symbols and words, ready for `antiphon.show.heads`."""
        return read_attention(self.pipeline, text, expected)

    def show_beam(self, text: str, beam: int | None = None) -> BeamTree:
        """What beam search weighed at each step, what it cut, what finished and what won: for `antiphon.show.beams`."""
        pipeline = writing(self.pipeline, "show --beam")
        return read_tree(pipeline, text, self.search({"beam": beam, "n_best": 1, "sample": False}))

    def gradients(self, text: str, tell: Callable[[int, int], None] | None = None) -> Gradients:
        """How far gradients reach in each recurrent layer, over this text and its answer; `tell` hears of the steps."""
        return read_chains(writing(self.pipeline, "show --gradients"), text, tell)


def load(
    folder: str | Path,
    int8: bool = False,
    partners: Sequence[str | Path] = (),
    reverse: str | Path | None = None,
    model_of_answers: str | Path | None = None,
) -> Model:
    """The model in a folder that `train` wrote; a damaged or foreign folder is refused.

    With `int8` it writes its answers with 8-bit weights: they are almost always the same. With `partners`, the folders
    of models with the same target vocabulary, all write each answer together: the mean of their probabilities counts.
    With `reverse`, the folder of a model from answers to texts, it chooses the answers that fit both ways; with a
    language `model_of_answers`, those that are likely by themselves.
    """
    loaded = load_folder(Path(folder))
    if int8:
        quantize(loaded.model)
    beside = [writing(load(partner, int8).pipeline, str(partner)) for partner in partners]
    named = (reverse, model_of_answers)
    judges = [None if one is None else writing(load(one, int8).pipeline, str(one)) for one in named]
    pipeline = open_pipeline(loaded.model, loaded.source, loaded.target, loaded.run)
    if beside or any(judges):
        own = writing(pipeline, str(folder))
        pipeline = Pipeline(own.model, own.source, own.target, own.run, beside, Jury(*judges))
        pipeline.refuse_strangers(str(folder), list(map(str, partners)))
    return Model(pipeline, loaded.report, read_calibration(loaded.report, str(Path(folder) / REPORT)))


def compare(
    systems: Mapping[str, Model | Sequence[str]],
    pairs: Iterable[tuple[str, str]],
    *,
    metric: Metric = "bleu",
    bins: Sequence[int] | None = None,
    beam: int | None = None,
    scoring: Scoring = PLAIN,
    certainty: Certainty = SURE,
    references: Sequence[Sequence[str]] | None = None,
) -> Report:
    """Systems on the same pairs, the first beside each of the others: a model each, or its answers in order.

    `bins` are the longest lengths of all bins but the last; absent, bins of about as many pairs each. `references` are
    further right answers, a list a pair.
    """
    sources, targets = gather(list(pairs), references, any_target=False)
    measured = lengths.measure(sources, bins)
    answers: dict[str, Sequence[str]] = {}
    for name, system in systems.items():
        if isinstance(system, str):
            raise AntiphonError(f"compare: {name} is a text, {system!r}. Give a model, antiphon.load(...), or answers.")
        if isinstance(system, Model):
            system.refuse_pairs("compare")
            system = [best.text for best, *_ in system.pipeline.answer(sources, system.search({"beam": beam}))]
        answers[name] = system
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
