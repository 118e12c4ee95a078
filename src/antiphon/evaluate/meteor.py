"""METEOR 1.5: recall and precision of aligned words, less where their order is broken (Denkowski and Lavie, 2014).

P, R = matches / words of the answer, of the reference; a match of stage i counts w_i, a content word delta, a function
word 1 - delta. F = P R / (alpha P + (1 - alpha) R); score = F (1 - gamma (chunks / matches) ^ beta).

N sentences · M sums of each
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import snowballstemmer
from numpy.typing import NDArray

from antiphon.errors import AntiphonError
from antiphon.evaluate.align import Stage, align, count_chunks
from antiphon.evaluate.function_words import FUNCTION_WORDS, VERSION
from antiphon.evaluate.metrics import Reference, Score, Tokens, cutter, lines_of, several, sign
from antiphon.evaluate.wordnet import Wordnet

Language = Literal["en", "cs", "fr", "es", "de", "ru", "da", "fi", "hu", "it", "nl", "no", "pt", "ro", "sv", "tr"]


@dataclass(frozen=True)
class Tuning:
    """What was tuned so that scores agree with people's rankings."""

    alpha: float  # recall against precision
    beta: float  # how fast the penalty grows with the chunks
    gamma: float  # the greatest penalty
    delta: float  # content against function words
    weights: tuple[float, ...]  # of a match by letters, by stem, by synonym


_UNTUNED = Tuning(0.75, 1.4, 0.7, 0.5, (1.0, 0.5))
# As published with METEOR 1.5 for its ranking task. Czech has no stemmer, and only English has synonyms.
TUNING = {
    "en": Tuning(0.85, 0.2, 0.6, 0.75, (1.0, 0.6, 0.8)),
    "cs": Tuning(0.95, 0.2, 0.6, 0.8, (1.0,)),
    "fr": Tuning(0.9, 1.4, 0.6, 0.65, (1.0, 0.2)),
    "es": Tuning(0.65, 1.3, 0.5, 0.8, (1.0, 0.8)),
    "de": Tuning(0.95, 1.0, 0.55, 0.55, (1.0, 0.8)),
} | dict.fromkeys(get_args(Language)[5:], _UNTUNED)
_STEMMERS = {
    "en": "english", "fr": "french", "es": "spanish", "de": "german", "ru": "russian", "da": "danish", "fi": "finnish",
    "hu": "hungarian", "it": "italian", "nl": "dutch", "no": "norwegian", "pt": "portuguese", "ro": "romanian",
    "sv": "swedish", "tr": "turkish",
}  # fmt: skip
_STAGES = ("exact", "stem", "synonym")


class Meteor:
    """METEOR of one language, on words that are cut and in lower case."""

    def __init__(
        self, language: Language, wordnet: Wordnet | None = None, function_words: frozenset[str] | None = None
    ) -> None:
        if language not in TUNING:
            known = ", ".join(get_args(Language))
            raise AntiphonError(f"meteor.language: no such choice as {language!r}. Known: {known}.")
        if wordnet is not None and language != "en":
            raise AntiphonError(f"meteor.wordnet: WordNet is English, and the language is {language!r}. Leave it out.")
        self.tuning = TUNING[language]
        self.function_words = FUNCTION_WORDS.get(language, frozenset()) if function_words is None else function_words
        stages: list[Stage] = [cache(lambda word: frozenset((word,)))]
        if language in _STEMMERS:
            stages.append(_stems(language))
        if wordnet is not None:
            stages.append(wordnet.synsets)
        self.stages = tuple(stages)
        if function_words is None:
            listed = f"own-{VERSION}" if language in FUNCTION_WORDS else "none"
        else:
            listed = sha256(" ".join(sorted(function_words)).encode()).hexdigest()[:8]
        self.signature = f"lang:{language}|stages:{'.'.join(_STAGES[: len(stages)])}|function:{listed}"

    def row(self, said: Sequence[str], references: Sequence[Sequence[str]]) -> NDArray[np.float64]:
        """What a sentence adds to its corpus, by the reference that is best for it."""
        rows = np.array([self._row(said, wanted) for wanted in references])
        return rows[int(self.scores(rows).argmax())]

    def _row(self, said: Sequence[str], wanted: Sequence[str]) -> NDArray[np.float64]:
        """Weighted matches and words of both sides; matches; chunks, 0 where all words match in order."""
        matches = align(said, wanted, self.stages)
        weighed = [[self._weigh(word) for word in words] for words in (said, wanted)]
        found, count = [0.0, 0.0], 0
        for place, match in enumerate(matches):
            if match is not None:
                weight = self.tuning.weights[match.stage]
                found[0] += weight * weighed[0][match.said]
                found[1] += weight * weighed[1][place]
                count += 1
        chunks = count_chunks(matches)
        whole = chunks == 1 and count == len(said) == len(wanted)
        return np.array([found[0], sum(weighed[0]), found[1], sum(weighed[1]), count, 0 if whole else chunks])

    def _weigh(self, word: str) -> float:
        return 1 - self.tuning.delta if word in self.function_words else self.tuning.delta

    def scores(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """From 0 to 1, of sums of rows along any axes but the last."""
        said_found, said, wanted_found, wanted, matches, chunks = np.moveaxis(sums, -1, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            precision, recall = said_found / said, wanted_found / wanted
            mean = 1 / ((1 - self.tuning.alpha) / precision + self.tuning.alpha / recall)
            score = mean * (1 - self.tuning.gamma * (chunks / matches) ** self.tuning.beta)
        return np.nan_to_num(score, nan=0.0).clip(min=0.0)


def meteor(
    answers: Sequence[str],
    references: Sequence[Reference],
    metric: Meteor,
    tokenize: Tokens = "13a",
    rows_NM: NDArray[np.float64] | None = None,
) -> Score:
    """The score of the whole corpus; words are cut as BLEU cuts them, and case never counts.

    `rows_NM` are those of `rows_of`, where they are known already: they are the work.
    """
    lines = lines_of(answers, references)
    sums = (rows_of(metric, answers, lines, tokenize) if rows_NM is None else rows_NM).sum(axis=0)
    signature = sign("METEOR-1.5", True, metric.signature, f"tok:{tokenize}", *several(lines))
    return Score("METEOR", 100.0 * float(metric.scores(sums)), signature, higher_is_better=True)


def rows_of(
    metric: Meteor, answers: Sequence[str], lines: Sequence[Sequence[str]], tokenize: Tokens
) -> NDArray[np.float64]:
    """A row a line, each with what the line adds to its corpus."""
    cut = cutter(tokenize)
    rows = []
    for answer, line in zip(answers, lines, strict=True):
        said, *wanted = (cut(text).lower().split() for text in (answer, *line))
        rows.append(metric.row(said, wanted))
    return np.array(rows)


def read_function_words(path: Path) -> frozenset[str]:
    """One word a line, as METEOR's own lists are."""
    try:
        words = frozenset(path.read_text(encoding="utf-8").split())
    except OSError as error:
        raise AntiphonError(
            f"function words: {path} cannot be read ({error.strerror}). Give one word a line."
        ) from None
    except UnicodeDecodeError:
        raise AntiphonError(f"function words: {path} is not UTF-8. Give one word a line.") from None
    if not words:
        raise AntiphonError(f"function words: {path} is empty. Give one word a line.")
    return words


def _stems(language: str) -> Callable[[str], frozenset[Hashable]]:
    stemmer = snowballstemmer.stemmer(_STEMMERS[language])

    @cache
    def stem(word: str) -> frozenset[Hashable]:
        found = stemmer.stemWord(word)
        # METEOR's German stemmer is older than the rule that makes Ergebnis of Ergebnisse.
        if language == "de" and found.endswith("nis") and word.endswith(("nisse", "nissen", "nisses")):
            found += "s"
        return frozenset((found,))

    return stem
