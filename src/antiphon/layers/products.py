"""Matrix products by the quicker of the two libraries that torch was built with: MKL and oneDNN.

On processors that Intel did not make, MKL leaves AVX-512 alone, and oneDNN has twice its speed. Torch hands float32
products to oneDNN where it is allowed to round their factors to bfloat16; oneDNN does so only with AMX, which these
processors do not have. So the permission costs no digit, and that is tried out before it is given.
"""

import statistics
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from typing import Any

import torch
from torch import nn

_SETTING: Any = torch.backends.mkldnn.matmul  # type: ignore[attr-defined]
_ALLOWED = "bf16"
_WORTH = 400_000  # multiplications of a product: with fewer, MKL has made it before oneDNN has found its kernel
_lock = threading.Lock()
_inside = 0  # how many are in here, in all threads: the setting is one for the process


@contextmanager
def quick_products() -> Iterator[None]:
    """In here float32 products are made by the quicker library; around it torch is left as its user set it."""
    _count(1)
    try:
        yield
    finally:
        _count(-1)


@contextmanager
def inference(many: bool = True) -> Iterator[None]:
    """For all that only reads a model; products that are not `many` are left to MKL."""
    with torch.inference_mode(), quick_products() if many else nullcontext():
        yield


def are_many(model: nn.Module, rows: int) -> bool:
    """Whether a model's products of so many rows are worth oneDNN: half of its matrices are at least as large."""
    sizes = [weight.numel() for weight in model.parameters() if weight.dim() == 2]
    return bool(sizes) and rows * statistics.median(sizes) >= _WORTH


def by_onednn() -> bool:
    """Whether oneDNN makes the products just now."""
    return bool(_inside) and onednn_is_quicker()


@lru_cache(maxsize=1)
def onednn_is_quicker() -> bool:
    """On what AMD makes with AVX-512, if no digit is lost there."""
    has = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}  # some versions have not
    wide = str(has.get("cpu_name", "")).startswith("AMD") and has.get("avx512_bf16") and not has.get("amx_tile")
    return bool(wide) and torch.backends.mkldnn.is_available() and _exact()


def _exact() -> bool:
    """bfloat16 has 8 digits of two and would lose the last of these numbers, which times one are themselves."""
    numbers, ones = torch.full((64, 64), 1 + 2.0**-20), torch.eye(64)
    before, _SETTING.fp32_precision = _SETTING.fp32_precision, _ALLOWED
    try:
        return torch.equal(numbers @ ones, numbers)
    finally:
        _SETTING.fp32_precision = before


_before = _SETTING.fp32_precision


def _count(step: int) -> None:
    global _inside, _before
    with _lock:
        if onednn_is_quicker():
            if not _inside:
                _before, _SETTING.fp32_precision = _SETTING.fp32_precision, _ALLOWED
            elif _inside + step == 0:
                _SETTING.fp32_precision = _before
        _inside += step
