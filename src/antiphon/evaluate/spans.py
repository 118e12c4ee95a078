"""Scores of tags: of words, of whole sentences, and of the spans that B, I, E and S mark (as the CoNLL script does)."""

from collections.abc import Iterator, Sequence
from importlib.metadata import version

from antiphon.errors import AntiphonError
from antiphon.evaluate.metrics import Score

Span = tuple[str, int, int]  # its kind, its first word, and the one behind its last
_MARKS = ("B-", "I-", "E-", "S-")


def marks_spans(labels: Sequence[str]) -> bool:
    """Whether these tags are those of spans: `O`, and a mark before a kind."""
    return any(label.startswith("B-") for label in labels) and all(
        label == "O" or label.startswith(_MARKS) for label in labels
    )


def spans_of(tags: Sequence[str]) -> Iterator[Span]:
    """A span goes on over I and E of its own kind, and begins at every other mark, even at an I after nothing."""
    begun, kind, before = 0, "", "O"
    for place, tag in enumerate([*tags, "O"]):
        mark, named = tag[:1], tag.partition("-")[2] or "_"
        goes_on = before in ("B", "I") and mark in ("I", "E") and named == kind
        if before != "O" and not goes_on:
            yield kind, begun, place
        if mark != "O" and not goes_on:
            begun, kind = place, named
        before = mark


def span_f1(said: Sequence[Sequence[str]], wanted: Sequence[Sequence[str]]) -> Score:
    """2 P R / (P + R) of spans that are right in kind, beginning and end; equal to seqeval's."""
    _count(said, wanted)
    hits = given = true = 0
    for one, other in zip(said, wanted, strict=True):
        found, there = set(spans_of(one)), set(spans_of(other))
        hits, given, true = hits + len(found & there), given + len(found), true + len(there)
    value = 200.0 * hits / (given + true) if given + true else 0.0
    return Score("span F1", value, f"span_f1|scheme:conll|mean:micro|{_version()}", higher_is_better=True)


def tag_accuracy(said: Sequence[Sequence[str]], wanted: Sequence[Sequence[str]]) -> Score:
    """The share of words with the right tag."""
    _count(said, wanted)
    right = sum(a == b for one, other in zip(said, wanted, strict=True) for a, b in zip(one, other, strict=True))
    words = sum(map(len, wanted))
    return Score("token accuracy", 100.0 * right / words, f"accuracy|of:words|{_version()}", higher_is_better=True)


def sentence_accuracy(said: Sequence[Sequence[str]], wanted: Sequence[Sequence[str]]) -> Score:
    """The share of sentences all of whose tags are right."""
    _count(said, wanted)
    right = sum([*one] == [*other] for one, other in zip(said, wanted, strict=True))
    signature = f"accuracy|of:sentences|{_version()}"
    return Score("sentence accuracy", 100.0 * right / len(wanted), signature, higher_is_better=True)


def _count(said: Sequence[Sequence[str]], wanted: Sequence[Sequence[str]]) -> None:
    if not wanted or [*map(len, said)] != [*map(len, wanted)]:
        raise AntiphonError("evaluate: give at least one sentence, and a tag for each word of each.")


def _version() -> str:
    return f"version:{version('antiphon')}"
