"""Products by the quicker library: the same digits, torch left as it was, and nothing where it would not be quicker."""

import os
import threading
from collections.abc import Iterator

import pytest
import torch
from torch import nn

from antiphon.attend.multihead import ScaledDot
from antiphon.layers import products
from antiphon.layers.products import are_large, by_onednn, inference, onednn_is_quicker, quick_products

AMD = {"cpu_name": "AMD EPYC", "avx512_bf16": True, "amx_tile": False}
SHAPES = [(1, 64, 64), (5, 512, 2048), (33, 17, 129), (300, 1024, 160)]


def setting() -> str:
    return torch.backends.mkldnn.matmul.fp32_precision  # type: ignore[attr-defined, no-any-return]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """What processor there is, is found anew."""
    onednn_is_quicker.cache_clear()
    yield monkeypatch
    onednn_is_quicker.cache_clear()


@pytest.fixture
def onednn(machine: pytest.MonkeyPatch) -> None:
    """As though it were quicker here, but without a permission that another processor might make use of."""
    machine.setattr(products, "onednn_is_quicker", lambda: True)
    machine.setattr(products, "_ALLOWED", "ieee")


@pytest.mark.parametrize(("rows", "width", "to"), SHAPES)
@pytest.mark.parametrize("batch", [(), (3,)], ids=["one", "three"])
def test_no_digit_is_lost(rows: int, width: int, to: int, batch: tuple[int, ...]) -> None:
    draw = torch.Generator().manual_seed(1)
    a, b = (torch.randn(*batch, *shape, generator=draw) for shape in ((rows, width), (to, width)))
    with quick_products():
        found = a @ b.mT
    expected = a.double() @ b.double().mT
    assert (found - expected).abs().max() < 1e-5 * width**0.5  # factors of bfloat16 would be a hundred times as far off


def test_torch_is_left_as_its_user_set_it(onednn: None) -> None:
    before = setting()
    with quick_products(), pytest.raises(KeyError), inference():
        assert by_onednn()
        assert setting() == "ieee" != before
        raise KeyError
    assert setting() == before
    assert not by_onednn()


def test_the_setting_stays_while_another_thread_is_inside(onednn: None) -> None:
    before, entered, leave = setting(), threading.Event(), threading.Event()

    def other() -> None:
        with quick_products():
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with quick_products():
        thread.start()
        assert entered.wait(10)
    assert setting() == "ieee"
    leave.set()
    thread.join()
    assert setting() == before


@pytest.mark.parametrize(
    "has",
    [
        {**AMD, "cpu_name": "Intel Xeon Processor"},
        {**AMD, "amx_tile": True},
        {"cpu_name": "AMD Ryzen 7 5800X"},
        {"cpu_name": "Apple M3"},
        {},
    ],
    ids=["intel", "amx", "no avx-512", "another kind", "unknown"],
)
def test_other_processors_are_left_to_mkl(machine: pytest.MonkeyPatch, has: dict[str, object]) -> None:
    machine.setattr(torch.cpu, "get_capabilities", lambda: has)
    before = setting()
    with quick_products():
        assert not by_onednn()
        assert setting() == before


def test_a_library_that_rounds_is_not_used(machine: pytest.MonkeyPatch) -> None:
    machine.setattr(torch.cpu, "get_capabilities", lambda: AMD)
    machine.setattr(products, "_ALLOWED", "ieee")
    assert onednn_is_quicker()
    onednn_is_quicker.cache_clear()
    machine.setattr(torch, "equal", lambda a, b: False)
    before = setting()
    with quick_products():
        assert not by_onednn()
        assert setting() == before


def test_what_its_user_sets_meanwhile_stays(onednn: None) -> None:
    before = setting()
    try:
        with quick_products():
            torch.backends.mkldnn.matmul.fp32_precision = "tf32"  # type: ignore[attr-defined]
        assert setting() == "tf32"
    finally:
        torch.backends.mkldnn.matmul.fp32_precision = before  # type: ignore[attr-defined]


def test_the_setting_goes_on_following_the_one_above_it(onednn: None) -> None:
    above = torch.backends.mkldnn.fp32_precision
    with quick_products():
        pass
    try:
        torch.backends.mkldnn.fp32_precision = "tf32"
        assert setting() == "tf32"
    finally:
        torch.backends.mkldnn.fp32_precision = above


def test_few_kernels_are_kept_unless_the_user_says_otherwise(machine: pytest.MonkeyPatch) -> None:
    machine.setattr(torch.cpu, "get_capabilities", lambda: AMD)
    machine.setattr(products, "_ALLOWED", "ieee")
    machine.setenv("LRU_CACHE_CAPACITY", "7")
    machine.delenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", raising=False)
    assert onednn_is_quicker()
    assert (os.environ["LRU_CACHE_CAPACITY"], os.environ["ONEDNN_PRIMITIVE_CACHE_CAPACITY"]) == ("7", "128")


def test_a_small_model_and_a_single_row_are_left_to_mkl(onednn: None) -> None:
    small, large = nn.Linear(128, 128), nn.Linear(512, 512)
    assert not are_large(small, 160)
    assert are_large(large, 5)
    assert not are_large(large, 1)
    assert not are_large(nn.Module(), 160)
    with inference(are_large(small, 160)):
        assert not by_onednn()
        assert torch.is_inference_mode_enabled()


@pytest.mark.parametrize(("queries", "causal", "shared"), [(5, False, 1), (7, True, 1), (7, False, 2), (1, False, 1)])
def test_attention_by_products_is_that_of_the_fused_kernel(
    onednn: None, monkeypatch: pytest.MonkeyPatch, queries: int, causal: bool, shared: int
) -> None:
    draw = torch.Generator().manual_seed(1)
    heads, places, attend = 4, 7, ScaledDot(0.0).eval()
    q = torch.randn(2, heads, queries, 8, generator=draw)
    keys, values = (torch.randn(2, heads // shared, places, 8, generator=draw) for _ in range(2))
    mask = None if causal else torch.arange(places).expand(2, 1, 1, places) < torch.tensor([4, 7])[:, None, None, None]
    fused = attend(q, keys, values, mask, None, causal, None)
    if queries > 1:
        monkeypatch.delattr("torch.nn.functional.scaled_dot_product_attention")
    with quick_products():
        by_products = attend(q, keys, values, mask, None, causal, None)
    torch.testing.assert_close(by_products, fused, atol=1e-5, rtol=1e-5)
