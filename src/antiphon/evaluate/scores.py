"""All scores of a list of answers, under one set of choices."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from antiphon.config.suggest import shown
from antiphon.errors import AntiphonError
from antiphon.evaluate import metrics
from antiphon.evaluate.meteor import Language, Meteor, meteor, read_function_words
from antiphon.evaluate.metrics import Reference, Score, Tokens
from antiphon.evaluate.rouge import rouge
from antiphon.evaluate.wordnet import Wordnet


@dataclass(frozen=True)
class Scoring:
    """How answers are scored; METEOR is of a language, and left out where none is named."""

    tokenize: Tokens = "13a"  # BLEU's words, and METEOR's
    lowercase: bool = False
    phones: bool = False  # answers are phones between spaces: their error rate instead of words' and characters'
    language: Language | None = None
    wordnet: str | Path | None = None  # a folder of WordNet's database files: METEOR knows synonyms
    function_words: str | Path | None = None  # a list for METEOR instead of our own: one word a line

    def meteor(self) -> Meteor | None:
        """METEOR as it is chosen, its files read; mistakes are told here, before anything is answered."""
        if self.language is None:
            for key in ("wordnet", "function_words"):
                if getattr(self, key) is not None:
                    raise AntiphonError(f"{key}: it is for METEOR, and METEOR needs a language. Name one, such as en.")
            return None
        wordnet = None if self.wordnet is None else Wordnet(Path(self.wordnet))
        words = None if self.function_words is None else read_function_words(Path(self.function_words))
        return Meteor(self.language, wordnet, words)


PLAIN = Scoring()


def score_all(
    answers: Sequence[str], references: Sequence[Reference], chosen: Scoring = PLAIN, judge: Meteor | None = None
) -> list[Score]:
    """Every score but those that need the model itself; `judge` is `chosen.meteor()`, where it was made before."""
    lowercase = chosen.lowercase
    judge = judge or chosen.meteor()
    errors: list[metrics.Unit] = ["phones"] if chosen.phones else ["words", "characters"]
    return [
        metrics.bleu(answers, references, chosen.tokenize, lowercase),
        metrics.chrf(answers, references, lowercase),
        metrics.ter(answers, references, lowercase),
        *([meteor(answers, references, judge, chosen.tokenize)] if judge else []),
        *(rouge(answers, references, kind) for kind in ("1", "2", "L")),
        metrics.exact_match(answers, references, lowercase),
        metrics.token_accuracy(answers, references, lowercase),
        *(metrics.word_error_rate(answers, references, unit, lowercase) for unit in errors),
    ]


def gather(
    pairs: Sequence[tuple[str, str]], references: Iterable[Iterable[str]] | None, any_target: bool
) -> tuple[list[str], list[list[str]]]:
    """The sources to be asked, and all that is right for each; equal sources are one where any of their targets is."""
    further = None if references is None else list(references)
    if further is not None and len(further) != len(pairs):
        raise AntiphonError(
            f"references: {len(pairs)} pairs, and references for {len(further)}; give a list for every pair."
        )
    for number, texts in enumerate(further or (), start=1):
        if isinstance(texts, str):
            raise AntiphonError(f"references: those of pair {number} are {shown(texts)}. Put them into a list.")
    sources: list[str] = []
    targets: list[list[str]] = []
    known: dict[str, int] = {}
    for number, (source, target) in enumerate(pairs):
        place = known.setdefault(source, len(sources)) if any_target else len(sources)
        if place == len(sources):
            sources.append(source)
            targets.append([])
        targets[place] += [target, *(further[number] if further else ())]
    return sources, targets
