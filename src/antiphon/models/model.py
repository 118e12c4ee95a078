"""The shapes of a sequence model, and what each does with its input: write, give labels, or point into it."""

from antiphon.models.labelling import Classifier, Tagger
from antiphon.models.masked import Masked
from antiphon.models.pointing import Spans
from antiphon.models.writing import LanguageModel, Seq2Seq

Writer = Seq2Seq | LanguageModel
Labeller = Classifier | Tagger
Model = Writer | Labeller | Masked | Spans
