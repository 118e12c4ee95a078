"""An alignment drawn as ribbons from the words of the source, above, to the words of the answer, below."""

import unicodedata
from collections.abc import Sequence

from antiphon.show.attention import Alignment
from antiphon.show.heatmap import label
from antiphon.show.text import escaped, width_of

LETTER, SPACE, MARGIN = 9, 18, 12  # pixels
HIGH, LOW = 34, 154  # where ribbons leave the source and reach the answer
EMPTY = "nothing to align: the source or the answer is empty"


def draw(alignment: Alignment) -> tuple[str, int, int]:
    """What is inside the SVG, its width and its height."""
    if not alignment.links:
        return f'<text class="axis" x="8" y="24">{EMPTY}</text>', 400, 40
    sides = [[label(word) for word in side] for side in (alignment.source, alignment.target)]
    width = 2 * MARGIN + max(sum(map(_room, side)) for side in sides)
    sources, targets = (_middles(side, width) for side in sides)
    parts = [_word(word, x, HIGH - 12) for word, x in zip(sides[0], sources, strict=True)]
    for t, (word, x) in enumerate(zip(sides[1], targets, strict=True)):
        parts.append('<g class="answer">')
        for link in (link for link in alignment.links if link.target == t):
            told = f"{link.weight:.3f}  {word} ← {sides[0][link.source]}"
            parts.append(_ribbon(sources[link.source], x, link.weight, told))
        parts.append(_word(word, x, LOW + 22) + "</g>")
    return "".join(parts), width, LOW + 36


def table(alignment: Alignment) -> str:
    """The rows of the table that says the same."""
    rows = ['<thead><tr><th scope="col">answer</th><th scope="col">source</th></tr></thead>']
    for t, word in enumerate(alignment.target):
        links = sorted((link for link in alignment.links if link.target == t), key=lambda link: -link.weight)
        told = ", ".join(f"<bdi>{escaped(label(alignment.source[s]))}</bdi> {weight:.2f}" for _, s, weight in links)
        rows.append(f'<tr><th scope="row"><bdi>{escaped(label(word))}</bdi></th><td>{told}</td></tr>')
    return "\n".join(rows)


def _room(word: str) -> int:
    return LETTER * width_of(word) + SPACE


def _middles(words: Sequence[str], width: int) -> list[int]:
    """Where the middle of each word stands, in the order in which those who read its script read."""
    at, middles = (width - sum(map(_room, words))) // 2, []
    for word in words:
        middles.append(at + _room(word) // 2)
        at += _room(word)
    turns = [unicodedata.bidirectional(char) for word in words for char in word]
    leftwards = sum(turn in ("R", "AL") for turn in turns) > turns.count("L")
    return [width - middle for middle in middles] if leftwards else middles


def _word(word: str, x: int, y: int) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="middle">{escaped(word)}</text>'


def _ribbon(source: int, target: int, weight: float, told: str) -> str:
    """As broad and as strong as the weight."""
    bend = (HIGH + LOW) // 2
    return (
        f'<path class="ribbon" d="M{source},{HIGH}C{source},{bend} {target},{bend} {target},{LOW}"'
        f' stroke-width="{1 + 11 * weight:.1f}" stroke-opacity="{0.2 + 0.6 * weight:.2f}">'
        f"<title>{escaped(told)}</title></path>"
    )
