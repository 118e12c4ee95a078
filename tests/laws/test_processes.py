"""The number of processes changes nothing: at one thread each the run is the same, to the last bit."""

import pytest

import antiphon
from tests.laws.runner import (
    CLASSIFIER,
    DENOISED,
    EVERYTHING,
    MASKED,
    PROMPTED,
    RECURRENT,
    RUNNING_TRANSFORMER,
    SPANS,
    TAGGER,
    TRANSFORMER,
    write_labels,
    write_pairs,
    write_questions,
    write_tags,
    write_text,
)
from tests.laws.test_resume import digest

SHORT = ("train.max_steps=8", "train.validate_every=4", "train.accumulate=3")
SHAPES = {
    "transformer": (TRANSFORMER + EVERYTHING, write_pairs, "pairs.tsv"),
    "labels that weigh": (CLASSIFIER, write_labels, "pairs.tsv"),
    "hidden words, frozen layers": (MASKED, write_text, "text.txt"),
    "recurrent": (RECURRENT + EVERYTHING, write_pairs, "pairs.tsv"),
    "windows of a text": (RUNNING_TRANSFORMER, write_text, "text.txt"),
    "prompts": (PROMPTED, write_pairs, "pairs.tsv"),
    "holes": (DENOISED, write_text, "text.txt"),
    "tags": (TAGGER, write_tags, "tags.tsv"),
    "spans": (SPANS, write_questions, "questions.json"),
}
QUICK = {"transformer", "labels that weigh", "hidden words, frozen layers"}


@pytest.mark.parametrize(
    "shape", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in SHAPES]
)
def test_more_processes_train_the_same_model(tmp_path, shape):
    sets, write, name = SHAPES[shape]
    data = {"train": str(write(tmp_path / name))}
    for processes in (1, 2):
        out = tmp_path / f"{processes} processes"
        antiphon.train(data=data, sets=[*sets, *SHORT, f"train.processes={processes}"], out=out, quiet=True)
    assert digest(tmp_path / "2 processes") == digest(tmp_path / "1 processes")


def test_a_run_may_go_on_with_another_number_of_processes(tmp_path):
    data = {"train": str(write_pairs(tmp_path / "pairs.tsv"))}
    for out, *sittings in (
        ("straight", "train.max_steps=8"),
        ("changed", "train.max_steps=4", "train.processes=2 train.max_steps=6", "train.max_steps=8"),
    ):
        for sitting in sittings:
            sets = [*TRANSFORMER, *EVERYTHING, *SHORT, "train.average=0", "train.validate_every=2", *sitting.split()]
            antiphon.train(data=data, sets=sets, out=tmp_path / out, quiet=True)
    assert digest(tmp_path / "changed") == digest(tmp_path / "straight")
