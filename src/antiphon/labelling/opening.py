"""The right path for a model: one that writes, one that gives labels, or one that points."""

from antiphon.config.schema import Run
from antiphon.data.labels import LabelTokenizer
from antiphon.data.tokenize import Tokenizer
from antiphon.errors import AntiphonError
from antiphon.labelling.classifying import Classifying
from antiphon.labelling.filling import Filling
from antiphon.labelling.pointing import Pointing
from antiphon.labelling.tagging import Tagging
from antiphon.models.labelling import Classifier, Tagger
from antiphon.models.masked import Masked
from antiphon.models.model import Model
from antiphon.models.pointing import Spans
from antiphon.pipeline import Pipeline

Labelling = Classifying | Tagging
Answering = Pipeline | Labelling | Filling | Pointing


def open_pipeline(model: Model, source: Tokenizer, target: Tokenizer, run: Run, temperature: float = 1.0) -> Answering:
    """A model with its tokenisers; a classifier's answers are told with the probabilities of this temperature."""
    if isinstance(model, Classifier | Tagger):
        assert isinstance(target, LabelTokenizer), "the config holds such a model and its labels together"
        if isinstance(model, Tagger):
            return Tagging(model, source, target, run)
        return Classifying(model, source, target, run, temperature)
    if isinstance(model, Masked):
        return Filling(model, target, run)
    if isinstance(model, Spans):
        return Pointing(model, source, target, run)
    return Pipeline(model, source, target, run)


def called(pipeline: Labelling | Filling | Pointing) -> str:
    """Such a model in a sentence."""
    named = {"spans": "model of spans", "masked": "masked model"}
    return f"a {named.get(pipeline.run.model.kind, pipeline.run.model.kind)}"


def writing(pipeline: Answering, what: str, instead: str = "Leave it out.") -> Pipeline:
    """For what only a model that writes can do."""
    if not isinstance(pipeline, Pipeline):
        raise AntiphonError(f"{what}: {called(pipeline)} writes nothing word by word. {instead}")
    return pipeline
