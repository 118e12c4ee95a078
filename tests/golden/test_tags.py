"""Tags against numbers from elsewhere: seqeval's spans, a chain against enumeration, letters by hand."""

import random
from itertools import pairwise, product

import pytest
import torch
from seqeval.metrics import f1_score
from seqeval.metrics.sequence_labeling import get_entities

from antiphon.build.model import build_model
from antiphon.config import schema
from antiphon.data.batch import make_batch
from antiphon.data.vocab import START
from antiphon.encode.letters import means, pieces
from antiphon.evaluate.spans import marks_spans, sentence_accuracy, span_f1, spans_of, tag_accuracy
from antiphon.predict.chain import Chain

TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "E-PER", "S-LOC", "I-MISC-X"]


def sentences(seed: int, tags: list[str]) -> list[list[str]]:
    draw = random.Random(seed)
    return [draw.choices(tags, k=length) for length in (1, 2, 5, 9, 30, 30, 30)]


@pytest.mark.parametrize("tags", [TAGS, TAGS[:5]])
def test_spans_are_seqevals(tags):
    for row in sentences(1, tags):
        assert [(kind, begun, end - 1) for kind, begun, end in spans_of(row)] == get_entities(row)


@pytest.mark.parametrize("seed", range(5))
def test_span_f1_is_seqevals(seed):
    said, wanted = sentences(seed, TAGS), sentences(seed + 100, TAGS)
    said = [one[:3] + other[3:] for one, other in zip(said, wanted, strict=True)]
    assert span_f1(said, wanted).value == pytest.approx(100 * f1_score(wanted, said))


def test_accuracies_by_hand():
    said, wanted = [["A", "B"], ["A"]], [["A", "A"], ["A"]]
    assert tag_accuracy(said, wanted).value == pytest.approx(200 / 3)
    assert sentence_accuracy(said, wanted).value == 50
    assert marks_spans(["O", "B-X", "I-X"])
    assert not marks_spans(["NOUN", "VERB"])
    assert not marks_spans(["O", "B-X", "NOUN"])


@pytest.fixture(scope="module")
def chain() -> Chain:
    torch.manual_seed(1)
    chain = Chain(3)
    for part in chain.parameters():
        torch.nn.init.normal_(part)
    return chain


LENGTHS = torch.tensor([4, 1, 2])


def scores(chain: Chain, logits_WY: torch.Tensor) -> dict[tuple[int, ...], float]:
    """Of every way of tagging one sentence."""
    found = {}
    for tags in product(range(3), repeat=len(logits_WY)):
        score = chain.start_Y[tags[0]] + chain.end_Y[tags[-1]]
        score = score + sum(logits_WY[word, tag] for word, tag in enumerate(tags))
        score = score + sum(chain.moves_YY[one, other] for one, other in pairwise(tags))
        found[tags] = score.item()
    return found


def test_a_chain_is_what_an_enumeration_says(chain):
    logits_PY, tags_P = torch.randn(7, 3), torch.tensor([0, 2, 1, 1, 2, 0, 1])
    with torch.no_grad():
        found_B = chain.log_probability(logits_PY, tags_P, LENGTHS)
        best_P = chain.best(logits_PY, LENGTHS)
        marginals_PY = chain.marginals(logits_PY, LENGTHS)
    places = LENGTHS.tolist()
    rows = zip(
        logits_PY.split(places), tags_P.split(places), best_P.split(places), marginals_PY.split(places), strict=True
    )
    for number, (logits_WY, tags_W, best_W, marginals_WY) in enumerate(rows):
        every = scores(chain, logits_WY)
        log_z = torch.tensor(list(every.values())).logsumexp(0)
        assert found_B[number].item() == pytest.approx(every[tuple(tags_W.tolist())] - log_z.item(), abs=1e-5)
        assert tuple(best_W.tolist()) == max(every, key=every.get)
        for word in range(len(logits_WY)):
            for tag in range(3):
                share = sum(torch.exp(torch.tensor(s) - log_z) for tags, s in every.items() if tags[word] == tag)
                assert marginals_WY[word, tag].exp().item() == pytest.approx(float(share), abs=1e-5)


def test_a_chain_without_moves_is_a_softmax():
    chain, logits_PY = Chain(3), torch.randn(7, 3)
    logs_PY = logits_PY.log_softmax(-1)
    with torch.no_grad():
        assert torch.equal(chain.best(logits_PY, LENGTHS), logits_PY.argmax(1))
        found_B = chain.log_probability(logits_PY, logits_PY.argmax(1), LENGTHS)
    torch.testing.assert_close(found_B, torch.stack([row.amax(1).sum() for row in logs_PY.split(LENGTHS.tolist())]))


def test_symbols_of_words_are_counted_and_averaged():
    batch = make_batch([[5, 6, 7, 8], [9]], [[4, START, 5, START], [6]], ended=False)
    first_BT, real_BT = batch.target_mask_BT, batch.mask_BS[:, 1:]
    assert pieces(first_BT, real_BT).tolist() == [2, 2, 1]
    states_BTM = torch.arange(8.0).view(2, 4, 1)
    assert means(states_BTM, first_BT, real_BT).flatten().tolist() == [0.5, 2.5, 4.0]


def test_a_word_is_its_own_vector_and_its_letters():
    choice = schema.Tagger(letters=3, encoder=schema.RecurrentEncoder(width=4, embedding=5))
    model = build_model(choice, 20, 4 + 2).eval()
    batch = make_batch([[5, 10, 11, 6, 12], [7, 10]], [[4, START, START, 5, START], [4, START]], ended=False)
    with torch.no_grad():
        found_PD = model.letters(model.source, batch.source_BS[:, :-1], batch.target_mask_BT, batch.mask_BS[:, 1:])
        for row_D, (word, letters) in zip(found_PD, [(5, [10, 11]), (6, [12]), (7, [10])], strict=True):
            read = model.letters.reader(
                model.source(torch.tensor([letters])), torch.ones(1, len(letters), dtype=torch.bool)
            )
            expected = model.source(torch.tensor(word)) + model.letters.out(read.summary_BM[0])
            torch.testing.assert_close(row_D, expected)
