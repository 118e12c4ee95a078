"""The promises of search, proved on the user's own model."""

from collections.abc import Sequence
from dataclasses import dataclass

from antiphon.config.schema import Search
from antiphon.data.batch import make_sources
from antiphon.data.vocab import END, START, UNKNOWN
from antiphon.layers.products import inference
from antiphon.pipeline import Answer, Pipeline
from antiphon.search.beam import Beam, beam_search
from antiphon.search.ensemble import Ensemble, EnsembleState
from antiphon.search.wishes import FORBIDDEN

FEW = 16  # texts, where each is searched by itself


@dataclass(frozen=True)
class Proof:
    promise: str
    holds: bool
    detail: str


def constraints_are_honoured(pipeline: Pipeline, texts: Sequence[str]) -> Proof:
    """What is written must contain a word of another answer, and must not contain a word of its own.

    Where the other answer is empty, as of a text that is whole already, it is a word of the other text. Of a running
    text, which comes to no end, nothing can be demanded.
    """
    some = [text for text in texts if text.strip()][:FEW]
    search = pipeline.run.search.model_copy(update={"sample": False, "beam": 4, "n_best": 1, "groups": 1})
    free = [_words(written) for written in _written(pipeline, some, search)]
    tried, broken = 0, list[str]()
    other_words = [words or text.split() for words, text in zip(free, some, strict=True)]
    for text, own, other in zip(some, free, other_words[1:] + other_words[:1], strict=True):
        room = pipeline.limit(len(pipeline.encode(text)), search)
        contain = [word for word in other[:1] if word not in own and _writable(pipeline, word, room)]
        avoid = [word for word in own[:1] if not any(word in wanted for wanted in contain)]
        longer = search.max_length + (0 if pipeline.completes else 64)
        wished = search.model_copy(update={"contain": contain, "avoid": avoid, "max_length": longer})
        (answer,) = _written(pipeline, [text], wished)
        tried += len(contain) + len(avoid)
        if not all(word in answer for word in contain) or any(word in answer for word in avoid):
            broken.append(text)
    where = f"; first: {broken[0]!r}" if broken else ""
    detail = f"{tried} words demanded or avoided in {len(some)} texts: {len(broken)} not honoured{where}"
    return Proof("constraints are honoured", not broken, detail)


def _written(pipeline: Pipeline, texts: Sequence[str], search: Search) -> list[str]:
    """The best answers, without the prompts that they complete."""
    return [pipeline.spell(found[0].symbols) for found in pipeline.answer(texts, search)]


def _words(written: str) -> list[str]:
    """Those that can be named: bytes that are no text are shown as U+FFFD, which stands for any of them."""
    return [word for word in written.split() if "\N{REPLACEMENT CHARACTER}" not in word]


def _writable(pipeline: Pipeline, word: str, room: int) -> bool:
    """Whether it can be demanded, and comes back as it is: a symbol that stands for the unknown does not."""
    symbols = pipeline.target.encode(word)
    fits = pipeline.end >= 0 and len(symbols) + 2 <= room
    return fits and UNKNOWN not in symbols and pipeline.target.decode(symbols) == word


def one_alone_is_itself(pipeline: Pipeline, texts: Sequence[str]) -> Proof:
    some = [text for text in texts if text.strip()][:FEW]
    search = pipeline.run.search.model_copy(update={"sample": False})
    asked = pipeline.ask(some, search, some)
    beam, equal = Beam(search.beam, 1, search.length_exponent), True
    for batch in pipeline.batches(asked):
        limits = [one.wish.limit for one in batch]
        with inference():
            state = pipeline.model.start(*make_sources([one.symbols for one in batch]))
            alone = beam_search(pipeline.model, state, limits, beam, START, END, FORBIDDEN)
            together = Ensemble([pipeline.model]), EnsembleState((state,))
            equal &= alone == beam_search(*together, limits, beam, START, END, FORBIDDEN)
    return Proof("an ensemble of one is the model", equal, f"{len(some)} texts, equal to the last bit")


def one_draw_is_that_draw(pipeline: Pipeline, texts: Sequence[str]) -> Proof:
    some = texts[:FEW]
    drawn = Search(sample=True, draws=1, max_length=50, max_source=pipeline.run.search.max_source)
    found = [texts_of(pipeline.answer(some, search)) for search in (drawn, drawn.model_copy(update={"mbr": "chrf"}))]
    return Proof("minimum Bayes risk over one draw is that draw", found[0] == found[1], f"{len(some)} texts")


def texts_of(answers: Sequence[Sequence[Answer]]) -> list[str]:
    return [found[0].text for found in answers]
