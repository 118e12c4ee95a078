"""Did you mean: the known words nearest to a misspelt one."""

import re
from collections.abc import Iterable


def edits(first: str, second: str) -> int:
    """The fewest letters to delete, insert, replace or swap with a neighbour that turn one word into the other."""
    before: list[int] = []
    row = list(range(len(second) + 1))
    for i, letter in enumerate(first, 1):
        earlier, before, row = before, row, [i]
        for j, other in enumerate(second, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == second[j - 2] and first[i - 2] == other:
                cost = min(cost, earlier[j - 2] + 1)
            row.append(cost)
    return row[-1]


def distance(given: str, known: str) -> int | None:
    """How far apart two words are, blind to case and hyphens; None: too far to be a slip."""
    given, known = _plain(given), _plain(known)
    slips = max(1, len(known) // 3)
    # The lengths alone often tell; and what is given by mistake may be a whole paragraph.
    if abs(len(given) - len(known)) <= slips and (apart := edits(given, known)) <= slips:
        return apart
    # "epochs" for "max_epochs" is a slip of memory rather than of the hand.
    return 2 if given in _parts(known) else None


def closeness(given: str, known: str) -> int | None:
    """As `distance`, but one part in common is enough: "num_layers" and "layers", "batch_size" and "batch_tokens"."""
    apart = distance(given, known)
    return 2 if apart is None and _parts(_plain(given)) & _parts(_plain(known)) else apart


def _plain(word: str) -> str:
    return word.lower().replace("-", "_")


def _parts(word: str) -> set[str]:
    return {part for part in word.split("_") if len(part) > 2}


def nearest(given: str, known: Iterable[str]) -> list[str]:
    """The known words that are nearest to the given one, equals only; often one, sometimes none."""
    found = [(apart, word) for word in known if (apart := closeness(given, word)) is not None]
    best = min((apart for apart, _ in found), default=0)
    return [word for apart, word in found if apart == best][:3]


def did_you_mean(words: Iterable[str]) -> str:
    """The question, ready to stand in a message: empty when there is nothing to ask."""
    quoted = " or ".join(f'"{word}"' for word in words)
    return f" Did you mean {quoted}?" if quoted else ""


def no_such(what: str, given: object, known: Iterable[object]) -> str:
    """One sentence on a word that is not among the known ones."""
    names = [str(word) for word in known]
    suggestion = did_you_mean(nearest(given, names)) if isinstance(given, str) else ""
    return f"no such {what} as {shown(given)}.{suggestion} Known: {', '.join(names)}"


def shown(value: object) -> str:
    """A value as a message shows it: as in TOML, short, and printable whatever it holds."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return repr(value if len(value) <= 60 else value[:57] + "...")
        case dict():
            return "a table"
        case list():
            text = f"[{', '.join(shown(item) for item in value)}]"
            return text if len(text) <= 60 else "a long list"
        case _:
            text = str(value)
            return text if len(text) <= 60 else text[:57] + "..."


def readable(name: str) -> str:
    """A key as an address shows it: as it is, unless it is long or strange."""
    return name if re.fullmatch(r"[\w-]{1,60}", name) else shown(name)
