"""How well a language model foretells texts: one summed log-likelihood, counted a symbol, word, character and byte."""

import math
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version

from antiphon.errors import AntiphonError
from antiphon.evaluate.metrics import Score, unknown_share

_COUNTS: Mapping[str, Callable[[str], int]] = {
    "words": lambda text: len(text.split()),
    "characters": len,
    "bytes": lambda text: len(text.encode()),
}


def text_scores(
    negative_log_likelihood: float, symbols: int, unit: str, texts: Sequence[str], unknown: int = 0
) -> list[Score]:
    """Perplexity a symbol and a word, bits a character and a byte; of each the end of every text is counted as one.

    Those a word, character or byte compare models of different symbols; `symbols` includes the ends, `unit` names them.
    Of an `unknown` word the likelihood is that of any unknown word, and nothing is paid for its letters: so their share
    is signed, and with it the scores are lower bounds.
    """
    if not texts:
        raise AntiphonError("evaluate: no texts are given, and there is no score of nothing. Give at least one.")
    counts = {name: len(texts) + sum(map(count, texts)) for name, count in _COUNTS.items()}
    share = unknown / symbols
    nats = {name: negative_log_likelihood / count for name, count in counts.items()}
    scores = [_score("perplexity", negative_log_likelihood / symbols, unit, True, share)]
    if unit != "words":
        scores.append(_score("word perplexity", nats["words"], "words", True, share))
    scores += [_score(f"bits per {name[:-1]}", nats[name], name, False, share) for name in ("characters", "bytes")]
    return scores


def _score(name: str, nats: float, unit: str, perplexity: bool, share: float) -> Score:
    value = math.exp(min(nats, 700.0)) if perplexity else nats / math.log(2)
    short = "perplexity" if perplexity else "bits"
    signature = f"{short}|unit:{unit}|ends:counted{unknown_share(share)}|version:{version('antiphon')}"
    return Score(name, value, signature, higher_is_better=False)
