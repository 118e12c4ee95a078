"""Which labels a classifier confuses: a table of counts in a terminal, and a picture.

Y labels
"""

from antiphon.evaluate.labels import Confusion
from antiphon.show.heatmap import strength
from antiphon.show.page import svg_file
from antiphon.show.text import cells_of, cut, cut_middle, escaped, width_of

_LONGEST = 20  # columns of a label
_WORST = 12  # confusions that are named where a table is too wide
_CELL, _ROW = 56, 26  # pixels


def terminal(found: Confusion, width: int) -> str:
    """True labels down, answers across; where that is too wide, the commonest confusions."""
    names = [cut_middle(cells_of(label), _LONGEST) for label in found.labels]
    digits = max(len(f"{count:,}") for row in found.counts for count in row)
    wide = max(width_of(name) for name in names)
    column = max(digits, *(min(width_of(name), 10) for name in names))
    if wide + (column + 2) * len(names) > width:
        return _worst(found, width)
    heads = [cut_middle(cells_of(label), column) for label in found.labels]
    lines = [" " * wide + "".join(f"  {' ' * (column - width_of(head))}{head}" for head in heads)]
    for name, row in zip(names, found.counts, strict=True):
        cells = "".join(f"  {f'{count:,}' if count else '.':>{column}}" for count in row)
        lines.append(name + " " * (wide - width_of(name)) + cells)
    return "\n".join(["labels down, answers across", *lines])


def _worst(found: Confusion, width: int) -> str:
    pairs = [
        (count, true, said)
        for true, row in zip(found.labels, found.counts, strict=True)
        for said, count in zip(found.labels, row, strict=True)
        if true != said and count
    ]
    pairs.sort(key=lambda pair: -pair[0])
    lines = [cut(cells_of(f"{count:>7,}  {true} taken for {said}"), width) for count, true, said in pairs[:_WORST]]
    return "\n".join([f"the commonest confusions among {len(found.labels):,} labels", *(lines or ["   none"])])


def svg(found: Confusion, title: str) -> str:
    """Counts in cells that are the stronger, the larger their share of a row is."""
    names = [cut_middle(cells_of(label), _LONGEST) for label in found.labels]
    longest = max(width_of(name) for name in names)
    left, top = 36 + 10 * longest, 34 + 9 * longest
    parts = [
        f'<text class="axis" x="{left}" y="16">answer</text>',
        f'<text class="axis" x="{-(top + _ROW * len(names) // 2)}" y="18" transform="rotate(-90)" text-anchor="middle">'
        "label</text>",
    ]
    for number, name in enumerate(names):
        x, y = left + _CELL * number + _CELL // 2, top + _ROW * number + 18
        parts.append(f'<text x="{8 - top}" y="{x + 5}" transform="rotate(-90)">{escaped(name)}</text>')
        parts.append(f'<text x="{left - 10}" y="{y}" text-anchor="end">{escaped(name)}</text>')
    for row, shares in enumerate(found.shares()):
        for column, share in enumerate(shares):
            x, y, count = left + _CELL * column, top + _ROW * row, found.counts[row][column]
            parts.append(
                f'<rect class="cell" x="{x}" y="{y}" width="{_CELL}" height="{_ROW}"'
                f' fill-opacity="{0.7 * strength(share):.3g}"><title>{escaped(found.labels[row])} taken for '
                f"{escaped(found.labels[column])}: {count:,}, {share:.1%} of its row</title></rect>"
            )
            if count:
                parts.append(f'<text x="{x + _CELL // 2}" y="{y + 18}" text-anchor="middle">{count:,}</text>')
    told = "; ".join(
        f"{label}: {', '.join(f'{count} {other}' for other, count in zip(found.labels, row, strict=True) if count)}"
        for label, row in zip(found.labels, found.counts, strict=True)
    )
    size = left + _CELL * len(names) + 8, top + _ROW * len(names) + 8
    return svg_file("heatmap", title, "".join(parts), *size, f"{title}. {told}")
