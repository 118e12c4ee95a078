"""`antiphon evaluate`: scores, what was left out, and files that cannot be scored."""

import json

import pytest


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "test.tsv"
    path.write_text("one\teins\nsix five\tfünf sechs\n", encoding="utf-8")
    return path


def test_a_table_with_signatures(trained, antiphon, pairs):
    ended = antiphon("evaluate", trained, pairs)
    lines = ended.out.splitlines()
    assert ended.code == 0
    assert lines[0].startswith("2 pairs, beam 5, ")
    assert len(lines) == 10
    assert lines[1].split()[0] == "BLEU"
    assert [line.split("  ")[0] for line in lines[-2:]] == ["calibration error, raw", "calibration error"]
    assert "100.00" in next(line for line in lines if line.startswith("exact match"))


def test_json_says_the_same(trained, antiphon, pairs):
    found = json.loads(antiphon("evaluate", trained, pairs, "--json", "--beam", 2).out)
    assert (found["pairs"], found["beam"], found["left_out"]) == (2, 2, {})
    assert all({"name", "value", "signature"} <= set(score) for score in found["scores"])


def test_any_target_is_right(trained, antiphon, tmp_path):
    path = tmp_path / "test.tsv"
    path.write_text("one\tzwei\nsix five\tfünf sechs\none\teins\n", encoding="utf-8")
    ended = antiphon("evaluate", trained, path, "--any-target")
    assert ended.out.startswith("2 sources with 3 targets, beam 5, ")
    (line,) = [line for line in ended.out.splitlines() if line.startswith("exact match")]
    assert "100.00   exact_match|space:kept|nrefs:var|" in line
    strict = json.loads(antiphon("evaluate", trained, path, "--json").out)
    assert (strict["pairs"], strict["questions"]) == (3, 3)
    (exact,) = [score["value"] for score in strict["scores"] if score["name"] == "exact match"]
    assert exact == pytest.approx(200 / 3)


def test_8_bit_weights_are_named(trained, antiphon, pairs):
    assert antiphon("evaluate", trained, pairs, "--int8").out.startswith("2 pairs, beam 5, 8-bit weights, ")
    assert json.loads(antiphon("evaluate", trained, pairs, "--int8", "--json").out)["int8"] is True


def test_what_cannot_be_scored_is_counted(trained, antiphon, tmp_path):
    path = tmp_path / "test.tsv"
    path.write_bytes(b"\xef\xbb\xbfone\teins\r\ntwo\t\r\n\r\nthree\tdrei\r\n")
    ended = antiphon("evaluate", trained, path)
    assert ended.out.startswith("2 pairs")
    assert ended.err == f"{path}: 1 lines left out: blank target\n{path}: 1 lines left out: both sides blank\n"


def test_two_aligned_files(trained, antiphon, tmp_path):
    (tmp_path / "a.en").write_text("one\ntwo\n")
    (tmp_path / "a.de").write_text("eins\n")
    ended = antiphon("evaluate", trained, tmp_path / "a.en", "--target", tmp_path / "a.de")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        f"antiphon: TEST: {tmp_path / 'a.en'} has 2 lines, but {tmp_path / 'a.de'} has 1. "
        "Line N of one must answer line N of the other: find the line that is missing.\n"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "TEST: no such file as {}."),
        (b"", "TEST: {} is empty. Is it the right file?"),
        (b"\t\n", "{}: no pair in it can be scored (1 lines). Is it source TAB target?"),
        (
            b"one\ntwo\n",
            "TEST: {0} has one column: 2 of 2 lines have no TAB, the first is {0}:1. "
            "A line is source TAB target; of two line-aligned files, name the other in --target.",
        ),
    ],
)
def test_a_file_that_cannot_be_scored(trained, antiphon, tmp_path, content, message):
    path = tmp_path / "pairs.tsv"
    if content is not None:
        path.write_bytes(content)
    ended = antiphon("evaluate", trained, path)
    assert (ended.code, ended.out, ended.err) == (2, "", f"antiphon: {message.format(path)}\n")
