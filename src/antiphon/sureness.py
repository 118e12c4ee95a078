"""How far a model's probabilities are from how often it is right: those of symbols, of words and of whole answers."""

from collections.abc import Iterator, Sequence

from antiphon.confidence import Calibration, judge_answers, spoken, word_counts
from antiphon.data.store import PairStore
from antiphon.data.tokenize import Tokenizer, name_words
from antiphon.evaluate.calibration import calibration_errors, error_score, expected_calibration_error
from antiphon.evaluate.metrics import Score, edit_distance, is_right
from antiphon.evaluate.rouge import in_common
from antiphon.pipeline import Answer, Pipeline


def symbol_errors(pipeline: Pipeline, calibration: Calibration | None, store: PairStore) -> list[Score]:
    """Of the likeliest symbol at every place of the targets: as it is, and at the fitted temperature."""
    unit = pipeline.run.data.target_tokenizer.kind
    return calibration_errors(spoken(pipeline, store), list(_temperatures(calibration)), unit)


def answer_errors(
    pipeline: Pipeline,
    calibration: Calibration | None,
    sources: Sequence[str],
    answers: Sequence[Answer],
    targets: Sequence[Sequence[str]],
    lowercase: bool = False,
) -> Iterator[Score]:
    """Of each word of the answers that are given, then of each whole answer: raw, and at the fitted temperature.

    A word is right where it is in the longest common subsequence with the reference that is the fewest edits away, an
    answer where it is one of its references (as exact match counts).
    """
    told = {at: judge_answers(pipeline, own, sources, answers) for at, own in _temperatures(calibration).items()}
    said = [[_case(word, lowercase) for word, _ in sure.words] for sure in told[1.0]]
    wanted = [_nearest(pipeline.target, words, line, lowercase) for words, line in zip(said, targets, strict=True)]
    words_right = [known for pair in zip(said, wanted, strict=True) for known in in_common(*pair)]
    if words_right:
        for temperature, sure in told.items():
            chances = [chance for one in sure for _, chance in one.words]
            error = expected_calibration_error(chances, words_right)
            yield error_score(error, temperature, "words", "of words", "right:lcs")
    right = [is_right(answer.text, line, lowercase) for answer, line in zip(answers, targets, strict=True)]
    for temperature, sure in told.items():
        error = expected_calibration_error([one.probability for one in sure], right)
        yield error_score(error, temperature, "answers", "of answers", "right:exact")


def _temperatures(calibration: Calibration | None) -> dict[float, Calibration | None]:
    """What is measured: the model's own probabilities, and those at its fitted temperature, where that is another."""
    return {1.0: None} | ({} if calibration is None else {calibration.fit.temperature: calibration})


def _nearest(target: Tokenizer, said: Sequence[str], line: Sequence[str], lowercase: bool) -> list[str]:
    """The words of the reference that is the fewest edits away, cut as the model cuts its own."""
    encoded = [target.encode(reference) for reference in line]
    wanted = [
        [_case(word, lowercase) for word in name_words(target, symbols, word_counts(target, symbols))]
        for symbols in encoded
    ]
    return wanted[0] if len(wanted) == 1 else min(wanted, key=lambda words: edit_distance(said, words))


def _case(word: str, lowercase: bool) -> str:
    return word.lower() if lowercase else word
