"""Readers of pairs."""

import gzip
import json
import os
import re
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.data.corpus import _decode, read_lines, read_rows
from antiphon.data.opened import hash_file
from antiphon.errors import AntiphonError


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(name, content):
        content = content if isinstance(content, bytes) else content.encode()
        (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return name

    return write


def rows(paths, targets=()):
    paths = [paths] if isinstance(paths, str) else paths
    return list(read_rows(paths, targets, "data.train"))


def pairs(*given):
    return [(row.pair.source, row.pair.target, row.pair.place) for row in rows(*given)]


def faults(*given):
    return [row.fault for row in rows(*given)]


def refusal(paths, targets=()):
    with pytest.raises(AntiphonError) as caught:
        rows(paths, targets)
    return str(caught.value)


@pytest.mark.parametrize("name", ["a.tsv", "a.txt", "a.tsv.gz"])
def test_tsv(write, name):
    write(name, "one\teins\ntwo\tzwei")
    assert pairs(name) == [("one", "eins", f"{name}:1"), ("two", "zwei", f"{name}:2")]


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.txt"])
def test_jsonl(write, name):
    write(name, '{"source": "one", "target": "eins", "id": 7}\n{"source": "a\\tb\\nc", "target": "\\ud800"}\n')
    assert pairs(name) == [("one", "eins", f"{name}:1"), ("a\tb c", "\ufffd", f"{name}:2")]
    assert [row.oddities for row in rows(name)] == [(), ("stray line break",)]


def test_a_first_line_in_braces_is_not_yet_json(write):
    write("a.txt", "{x}\ty\n")
    assert pairs("a.txt") == [("{x}", "y", "a.txt:1")]


def test_aligned_files(write):
    write("a.en", "one\ttwo\nthree\n")
    write("a.de.gz", "eins zwei\r\ndrei")
    assert pairs(["a.en"], ["a.de.gz"]) == [("one\ttwo", "eins zwei", "a.en:1"), ("three", "drei", "a.en:2")]
    assert rows(["a.en"], ["a.de.gz"])[0].oddities == ("CRLF line ending",)


def test_several_files_follow_one_another(write):
    write("a.tsv", "a\tb\n")
    write("b.jsonl", '{"source": "c", "target": "d"}\n')
    assert [place for *_, place in pairs(["a.tsv", "b.jsonl"])] == ["a.tsv:1", "b.jsonl:1"]


def test_byte_order_mark_is_no_text(write):
    write("a.tsv", b"\xef\xbb\xbfone\teins\n\xef\xbb\xbftwo\tzwei\n")
    assert [source for source, *_ in pairs("a.tsv")] == ["one", "\ufefftwo"]


def test_only_line_feeds_break_lines(write):
    write("a.tsv", "a\u2028b\tc\u0085d\r\ne\rf\tg\x0ch\n")
    assert pairs("a.tsv") == [("a b", "c d", "a.tsv:1"), ("e f", "g h", "a.tsv:2")]
    assert [row.oddities for row in rows("a.tsv")] == [("CRLF line ending", "stray line break"), ("stray line break",)]


def test_rows_carry_what_is_wrong(write):
    write("a.tsv", b"a\tb\nno tab\n\tx\nx\t\n\n \t \n\xff\ty\na\tb\tc\na\tb\na\tb\na\tb\n")
    assert faults("a.tsv") == [
        None, "no TAB", "blank source", "blank target", "both sides blank", "both sides blank", "bad UTF-8",
        None, None, None, None,
    ]  # fmt: skip
    assert rows("a.tsv")[7].oddities == ("more than two columns",)
    assert rows("a.tsv")[7].pair.target == "b"


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (b"{", "invalid JSON"),
        (b"[" * 100_000, "invalid JSON"),
        (b'{"source": ' + b"1" * 5000 + b"}", "invalid JSON"),
        (b"[]", "no source or target key"),
        (b'{"source": "a"}', "no source or target key"),
        (b'{"source": "a", "target": 3}', "no source or target key"),
        (b'{"source": "a", "target": " "}', "blank target"),
        (b"", "both sides blank"),
        (b'{"source": "\xff", "target": "b"}', "bad UTF-8"),
    ],
)
def test_wrong_json(write, line, fault):
    write("a.jsonl", b'{"source": "a", "target": "b"}\n' + line + b"\n")
    assert faults("a.jsonl") == [None, fault]


def test_unequal_line_counts(write):
    write("a.en", "1\n2\n3\n")
    write("a.de", "1\n" * 1200)
    expected = (
        "data.train: a.en has 3 lines, but a.de has 1,200. "
        "Line N of one must answer line N of the other: find the line that is missing."
    )
    assert refusal(["a.en"], ["a.de"]) == expected


def test_unequal_numbers_of_files():
    expected = (
        "data.train: 2 files, but data.train_target has 1 file. "
        "Name one target file for each source file, in the same order."
    )
    assert refusal(["a", "b"], ["c"]) == expected


def test_missing_file(write):
    write("pairs.tsv", "a\tb\n")
    assert refusal("pears.tsv") == 'data.train: no such file as pears.tsv. Did you mean "pairs.tsv"?'
    assert refusal("zzz") == "data.train: no such file as zzz."
    assert refusal("no/x.tsv") == "data.train: no such file as no/x.tsv. There is no folder no either."


def test_missing_target_file_is_named_by_its_option(write):
    write("a.en", "a\n")
    assert refusal(["a.en"], ["b"]) == "data.train_target: no such file as b."


def test_folder(write, tmp_path):
    (tmp_path / "sub").mkdir()
    assert refusal("sub") == "data.train: sub is a folder. Name the file in it, or a list of files."


@pytest.mark.parametrize(
    ("name", "content"), [("a.tsv", b""), ("a.tsv", b"\xef\xbb\xbf"), ("a.tsv.gz", b""), ("a.jsonl", b"")]
)
def test_empty_file(write, name, content):
    write(name, content)
    assert refusal(name) == f"data.train: {name} is empty. Is it the right file?"


def test_one_column(write):
    write("a.txt", "a b\nc d\n\ne\tf\ng h\n")
    expected = (
        "data.train: a.txt has one column: 3 of 4 lines have no TAB, the first is a.txt:1. "
        "A line is source TAB target; of two line-aligned files, name the other in data.train_target."
    )
    assert refusal("a.txt") == expected


def test_one_column_is_noticed_early(write):
    write("a.txt", "a b\n" * 5_000)
    assert refusal("a.txt").startswith("data.train: a.txt has one column: 1,000 of 1,000 lines")


def test_utf16(write):
    write("a.tsv", "a\tb\n".encode("utf-16"))
    assert refusal("a.tsv") == "data.train: a.tsv is UTF-16. Save it as UTF-8."


def test_damaged_gzip(write, tmp_path):
    write("a.tsv.gz", "".join(f"{n}\t{n}\n" for n in range(9_999)))
    whole = (tmp_path / "a.tsv.gz").read_bytes()
    for content in (whole[:-9], b"a\tb\n", whole[:500] + b"\xff" * 40 + whole[540:]):
        (tmp_path / "a.tsv.gz").write_bytes(content)
        assert refusal("a.tsv.gz") == "data.train: a.tsv.gz is not a whole gzip file. Compress it again."


def test_hash_is_of_the_bytes_on_disk(write):
    write("a", "abc")
    assert hash_file("a", "k") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    with pytest.raises(AntiphonError, match=re.escape("k: no such file as b.")):
        hash_file("b", "k")


def test_a_large_file_is_never_held(write):
    write("a.tsv", "some words of the source\tand of the target\n" * 60_000)  # 2.6 MB
    tracemalloc.start()
    count = sum(1 for _ in read_rows(["a.tsv"], [], "k"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 60_000
    assert peak < 500_000


@given(st.binary())
def test_any_bytes_make_a_line(content):
    line = _decode(content.replace(b"\n", b"") + b"\n")
    assert not set(line.text) & set("\n\r\u2028\u0085")
    line.text.encode()


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1))
def test_json_lines_are_as_many_as_were_written(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("json") / "a.jsonl"
    path.write_text(
        "".join(json.dumps({"source": text, "target": text}, ensure_ascii=False) + "\n" for text in texts), newline="\n"
    )
    assert len(list(read_lines(str(path), "k"))) == len(texts)


def test_lines_that_end_in_cr_alone(write):
    assert refusal([write("a.tsv", b"one\teins\rtwo\tzwei\r")]) == (
        "data.train: the lines of a.tsv end in CR alone. Convert it: tr '\\r' '\\n' < old > new"
    )
    assert [pair[:2] for pair in pairs(write("b.tsv", b"one\teins\r\ntwo\tzwei\r"))] == [
        ("one", "eins"),
        ("two", "zwei"),
    ]


def test_a_pipe_cannot_be_read_twice(write, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert refusal(["pipe"]) == "data.train: pipe is a pipe, and it is read more than once. Save it to a file."


def test_files_of_both_sides_are_not_taken_for_one(write):
    tsv, jsonl = write("a.tsv", b"one\teins\n"), write("a.jsonl", b'{"source": "one", "target": "eins"}\n')
    plain = write("a.txt", b"eins\n")
    assert refusal([jsonl], [plain]) == (
        "data.train: a.jsonl is JSONL, which holds both sides. Name it in data.train, alone."
    )
    assert refusal([plain], [jsonl]) == (
        "data.train_target: a.jsonl is JSONL, which holds both sides. Name it in data.train, alone."
    )
    assert refusal([tsv], [tsv]) == (
        "data.train: 1 of 1 lines of a.tsv and a.tsv have a TAB, which parts source and target in one file. "
        "Leave data.train_target out, or keep one column of each file."
    )
