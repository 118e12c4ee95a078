"""Which word of an answer stands for which word of its reference: METEOR's search for the best alignment.

A stage says when two words match: by their letters, by their stems, by a meaning that they share. Stages are asked in
order, and every word is used once (Denkowski and Lavie, 2014).
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from operator import itemgetter

BEAM = 40  # partial alignments that are kept

# The keys of a word in a stage: two words match where they share one.
Stage = Callable[[str], frozenset[Hashable]]


@dataclass(frozen=True)
class Match:
    """A word of the answer, by its place, and the stage that found it."""

    said: int
    stage: int


# A partial alignment, as it is compared: -exact matches, chunks, distance; then the place after the last match (-1
# where the word before has none), the answer's words in use as bits, and the matches so far, the last one first.
_Path = tuple[int, int, int, int, int, tuple[Match | None, object] | None]


def align(said: Sequence[str], wanted: Sequence[str], stages: Sequence[Stage]) -> list[Match | None]:
    """The match of every word of the reference, None where it has none.

    Most exact matches win, then fewest chunks, then the shortest way between matched places.
    """
    # Equal sentences need no other stage, and are spared what a beam can miss.
    candidates = _candidates(said, wanted, stages[:1] if said == wanted else stages)
    fixed = _fixed(candidates)
    used = sum(1 << match.said for match in fixed if match is not None)
    paths: list[_Path] = [(0, 0, 0, -1, used, None)]
    for place, choices in enumerate(candidates):
        paths.sort(key=itemgetter(0, 1, 2))
        following: list[_Path] = []
        sure = fixed[place]
        for path in paths[:BEAM]:
            if sure is not None:
                following.append(_join(path, sure, path[2] + abs(place - sure.said)))
                continue
            exact, chunks, distance, last, used, chosen = path
            for match in choices:
                if used >> match.said & 1:
                    continue
                # The reference program charges the way of a match to the choices after it, not to the match itself;
                # so do we, because ties are broken by it.
                following.append(_join(path, match, distance))
                distance += abs(place - match.said)
            following.append((exact, chunks + (last != -1), distance, -1, used, (None, chosen)))
        paths = following
    paths.sort(key=itemgetter(0, 1, 2))
    ended = [(path[0], path[1] + (path[3] != -1), path[2], path[5]) for path in paths[:BEAM]]
    return _unwind(min(ended, key=itemgetter(0, 1, 2))[3])


def count_chunks(matches: Sequence[Match | None]) -> int:
    """Runs of matches that are neighbours on both sides."""
    chunks, last = 0, -1
    for match in matches:
        chunks += match is not None and match.said != last
        last = -1 if match is None else match.said + 1
    return chunks


def _candidates(said: Sequence[str], wanted: Sequence[str], stages: Sequence[Stage]) -> list[list[Match]]:
    """All matches of every word of the reference: stage by stage, from the left."""
    found: list[list[Match]] = [[] for _ in wanted]
    for number, keys_of in enumerate(stages):
        places: dict[Hashable, list[int]] = {}
        for place, word in enumerate(said):
            for key in keys_of(word):
                places.setdefault(key, []).append(place)
        for place, word in enumerate(wanted):
            others = {n for key in keys_of(word) for n in places.get(key, ())}
            # Equal words are the first stage's.
            found[place] += [Match(n, number) for n in sorted(others) if number == 0 or said[n] != word]
    return found


def _fixed(candidates: Sequence[Sequence[Match]]) -> list[Match | None]:
    """The matches that have no rival on either side, so that no search is needed for them."""
    rivals: dict[int, int] = {}
    for choices in candidates:
        for match in choices:
            rivals[match.said] = rivals.get(match.said, 0) + 1
    return [choices[0] if len(choices) == 1 and rivals[choices[0].said] == 1 else None for choices in candidates]


def _join(path: _Path, match: Match, distance: int) -> _Path:
    exact, chunks, _, last, used, chosen = path
    broken = last not in (-1, match.said)
    return (
        exact - (match.stage == 0), chunks + broken, distance, match.said + 1, used | 1 << match.said, (match, chosen),
    )  # fmt: skip


def _unwind(chosen: object) -> list[Match | None]:
    matches: list[Match | None] = []
    while isinstance(chosen, tuple):
        match, chosen = chosen
        matches.append(match)
    return matches[::-1]
