"""Small tasks learnt to a threshold: copy, reverse, sort, by every family of model."""

import random

import pytest
import torch

from antiphon.build.model import build_model
from antiphon.config.schema import Seq2Seq, Train, TransformerStack
from antiphon.config.toml import load_run
from antiphon.data.batch import make_batch
from antiphon.evaluate.metrics import exact_match
from antiphon.training.learner import Learner
from antiphon.training.loop import train

LETTERS = "abcdefghij"
TASKS = {"copy": lambda word: word, "reverse": lambda word: word[::-1], "sort": lambda word: "".join(sorted(word))}
COMMON = [
    'data.source.tokenizer={kind="characters"}', 'data.target.tokenizer={kind="characters"}', "train.warmup=100",
    "train.schedule=cosine", "train.label_smoothing=0.0", "train.self_check=false", "train.save_every=1000", "search.beam=1",
]  # fmt: skip
RECURRENT = [
    'model.encoder={kind="recurrent", cell="gru", width=48, embedding=24, dropout=0.0}',
    'model.decoder={kind="recurrent", cell="gru", width=64, embedding=24, dropout=0.0, input_feeding=false, '
    'attention={kind="additive", width=48}}',
    "train.learning_rate=6e-3",
]
TRANSFORMER = [
    'model.encoder={kind="transformer", width=48, layers=2, heads=4, feedforward=96, dropout=0.0}',
    'model.decoder={kind="transformer", width=48, layers=2, heads=4, feedforward=96, dropout=0.0}',
    "train.learning_rate=3e-3",
]
MIXED = [TRANSFORMER[0], RECURRENT[1].replace("gru", "lstm"), "train.learning_rate=3e-3"]


def pairs(task: str, count: int, seed: int) -> list[tuple[str, str]]:
    draw = random.Random(seed)
    words = ["".join(draw.choices(LETTERS, k=draw.randint(2, 7))) for _ in range(count)]
    return [(" ".join(word), " ".join(TASKS[task](word))) for word in words]


def learn(task: str, settings: list[str], steps: int, folder) -> float:
    """The share of unseen words answered exactly right after so many steps."""
    for name, count, seed in (("train", 6000, 1), ("valid", 100, 2)):
        lines = [f"{source}\t{target}\n" for source, target in pairs(task, count, seed)]
        (folder / f"{name}.tsv").write_text("".join(lines))
    data = {"data": {"train": [str(folder / "train.tsv")], "valid": [str(folder / "valid.tsv")]}}
    limits = [f"train.max_steps={steps}", f"train.validate_every={steps}", "train.batch_tokens=1024"]
    model = train(load_run(None, None, data, [*COMMON, *settings, *limits]), folder / "run")
    asked = pairs(task, 300, 3)
    answers = [found[0].text for found in model.answer([source for source, _ in asked])]
    return exact_match(answers, [target for _, target in asked]).value


@pytest.mark.parametrize("task", TASKS)
def test_recurrent_models_learn(task, tmp_path):
    assert learn(task, RECURRENT, 400, tmp_path) >= 98


@pytest.mark.parametrize(
    "task", ["reverse", *(pytest.param(task, marks=pytest.mark.slow) for task in ("copy", "sort"))]
)
def test_transformers_learn(task, tmp_path):
    assert learn(task, TRANSFORMER, 600 if task == "reverse" else 1500, tmp_path) >= 98


def test_a_transformer_reads_and_an_lstm_writes(tmp_path):
    assert learn("reverse", MIXED, 500, tmp_path) >= 98


@pytest.mark.slow
def test_a_deep_stack_with_norms_after_learns_from_depth_scaled_weights_only():
    """Twelve layers a side, 60 steps of copying at a rate that leaves other weights where they were (ln 10 is 2.3)."""
    assert _copying("glorot") > 2.2
    assert _copying("depth_scaled") < 1.8


def _copying(init: str) -> float:
    """The loss after some steps on four letters out of ten."""
    stack = TransformerStack(width=32, heads=2, layers=12, feedforward=64, norm="after", init=init, dropout=0.0)
    torch.manual_seed(1)
    choice = Train(warmup=0, schedule="constant", learning_rate=3e-3, label_smoothing=0.0)
    learner = Learner(build_model(Seq2Seq(encoder=stack, decoder=stack), 14, 14), choice, seed=1)
    draw, losses = random.Random(1), []
    for step in range(60):
        rows = [[draw.randint(4, 13) for _ in range(4)] for _ in range(32)]
        losses.append(learner.learn([make_batch(rows, rows)], step, step).loss)
    return sum(losses[-5:]) / 5
