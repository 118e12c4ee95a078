"""The right path for a model: one that writes, or one that gives labels."""

from antiphon.config.schema import Run
from antiphon.data.labels import LabelTokenizer
from antiphon.data.tokenize import Tokenizer
from antiphon.errors import AntiphonError
from antiphon.labelling.classifying import Classifying
from antiphon.labelling.filling import Filling
from antiphon.labelling.tagging import Tagging
from antiphon.models.labelling import Classifier, Tagger
from antiphon.models.masked import Masked
from antiphon.models.model import Model
from antiphon.pipeline import Pipeline

Labelling = Classifying | Tagging
Answering = Pipeline | Labelling | Filling


def open_pipeline(model: Model, source: Tokenizer, target: Tokenizer, run: Run) -> Answering:
    """A model with its tokenisers."""
    if isinstance(model, Classifier | Tagger):
        assert isinstance(target, LabelTokenizer), "the config holds such a model and its labels together"
        if isinstance(model, Tagger):
            return Tagging(model, source, target, run)
        return Classifying(model, source, target, run)
    if isinstance(model, Masked):
        return Filling(model, target, run)
    return Pipeline(model, source, target, run)


def writing(pipeline: Answering, verb: str) -> Pipeline:
    """For what only a model that writes can do."""
    if not isinstance(pipeline, Pipeline):
        raise AntiphonError(f"{verb}: a {pipeline.run.model.kind} writes nothing word by word. Leave it out.")
    return pipeline
