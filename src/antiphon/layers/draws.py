"""The random numbers of dropout: each thread draws its own, so that none depends on when another draws."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

_own = threading.local()


@contextmanager
def drawing(seed: int) -> Iterator[None]:
    """What this thread draws from here on is a function of `seed`."""
    before, _own.generator = generator(), torch.Generator().manual_seed(seed)
    try:
        yield
    finally:
        _own.generator = before


def generator() -> torch.Generator | None:
    """This thread's; None, outside of `drawing`, is torch's own."""
    return getattr(_own, "generator", None)
