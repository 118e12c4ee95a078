"""A page around pictures: complete in itself, light and dark, and nothing in it runs."""

import base64
import hashlib
from importlib.resources import files
from string import Template


def page(title: str, intro: str, reading: str, pictures: str, style: str) -> str:
    """All of it is markup already: who calls has escaped the texts. `reading` tells how the pictures are read."""
    style += read("page.css")
    return Template(read("page.html")).substitute(
        title=title,
        intro=intro,
        reading=reading,
        pictures=pictures,
        style=style,
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
    )


def read(name: str) -> str:
    """A template or a style that lies beside this file."""
    return files("antiphon.show").joinpath(name).read_text(encoding="utf-8")
