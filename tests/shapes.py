"""Watches names that tell shapes while they are used: `scores_BTS` has three axes, and a letter has one size a call."""

import re
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from torch import Tensor

SRC = Path(__file__).resolve().parents[1] / "src" / "antiphon"
SUFFIX = re.compile(r"(?:^|_)([A-Z][A-Z1-9]*)$")


@dataclass
class Watch:
    """What was seen, and what was untrue."""

    names: set[str] = field(default_factory=set)  # file:name
    lies: set[str] = field(default_factory=set)


@contextmanager
def watched(folder: Path = SRC, loose: Collection[str] = ()) -> Iterator[Watch]:
    """Fails at the end if a name lied in a call of any function of these files.

    In the `loose` functions a letter may change its size with time, as the batch of a search shrinks; the number of
    axes must be right there too.
    """
    watch = Watch()

    def enter(frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(str(folder)):
            return None
        return _Call(watch, frame, frame.f_code.co_name in loose).look

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        yield watch
    finally:
        sys.settrace(before)
    assert not watch.lies, "names that lie:\n" + "\n".join(sorted(watch.lies))


class _Call:
    """One call of one function, looked at after every line."""

    def __init__(self, watch: Watch, frame: FrameType, loose: bool) -> None:
        self.watch, self.loose = watch, loose
        self.place = f"{Path(frame.f_code.co_filename).name}: {frame.f_code.co_name}"
        self.sizes: dict[str, tuple[int, str]] = {}
        self.seen: dict[str, Any] = {}

    def look(self, frame: FrameType, event: str, _: Any) -> Any:
        if event in ("line", "return"):
            for name, value in frame.f_locals.items():
                suffix = SUFFIX.search(name)
                if suffix and isinstance(value, Tensor | np.ndarray) and self.seen.get(name) is not value:
                    self.seen[name] = value
                    self.check(name, suffix[1], tuple(value.shape))
        return self.look

    def check(self, name: str, letters: str, shape: tuple[int, ...]) -> None:
        self.watch.names.add(f"{self.place}: {name}")
        if len(letters) != len(shape):
            self.watch.lies.add(f"{self.place}: {name} has {len(shape)} axes, {shape}")
            return
        for letter, size in zip(letters, shape, strict=True):
            known, other = self.sizes.setdefault(letter, (int(letter) if letter.isdigit() else size, name))
            if known != size and not (self.loose and letter.isalpha()):
                self.watch.lies.add(f"{self.place}: {letter} is {known} in {other}, but {size} in {name} {shape}")
