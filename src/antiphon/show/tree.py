"""What a beam search did, as a tree: every continuation that it weighed, and what became of each."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from antiphon.config.schema import Search
from antiphon.pipeline import Pipeline
from antiphon.search.record import Record
from antiphon.search.rules import Last

Fate = Literal["start", "went on", "cut", "dropped", "stuck", "open", "finished", "too long"]
FATES: dict[Fate, str] = {
    "start": "where every answer begins",
    "went on": "kept, and continued",
    "cut": "cut: the beam kept others of its step",
    "dropped": "kept, but none of its continuations was",
    "stuck": "kept, but no symbol is allowed after it",
    "open": "still open when its search stopped, because it could not win any more",
    "finished": "finished",
    "too long": "cut short by the length limit",
}
Place = tuple[int, int | None]  # the step and the slot of a continuation; cut ones have none
BOXES, ROWS = 2500, 40  # drawn in a picture, and at one of its steps, at the most
NAMED = 3  # phrases of one key that are named
# What is told otherwise, counts only where answers are drawn, or says nothing of which answer is preferred.
_UNTOLD = {"beam", "groups", "n_best", "sample", "temperature", "top_k", "top_p", "min_p", "seed", "draws"}
_UNTOLD |= {"max_source", "max_ratio"}


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
    won: bool = False  # on the path of the best answer that is given
    given: int | None = None  # its rank among the answers that are given, from 1
    group: int | None = None  # of a beam that is divided, from 1


@dataclass(frozen=True)
class BeamTree:
    """All that `antiphon show --beam` draws. `nodes[0]` is the start; parents come before their children."""

    text: str
    answer: str
    search: Search
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

    @property
    def held_to(self) -> str:
        """What the search was told beside its width, as a run file would have it."""
        own = ((key, getattr(self.search, key), field.get_default()) for key, field in Search.model_fields.items())
        return "; ".join(
            f"{key} = {_brief(value)}" for key, value, usual in own if value != usual and key not in _UNTOLD
        )

    def numbers(self) -> dict[str, Any]:
        """For machines: every node, whatever a picture leaves out."""
        facts = {"text": self.text, "answer": self.answer, "beam": self.search.beam}
        facts |= {
            "length_exponent": self.search.length_exponent,
            "search": self.search.model_dump(exclude_defaults=True),
        }
        return facts | {"nodes": [asdict(node) for node in self.nodes]}


def read_tree(pipeline: Pipeline, text: str, search: Search) -> BeamTree:
    """Let the model answer by beam search, and keep what it weighed."""
    answer, record = pipeline.record(text, search)
    words = sorted({one.word for step in record.steps for one in step})
    symbols = dict(zip(words, pipeline.target.pieces(words), strict=True))
    width = search.beam // search.groups if search.groups > 1 else None
    return BeamTree(text, answer.text, search, grow(record, symbols, width))


def grow(record: Record, symbols: Mapping[int, str], width: int | None = None) -> tuple[Node, ...]:
    """The nodes of what was recorded, by the labels of its words; `width` is that of a group."""
    answers: dict[Place, Last] = {(last.step, last.slot): last for last in record.answers}
    ranks: dict[Place, int] = {(last.step, last.slot): rank for rank, last in enumerate(record.given, start=1)}
    path = record.path(record.given[0]) if record.given else []
    won = {(step, one.slot) for step, one in enumerate(path, start=1)}
    nodes, before = [Node(0, -1, "<s>", 0.0, 0.0, None, "start", won=bool(record.steps))], {0: 0}
    for step, weighed in enumerate(record.steps, start=1):
        here: dict[int, int] = {}
        for one in sorted(weighed, key=lambda one: (one.slot is None, -one.total)):
            place, rank, group = (step, one.slot), None, nodes[before[one.parent]].group
            if one.slot is not None:
                here[one.slot] = len(nodes)
                rank, group = len(here), one.slot // width + 1 if width else None
            last = answers.get(place)
            fate = _fate(record, last, *place)
            facts = before[one.parent], symbols[one.word], one.log_probability, one.total, rank, fate
            nodes.append(Node(step, *facts, last.score if last else None, place in won, ranks.get(place), group))
        before = here
    return tuple(nodes)


def _fate(record: Record, last: Last | None, step: int, slot: int | None) -> Fate:
    """What became of a continuation; `last` where it is an answer's last one."""
    if slot is None:
        return "cut"
    if last is not None:
        return "finished" if last.ended else "too long"
    if step == len(record.steps) or slot in record.left[step]:
        return "open"
    after = [one for one in record.steps[step] if one.parent == slot]
    return "stuck" if not after else "dropped" if all(one.slot is None for one in after) else "went on"


def _brief(value: object) -> str:
    if not isinstance(value, list) or len(value) <= NAMED:
        return json.dumps(value, ensure_ascii=False)
    return f"{json.dumps(value[:NAMED], ensure_ascii=False)[:-1]}, and {len(value) - NAMED:,} more]"


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
    return sorted(kept + cut[: min(room - len(kept), max(tree.search.beam, 2))])


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
