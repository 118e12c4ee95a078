"""A step that is cut into pieces: equal to the whole, shared by threads, and right again after one has failed."""

import threading
from dataclasses import replace

import pytest
import torch

from antiphon.build.model import build_model
from antiphon.config import schema
from antiphon.data.batch import Batch, make_batch
from antiphon.layers.draws import drawing
from antiphon.layers.dropout import Dropout
from antiphon.training.learner import Learner
from antiphon.training.lesson import Lesson
from antiphon.training.objective import summed_loss

# The recurrent matrices of this cell are computed from parameters, once a piece though every step reads them.
HALF = {"kind": "recurrent", "cell": "orthogonal", "width": 6, "embedding": 6, "dropout": 0.2}
CELLS = schema.Seq2Seq.model_validate({"encoder": HALF, "decoder": HALF})
STACK = {"kind": "transformer", "width": 8, "heads": 2, "layers": 2, "feedforward": 16, "dropout": 0.0}
PLAIN = schema.Seq2Seq.model_validate({"encoder": STACK, "decoder": STACK})
LONG = make_batch([[4, 5, 6], [7], [8, 9], [5], [6, 4]], [[4], [5, 6, 7, 8], [9, 4], [6], [8, 8, 5]])
BATCHES = [LONG, make_batch([[8, 9]], [[9, 4]])]


@pytest.fixture
def threads():
    """Sets how many there are; in the end there are as many as before."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr("antiphon.data.batch.PIECE", 8)


def a_learner(model: schema.Seq2Seq = CELLS, **choices: object) -> Learner:
    torch.manual_seed(1)
    return Learner(build_model(model, 10, 10), schema.Train(warmup=0, **choices), seed=5)


def losses(learner: Learner, steps: range) -> list[float]:
    return [learner.learn(BATCHES, step, step).loss for step in steps]


def test_pieces_are_of_like_work_and_together_the_whole():
    pieces = LONG.cut()
    assert [piece.source_BS[:, 0].tolist() for piece in pieces] == [[4, 5], [7, 6], [8]]
    assert sum(piece.target_tokens for piece in pieces) == LONG.target_tokens
    follows = replace(LONG, follows_B=torch.arange(5))
    assert [piece.follows_B.tolist() for piece in follows.cut()] == [[0, 3], [1, 4], [2]]


def test_a_small_batch_and_one_that_goes_on_stay_whole():
    assert BATCHES[1].cut() == [BATCHES[1]]
    going_on = replace(LONG, part="next")
    assert going_on.cut() == [going_on]
    assert len(make_batch([[4] * 90], [[5]]).cut()) == 1  # a row is never cut


def gradients(batch: Batch, monkeypatch: pytest.MonkeyPatch, piece: int, **choices: object) -> dict[str, torch.Tensor]:
    monkeypatch.setattr("antiphon.data.batch.PIECE", piece)
    learner = a_learner(PLAIN, clip=0.0, label_smoothing=0.1, **choices)
    learner.learn([batch], 0, 0)
    return {name: weight.grad for name, weight in learner.model.named_parameters()}


def test_pieces_have_the_gradient_of_the_whole(monkeypatch):
    choices = {"word_dropout": 0.3, "corruption": schema.Corruption(swap=0.3, drop=0.2)}
    whole, cut = (gradients(LONG, monkeypatch, piece, **choices) for piece in (1000, 8))
    assert whole.keys() == cut.keys()
    for name in whole:
        torch.testing.assert_close(cut[name], whole[name], rtol=1e-5, atol=1e-7)


def test_pieces_of_pairs_of_texts_have_the_loss_of_the_whole():
    torch.manual_seed(1)
    choice = schema.Masked.model_validate({"encoder": STACK | {"segments": 2}, "next_sentence": True})
    hidden = torch.tensor([[1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1]]).bool()
    read = make_batch([[4, 5], [6, 7], [8, 9], [5, 4]], [[4, 5], [6, 7], [8, 9], [5, 4]])
    batch = replace(read, target_mask_BT=hidden, follows_B=torch.tensor([0, 1, 1, 0]))
    model = build_model(choice, 10, 10)
    whole, *pieces = [
        summed_loss(model, part, model(part), None, schema.Train(), None).item() for part in (batch, *batch.cut())
    ]
    assert len(pieces) == 2
    assert sum(pieces) == pytest.approx(whole)


@pytest.mark.parametrize("model", [CELLS, PLAIN], ids=["cells", "transformer"])
def test_threads_learn_what_one_would_and_after_a_failure_go_on(threads, model):
    threads(1)
    alone = a_learner(model, freeze=["encoder"])
    expected = losses(alone, range(5))
    threads(3)
    crew = a_learner(model, freeze=["encoder"])
    assert losses(crew, range(3)) == expected[:3]
    with pytest.raises(IndexError):
        crew.learn([LONG, make_batch([[4]], [[99]]), LONG], 3, 3)
    assert torch.get_num_threads() == 3
    assert losses(crew, range(3, 5)) == expected[3:]
    one, other = alone.tensors(), crew.tensors()
    assert all(torch.equal(one[name], other[name]) for name in one | other)


def test_pieces_are_learnt_at_the_same_time(threads, monkeypatch):
    threads(2)
    both, loss_of = threading.Barrier(2, timeout=60), Lesson._loss

    def meet(lesson: Lesson, batch: Batch) -> torch.Tensor:
        both.wait()  # breaks if the other does not come
        assert torch.get_num_threads() == 1
        return loss_of(lesson, batch)

    monkeypatch.setattr(Lesson, "_loss", meet)
    assert len(LONG.cut()) == 3
    assert a_learner().learn([LONG, BATCHES[1]], 0, 0).taken


def test_a_loss_that_is_no_number_is_skipped_wherever_it_was_found(threads):
    threads(2)
    learner = a_learner()
    learner.model.target.weight_VD.data[9].fill_(torch.nan)  # which only the second batch reads
    before = learner.model.head.bias_V.clone()
    one, other = make_batch([[4]], [[5]]), make_batch([[4]], [[9, 4]])
    assert not learner.learn([one, other], 0, 0).taken
    assert torch.equal(learner.model.head.bias_V, before)
    assert learner.learn([one, one], 1, 0).taken


def test_what_a_thread_drops_is_its_own():
    drop, ones, found = Dropout(0.5).train(), torch.ones(50), {}

    def draw(seed: int, started: threading.Event, go_on: threading.Event) -> None:
        with drawing(seed):
            first = drop(ones)
            started.set()
            go_on.wait(60)
            found[seed] = torch.cat([first, drop(ones)])

    started, go_on = threading.Event(), threading.Event()
    other = threading.Thread(target=draw, args=(1, started, go_on))
    other.start()
    started.wait(60)
    draw(2, threading.Event(), go_on=started)  # in between
    go_on.set()
    other.join()
    for seed, drawn in found.items():
        with drawing(seed):
            assert torch.equal(torch.cat([drop(ones), drop(ones)]), drawn)
    torch.manual_seed(1)
    assert torch.equal(
        torch.cat([drop(ones), drop(ones)]), found[1]
    )  # outside, torch's own: the same seed, the same numbers
