"""What is computed from parameters, computed once and not at every step that uses it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

_kept = threading.local()
_Computed = TypeVar("_Computed")


@contextmanager
def once() -> Iterator[None]:
    """In here, and in this thread, each is computed once. (torch's `parametrize.cached` is one for all threads.)"""
    before = _found()
    _kept.found = {} if before is None else before
    try:
        yield
    finally:
        _kept.found = before


def in_once() -> bool:
    return _found() is not None


def kept(of: object, compute: Callable[[], _Computed]) -> _Computed:
    """What this part computes, as it was computed before if it was."""
    found = _found()
    if found is None:
        return compute()
    if of not in found:
        found[of] = compute()
    return found[of]


def _found() -> dict[object, Any] | None:
    return getattr(_kept, "found", None)
