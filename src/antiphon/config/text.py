"""From text to plain tables: run files, recipes and `--set`, each as nested dicts that nobody has checked yet."""

import re
import tomllib
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from antiphon.config.layers import merge
from antiphon.config.suggest import no_such
from antiphon.errors import AntiphonError

LARGEST_FILE = 1_000_000  # bytes: what is larger is not a run file, and need not be read to the end
UTF8 = "utf-8-sig"  # with or without the mark that some editors put in front


def recipe_names() -> list[str]:
    """The recipes that are shipped."""
    files = (resources.files("antiphon") / "recipes").iterdir()
    return sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml"))


def read_recipe(name: str) -> dict[str, Any]:
    known = recipe_names()
    if name not in known:
        raise AntiphonError(f"--recipe: {no_such('recipe', name, known)}")
    file = resources.files("antiphon") / "recipes" / f"{name}.toml"
    return tomllib.loads(file.read_text("utf-8"))


def read_file(path: Path) -> dict[str, Any]:
    # The commonest slips: the pairs given as the run file, and a recipe's name without --recipe.
    hint = "" if path.suffix == ".toml" else f". If it holds pairs, give it with --train {path}"
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        hint = f". For the recipe give --recipe {path}" if str(path) in recipe_names() else ""
        raise AntiphonError(f"{path}: no such run file{hint}") from None
    except IsADirectoryError:
        raise AntiphonError(f"{path}: this is a folder. Give a run file, such as {path / 'run.toml'}") from None
    except OSError as error:
        raise AntiphonError(f"{path}: cannot be read ({error.strerror})") from None
    if len(raw) > LARGEST_FILE:
        raise AntiphonError(f"{path}: too large for a run file (over {LARGEST_FILE:,} bytes){hint}")
    try:
        return _parse(raw.decode(UTF8), path, hint)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise AntiphonError(f"{path}:{line}: not UTF-8. Save the file as UTF-8{hint}") from None


def _parse(text: str, path: Path, hint: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise AntiphonError(f"{path}: brackets within brackets, too deep to be read{hint}") from None
    except ValueError as error:
        reason, _, at = str(error).partition(" (at ")
        found = re.match(r"line (\d+)", at)
        line = int(found[1]) if found else text.count("\n") + (not text.endswith("\n"))
        reason = f"{reason[:1].lower()}{reason[1:]}"
        # A table is named there as Python writes a tuple.
        reason = re.sub(r"\('(.*?)',?\)", lambda names: "[" + names[1].replace("', '", ".") + "]", reason)
        if reason == "invalid value":
            reason += ' (text needs quotes: key = "text")'
        raise AntiphonError(f"{path}:{line}: this is not TOML: {reason}{hint}") from None


def parse_sets(sets: Sequence[str]) -> dict[str, Any]:
    """All `--set` together as one layer, so that their order matters only where they name the same key."""
    layer: dict[str, Any] = {}
    for text in sets:
        address, equals, value = text.partition("=")
        names = [name.strip() for name in address.split(".")]
        if not equals or not all(names):
            raise AntiphonError(f"--set {text}: give KEY=VALUE, such as --set train.max_steps=500")
        tables: Any = _parse_value(value.strip())
        for name in reversed(names):
            tables = {name: tables}
        layer = merge(layer, tables)
    return layer


def _parse_value(text: str) -> Any:
    """A TOML value, or else text: a shell takes quotes away, so a.tsv, {kind=dot} and [a.tsv, b.tsv] are understood."""
    attempts = [text]
    if not {'"', "'"} & set(text):
        attempts.append(re.sub(r"(?<=[=\[,])[^\[\]{},=]+(?=[,\]}])", lambda found: _quoted(found[0].strip()), text))
    for attempt in attempts:
        try:
            parsed = tomllib.loads(f"value = {attempt}")
        except (ValueError, RecursionError):
            continue
        if list(parsed) == ["value"]:
            return parsed["value"]
    return text


def _quoted(word: str) -> str:
    return f"'{word}'" if isinstance(_parse_value(word), str) else word
