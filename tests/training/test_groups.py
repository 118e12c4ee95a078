"""Which weights decay, which Muon turns, and how fast each layer learns."""

import pytest
import torch

from antiphon.build.model import build_model
from antiphon.config import schema
from antiphon.training.groups import make_optimizers
from antiphon.training.muon import Muon

STACK = {
    "kind": "transformer", "width": 8, "heads": 2, "layers": 3, "feedforward": 16, "positions": "learned",
    "max_positions": 16, "embedding_norm": True,
}  # fmt: skip
PEEPING = {"kind": "recurrent", "cell": "peephole", "width": 6, "embedding": 6}


def groups(encoder: dict, decoder: dict, **choices: object) -> dict[str, tuple[type, float, float]]:
    """By name: the optimiser of each weight, its decay and its speed."""
    model = build_model(schema.Seq2Seq.model_validate({"encoder": encoder, "decoder": decoder}), 10, 10)
    names = {tensor: name for name, tensor in model.named_parameters()}
    return {
        names[tensor]: (type(optimizer), group["weight_decay"], group["speed"])
        for optimizer in make_optimizers(names, schema.Train(**choices))
        for group in optimizer.param_groups
        for tensor in group["params"]
    }


@pytest.mark.parametrize(
    ("name", "speed"),
    [
        ("head.bias_V", 1.0),
        ("encoder.final_norm.weight", 1.0),
        ("encoder.layers.2.attention.out.weight", 0.5),
        ("decoder.layers.0.attention.out.weight", 0.125),
        ("encoder.positions.table_TD", 0.0625),
        ("decoder.first_norm.weight", 0.0625),
        ("source.weight_VD", 0.0625),
        ("target.weight_VD", 0.0625),
    ],
)
def test_each_layer_learns_more_slowly_than_the_one_above_and_all_below_them_most_slowly(name, speed):
    assert groups(STACK, STACK, layer_decay=0.5)[name][2] == pytest.approx(speed)


def test_embeddings_of_a_deeper_half_learn_more_slowly():
    found = groups(STACK, STACK | {"layers": 1}, layer_decay=0.5)
    assert found["encoder.positions.table_TD"][2] == 0.0625
    assert found["decoder.positions.table_TD"][2] == 0.25


def test_muon_turns_matrices_of_the_halves_and_nothing_else():
    found = groups(PEEPING, STACK, optimizer="muon", weight_decay=0.1)
    turned = {name for name, (optimizer, _, _) in found.items() if optimizer is Muon}
    assert "decoder.layers.0.attention.projection.weight" in turned
    assert "encoder.readers.0.kernel.weight_ih_l0" not in found  # a cell of our own
    assert any(name.startswith("encoder.") and name.endswith("carry.weight") for name in turned)
    rest = {name for name, (optimizer, _, _) in found.items() if optimizer is torch.optim.AdamW}
    assert {"source.weight_VD", "target.weight_VD", "decoder.positions.table_TD", "decoder.first_norm.weight"} <= rest
    assert all(name in rest and found[name][1] == 0.0 for name in found if name.endswith(".peephole"))
    assert any(name.endswith(".peephole") for name in found)


def test_a_full_peephole_is_a_matrix():
    found = groups(PEEPING | {"cell": "full_peephole"}, STACK, optimizer="muon", weight_decay=0.1)
    assert {found[name][:2] for name in found if name.endswith(".peephole")} == {(Muon, 0.1)}
