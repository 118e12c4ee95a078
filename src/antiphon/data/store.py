"""The token store: all pairs as numbers on disk, read through a memory map, so that a corpus may be larger than memory.

N pairs
"""

import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from antiphon.data.vocab import UNKNOWN
from antiphon.errors import AntiphonError
from antiphon.files import PARTIAL, cannot_write, make_folder, write_text

FORMAT = 1
TOKENS, OFFSETS, LABEL = "tokens.bin", "offsets.bin", "store.json"
SMALL, LARGE, OFFSET = "<u2", "<i4", "<i8"  # little-endian everywhere


@dataclass(frozen=True)
class PairStore:
    """Pairs of number sequences; nothing is read from disk before it is asked for."""

    tokens: NDArray[Any]
    offsets: NDArray[np.int64]  # where source 0, target 0, source 1, ... begin, and the end of all

    @staticmethod
    def of(pairs: Iterable[tuple[Sequence[int], Sequence[int]]]) -> "PairStore":
        """A store of a few pairs that never sees a disk."""
        rows = [np.array(ids, LARGE) for pair in pairs for ids in pair]
        return PairStore(np.concatenate([*rows, np.zeros(0, LARGE)]), np.cumsum([0, *map(len, rows)]))

    def __len__(self) -> int:
        return len(self.offsets) // 2

    @cached_property
    def lengths(self) -> NDArray[np.int32]:
        """Symbols of source and target, without start and end: N x 2."""
        return np.diff(self.offsets).astype(np.int32).reshape(-1, 2)

    @cached_property
    def target_tokens(self) -> int:
        """Symbols to be predicted in one pass over all pairs, ends included."""
        return int(self.lengths[:, 1].sum()) + len(self)

    @property
    def unknown_targets(self) -> int:
        """Target symbols that stand for what the vocabulary does not hold."""
        return sum(int((self.target(index) == UNKNOWN).sum()) for index in range(len(self)))

    def source(self, index: int) -> NDArray[Any]:
        return self.tokens[self.offsets[2 * index] : self.offsets[2 * index + 1]]

    def target(self, index: int) -> NDArray[Any]:
        return self.tokens[self.offsets[2 * index + 1] : self.offsets[2 * index + 2]]


@dataclass
class _Growing:
    """A file under a temporary name that keeps count of what it is given."""

    file: BinaryIO
    size: int = 0
    checksum: int = 0

    def write(self, content: bytes) -> None:
        self.file.write(content)
        self.size += len(content)
        self.checksum = zlib.crc32(content, self.checksum)

    def label(self) -> dict[str, int]:
        return {"bytes": self.size, "crc32": self.checksum}


def write_store(folder: Path, pairs: Iterable[tuple[Sequence[int], Sequence[int]]], vocabulary: int) -> PairStore:
    """Writes the pairs one by one; the label comes last, so that a folder without one is not whole."""
    make_folder(folder)
    (folder / LABEL).unlink(missing_ok=True)
    kind = SMALL if vocabulary <= 2**16 else LARGE
    end = 0
    with _growing(folder / TOKENS) as tokens, _growing(folder / OFFSETS) as offsets:
        offsets.write(np.array([0], OFFSET).tobytes())
        for pair in pairs:
            for ids in pair:
                tokens.write(np.array(ids, kind).tobytes())
            middle = end + len(pair[0])
            end = middle + len(pair[1])
            offsets.write(np.array([middle, end], OFFSET).tobytes())
    label = {"format": FORMAT, "kind": kind, TOKENS: tokens.label(), OFFSETS: offsets.label()}
    write_text(folder / LABEL, json.dumps(label))
    return open_store(folder)


@contextmanager
def _growing(path: Path) -> Iterator[_Growing]:
    partial = path.with_name(path.name + PARTIAL)
    try:
        with partial.open("wb") as file:
            yield _Growing(file)
        partial.replace(path)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        partial.unlink(missing_ok=True)


def open_store(folder: Path) -> PairStore:
    """The store in this folder, checked against its label byte by byte."""
    try:
        label = json.loads((folder / LABEL).read_bytes())
        whole = label["format"] == FORMAT and all(label[name] == _measure(folder / name) for name in (TOKENS, OFFSETS))
        kind = {SMALL: SMALL, LARGE: LARGE}[label["kind"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise AntiphonError(f"{folder}: no whole token store. Prepare the data again.") from error
    if not whole:
        raise AntiphonError(f"{folder}: the token store is damaged. Prepare the data again.")
    return PairStore(_map(folder / TOKENS, kind), _map(folder / OFFSETS, OFFSET))


def _measure(path: Path) -> dict[str, int]:
    checksum = 0
    with path.open("rb") as file:
        while content := file.read(2**20):
            checksum = zlib.crc32(content, checksum)
        return {"bytes": file.tell(), "crc32": checksum}


def _map(path: Path, kind: str) -> NDArray[Any]:
    # An empty file cannot be mapped.
    return np.asarray(np.memmap(path, dtype=kind, mode="r")) if path.stat().st_size else np.zeros(0, dtype=kind)
