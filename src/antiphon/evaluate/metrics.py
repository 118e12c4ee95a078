"""Scores of answers against references: plain functions on lists of lines, each with the signature that repeats it."""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Literal, cast, get_args

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from antiphon.errors import AntiphonError

Reference = str | Sequence[str]  # of one line; several where several answers are right
Tokens = Literal["13a", "none", "intl", "char", "zh"]
Unit = Literal["words", "characters", "phones"]


@dataclass(frozen=True)
class Score:
    """One number: per cent, but for perplexity and bits."""

    name: str
    value: float
    signature: str  # all that has to be equal where two such numbers are compared
    higher_is_better: bool


def bleu(
    answers: Sequence[str],
    references: Sequence[Reference],
    tokenize: Tokens = "13a",
    lowercase: bool = False,
    max_order: int = 4,
    smooth: Literal["exp", "floor", "add-k", "none"] = "exp",
) -> Score:
    """Shared n-grams up to max_order, times a penalty for brevity (Papineni et al., 2002; Post, 2018)."""
    _check(tokenize)
    streams = streams_of(answers, references)
    # Forced: sacrebleu logs a warning of tokenised text at every call, where `bleu_doubt` tells it once.
    metric = BLEU(lowercase, True, tokenize, smooth, max_ngram_order=max_order)
    result = metric.corpus_score(answers, streams)
    # sacrebleu's own signature does not say how long the n-grams are.
    name = "BLEU" if max_order == 4 else f"BLEU-{max_order}"
    return Score(name, result.score, f"{name}|{metric.get_signature()}", higher_is_better=True)


def cutter(tokenize: Tokens) -> Callable[[str], str]:
    """What puts a space between the words of a line, as BLEU does."""
    _check(tokenize)
    cut: Callable[[str], str] = BLEU(tokenize=tokenize, force=True).tokenizer
    return cut


def chrf(
    answers: Sequence[str], references: Sequence[Reference], lowercase: bool = False, word_order: int = 0
) -> Score:
    """F2 of shared character n-grams (Popović, 2015); with word_order = 2 it is chrF++."""
    streams = streams_of(answers, references)
    metric = CHRF(word_order=word_order, lowercase=lowercase)
    result = metric.corpus_score(answers, streams)
    return Score(result.name, result.score, f"{result.name}|{metric.get_signature()}", higher_is_better=True)


def ter(answers: Sequence[str], references: Sequence[Reference], lowercase: bool = True) -> Score:
    """Edits, shifts of phrases included, a reference word (Snover et al., 2006)."""
    streams = streams_of(answers, references)
    metric = TER(case_sensitive=not lowercase)
    result = metric.corpus_score(answers, streams)
    return Score(result.name, result.score, f"{result.name}|{metric.get_signature()}", higher_is_better=False)


def exact_match(answers: Sequence[str], references: Sequence[Reference], lowercase: bool = False) -> Score:
    """The share of lines that equal a reference, spaces included."""
    lines = lines_of(answers, references)
    right = sum(is_right(answer, line, lowercase) for answer, line in zip(answers, lines, strict=True))
    signature = sign("exact_match", lowercase, "space:kept", *several(lines))
    return Score("exact match", 100.0 * right / len(answers), signature, higher_is_better=True)


def is_right(answer: str, line: Sequence[str], lowercase: bool = False) -> bool:
    return _case(answer, lowercase) in [_case(reference, lowercase) for reference in line]


def token_accuracy(answers: Sequence[str], references: Sequence[Reference], lowercase: bool = False) -> Score:
    """The share of places with the right word; the places of a line are those of its longer side.

    Of several references the one that is nearest to the answer counts.
    """
    right, places, lines = 0, 0, lines_of(answers, references)
    for answer, line in zip(answers, lines, strict=True):
        said, wanted = _nearest(answer, line, lowercase, str.split)
        right += sum(one == other for one, other in zip(said, wanted, strict=False))
        places += max(len(said), len(wanted))
    if not places:
        raise AntiphonError(
            f"token accuracy: all {len(answers)} lines are empty on both sides; give at least one word."
        )
    signature = sign("token_accuracy", lowercase, "tok:spaces", "at:same-place", "of:longer-side", *several(lines))
    return Score("token accuracy", 100.0 * right / places, signature, higher_is_better=True)


def word_error_rate(
    answers: Sequence[str],
    references: Sequence[Reference],
    unit: Unit = "words",
    lowercase: bool = False,
) -> Score:
    """Insertions, deletions and substitutions of the whole corpus, a word (or character, or phone) of its references.

    Phones stand between spaces, as words do. Of several references the one that is nearest to the answer counts.
    """
    edits, total, lines = 0, 0, lines_of(answers, references)
    for answer, line in zip(answers, lines, strict=True):
        more, length = edits_of(answer, line, unit, lowercase)
        edits, total = edits + more, total + length
    if not total:
        raise AntiphonError(f"word error rate: all {len(references)} references are empty; give at least one word.")
    short = {"words": "wer", "characters": "cer", "phones": "per"}[unit]
    tokens = "tok:characters" if unit == "characters" else "tok:spaces"
    signature = sign(short, lowercase, tokens, *several(lines))
    return Score(short.upper(), 100.0 * edits / total, signature, higher_is_better=False)


def edits_of(answer: str, line: Sequence[str], unit: Unit = "words", lowercase: bool = False) -> tuple[int, int]:
    """The edits between an answer and its nearest reference, and the length of that."""
    said, wanted = _nearest(answer, line, lowercase, list if unit == "characters" else str.split)
    return edit_distance(said, wanted), len(wanted)


def perplexity(negative_log_likelihood: float, symbols: int, unit: str, unknown: int = 0) -> Score:
    """exp(summed negative log-likelihood / symbols): among how many equally likely symbols the model is in doubt.

    The unit ("subwords", "characters", ...) is signed, because perplexities over different symbols do not compare; so
    is the share of `unknown` ones, each of which is foretold as any unknown word, not as itself.
    """
    if symbols < 1:
        raise AntiphonError(f"perplexity: counted over {symbols} symbols; give at least one.")
    try:
        value = math.exp(negative_log_likelihood / symbols)
    except OverflowError:
        value = math.inf
    signature = f"perplexity|unit:{unit}{unknown_share(unknown / symbols)}|{_version()}"
    return Score("perplexity", value, signature, higher_is_better=False)


def unknown_share(share: float) -> str:
    """A part of a signature: how many of the symbols stood for words that the model does not know."""
    return f"|unknown:{share:.2%}" if share else ""


def edit_distance(one: Sequence[Hashable], other: Sequence[Hashable]) -> int:
    """Levenshtein's distance, a whole column of the table in one integer (Myers, 1999, as told by Hyyrö, 2003)."""
    if not one:
        return len(other)
    places: dict[Hashable, int] = {}
    for place, symbol in enumerate(one):
        places[symbol] = places.get(symbol, 0) | 1 << place
    last, full = 1 << (len(one) - 1), (1 << len(one)) - 1
    # Bit i: going down from row i the distance rises, or falls, by one.
    rises, falls, distance = full, 0, len(one)
    for symbol in other:
        equal = places.get(symbol, 0)
        diagonal = (((equal & rises) + rises) ^ rises) | equal | falls
        right_rises = falls | ~(diagonal | rises) & full
        right_falls = rises & diagonal
        distance += bool(right_rises & last) - bool(right_falls & last)
        right_rises, right_falls = right_rises << 1 | 1, right_falls << 1
        rises = (right_falls | ~(diagonal | right_rises)) & full
        falls = right_rises & diagonal & full
    return distance


def _check(tokenize: Tokens) -> None:
    if tokenize not in get_args(Tokens):
        known = ", ".join(get_args(Tokens))
        raise AntiphonError(f"bleu.tokenize: no such choice as {tokenize!r}. Known: {known}.")


def _nearest(
    answer: str, line: Sequence[str], lowercase: bool, cut: Callable[[str], list[str]]
) -> tuple[list[str], list[str]]:
    """The answer's symbols, and those of the reference that is the fewest edits away from it."""
    said, *wanted = (cut(_case(text, lowercase)) for text in (answer, *line))
    return said, wanted[0] if len(wanted) == 1 else min(wanted, key=lambda other: edit_distance(said, other))


def several(lines: Sequence[Sequence[str]]) -> list[str]:
    """Signed only where a line has more than one reference."""
    return ["nrefs:var"] if any(len(line) > 1 for line in lines) else []


def _case(text: str, lowercase: bool) -> str:
    return text.lower() if lowercase else text


def _version() -> str:
    return f"version:{version('antiphon')}"


def sign(name: str, lowercase: bool, *parts: str) -> str:
    return "|".join([name, *parts, "case:lc" if lowercase else "case:mixed", _version()])


def _count(answers: Sequence[str], references: Sequence[Reference]) -> None:
    if len(answers) != len(references):
        raise AntiphonError(
            f"evaluate: {len(answers)} answers and {len(references)} references; "
            "answer N is judged by reference N, so give as many of both."
        )
    if not answers:
        raise AntiphonError("evaluate: 0 answers and 0 references; give at least one of both.")


def lines_of(answers: Sequence[str], references: Sequence[Reference]) -> list[list[str]]:
    """The references of every line, in a list each."""
    _count(answers, references)
    lines = [[line] if isinstance(line, str) else [*line] for line in references]
    for number, line in enumerate(lines, start=1):
        if not line:
            raise AntiphonError(f"evaluate: line {number} has 0 references; give at least one.")
    return lines


def streams_of(answers: Sequence[str], references: Sequence[Reference]) -> list[list[str]]:
    """The references as sacrebleu takes them: all first ones, all second ones, and so on."""
    lines = lines_of(answers, references)
    most = max(map(len, lines))
    # Typed as text alone, but None is how sacrebleu learns that the number of references varies, and signs it.
    streams = [[line[place] if place < len(line) else None for line in lines] for place in range(most)]
    return cast(list[list[str]], streams)
