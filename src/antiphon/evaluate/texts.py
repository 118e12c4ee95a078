"""How well a language model foretells texts: one summed log-likelihood, counted a symbol, word, character and byte."""

import math
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version

from antiphon.errors import AntiphonError
from antiphon.evaluate.metrics import Score

_COUNTS: Mapping[str, Callable[[str], int]] = {
    "words": lambda text: len(text.split()),
    "characters": len,
    "bytes": lambda text: len(text.encode()),
}


def text_scores(negative_log_likelihood: float, symbols: int, unit: str, texts: Sequence[str]) -> list[Score]:
    """Perplexity a symbol and a word, bits a character and a byte; of each the end of every text is counted as one.

    Those a word, character or byte compare models of different symbols; `symbols` includes the ends, `unit` names them.
    """
    if not texts:
        raise AntiphonError("evaluate: no texts are given, and there is no score of nothing. Give at least one.")
    counts = {name: len(texts) + sum(map(count, texts)) for name, count in _COUNTS.items()}
    nats = {name: negative_log_likelihood / count for name, count in counts.items()}
    scores = [_score("perplexity", negative_log_likelihood / symbols, unit, perplexity=True)]
    if unit != "words":
        scores.append(_score("word perplexity", nats["words"], "words", perplexity=True))
    scores += [_score(f"bits per {name[:-1]}", nats[name], name, perplexity=False) for name in ("characters", "bytes")]
    return scores


def _score(name: str, nats: float, unit: str, perplexity: bool) -> Score:
    value = math.exp(min(nats, 700.0)) if perplexity else nats / math.log(2)
    short = "perplexity" if perplexity else "bits"
    return Score(name, value, f"{short}|unit:{unit}|ends:counted|version:{version('antiphon')}", higher_is_better=False)
