"""Gradients taken back through chains: by hand, against torch's own kernels and autograd, in both halves."""

import math
from typing import get_args

import pytest
import torch
from pydantic import TypeAdapter
from torch import nn

from antiphon.build.model import build_model
from antiphon.config import schema
from antiphon.data.batch import make_sources
from antiphon.data.labels import LabelTokenizer
from antiphon.data.masking import WRITTEN
from antiphon.data.vocab import END, HOLE, START, Vocabulary
from antiphon.errors import AntiphonError
from antiphon.labelling.opening import open_pipeline
from antiphon.layers.cells import GRU, LSTM, Elman
from antiphon.layers.steps import CoupledLSTM, Orthogonal, PeepholeLSTM
from antiphon.pipeline import Pipeline
from antiphon.show.listening import listen
from antiphon.show.recurrence import log_norms, norm, read_chains, recurrent_matrices
from antiphon.store import load_folder

CELLS = {
    "elman": lambda: Elman(3, 5), "lstm": lambda: LSTM(3, 5), "gru": lambda: GRU(3, 5),
    "peephole": lambda: PeepholeLSTM(3, 5, "diagonal"), "full_peephole": lambda: PeepholeLSTM(3, 5, "full"),
    "coupled": lambda: CoupledLSTM(3, 5), "orthogonal": lambda: Orthogonal(3, 5),
}  # fmt: skip
TEXT = "one two three four five six"


def walked(cell: nn.Module, x_1TD: torch.Tensor) -> list:
    """The gates and the state before, for every place."""
    state, steps = tuple(torch.zeros(1, cell.width) for _ in range(cell.parts)), []
    with torch.no_grad():
        for gates_1G in cell.project(x_1TD).unbind(1):
            steps.append((gates_1G, state))
            state = cell.step(gates_1G, state)
    return steps


def expected(cell: nn.Module, x_1TD: torch.Tensor, state=None, part=0) -> list[float]:
    """The same norms from autograd through the rest of the row, all places at once, from each place anew."""
    norms = []
    for place in range(1, x_1TD.shape[1]):
        with torch.no_grad():
            _, before = cell(x_1TD[:, :place], state)

        def rest(own, before=before, place=place):
            return cell(x_1TD[:, place:], (*before[:part], own, *before[part + 1 :]))[1][part]

        jacobian = torch.autograd.functional.jacobian(rest, before[part])[0, :, 0]
        norms.append(torch.linalg.svdvals(jacobian)[0].item())
    return [*norms, 1.0]


def powers(logs) -> list[float]:
    return [10**log10 for log10 in logs]


def an_elman(*rows: list[float]) -> Elman:
    """Without bias and input it stays at zero, where tanh has slope one: the chain is the matrix alone."""
    cell = Elman(1, len(rows))
    with torch.no_grad():
        for parameter in cell.parameters():
            parameter.zero_()
        cell.kernel.weight_hh_l0.copy_(torch.tensor(rows))
    return cell


@pytest.mark.parametrize("weight", [0.5, -0.9, 1.0, -1.5])
def test_one_unit_by_hand(weight):
    logs = list(log_norms(an_elman([weight]), walked(an_elman([weight]), torch.zeros(1, 9, 1))))
    assert powers(logs) == pytest.approx([abs(weight) ** back for back in range(1, 9)])


def test_a_matrix_by_hand():
    """Powers of [[0, 2], [0.5, 0]] alternate between itself, with norm 2, and the identity."""
    cell = an_elman([0.0, 2.0], [0.5, 0.0])
    assert powers(log_norms(cell, walked(cell, torch.zeros(1, 5, 1)))) == pytest.approx([2, 1, 2, 1])


def test_tanh_away_from_zero_by_hand():
    """h = tanh(0.5 + 2 h'): h1 = tanh 0.5, h2 = tanh(0.5 + 2 h1); the slope is (1 - h2^2) 2."""
    cell = an_elman([2.0])
    with torch.no_grad():
        cell.kernel.bias_hh_l0.fill_(0.5)
    h2 = math.tanh(0.5 + 2 * math.tanh(0.5))
    assert powers(log_norms(cell, walked(cell, torch.zeros(1, 2, 1)))) == pytest.approx([(1 - h2**2) * 2], rel=1e-5)


def test_numbers_that_no_float_can_hold():
    for weight in (1e-3, 1e3):
        cell = an_elman([weight])
        *_, far = log_norms(cell, walked(cell, torch.zeros(1, 401, 1)))
        assert far == pytest.approx(400 * math.log10(weight))


def test_a_gradient_of_nothing():
    cell = an_elman([0.0])
    assert list(log_norms(cell, walked(cell, torch.zeros(1, 4, 1)))) == [-math.inf] * 3


def test_an_open_orthogonal_chain_keeps_all_of_it_over_500_steps_and_elman_does_not():
    torch.manual_seed(1)
    x_1TD = 0.1 * torch.randn(1, 501, 4)
    orthogonal, elman = Orthogonal(4, 32), Elman(4, 32)
    assert powers(log_norms(orthogonal, walked(orthogonal, x_1TD))) == pytest.approx([1.0] * 500, abs=1e-3)
    assert list(log_norms(elman, walked(elman, x_1TD)))[-1] < -50
    with torch.no_grad():
        elman.kernel.weight_hh_l0.copy_(1.5 * torch.eye(32))
    still = torch.zeros(1, 501, 4)
    for bias in (elman.kernel.bias_ih_l0, elman.kernel.bias_hh_l0):
        nn.init.zeros_(bias)
    assert list(log_norms(elman, walked(elman, still)))[-1] > 50


def test_the_cells_are_those_of_the_schema():
    assert list(CELLS) == list(get_args(schema.CellName))


@pytest.mark.parametrize("kind", CELLS)
def test_every_cell_as_autograd_through_the_whole_chain(kind):
    torch.manual_seed(1)
    cell, x_1TD = CELLS[kind](), torch.randn(1, 8, 3)
    for part in range(cell.parts):
        logs = [0.0, *log_norms(cell, walked(cell, x_1TD), part)]
        assert powers(logs[::-1]) == pytest.approx(expected(cell, x_1TD, part=part), rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("kind", ["lstm", "peephole", "coupled"])
def test_gates_that_see_nothing_leave_the_product_of_what_is_not_forgotten(kind):
    """With U = P = 0, d c(T) / d c(t) = prod f, at most one: here sigma(0.5) at every step."""
    cell = {"lstm": LSTM(1, 2), "peephole": PeepholeLSTM(1, 2, "diagonal"), "coupled": CoupledLSTM(1, 2)}[kind]
    for parameter in cell.parameters():
        nn.init.zeros_(parameter)
    steps = [(torch.full((1, cell.gates), 0.5), (torch.zeros(1, 2), torch.zeros(1, 2)))] * 6
    assert powers(log_norms(cell, steps, 1)) == pytest.approx([sigma(0.5) ** back for back in range(1, 6)], rel=1e-5)


@pytest.mark.parametrize("kind", CELLS)
def test_every_matrix_has_a_name_and_a_norm(kind):
    torch.manual_seed(1)
    cell = CELLS[kind]()
    matrices = recurrent_matrices(cell)
    assert all(matrix.shape == (5, 5) for matrix in matrices.values())
    for matrix in matrices.values():
        assert norm(matrix) == pytest.approx(torch.linalg.matrix_norm(matrix, 2).item(), rel=1e-5)


def sigma(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def lstm(input=1.5, forget=1.5, output=1.5, candidate=1.5):
    return sigma(output) * math.tanh(sigma(forget) * 0.5 + sigma(input) * math.tanh(candidate))


def coupled(forget=1.5, output=1.5, candidate=1.5):
    return sigma(output) * math.tanh(sigma(forget) * 0.5 + (1 - sigma(forget)) * math.tanh(candidate))


def gru(reset=1.5, update=1.5, candidate=1.5):
    new = math.tanh(1 + sigma(reset) * (candidate - 1))
    return sigma(update) + (1 - sigma(update)) * new


@pytest.mark.parametrize(
    ("kind", "by_hand"), [("lstm", lstm), ("full_peephole", lstm), ("coupled", coupled), ("gru", gru)],
    ids=["lstm", "peephole", "coupled", "gru"],
)  # fmt: skip
def test_the_names_are_those_of_the_gates(kind, by_hand):
    """Inputs of 1, h = 1, c = 0.5; all matrices give 0.5, but for one, which gives 2: only its gate changes."""
    cell = CELLS[kind]()
    state = (torch.ones(1, 5), torch.full((1, 5), 0.5))[: cell.parts]
    for name in [name for name in recurrent_matrices(cell) if not name.startswith("P ")]:
        with torch.no_grad():
            for parameter in cell.parameters():
                parameter.zero_()
            for other, matrix in recurrent_matrices(cell).items():
                matrix.fill_(0.0 if other.startswith("P ") else 0.4 if other == name else 0.1)
            h, *_ = cell.step(torch.ones(1, cell.gates), state)
        assert h[0, 0].item() == pytest.approx(by_hand(**{name: 3.0}), rel=1e-5)


def a_pipeline(trained, encoder: dict, decoder: dict) -> Pipeline:
    """A model of these choices with the tokenisers of the trained one; it has learnt nothing."""
    torch.manual_seed(1)
    loaded = load_folder(trained)
    choice = schema.Seq2Seq.model_validate({"encoder": encoder, "decoder": decoder})
    model = build_model(choice, loaded.source.size, loaded.target.size)
    return Pipeline(model.eval(), loaded.source, loaded.target, loaded.run.model_copy(update={"model": choice}))


READER = {"kind": "recurrent", "width": 6, "embedding": 5, "directions": 1}
WRITER = {"kind": "recurrent", "width": 7, "embedding": 4}
TRANSFORMER = {"kind": "transformer", "width": 8, "layers": 1, "heads": 2, "feedforward": 9}


def test_an_encoder_of_two_layers_and_two_directions(trained):
    pipeline = a_pipeline(trained, {**READER, "layers": 2, "directions": 2, "cell": "gru"}, WRITER)
    found = {chain.name: chain for chain in read_chains(pipeline, TEXT).chains}
    assert list(found) == ["encoder 1 →", "encoder 1 ←", "encoder 2 →", "encoder 2 ←", "decoder 1", "decoder 1, c"]
    pieces = (*TEXT.split(), "</s>")
    assert (found["encoder 2 →"].symbols, found["encoder 2 ←"].symbols) == (pieces, pieces[::-1])
    words_BS, _ = make_sources([pipeline.source.encode(TEXT)])
    x_1TD = pipeline.model.source(words_BS)
    for number, layer in enumerate(pipeline.model.encoder.layers, start=1):
        left, right = layer.readers
        turned = x_1TD.flip(1)
        assert powers(found[f"encoder {number} →"].log10_norms) == pytest.approx(expected(left, x_1TD), rel=1e-5)
        assert powers(found[f"encoder {number} ←"].log10_norms) == pytest.approx(expected(right, turned), rel=1e-5)
        x_1TD = torch.cat([left(x_1TD, None)[0], right(turned, None)[0].flip(1)], dim=2).detach()


def a_reader(trained, choice: dict):
    """A model of labels with the tokenisers of the trained one; it has learnt nothing."""
    torch.manual_seed(1)
    loaded = load_folder(trained)
    model = TypeAdapter(schema.Model).validate_python(choice)
    data = loaded.run.data.model_copy(update={"joint": choice["kind"] == "spans"})
    run = loaded.run.model_copy(update={"model": model, "data": data})
    target = loaded.source if choice["kind"] in ("spans", "masked") else LabelTokenizer(Vocabulary(("bad", "good")), "")
    built = build_model(model, loaded.source.size, target.size).eval()
    return open_pipeline(built, loaded.source, target, run)


def numbers(pipeline, symbols) -> list[int]:
    """Of what was read; special symbols are no words."""
    special = {"<s>": START, "</s>": END, "<unk>": HOLE}
    return [special[symbol] if symbol in special else pipeline.source.encode(symbol)[0] for symbol in symbols]


KINDS = {
    "classifier": {"kind": "classifier", "pool": "last"}, "tagger": {"kind": "tagger"},
    "masked": {"kind": "masked"}, "spans": {"kind": "spans", "front": False},
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_that_only_reads(trained, kind):
    pipeline = a_reader(trained, {**KINDS[kind], "encoder": {**READER, "cell": "lstm"}})
    text = {"spans": "one two\tthree four five six", "masked": f"one {WRITTEN} three"}.get(kind, TEXT)
    first, second = read_chains(pipeline, text).chains
    assert (first.name, second.name) == ("encoder 1", "encoder 1, c")
    (cell,) = pipeline.model.encoder.layers[0].readers
    with torch.no_grad():
        x_1TD = pipeline.model.source(torch.tensor([numbers(pipeline, first.symbols)]))
    for part, chain in enumerate((first, second)):
        assert powers(chain.log10_norms) == pytest.approx(expected(cell, x_1TD, part=part), rel=1e-5)
    assert not cell._forward_pre_hooks


def test_two_towers_are_two_chains(trained):
    choice = {"kind": "classifier", "texts": "towers", "encoder": {**READER, "cell": "gru", "directions": 2}}
    pipeline = a_reader(trained, choice)
    chains = read_chains(pipeline, "one two three\tfour five").chains
    names = ["text 1, encoder 1 →", "text 1, encoder 1 ←", "text 2, encoder 1 →", "text 2, encoder 1 ←"]
    assert [chain.name for chain in chains] == names
    assert chains[3].symbols == ("</s>", "five", "four")
    left, right = pipeline.model.encoder.layers[0].readers
    for chain, cell in zip(chains, (left, right, left, right), strict=True):
        with torch.no_grad():
            x_1TD = pipeline.model.source(torch.tensor([numbers(pipeline, chain.symbols)]))
        assert powers(chain.log10_norms) == pytest.approx(expected(cell, x_1TD), rel=1e-5)


def test_a_reversed_source_is_read_from_its_end(trained):
    pipeline = a_pipeline(trained, {**READER, "reverse": True}, WRITER)
    chain = read_chains(pipeline, TEXT).chains[0]
    assert (chain.name, chain.symbols[:2]) == ("encoder 1 ←", ("</s>", "six"))
    words_BS, _ = make_sources([pipeline.source.encode(TEXT)])
    turned = pipeline.model.source(words_BS).flip(1)
    (cell,) = pipeline.model.encoder.layers[0].readers
    assert powers(chain.log10_norms) == pytest.approx(expected(cell, turned), rel=1e-5)


def test_a_decoder_of_two_layers(trained):
    pipeline = a_pipeline(trained, READER, {**WRITER, "layers": 2, "attention": {"kind": "none"}})
    source, answer = pipeline.source.encode(TEXT), (5, 6, 7, 8, 9)
    _, *heard = listen(pipeline, source, answer)
    with torch.no_grad():
        state = pipeline.model.start(*make_sources([source]))
        x_1TD = pipeline.model.target(torch.tensor([[START, *answer]]))
    assert [(one.name, *one.symbols[:1]) for one in heard] == [("decoder 1", "<s>"), ("decoder 2", "<s>")]
    for one, start in zip(heard, state.cells, strict=True):
        logs = [0.0, *log_norms(one.cell, one.steps)]
        assert powers(logs[::-1]) == pytest.approx(expected(one.cell, x_1TD, start), rel=1e-5)
        x_1TD = one.cell(x_1TD, start)[0].detach()


@pytest.mark.parametrize("feeding", [False, True])
def test_what_is_heard_in_a_decoder_leads_from_state_to_state(trained, feeding):
    pipeline = a_pipeline(trained, TRANSFORMER, {**WRITER, "layers": 2, "input_feeding": feeding})
    answer = (5, 6, 7, 8)
    with torch.no_grad():
        heard = listen(pipeline, pipeline.source.encode(TEXT), answer)
        state = pipeline.model.start(*make_sources([pipeline.source.encode(TEXT)]))
        states = []
        for word in (START, *answer):
            states.append(state.cells)
            _, state = pipeline.model.step(torch.tensor([word]), state)
        for layer, one in enumerate(heard):
            for place, (gates_1G, before) in enumerate(one.steps):
                torch.testing.assert_close(before, states[place][layer], rtol=0, atol=0)
                after = state.cells[layer] if place == 4 else states[place + 1][layer]
                torch.testing.assert_close(one.cell.step(gates_1G, before), after)


def test_listening_leaves_no_ears_behind(trained):
    pipeline = a_pipeline(trained, READER, WRITER)
    before = [text.text for text in pipeline.answer([TEXT])[0]]
    read_chains(pipeline, TEXT)
    for cell in (*pipeline.model.encoder.layers[0].readers, *pipeline.model.decoder.cells):
        assert "step" not in vars(cell)
        assert not cell._forward_pre_hooks
    assert [text.text for text in pipeline.answer([TEXT])[0]] == before


@pytest.mark.parametrize("kind", CELLS)
def test_every_cell_in_both_halves(trained, kind):
    pipeline = a_pipeline(trained, {**READER, "cell": kind}, {**WRITER, "cell": kind})
    for chain in read_chains(pipeline, TEXT).chains:
        assert chain.cell == kind
        assert len(chain.symbols) == len(chain.log10_norms)
        assert chain.log10_norms[-1] == 0
        assert all(math.isfinite(log10) for log10 in chain.log10_norms)


def names(pipeline) -> list[str]:
    return [chain.name for chain in read_chains(pipeline, TEXT).chains]


def test_a_transformer_half_has_no_chains(trained):
    assert names(a_pipeline(trained, TRANSFORMER, WRITER)) == ["decoder 1", "decoder 1, c"]
    assert names(a_pipeline(trained, READER, TRANSFORMER)) == ["encoder 1", "encoder 1, c"]


def test_one_symbol_has_an_answer(trained):
    chain = read_chains(a_pipeline(trained, READER, WRITER), "one").chains[0]
    assert (chain.symbols, chain.verdict) == (("one", "</s>"), "too short")


def test_weights_are_held_while_a_chain_is_read(trained):
    pipeline = a_pipeline(trained, READER, WRITER)
    flags = []
    read_chains(pipeline, TEXT, lambda *_: flags.append({one.requires_grad for one in pipeline.model.parameters()}))
    assert flags
    assert all(each == {False} for each in flags)
    assert all(one.requires_grad for one in pipeline.model.parameters())


def test_progress_ends_with_all_of_it(trained):
    told = []
    found = read_chains(a_pipeline(trained, READER, WRITER), TEXT, lambda done, total: told.append((done, total)))
    total = sum(len(chain.symbols) - 1 for chain in found.chains)
    assert told[-1] == (total, total)
    assert told == sorted(told)


@pytest.mark.parametrize(
    ("encoder", "text", "message"),
    [
        (READER, " ", "gradients: the text is empty, and nothing passes through it. Give at least one symbol."),
        (
            TRANSFORMER, "one",
            "gradients: no part of this model is recurrent, so it has no chain of states to read. "
            "Give a model with a recurrent half, or look at this one's attention: antiphon show without --gradients.",
        ),
    ],
    ids=["empty", "no chain"],
)  # fmt: skip
def test_what_cannot_be_read_is_explained(trained, encoder, text, message):
    with pytest.raises(AntiphonError) as caught:
        read_chains(a_pipeline(trained, encoder, TRANSFORMER), text)
    assert str(caught.value) == message
