"""The tree of a beam search in characters: the winner's path down the page, other branches hanging off it."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from antiphon.show.beams import in_words, mark
from antiphon.show.text import cells_of, cut, legible, steady, width_of
from antiphon.show.tree import BeamTree, Node, drawn

BOXES, ROWS = 600, 12  # in all, and at one step
LONGEST = 14  # columns of one symbol
MARKS = {"dropped": "✗", "stuck": "✗", "open": "…"}
COLOURS = {"won": "1;38;5;203", "finished": "38;5;71", "cut": "2", "dropped": "2", "stuck": "2", "open": "2"}
KEY = (
    "● ★ the winner  ○ a branch goes on  ✓ finished, with its score  ✗ dropped  … left open  → cut short  "
    "╌ cut at once. After each symbol the log-probability so far."
)

SEVERAL = " ★2 and so on: further answers that are given, in their order."


def terminal(tree: BeamTree, width: int, colour: bool) -> str:
    """The tree, no line wider than `width` (40 at the least)."""
    width = max(width, 40)
    head = [cut(legible(tree.answer), width), *textwrap.wrap(in_words(tree), width)]
    if not tree.steps:
        return "\n".join(head)
    key = KEY + (SEVERAL if any((node.given or 1) > 1 for node in tree.nodes) else "")
    return "\n".join([*head, "", *_Drawing(tree, width, colour).lines(), "", *textwrap.wrap(key, width)])


@dataclass(frozen=True)
class _Shown:
    """A word on a line: how wide it is cannot be told from what is printed, where that has colours."""

    text: str
    width: int


class _Drawing:
    def __init__(self, tree: BeamTree, width: int, colour: bool) -> None:
        self.nodes, self.width, self.colour = tree.nodes, width, colour
        there = {place for places in drawn(tree, BOXES, ROWS) for place in places}
        self.children = [[place for place in places if place in there] for places in tree.children()]
        self.sizes = [1] * len(tree.nodes)
        for place in range(len(tree.nodes) - 1, 0, -1):
            self.sizes[tree.nodes[place].parent] += self.sizes[place] if place in there else 0

    def lines(self) -> Iterator[str]:
        yield from self._path(0, "", "")

    def _path(self, place: int, lead: str, rest: str) -> Iterator[str]:
        """A hypothesis to its end along its largest branch; others stand before the symbol that was preferred."""
        while True:
            run = [place]
            while (following := self._following(place)) and len(following) == 1 and not self._cut(place):
                place = following[0]
                run.append(place)
            yield from self._wrap([self._shown(self.nodes[one]) for one in run], lead, rest + "    ")
            for other in following[1:]:
                yield from self._path(other, rest + "├─ ", rest + "│  ")
            if cut_ones := self._cut(place):
                yield from self._wrap([self._shown(self.nodes[one]) for one in cut_ones], rest + "├╌ ", rest + "│    ")
            if not following:
                return
            place = following[0]
            lead = rest + ("● " if self.nodes[place].won else "○ ")

    def _following(self, place: int) -> list[int]:
        """What was kept after it, the winner's path or the largest branch first."""
        kept = [child for child in self.children[place] if self.nodes[child].kept is not None]
        return sorted(kept, key=lambda child: (not self.nodes[child].won, -self.sizes[child]))

    def _cut(self, place: int) -> list[int]:
        """What was cut at once; it is told along the winner's path only."""
        return (
            [child for child in self.children[place] if self.nodes[child].kept is None] if self.nodes[place].won else []
        )

    def _shown(self, node: Node) -> _Shown:
        symbol = cut(cells_of(node.symbol), LONGEST)
        text = steady(symbol) + (f" {node.total:z.2f}" if node.step else "")
        text += f" {MARKS[node.fate]}" if node.fate in MARKS else ""
        text += f" {mark(node)} {node.score:z.2f}" if node.score is not None else ""
        width = width_of(symbol) + width_of(text.removeprefix(steady(symbol)))
        code = COLOURS.get("won" if node.won else node.fate) if self.colour else None
        return _Shown(f"\x1b[{code}m{text}\x1b[0m" if code else text, width)

    def _wrap(self, shown: Sequence[_Shown], lead: str, rest: str) -> Iterator[str]:
        line, used = lead, width_of(lead)
        for n, one in enumerate(shown):
            if n and used + 2 + one.width > self.width:
                yield line
                line, used = rest + one.text, width_of(rest) + one.width
            else:
                line, used = line + ("  " if n else "") + one.text, used + 2 * bool(n) + one.width
        yield line
