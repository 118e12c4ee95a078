"""Matrix products by the quicker of the two libraries that torch was built with: MKL and oneDNN.

On processors that Intel did not make, MKL leaves AVX-512 alone, and oneDNN has twice its speed. Torch hands float32
products to oneDNN where it is allowed to round their factors to bfloat16; oneDNN does so only with AMX, which these
processors do not have. So the permission costs no digit, and that is tried out before it is given.
"""

import os
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
_NOT_SET = "none"  # as the setting above it, torch.backends.mkldnn.fp32_precision
_LARGE = 1 << 16  # numbers of a matrix: a smaller product MKL has made before oneDNN has found its kernel
# Kernels kept, by torch's wrapper and by oneDNN itself. Each is for one shape, and few batches share theirs: the 1,024
# that both would keep take a gigabyte, and are no quicker.
_KEPT = {"LRU_CACHE_CAPACITY": "128", "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "128"}
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
def inference(large: bool = True) -> Iterator[None]:
    """For all that only reads a model; products that are not `large` are left to MKL."""
    with torch.inference_mode(), quick_products() if large else nullcontext():
        yield


def are_large(model: nn.Module, rows: int) -> bool:
    """Whether most of a model's products with so many rows are worth oneDNN's search for a kernel."""
    sizes = [weight.numel() for weight in model.parameters() if weight.dim() == 2]
    return rows > 1 and bool(sizes) and statistics.median(sizes) >= _LARGE


def by_onednn() -> bool:
    """Whether oneDNN makes the products just now."""
    return bool(_inside) and onednn_is_quicker()


@lru_cache(maxsize=1)
def onednn_is_quicker() -> bool:
    """On what AMD makes with AVX-512, if no digit is lost there."""
    has = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}  # some versions have not
    wide = str(has.get("cpu_name", "")).startswith("AMD") and has.get("avx512_bf16") and not has.get("amx_tile")
    if not wide or not torch.backends.mkldnn.is_available():
        return False
    for name, count in _KEPT.items():
        os.environ.setdefault(name, count)
    return _exact()


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
                above = torch.backends.mkldnn.fp32_precision
                _before = _NOT_SET if _SETTING.fp32_precision == above else _SETTING.fp32_precision
                _SETTING.fp32_precision = _ALLOWED
            elif _inside + step == 0 and _SETTING.fp32_precision == _ALLOWED:  # else its user has set it meanwhile
                _SETTING.fp32_precision = _before
        _inside += step
