"""Products with 8-bit weights: by hand, near float32, alike in every batch, and refused where they would be wrong."""

import pytest
import torch
from torch.nn import functional as F

from antiphon.errors import AntiphonError
from antiphon.layers import quantized
from antiphon.layers.quantized import Int8Linear, Packed, Plain, may_pack, refuse_inexact


@pytest.fixture(params=[Packed, Plain], autouse=True)
def product(request, monkeypatch):
    """Every law here holds for both."""
    if request.param is Packed and not may_pack():
        pytest.skip("this processor lists AMX: the packed product may end the process")
    monkeypatch.setattr(quantized, "may_pack", lambda: request.param is Packed)
    return request.param


def test_a_product_by_hand():
    """Rows of W scale by 1 and 0.5, x by 1/64: every number is a whole digit, so nothing is rounded."""
    weight_GD = torch.tensor([[127.0, -3.0], [10.0, 63.5]])
    product = Int8Linear(weight_GD, torch.tensor([0.25, -1.0]))
    assert product.digits_GD.tolist() == [[127, -3], [20, 127]]
    assert product.scale_G.tolist() == [1.0, 0.5]
    assert torch.equal(product.weight, weight_GD)
    assert product(torch.tensor([[128.0, -1.5]])).tolist() == [[127 * 128 + 4.5 + 0.25, 1280 - 95.25 - 1.0]]


@pytest.mark.parametrize("width", [2, 67, 2048, 5000])
def test_only_the_weights_are_coarse(width):
    torch.manual_seed(1)
    weight_GD, bias_G, x_ND = torch.randn(21, width), torch.randn(21), torch.randn(7, width)
    product = Int8Linear(weight_GD, bias_G)
    torch.testing.assert_close(product.weight, weight_GD, atol=float(weight_GD.abs().max()) / 250, rtol=0.0)
    exact = F.linear(x_ND.double(), product.weight.double(), bias_G.double())
    error = (product(x_ND) - exact).norm() / exact.norm()
    assert error < 1e-3
    turned = Int8Linear(weight_GD.t().contiguous().t(), bias_G)
    assert torch.equal(turned(x_ND), product(x_ND))
    bare, gates_NG = Int8Linear(weight_GD, None), torch.randn(7, 21)
    torch.testing.assert_close(bare.onto(gates_NG, x_ND), gates_NG + bare(x_ND))


def test_a_row_gives_the_same_bits_in_every_batch():
    torch.manual_seed(1)
    product, x_ND = Int8Linear(torch.randn(1500, 30), torch.randn(1500)), torch.randn(300, 30)
    x_ND[7] *= 1000  # a loud neighbour
    together = product(x_ND)
    for size in (1, 3, 40, 299):
        assert torch.equal(torch.cat([product(part) for part in x_ND.split(size)]), together)
    assert torch.equal(product(x_ND.view(3, 100, 30)).flatten(0, 1), together)


def test_the_longest_sums_have_room():
    width = 40_000
    answer = Int8Linear(torch.ones(2, width), None)(torch.full((1, width), 3.0))
    torch.testing.assert_close(answer, torch.full((1, 2), 3.0 * width), rtol=1e-6, atol=0.0)


def test_zeros_stay_zero_and_what_is_no_number_is_seen():
    product = Int8Linear(torch.randn(5, 3), None)
    assert not product(torch.zeros(2, 3)).any()
    assert product(torch.tensor([[1.0, float("nan"), 2.0]])).isnan().all()
    weight_GD = torch.randn(5, 3)
    weight_GD[2, 1] = float("nan")
    assert Int8Linear(weight_GD, None)(torch.ones(1, 3)).isnan().tolist() == [[False, False, True, False, False]]


def test_wrong_sums_are_refused(monkeypatch, product):
    refuse_inexact()
    right = product.__call__
    monkeypatch.setattr(product, "__call__", lambda self, digits_ND: right(self, digits_ND).clamp(-32768, 32767))
    with pytest.raises(AntiphonError) as error:
        refuse_inexact()
    assert str(error.value) == (
        "int8: this processor, or this version of torch, cannot multiply 8-bit numbers: its sums are wrong. "
        "Leave int8 out."
    )


def test_a_missing_product_is_refused(monkeypatch, product):
    def missing(*_):
        raise RuntimeError("not here\nand more")

    monkeypatch.setattr(product, "__init__", missing)
    with pytest.raises(AntiphonError) as error:
        refuse_inexact()
    assert str(error.value) == (
        "int8: this processor, or this version of torch, cannot multiply 8-bit numbers: not here. Leave int8 out."
    )
