"""The tree of a beam search as a picture and as a page: boxes with a symbol and its score, lines to their parents.

Nothing on the page runs: radio buttons zoom, the picture is scrolled, and style sheets show the numbers of a box.
"""

import math
import textwrap
from string import Template

from antiphon.config.schema import Search
from antiphon.show.heatmap import label
from antiphon.show.page import html_file, read_part, svg_file
from antiphon.show.text import escaped, width_of
from antiphon.show.tree import FATES, BeamTree, Node, drawn

LEFT, TOP, GAP = 12, 40, 46  # pixels: margins, and between two columns
LINE, PAD, BETWEEN = 17, 7, 9  # a line of text in a box, around it, and between two boxes
MIDDLE = PAD + LINE  # of a box with two lines, where lines arrive and leave
LETTER, DIGIT, NARROWEST = 10, 8, 62
NARROW = 32  # letters in a line of the numbers of a box, which a telephone has room for
ZOOMS = (50, 75, 100, 150, 200)  # per cent, beside the whole width
EMPTY = "nothing was searched: an empty text has an empty answer"

Box = tuple[int, int, int, int]  # x, y, width, height


def svg(tree: BeamTree) -> str:
    """The tree as one SVG file that needs nothing else, for light and dark surroundings."""
    drawing, width, height = draw(tree)
    return svg_file("beams", tree.answer, drawing, width, height, f"{tree.answer}. {in_words(tree)}")


def html_page(tree: BeamTree, intro: str) -> str:
    """One page that loads nothing from elsewhere; every text in it is shown, never obeyed."""
    drawing, width, height = draw(tree)
    article = Template(read_part("picture.html")).substitute(
        kind="beams",
        number=1,
        name="Beam search",
        title=escaped(tree.answer),
        facts=_facts(tree),
        viewbox=f"0 0 {width} {height}",
        drawing=drawing,
        open="",
        caption="Every box, step by step; a cut or dropped one has no path onwards.",
        table=_table(tree),
    )
    style = f"#beams-1 {{ width: {width}px; }}\n"
    style += f"main:has(#zoom-fit:checked) #beams-1 {{ width: 100%; max-width: {width}px; }}\n"
    for zoom in ZOOMS:
        style += f"main:has(#zoom-{zoom}:checked) #beams-1 {{ width: {width * zoom // 100}px; }}\n"
    return html_file("beams", "Beam search", intro, read_part("zoom.html") + article, style)


def in_words(tree: BeamTree) -> str:
    """What was searched, and what the picture leaves out."""
    if not tree.steps:
        return f"{EMPTY[0].upper()}{EMPTY[1:]}."
    kept, answers = sum(node.kept is not None for node in tree.nodes), tree.answers
    parts = f" in {tree.search.groups} groups" if tree.search.groups > 1 else ""
    told = (
        f"A beam of {tree.search.beam}{parts} weighed {len(tree.nodes) - 1:,} continuations in {tree.steps:,} steps, "
    )
    told += f"kept {kept:,}, and found {len(answers):,} {'answer' if len(answers) == 1 else 'answers'}."
    given = sum(node.given is not None for node in answers)
    told += f" The best {given:,} of these are given." if given > 1 else ""
    told += f" It was held to {tree.held_to}." if tree.held_to else ""
    missing = len(tree.nodes) - sum(map(len, drawn(tree)))
    return told + (f" {missing:,} of the weaker ones are not drawn; the JSON has all." if missing else "")


def draw(tree: BeamTree) -> tuple[str, int, int]:
    """What is inside the SVG, its width and its height."""
    if not tree.steps:
        return f'<text class="axis" x="8" y="24">{EMPTY}</text>', 440, 40
    boxes, right, heads = dict[int, Box](), LEFT, []
    for step, places in enumerate(drawn(tree)):
        width = max([NARROWEST, *(_width(tree.nodes[place]) for place in places)])
        y = TOP
        for place in places:
            height = 2 * PAD + LINE * max(len(_lines(tree.nodes[place])), 2)
            boxes[place] = (right, y, width, height)
            y += height + BETWEEN
        if step:
            middle = right + width // 2
            heads.append(f'<text class="axis" x="{middle}" y="20" text-anchor="middle">step {step}</text>')
        right += width + GAP
    lines = sorted(boxes.items(), key=lambda item: (tree.nodes[item[0]].won, tree.nodes[item[0]].kept is not None))
    edges = [_edge(tree.nodes[place], boxes[tree.nodes[place].parent], box) for place, box in lines if place]
    shapes = [_box(tree.nodes[place], box) for place, box in boxes.items()]
    width, height = right - GAP + LEFT, max(y + high for _, y, _, high in boxes.values()) + LEFT
    # The numbers of a box come after all boxes, so that none of those covers them.
    room = max(width, 260), max(height, 150)
    tips = [_tip(tree.nodes[place], tree, box, *room) for place, box in boxes.items() if place]
    return "".join([*heads, *edges, *shapes, *tips]), *room


def _width(node: Node) -> int:
    symbol, *numbers = _lines(node)
    return max(LETTER * width_of(symbol) + 24, *(DIGIT * len(number) + 22 for number in numbers), 0)


def _lines(node: Node) -> list[str]:
    """The symbol of a box, and what is said below it."""
    shown = [label(node.symbol)]
    if node.step:
        shown.append(_number(node.total))
    if node.score is not None:
        shown.append(f"{mark(node)} {_number(node.score)}")
    return shown


def mark(node: Node) -> str:
    """Before the score of an answer: ★ for the one that is given, ★2 for the second of several."""
    if node.given is not None:
        return "★" if node.given == 1 else f"★{node.given}"
    return "✓" if node.fate == "finished" else "→"


def _number(value: float) -> str:
    return f"{value:z.2f}".replace("-", "−")


def _class(node: Node) -> str:
    return "won" if node.won else node.fate.replace(" ", "-")


def _edge(node: Node, parent: Box, box: Box) -> str:
    """From the parent, the broader the likelier the symbol."""
    x, y, width, _ = parent
    start, end, high, low = x + width, box[0], y + MIDDLE, box[1] + MIDDLE
    bend, likely = (start + end) // 2, math.exp(min(node.log_probability, 0.0))
    return (
        f'<path class="edge {_class(node)}" d="M{start},{high}C{bend},{high} {bend},{low} {end},{low}"'
        f' stroke-width="{(2 if node.won else 1) + 3 * likely:.1f}"/>'
    )


def _box(node: Node, box: Box) -> str:
    x, y, width, height = box
    parts = [f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="7"/>']
    if node.score is not None:  # a second frame, as a final state is drawn
        parts.append(f'<rect class="inner" x="{x + 3}" y="{y + 3}" width="{width - 6}" height="{height - 6}" rx="5"/>')
    for n, line in enumerate(_lines(node)):
        kind = ("symbol", "total", "score")[n]
        top = y + PAD + LINE * n + (13 if node.step else 13 + LINE // 2)
        place = f'x="{x + width // 2}" y="{top}"'
        parts.append(f'<text class="{kind}" {place} text-anchor="middle">{escaped(line)}</text>')
    return f'<g class="box {_class(node)}">{"".join(parts)}</g>'


def _tip(node: Node, tree: BeamTree, box: Box, width: int, height: int) -> str:
    """An unseen cover over a box; pointing at it shows its numbers beside it, and so does Tab on the winner's path."""
    x, y, wide, high = box
    told = _told(node, tree)
    shown = [part for line in told for part in textwrap.wrap(line, NARROW, break_on_hyphens=False)]
    room, tall = 16 + round(7.2 * max(map(width_of, shown))), 12 + 18 * len(shown)
    left = max(min(x + (wide - room) // 2, width - room - 4), 4)
    top = y + high + 6 if y + high + 6 + tall <= height - 4 else max(y - tall - 6, 4)
    lines = "".join(
        f'<text x="{left + 8}" y="{top + 20 + 18 * n}">{escaped(line)}</text>' for n, line in enumerate(shown)
    )
    focus = ' tabindex="0" role="img"' if node.won else ""
    return (
        f'<g class="hit"{focus} aria-label="{escaped(". ".join(told))}">'
        f'<rect class="cover" x="{x}" y="{y}" width="{wide}" height="{high}" rx="7"/>'
        f'<g class="tip"><rect x="{left}" y="{top}" width="{room}" height="{tall}" rx="7"/>{lines}</g></g>'
    )


def _told(node: Node, tree: BeamTree) -> list[str]:
    likely = 100 * math.exp(min(node.log_probability, 0.0))
    told = [
        f"{label(node.symbol)}, step {node.step}"
        + (f", group {node.group}" if node.group else "")
        + (f", rank {node.kept} of those kept" if node.kept else ""),
        f"the symbol: {likely:.3g} %, log {_number(node.log_probability)}",
        f"all so far: log {node.total:.4f}".replace("-", "−"),
    ]
    if node.score is not None:
        told.append(f"score: {_sum(node, tree.search)}{node.score:.4f}".replace("-", "−"))
    return [*told, "on the winner's path" if node.won and node.score is None else _fate(node)]


def _sum(node: Node, search: Search) -> str:
    """How the score comes about, where it is no more than a quotient."""
    if search.coverage:
        return "with all penalties "
    length = f"((5 + {node.step}) / 6)" if search.length_penalty == "gnmt" else f"{node.step}"
    return f"{node.total:.4f} / {length}^{search.length_exponent:g} = "


def _fate(node: Node) -> str:
    if node.given is None:
        return FATES[node.fate]
    return FATES[node.fate] + (", and won" if node.given == 1 else f", and given as answer {node.given}")


def _facts(tree: BeamTree) -> str:
    told = f"<dt>Source</dt><dd><bdi>{escaped(tree.text)}</bdi></dd>"
    told += f'<dt>Answer</dt><dd class="answer"><bdi>{escaped(tree.answer)}</bdi></dd>'
    return told + f"<dt>Search</dt><dd>{escaped(in_words(tree))}</dd>"


def _table(tree: BeamTree) -> str:
    head = "".join(
        f'<th scope="col">{name}</th>'
        for name in ("symbol", "step", "after", "log of the symbol", "log so far", "score", "what became of it")
    )
    rows = [f"<thead><tr>{head}</tr></thead>"]
    for places in drawn(tree)[1:]:
        for node in (tree.nodes[place] for place in places):
            after = escaped(label(tree.nodes[node.parent].symbol))
            score = "" if node.score is None else f"{node.score:.4f}"
            fate = _fate(node) + ("; on the winner's path" if node.won and node.score is None else "")
            symbol, logs = escaped(label(node.symbol)), (node.log_probability, node.total)
            cells = [str(node.step), f"<bdi>{after}</bdi>", *(f"{log:.4f}" for log in logs), score, fate]
            told = "".join(f"<td>{cell}</td>" for cell in cells)
            rows.append(f'<tr class="{_class(node)}"><th scope="row"><bdi>{symbol}</bdi></th>{told}</tr>')
    return "\n".join(rows)
