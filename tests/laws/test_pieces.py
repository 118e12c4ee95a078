"""The number of threads changes nothing: batches are cut into the same pieces, and the run is the same to the last bit."""

import pytest
import torch

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

SHORT = ("train.max_steps=8", "train.validate_every=4")
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
def test_more_threads_train_the_same_model(tmp_path, monkeypatch, shape):
    monkeypatch.setattr("antiphon.data.batch.PIECE", 40)
    sets, write, name = SHAPES[shape]
    data, before = {"train": str(write(tmp_path / name))}, torch.get_num_threads()
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            antiphon.train(data=data, sets=[*sets, *SHORT], out=tmp_path / f"{threads} threads", quiet=True)
    finally:
        torch.set_num_threads(before)
    one, two = (digest(tmp_path / f"{threads} threads") for threads in (1, 2))
    # What validations say is computed by torch's threads, whose sums differ in their last digits.
    assert all(one[part] == two[part] for part in ("weights", "checkpoint", "losses"))
