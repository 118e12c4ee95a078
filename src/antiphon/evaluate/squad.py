"""Exact match and F1 of answers, as the official scripts of SQuAD count them (Rajpurkar et al., 2016 and 2018)."""

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Literal

from antiphon.errors import AntiphonError
from antiphon.evaluate.metrics import Score

Rules = Literal["v1.1", "v2.0"]

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def squad_scores(answers: Sequence[str], golds: Sequence[Sequence[str]]) -> list[Score]:
    """Both scores, per cent; the nearest of a question's right answers counts, and "" says that there is none.

    By the rules of v2.0 where a question has no answer, and then also of questions with and without one by themselves.
    """
    if len(answers) != len(golds) or not golds:
        raise AntiphonError(
            f"evaluate: {len(answers)} answers to {len(golds)} questions; give as many of both, and at least one."
        )
    rules: Rules = "v1.1" if all(golds) else "v2.0"
    parts: dict[str, list[int]] = {"": list(range(len(golds)))}
    if rules == "v2.0":
        parts[", answerable"] = [n for n in parts[""] if golds[n]]
        parts[", unanswerable"] = [n for n in parts[""] if not golds[n]]
    measures: dict[str, Callable[[str, Sequence[str], Rules], float]] = {"exact match": exact_of, "F1": f1_of}
    return [
        _score(f"{name}{part}", [measure(answers[n], golds[n], rules) for n in numbers], rules)
        for part, numbers in parts.items()
        if numbers
        for name, measure in measures.items()
    ]


def _score(name: str, values: Sequence[float], rules: Rules) -> Score:
    short = name.partition(",")[0].replace(" ", "_").lower()
    signature = f"squad_{short}|rules:{rules}|questions:{len(values)}|version:{version('antiphon')}"
    return Score(name, 100.0 * sum(values) / len(values), signature, higher_is_better=True)


def exact_of(answer: str, golds: Sequence[str], rules: Rules) -> float:
    """1 where the answer is a right one, but for case, punctuation, articles and spaces."""
    return float(plain(answer) in [plain(gold) for gold in _wanted(golds, rules)])


def f1_of(answer: str, golds: Sequence[str], rules: Rules) -> float:
    """2 P R / (P + R) of words, each counted as often as it stands on both sides."""
    return max(_overlap(plain(answer).split(), plain(gold).split(), rules) for gold in _wanted(golds, rules))


def _wanted(golds: Sequence[str], rules: Rules) -> list[str]:
    """By v2.0 an answer of nothing but articles and punctuation is none, and where there is none it is nothing."""
    wanted = [gold for gold in golds if rules == "v1.1" or plain(gold)]
    return wanted or [""]


def _overlap(said: Sequence[str], wanted: Sequence[str], rules: Rules) -> float:
    if rules == "v2.0" and not (said and wanted):
        return float(said == wanted)
    same = (Counter(said) & Counter(wanted)).total()
    return 2 * same / (len(said) + len(wanted)) if same else 0.0


def plain(text: str) -> str:
    """In lower case, then without punctuation (ASCII's), then without articles, one space between words."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())
