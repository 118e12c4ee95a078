"""Files that are whole or not there: written beside their place, flushed to the disk, then moved over in one motion."""

import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from antiphon.errors import DiskError

PARTIAL = ".partial"  # the ending of a file that is still being written; one that is left behind can be deleted

_REASONS = {
    errno.ENOSPC: "no space is left on the disk",
    errno.EDQUOT: "your disk quota is used up",
    errno.EFBIG: "the file is larger than this system allows",
    errno.EROFS: "the disk is read-only",
    errno.EACCES: "you may not write there",
    errno.EPERM: "you may not write there",
}


def write_whole(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Let `write` fill a file that replaces `path` only when all of it is safely on the disk."""
    partial = path.with_name(path.name + PARTIAL)
    try:
        with partial.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
        flush_folder(path.parent)
    except OSError as error:
        with suppress(OSError):  # on a read-only disk not even this is possible
            partial.unlink()
        raise cannot_write(path, error) from error


def write_text(path: Path, text: str) -> None:
    write_whole(path, lambda file: file.write(text.encode()))


def make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from error


def flush_folder(folder: Path) -> None:
    """A new name is safe only when its folder is on the disk too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def held(folder: Path) -> Iterator[bool]:
    """Whether the folder is now ours alone, for as long as this lasts or the process lives, however it ends."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        ours = True
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            ours = False
        except OSError:  # some network disks have no locks; there nobody can be told apart
            pass
        yield ours
    finally:
        os.close(handle)


def cannot_write(path: Path, error: OSError) -> DiskError:
    reason = _REASONS.get(error.errno or 0, error.strerror or str(error))
    return DiskError(
        f"{path}: cannot be written: {reason}.\n"
        "What was there before is whole: make room or choose another --out, and run the same command again."
    )
