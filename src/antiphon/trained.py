"""A trained model in a user's hands: what it can be asked."""

import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any

from antiphon.confidence import Calibration, Confidence, judge_answers
from antiphon.config.schema import Search
from antiphon.config.toml import with_search
from antiphon.data.given import given_pairs, given_texts, listed
from antiphon.data.store import PairStore
from antiphon.data.text import normalise
from antiphon.errors import AntiphonError
from antiphon.evaluate import metrics
from antiphon.evaluate.endpoint import Endpoint
from antiphon.evaluate.geval import judge_by_model
from antiphon.evaluate.metrics import Score
from antiphon.evaluate.scores import PLAIN, Scoring, gather, score_all
from antiphon.evaluate.texts import text_scores
from antiphon.labelling.filling import Filling
from antiphon.labelling.opening import Answering, Labelling, writing
from antiphon.labelling.pointing import Pointing
from antiphon.labelling.scoring import Marks, mark, mark_answers, mark_holes, refuse_search
from antiphon.pipeline import Answer, Pipeline
from antiphon.reader import Jury
from antiphon.search.rules import broken
from antiphon.show.attention import Attention, read_attention
from antiphon.show.chains import Gradients
from antiphon.show.recurrence import read_chains
from antiphon.show.tree import BeamTree, read_tree
from antiphon.sureness import answer_errors, symbol_errors
from antiphon.vectors import Vectors, embed

# What counts only where answers are searched for, and only where they are drawn.
_SEARCHING = ("beam", "length_exponent", "length_penalty", "coverage", "groups", "diversity")
_DRAWING = ("temperature", "top_k", "top_p", "min_p", "draws")


class Model:
    """A trained model: text in, text out."""

    def __init__(self, pipeline: Answering, report: Mapping[str, Any], calibration: Calibration | None = None) -> None:
        self.pipeline, self.report, self.calibration = pipeline, report, calibration

    def __call__(self, text: str) -> str:
        return self.pipeline.answer([text])[0][0].text

    def predict(
        self,
        texts: Iterable[str],
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
        return self.pipeline.answer(given_texts(texts, "predict"), self.search(changes, search))

    def search(self, changes: Mapping[str, Any], base: Search | None = None) -> Search:
        """The model's own [search], or another, with these keys changed; None leaves a key as it is.

        More answers or groups than its beam has room for widen the beam, unless a beam is given too.
        """
        given = {key: value for key, value in changes.items() if value is not None}
        own = base or self.pipeline.run.search
        if not isinstance(self.pipeline, Pipeline):
            refuse_search(self.pipeline, given)
        search = with_search(own, _widened(given, own))
        if isinstance(self.pipeline, Pipeline):
            _refuse_idle(given, search, self.pipeline.jury)
        return search

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
        are further right answers, a list a pair. A language model at `endpoint` is asked to judge too. Of a model of
        spans a source is question TAB paragraph, and a target of nothing says that there is no answer.
        """
        pairs = given_pairs(pairs, "evaluate")
        if isinstance(self.pipeline, Labelling):
            return self.mark(pairs, tell, search).scores
        if isinstance(self.pipeline, Pointing):
            return mark_answers(self.pipeline, *gather(pairs, references, any_target), search, tell)
        self.refuse_pairs("evaluate")
        judge = scoring.meteor()
        _refuse_nothing(pairs, "evaluate")
        sources, targets = gather(pairs, references, any_target)
        given = [found[0] for found in self.pipeline.answer(sources, search, tell=tell)]
        answers = [answer.text for answer in given]
        judged = judge_by_model(endpoint, sources, targets, answers) if endpoint else []
        scores = score_all(answers, targets, scoring, judge)
        pipeline = writing(self.pipeline, "evaluate")
        likelihood = self.likelihood(pairs) if pipeline.read_alike else []
        # The temperature was fitted to one model, so of several together nothing is said of it.
        calibration: list[Score] = []
        if not pipeline.partners:
            calibration += symbol_errors(pipeline, self.calibration, self._encode(pairs))
            calibration += answer_errors(pipeline, self.calibration, sources, given, targets, scoring.lowercase)
        return [*scores, *likelihood, *calibration, *judged]

    def refuse_pairs(self, verb: str) -> None:
        """Before a verb that asks for answers to sources."""
        if self.pipeline.completes or isinstance(self.pipeline, Filling):
            does = "completes texts" if self.pipeline.completes else "fills holes in texts"
            raise AntiphonError(
                f"{verb}: a language model {does} and answers no sources. "
                "Score it on plain text: antiphon evaluate, or model.evaluate_texts(texts)."
            )
        if isinstance(self.pipeline, Pointing):
            raise AntiphonError(
                f"{verb}: a model of spans answers questions on paragraphs, and these are pairs. "
                "Score it on questions: antiphon evaluate."
            )

    def mark(
        self,
        examples: Iterable[tuple[str, str]],
        tell: Callable[[int], None] | None = None,
        search: Search | None = None,
    ) -> Marks:
        """Scores of labels, or of tags parted by spaces; which labels are confused, and which were never seen."""
        if not isinstance(self.pipeline, Labelling):
            raise AntiphonError("mark: this model gives no labels. Ask for its scores: model.evaluate(pairs).")
        temperature = None if self.calibration is None else self.calibration.fit.temperature
        return mark(self.pipeline, temperature, given_pairs(examples, "mark"), search, tell)

    def evaluate_texts(self, texts: Iterable[str]) -> list[Score]:
        """A language model's perplexity a symbol and a word, and its bits a character and a byte.

        Of a running text, `texts` are its lines, one after the other. Of a masked model, its perplexity at hidden
        words, how many it guesses, and of how many pairs of texts it knows whether one follows the other.
        """
        texts = [normalise(text) for text in given_texts(texts, "evaluate_texts")]
        _refuse_nothing(texts, "evaluate_texts")
        if isinstance(self.pipeline, Filling):
            return mark_holes(self.pipeline, texts)
        if not self.pipeline.completes:
            raise AntiphonError("evaluate_texts: this model answers sources. Give it pairs: model.evaluate(pairs).")
        store = PairStore.of([([], self.pipeline.target.encode(text)) for text in texts])
        loss, symbols = self._loss(store)
        kind = self.pipeline.run.data.target_tokenizer.kind
        return text_scores(loss, symbols, kind, texts, store.unknown_targets)

    def score(self, pairs: Iterable[tuple[str, str] | str]) -> list[float]:
        """log P(target | source) of each pair, or log P(text) of each text: how likely the model finds them."""
        given = listed(pairs, "score", "pairs or texts")
        whole = [("", pair) if isinstance(pair, str) else pair for pair in given]
        return self.pipeline.score(given_pairs(whole, "score"))

    def embed(self, texts: Iterable[str]) -> Vectors:
        """A vector for each text, N x M: of a classifier what its pool gives, else the mean over the text's places."""
        return embed(self.pipeline, given_texts(texts, "embed"))

    def likelihood(self, pairs: Iterable[tuple[str, str]]) -> list[Score]:
        """Perplexity and bits per character of the targets, the true words before each being given."""
        pairs, unit = given_pairs(pairs, "likelihood"), self.pipeline.run.data.target_tokenizer.kind
        _refuse_nothing(pairs, "likelihood")
        store = self._encode(pairs)
        (loss, symbols), unknown = self._loss(store), store.unknown_targets
        texts = [normalise(target) for _, target in pairs]
        found = text_scores(loss, symbols, unit, texts, unknown)
        bits = [score for score in found if score.name == "bits per character"]
        return [metrics.perplexity(loss, symbols, unit, unknown), *bits]

    def _loss(self, store: PairStore) -> tuple[float, int]:
        """-log P of all targets, and their symbols."""
        parts = list(self.pipeline.losses(store))
        loss = sum(loss for loss, _, _ in parts)
        if math.isnan(loss):
            raise broken("for the texts that it is scored on")
        return loss, sum(count for _, count, _ in parts)

    def _encode(self, pairs: Iterable[tuple[str, str]]) -> PairStore:
        source, target = self.pipeline.source, self.pipeline.target
        return PairStore.of([(source.encode(text), target.encode(answer)) for text, answer in pairs])

    def confidence(self, texts: Iterable[str], answers: Iterable[Answer]) -> list[Confidence]:
        """How sure the model may be of each text's answer: calibrated probabilities, and signs that it went wrong."""
        asked, found = given_texts(texts, "confidence"), list(answers)
        if len(asked) != len(found):
            raise AntiphonError(f"confidence: {len(asked)} texts and {len(found)} answers. Give one for each text.")
        return judge_answers(self.pipeline, self.calibration, asked, found)

    def show(self, text: str, expected: str | None = None) -> Attention:
        """Where the model looked: every layer and head, in symbols and words, ready for `antiphon.show.heads`."""
        return read_attention(self.pipeline, text, expected)

    def show_beam(self, text: str, search: Search | None = None, *, beam: int | None = None) -> BeamTree:
        """What beam search weighed at each step, what it cut, what finished and what won: for `antiphon.show.beams`.

        With a `search`, that of `model.search({"prefix": "in"})`, the tree is its own: the starred answer is what
        `predict` gives. A model whose own [search] draws answers is let search for them.
        """
        pipeline = writing(self.pipeline, "show --beam")
        if search is not None and search.sample:
            raise AntiphonError("search.sample: answers that are drawn have no tree. Set it to false.")
        return read_tree(pipeline, text, self.search({"beam": beam, "sample": False}, search))

    def gradients(self, text: str, tell: Callable[[int, int], None] | None = None) -> Gradients:
        """How far gradients reach in each recurrent layer, over this text and its answer; `tell` hears of the steps."""
        return read_chains(self.pipeline, text, tell)


def _widened(given: Mapping[str, Any], own: Search) -> Mapping[str, Any]:
    """What is given, and a beam with room for it unless one is given too."""
    n_best, groups = given.get("n_best", own.n_best), given.get("groups", own.groups)
    if "beam" in given or not isinstance(n_best, int) or not isinstance(groups, int) or groups < 1:
        return given
    return {**given, "beam": math.ceil(max(own.beam, n_best) / groups) * groups}


def _refuse_idle(given: Container[str], search: Search, jury: Jury) -> None:
    """What is asked for and would change nothing."""
    for key in _SEARCHING if search.sample else _DRAWING:
        if key in given:
            why = "answers are drawn" if search.sample else "nothing is drawn"
            mend = "--no-sample (sample = false)" if search.sample else "--sample (sample = true)"
            raise AntiphonError(f"search.{key}: {why}, so it means nothing. Add {mend}, or leave it out.")
    if "diversity" in given and search.groups == 1:
        raise AntiphonError("search.diversity: one group differs from no other, so it means nothing. Raise groups.")
    if "draws" in given and search.mbr == "none" and not jury.sits:
        raise AntiphonError(
            "search.draws: the first draw is given, so others mean nothing. Let mbr choose among them, or leave it out."
        )
    for key, judge in (("reverse_weight", jury.reverse), ("model_of_answers_weight", jury.model_of_answers)):
        if key in given and judge is None:
            raise AntiphonError(
                f"search.{key}: no such model has a say, so it means nothing. Name one, or leave it out."
            )


def _refuse_nothing(given: Sequence[object], verb: str) -> None:
    if not given:
        raise AntiphonError(f"{verb}: nothing is given, and there is no score of nothing. Give at least one.")
