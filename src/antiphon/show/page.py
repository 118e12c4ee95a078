"""What all pictures share: the frame of an SVG file, and a page that loads nothing from elsewhere."""

import base64
import hashlib
from importlib.resources import files
from string import Template

from antiphon.show.text import escaped, legible, width_of


def svg_file(kind: str, title: str, drawing: str, width: int, height: int, told: str = "") -> str:
    """A drawing as one SVG file that needs nothing else, for light and dark surroundings.

    `told` is the picture in words for those who do not see it, where its title is not enough.
    """
    above = 30 if title else 0
    width = max(width, 16 + 10 * width_of(legible(title)))
    size = f'width="{width}" height="{height + above}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="figure {kind}" direction="ltr" {size}'
        f' viewBox="0 {-above} {width} {height + above}" role="img" aria-label="{escaped(told or title)}">'
        f'<style>{read_part("figure.css")}{read_part(f"{kind}.css")}</style><rect class="paper" y="{-above}" {size}/>'
        f'<text class="title" x="8" y="-8">{escaped(title)}</text>{drawing}</svg>'
    )


def html_file(kind: str, title: str, intro: str, articles: str, style: str = "") -> str:
    """A page of pictures of one kind; `articles` is markup already, every other text is shown, never obeyed."""
    style = read_part("figure.css") + read_part(f"{kind}.css") + read_part("page.css") + style
    return Template(read_part("page.html")).substitute(
        title=escaped(title),
        intro=escaped(intro),
        reading=read_part(f"{kind}.html"),
        articles=articles,
        style=style,
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
    )


def read_part(name: str) -> str:
    return files("antiphon.show").joinpath(name).read_text(encoding="utf-8")
