"""Antiphon: give it pairs, and it gives you a model that you can run, look into and check."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from antiphon.api import compare, load, train
    from antiphon.errors import AntiphonError
    from antiphon.exchange.importing import import_folder
    from antiphon.trained import Model

__all__ = ["AntiphonError", "Model", "compare", "import_folder", "load", "train"]


def __getattr__(name: str) -> Any:
    # Torch takes a second to import; `antiphon --help` has half of one.
    if name == "AntiphonError":
        from antiphon.errors import AntiphonError

        return AntiphonError
    if name == "import_folder":
        from antiphon.exchange.importing import import_folder

        return import_folder
    if name in __all__:
        from antiphon import api

        return getattr(api, name)
    raise AttributeError(f"module 'antiphon' has no attribute {name!r}")
