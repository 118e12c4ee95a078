"""What a beam search did, as a tree: every continuation that it weighed, and what became of each."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from antiphon.config.schema import Search
from antiphon.pipeline import Pipeline
from antiphon.search.record import Record

Fate = Literal["start", "went on", "cut", "dropped", "open", "finished", "too long"]
FATES: dict[Fate, str] = {
    "start": "where every answer begins",
    "went on": "kept, and continued",
    "cut": "cut: not among the best of its step",
    "dropped": "kept, but none of its continuations was",
    "open": "still open when the search stopped, because it could not win any more",
    "finished": "finished",
    "too long": "cut short by the length limit",
}
BOXES, ROWS = 2500, 40  # drawn in a picture, and at one of its steps, at the most


@dataclass(frozen=True)
class Node:
    """One symbol of one hypothesis. The nodes of a step stand best first, those that were kept before all others."""

    step: int  # 0 for the start
    parent: int  # its place among all nodes
    symbol: str
    log_probability: float  # of the symbol alone
    total: float  # of all symbols so far
    kept: int | None  # its rank among those kept at its step, from 1
    fate: Fate
    score: float | None = None  # of a whole answer
    won: bool = False  # on the path of the answer that is given


@dataclass(frozen=True)
class BeamTree:
    """All that `antiphon show --beam` draws. `nodes[0]` is the start; parents come before their children."""

    text: str
    answer: str
    beam: int
    length_exponent: float
    nodes: tuple[Node, ...]

    @property
    def steps(self) -> int:
        return self.nodes[-1].step

    @property
    def answers(self) -> list[Node]:
        """All that were found, the one that is given first."""
        found = [node for node in self.nodes if node.score is not None]
        return sorted(found, key=lambda node: (node.won, node.fate == "finished", node.score), reverse=True)

    def children(self) -> list[list[int]]:
        """Of every node: the winner's path first, then as they rank."""
        found: list[list[int]] = [[] for _ in self.nodes]
        for place, node in enumerate(self.nodes[1:], start=1):
            found[node.parent].append(place)
        return [sorted(places, key=lambda place: not self.nodes[place].won) for places in found]

    def numbers(self) -> dict[str, Any]:
        """For machines: every node, whatever a picture leaves out."""
        nodes = [asdict(node) for node in self.nodes]
        facts = {"text": self.text, "answer": self.answer, "beam": self.beam, "length_exponent": self.length_exponent}
        return facts | {"nodes": nodes}


def read_tree(pipeline: Pipeline, text: str, search: Search) -> BeamTree:
    """Let the model answer by beam search, and keep what it weighed."""
    answer, record = pipeline.record(text, search)
    words = sorted({one.word for step in record.steps for one in step})
    symbols = dict(zip(words, pipeline.target.pieces(words), strict=True))
    return BeamTree(text, answer.text, search.beam, search.length_exponent, grow(record, symbols))


def grow(record: Record, symbols: Mapping[int, str]) -> tuple[Node, ...]:
    """The nodes of what was recorded, by the labels of its words."""
    answers = {(last.step, last.slot): last for last in record.answers}
    won = _path(record)
    nodes, before = [Node(0, -1, "<s>", 0.0, 0.0, None, "start", won=bool(record.steps))], {0: 0}
    for step, weighed in enumerate(record.steps, start=1):
        following = record.steps[step] if step < len(record.steps) else ()
        parents = {one.parent for one in following if one.slot is not None}
        here: dict[int, int] = {}
        for one in sorted(weighed, key=lambda one: (one.slot is None, -one.total)):
            rank, last = None, None
            fate: Fate = "cut"
            if one.slot is not None:
                here[one.slot] = len(nodes)
                rank, last = len(here), answers.get((step, one.slot))
                fate = "went on" if one.slot in parents else "dropped" if following else "open"
            if last is not None:
                fate = "finished" if last.ended else "too long"
            facts = before[one.parent], symbols[one.word], one.log_probability, one.total, rank, fate
            nodes.append(Node(step, *facts, last.score if last else None, (step, one.slot) in won))
        before = here
    return tuple(nodes)


def _path(record: Record) -> set[tuple[int, int | None]]:
    """Step and slot of every symbol of the answer that is given."""
    path: set[tuple[int, int | None]] = set()
    if record.best is None:
        return path
    slot = record.best.slot
    for step in range(record.best.step, 0, -1):
        path.add((step, slot))
        slot = next(one.parent for one in record.steps[step - 1] if one.slot == slot)
    return path


def drawn(tree: BeamTree, boxes: int = BOXES, rows: int = ROWS) -> list[list[int]]:
    """The nodes that a picture has room for, a list a step in the order of their parents, so that no lines cross.

    The winner's path is always among them; then what leads to an answer, what went on, and the rest as it ranks.
    """
    room = max(min(rows, boxes // max(tree.steps, 1)), 1)
    leads = _leading(tree)
    by_step: list[list[int]] = [[] for _ in range(tree.steps + 1)]
    for place, node in enumerate(tree.nodes):
        by_step[node.step].append(place)
    columns = [[0]]
    for places in by_step[1:]:
        above = {place: row for row, place in enumerate(columns[-1])}
        possible = [place for place in places if tree.nodes[place].parent in above]
        ranked = sorted(possible, key=lambda place: _importance(tree.nodes[place], place in leads))
        chosen = _at_most(tree, ranked, room)
        columns.append(sorted(chosen, key=lambda place: (above[tree.nodes[place].parent], not tree.nodes[place].won)))
    return columns


def _at_most(tree: BeamTree, places: Sequence[int], room: int) -> list[int]:
    """Of those that were cut no more than are kept, so that they do not drown the others."""
    kept = [place for place in places if tree.nodes[place].kept is not None][:room]
    cut = [place for place in places if tree.nodes[place].kept is None]
    return sorted(kept + cut[: min(room - len(kept), max(tree.beam, 2))])


def _importance(node: Node, leads: bool) -> tuple[bool, bool, bool, float]:
    return not node.won, not leads, node.fate != "went on", -node.total


def _leading(tree: BeamTree) -> set[int]:
    """The nodes of all answers that were found."""
    found: set[int] = set()
    for place, node in enumerate(tree.nodes):
        if node.score is not None:
            while place > 0 and place not in found:
                found.add(place)
                place = tree.nodes[place].parent
    return found
