"""The laws hold for models as they are used: with the products of the library that is quicker here."""

from collections.abc import Iterator

import pytest

from antiphon.layers.products import quick_products


@pytest.fixture(autouse=True)
def as_used() -> Iterator[None]:
    with quick_products():
        yield
