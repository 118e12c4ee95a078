"""Data files, opened: what is not there or cannot be read is told with the option that named it."""

import difflib
import gzip
import hashlib
import io
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from antiphon.errors import AntiphonError


@contextmanager
def reading(path: str, key: str) -> Iterator[io.BufferedIOBase]:
    try:
        with _open(path, key, unpack=path.endswith(".gz")) as file:
            yield file
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise AntiphonError(f"{key}: {path} is not a whole gzip file. Compress it again.") from error
    except OSError as error:
        raise AntiphonError(f"{key}: {path} cannot be read ({error.strerror}).") from error


def hash_file(path: str, key: str) -> str:
    """The SHA-256 of a file as it lies on the disk."""
    try:
        with _open(path, key, unpack=False) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise AntiphonError(f"{key}: {path} cannot be read ({error.strerror}).") from error


def _open(path: str, key: str, unpack: bool) -> io.BufferedIOBase:
    try:
        if stat.S_ISFIFO(os.stat(path).st_mode):
            raise AntiphonError(f"{key}: {path} is a pipe, and it is read more than once. Save it to a file.")
        return gzip.open(path) if unpack else open(path, "rb")
    except FileNotFoundError:
        raise AntiphonError(f"{key}: no such file as {path}.{_nearest(Path(path))}") from None
    except IsADirectoryError:
        raise AntiphonError(f"{key}: {path} is a folder. Name the file in it, or a list of files.") from None


def _nearest(file: Path) -> str:
    if not file.parent.is_dir():
        return f" There is no folder {file.parent} either."
    near = difflib.get_close_matches(file.name, [entry.name for entry in file.parent.iterdir()], n=1)
    return f' Did you mean "{file.parent / near[0]}"?' if near else ""
