"""Matrices that are computed from parameters, computed once and not at every step that uses them."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from torch import Tensor, nn

_kept = threading.local()


@contextmanager
def once() -> Iterator[None]:
    """In here, and in this thread, each is computed once. (torch's `parametrize.cached` is one for all threads.)"""
    before = _found()
    _kept.found = {} if before is None else before
    try:
        yield
    finally:
        _kept.found = before


def kept(of: nn.Module, compute: Callable[[], Tensor]) -> Tensor:
    """The matrix of this module, as it was computed before if it was."""
    found = _found()
    if found is None:
        return compute()
    if of not in found:
        found[of] = compute()
    return found[of]


def _found() -> dict[nn.Module, Tensor] | None:
    return getattr(_kept, "found", None)
