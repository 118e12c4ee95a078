"""The token store."""

import errno

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.data.store import PairStore, open_store, write_store
from antiphon.errors import AntiphonError, DiskError

PAIRS = [([5, 6, 7], [8]), ([9], [10, 11]), ([65535], [4, 4, 4, 4])]


@given(pairs=st.lists(st.tuples(*[st.lists(st.integers(0, 70_000))] * 2)))
def test_what_is_written_is_read(tmp_path_factory, pairs):
    store = write_store(tmp_path_factory.mktemp("store"), iter(pairs), vocabulary=70_001)
    assert len(store) == len(pairs)
    assert [(store.source(i).tolist(), store.target(i).tolist()) for i in range(len(store))] == pairs
    assert store.lengths.tolist() == [[len(source), len(target)] for source, target in pairs]
    memory = PairStore.of(pairs)
    assert [(memory.source(i).tolist(), memory.target(i).tolist()) for i in range(len(memory))] == pairs
    assert memory.lengths.tolist() == store.lengths.tolist()


def test_small_vocabularies_take_two_bytes(tmp_path):
    small, large = write_store(tmp_path / "a", PAIRS, 65_536), write_store(tmp_path / "b", PAIRS, 65_537)
    assert (small.tokens.dtype, large.tokens.dtype) == (np.dtype("<u2"), np.dtype("<i4"))
    assert (tmp_path / "a" / "tokens.bin").stat().st_size == 2 * 12
    assert small.lengths.dtype == np.int32


def test_tokens_stay_on_disk(tmp_path):
    store = write_store(tmp_path, PAIRS, 65_536)
    assert isinstance(store.tokens.base, np.memmap)
    assert np.shares_memory(store.source(1), store.tokens)
    with pytest.raises(ValueError, match="read-only"):
        store.source(0)[0] = 1


def damage(tmp_path, name, change):
    write_store(tmp_path, PAIRS, 65_536)
    path = tmp_path / name
    content = change(path.read_bytes())
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(AntiphonError) as caught:
        open_store(tmp_path)
    return str(caught.value)


@pytest.mark.parametrize("name", ["tokens.bin", "offsets.bin"])
def test_damage_is_noticed(tmp_path, name):
    damaged = f"{tmp_path}: the token store is damaged. Prepare the data again."
    assert damage(tmp_path, name, lambda content: content[:-1]) == damaged
    assert damage(tmp_path, name, lambda content: content + b"x") == damaged
    assert damage(tmp_path, name, lambda content: content[:-1] + bytes([content[-1] ^ 1])) == damaged


@pytest.mark.parametrize("name", ["tokens.bin", "offsets.bin", "store.json"])
def test_a_missing_file_is_noticed(tmp_path, name):
    assert damage(tmp_path, name, lambda content: None) == f"{tmp_path}: no whole token store. Prepare the data again."


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"format": 1}', b"\xff", b"null"])
def test_a_strange_label_is_noticed(tmp_path, content):
    assert damage(tmp_path, "store.json", lambda _: content).startswith(f"{tmp_path}: ")


def test_an_interrupted_store_is_not_one(tmp_path):
    write_store(tmp_path, PAIRS, 65_536)

    def stopping():
        yield PAIRS[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_store(tmp_path, stopping(), 65_536)
    assert not list(tmp_path.glob("*.partial"))
    with pytest.raises(AntiphonError):
        open_store(tmp_path)


def test_a_full_disk_is_told(tmp_path):
    def filling():
        yield PAIRS[0]
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(DiskError, match="no space is left on the disk"):
        write_store(tmp_path, filling(), 65_536)
