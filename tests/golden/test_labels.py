"""Labels against numbers from elsewhere: scikit-learn's F1, enumeration of sets, torch's LSTM, formulas by hand."""

import math
import random
from itertools import product

import pytest
import torch
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score
from sklearn.preprocessing import MultiLabelBinarizer

from antiphon.attend.memory import Memory
from antiphon.attend.pool import Queries
from antiphon.build.model import build_model
from antiphon.config import schema
from antiphon.data.batch import make_batch
from antiphon.data.store import PairStore
from antiphon.data.vocab import END
from antiphon.evaluate.labels import confusion, label_accuracy, label_f1
from antiphon.labelling.classifying import _likeliest_sets
from antiphon.models.labelling import part_texts
from antiphon.training.objective import label_weights, summed_loss

DRAW = random.Random(5)
ONE = [(DRAW.choice("abc"), DRAW.choice("abd")) for _ in range(40)]
SEVERAL = [tuple(DRAW.sample("abcd", DRAW.randint(0, 3)) for _ in range(2)) for _ in range(40)]


@pytest.mark.parametrize("mean", ["macro", "micro"])
def test_f1_of_one_label_equals_sklearn(mean):
    said, wanted = zip(*ONE, strict=True)
    expected = 100 * f1_score(wanted, said, average=mean, zero_division=0)
    assert label_f1(list(map(list, said)), list(map(list, wanted)), mean).value == pytest.approx(expected)


@pytest.mark.parametrize("mean", ["macro", "micro"])
def test_f1_of_several_labels_equals_sklearn(mean):
    said, wanted = zip(*SEVERAL, strict=True)
    binary = MultiLabelBinarizer(classes=list("abcd"))
    expected = 100 * f1_score(binary.fit_transform(wanted), binary.transform(said), average=mean, zero_division=0)
    assert label_f1(said, wanted, mean).value == pytest.approx(expected)
    assert label_accuracy(said, wanted).value == pytest.approx(
        100 * accuracy_score(binary.transform(wanted), binary.transform(said))
    )


def test_confusion_equals_sklearn():
    said, wanted = zip(*ONE, strict=True)
    found = confusion(said, wanted, "dcba")
    assert found.labels == ("d", "c", "b", "a")
    assert [list(row) for row in found.counts] == confusion_matrix(wanted, said, labels=list("dcba")).tolist()


def test_the_likeliest_sets_are_those_of_an_enumeration():
    logits = [0.3, -2.0, 1.1, -0.4, 0.0]

    def log_chance(chosen):
        return sum(math.log(1 / (1 + math.exp(-z if yes else z))) for z, yes in zip(logits, chosen, strict=True))

    every = sorted(product([False, True], repeat=5), key=lambda chosen: -log_chance(chosen))
    found = _likeliest_sets(logits, 32)
    assert len({tuple(labels) for labels in found}) == 32
    chances = [log_chance([label in labels for label in range(5)]) for labels in found]
    assert chances == pytest.approx([log_chance(chosen) for chosen in every])


def test_queries_read_as_the_formula_says():
    torch.manual_seed(1)
    pool, states_BSM = Queries(5, 2), torch.randn(1, 3, 5)
    read_BE = pool(Memory(states_BSM, torch.tensor([[True, True, False]]), states_BSM[:, 0]), None)
    for number, query in enumerate(pool.queries):
        scores = torch.stack([query.query_M @ torch.tanh(query.key(state_M)) for state_M in states_BSM[0, :2]])
        expected = (scores.softmax(0).unsqueeze(1) * states_BSM[0, :2]).sum(0)
        torch.testing.assert_close(read_BE[0, 5 * number : 5 * number + 5], expected)


def test_an_acceptor_is_torchs_lstm_and_a_linear_layer():
    choice = schema.Classifier(encoder=schema.RecurrentEncoder(width=6, embedding=5, directions=1), pool="last")
    model, ids = build_model(choice, 11, 4 + 3).eval(), [4, 7, 5]
    theirs = torch.nn.LSTM(5, 6, batch_first=True)
    ours = model.encoder.layers[0].readers[0]
    names = dict(theirs.named_parameters())
    given = dict(ours.named_parameters())
    assert sorted(value.shape for value in given.values()) == sorted(names[key].shape for key in names)
    torch.nn.utils.vector_to_parameters(torch.nn.utils.parameters_to_vector(ours.parameters()), theirs.parameters())
    with torch.no_grad():
        _, (last, _) = theirs(model.source(torch.tensor([[*ids, END]])))
        logits = model.head(model(make_batch([ids], [[4]], ended=False)))
    torch.testing.assert_close(logits, last[0] @ model.head.weight_VE.T + model.head.bias_V)


def test_two_texts_are_parted_at_the_first_end():
    batch = make_batch([[5, END, 6, 7, 8], [9, 4, 5, END, 6]], [[4], [5]], ended=False)
    source, mask = part_texts(batch.source_BS, batch.mask_BS)
    rows = [row[real].tolist() for row, real in zip(source, mask, strict=True)]
    assert rows == [[5, END], [9, 4, 5, END], [6, 7, 8, END], [6, END]]


def test_balanced_weights_by_hand():
    store = PairStore.of([([4], [4])] * 6 + [([4], [5])] * 2)
    run = schema.Run(data=schema.Data(train=["x"]), model=schema.Classifier(), train=schema.Train(balance=1.0))
    # Six of one and two of the other: 8 / (2 x 6) and 8 / (2 x 2), as scikit-learn's "balanced".
    assert label_weights(run, store, 6).tolist() == pytest.approx([2 / 3, 2.0])
    several = run.model_copy(update={"model": schema.Classifier(labels="several")})
    assert label_weights(several, store, 6).tolist() == pytest.approx([2 / 6, 6 / 2])


def test_weighted_and_several_losses_by_hand():
    model = build_model(schema.Classifier(labels="several"), 11, 4 + 2)
    batch = make_batch([[4], [5]], [[4, 5], []], ended=False)
    states_BE = torch.zeros(2, model.between.width)
    loss = summed_loss(model, batch, states_BE, None, schema.Train(label_smoothing=0.0), torch.tensor([1.0, 3.0]))
    assert loss.item() == pytest.approx((1 + 3 + 1 + 1) * math.log(2))
