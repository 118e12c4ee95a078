"""`antiphon compare`: models and files of answers on one test, and what cannot be compared."""

import gzip
import io
import json
import xml.etree.ElementTree as ElementTree

import pytest
from rich.console import Console

from antiphon.commands import asking
from antiphon.commands.compare import name_systems, run_compare

PAIRS = [
    ("one two", "zwei eins"),
    ("six five", "fünf sechs"),
    ("one one three three", "drei drei eins eins"),
    ("one", "eins"),
]


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "test.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS), encoding="utf-8")
    return path


@pytest.fixture
def answers(tmp_path):
    """All right but the last."""
    path = tmp_path / "answers.txt"
    path.write_text("zwei eins\nfünf sechs\ndrei drei eins eins\n\n", encoding="utf-8")
    return path


def test_two_systems_in_one_table(antiphon, pairs, answers, tmp_path):
    right = tmp_path / "run"
    right.write_text("".join(f"{target}\n" for _, target in PAIRS), encoding="utf-8")
    ended = antiphon("compare", right, answers, pairs, "--metric", "exact_match", "--bins", "1,2")
    *lines, signature = ended.out.splitlines()
    assert (ended.code, ended.err) == (0, "")
    assert lines == [
        "exact match by source length in words between spaces, 4 pairs",
        "words  pairs     run  answers.txt",
        "    1      1  100.00         0.00",
        "    2      2  100.00       100.00",
        "  3-4      1  100.00       100.00",
        "  all      4  100.00        75.00",
    ]
    assert signature.startswith("exact_match|space:kept|case:mixed|version:")


def test_json_says_it_all(trained, antiphon, pairs, answers):
    found = json.loads(antiphon("compare", trained, answers, pairs, "--json", "--beam", 2, "--tokenize", "none").out)
    assert set(found) == {"test", "pairs", "left_out", "metric", "signature", "unit", "bins", "systems"}
    assert (found["test"], found["pairs"], found["metric"], found["unit"]) == (str(pairs), 4, "bleu", "words")
    assert found["signature"].startswith("BLEU|nrefs:1|case:mixed|eff:no|tok:none|")
    assert found["bins"] == [{"from": 1, "to": 4, "pairs": 4}]
    model, file = found["systems"]
    assert (model["name"], model["path"], model["kind"], model["beam"]) == ("run", str(trained), "model", 2)
    assert (file["name"], file["kind"], file["beam"], file["seconds"]) == ("answers.txt", "answers", None, None)
    assert model["overall"] == pytest.approx(model["by_length"][0])
    assert model["seconds"] >= 0
    assert file["overall"] == pytest.approx(88.25, abs=0.01)


def test_the_score_is_that_of_evaluate(trained, antiphon, pairs):
    evaluated = json.loads(antiphon("evaluate", trained, pairs, "--json", "--beam", 1, "--lowercase").out)
    compared = json.loads(antiphon("compare", trained, pairs, "--json", "--beam", 1, "--lowercase").out)
    assert compared["systems"][0]["overall"] == evaluated["scores"][0]["value"]
    assert compared["signature"] == evaluated["scores"][0]["signature"]


def test_answers_to_lines_that_are_left_out_are_left_out_too(antiphon, tmp_path):
    test = tmp_path / "test.jsonl.gz"
    rows = ['{"source": "a b", "target": "x"}', "", "{", '{"source": "c d", "target": "y"}']
    test.write_bytes(gzip.compress("\n".join(rows).encode()))
    answers = tmp_path / "answers.gz"
    answers.write_bytes(gzip.compress(b"x\nnothing\nnothing\ny\r\n"))
    ended = antiphon("compare", answers, test, "--metric", "exact_match")
    assert ended.out.splitlines()[-2] == "  all      2      100.00"
    assert ended.err == f"{test}: 1 lines left out: both sides blank\n{test}: 1 lines left out: invalid JSON\n"


def test_sources_and_targets_in_two_files(antiphon, tmp_path):
    for name, text in (("a.en", "a b\nc d\n"), ("a.de", "x\ny\n"), ("answers", "x\nz\n")):
        (tmp_path / name).write_text(text)
    ended = antiphon("compare", tmp_path / "answers", tmp_path / "a.en", "--target", tmp_path / "a.de", "--json")
    assert (ended.code, json.loads(ended.out)["pairs"]) == (0, 2)


@pytest.mark.parametrize("ending", ["svg", "html"])
@pytest.mark.parametrize("as_json", [False, True])
def test_a_file_of_it(antiphon, tmp_path, pairs, answers, ending, as_json):
    out = tmp_path / f"x.{ending}"
    ended = antiphon("compare", answers, pairs, "--out", out, *["--json"] * as_json)
    assert ended.code == 0
    assert ended.out.endswith("}\n" if as_json else f"Written: {out}\n")
    content = out.read_text(encoding="utf-8")
    assert "source length in words between spaces" in content
    assert "answers.txt" in content
    if ending == "svg":
        assert ElementTree.fromstring(content).get("class") == "figure lines"  # noqa: S314
    else:
        assert "4 pairs of test.tsv" in content


def test_a_source_that_a_model_refuses_is_told_before_any_answer(trained, antiphon, tmp_path):
    test = tmp_path / "test.tsv"
    test.write_text(f"one\teins\n\n{'one ' * 1025}\teins\n")
    ended = antiphon("compare", trained, test)
    assert (ended.code, ended.out) == (2, "")
    told = (
        f"{test}:3: 1,025 symbols, and this model reads at most 1,024. "
        "Split the text, or raise search.max_source where memory allows.\n"
    )
    assert ended.err == f"antiphon: {trained}: {told}"
    assert antiphon("evaluate", trained, test).err == f"antiphon: {told}"


USAGE = "Name the systems, then the test: antiphon compare runs/a runs/b test.tsv"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], f"compare: nothing is given. {USAGE}"),
        (["{test}"], f"compare: only {{test}} is given. {USAGE}"),
        (
            ["{test}.no", "{test}"],
            "{test}.no: no such system: neither a model folder nor a file of answers. "
            "`antiphon train` makes the one, `antiphon predict` the other.",
        ),
        (["{folder}", "{test}"], "{folder}: not a model folder: it has no antiphon.toml."),
        (
            ["{folder}/short", "{test}"],
            "{folder}/short has 1 lines, but {test} has 4. "
            "Line N of one must answer line N of the other: find the line that is missing.",
        ),
        (
            ["{folder}/empty", "{test}"],
            "{folder}/empty has 0 lines, but {test} has 4. "
            "Line N of one must answer line N of the other: find the line that is missing.",
        ),
        (
            ["{folder}/latin", "{test}"],
            "{folder}/latin:2: not UTF-8 (byte 2 of the line). Convert it: iconv -t UTF-8",
        ),
        (["{answers}", "{folder}/zzz"], "TEST: no such file as {folder}/zzz."),
        (
            ["{answers}", "{folder}"],
            "TEST: {folder} is a folder. Name the file in it, or a list of files.",
        ),
        (
            ["{answers}", "{answers}"],
            "TEST: {answers} has one column: 3 of 3 lines have no TAB, the first is {answers}:1. "
            "A line is source TAB target; of two line-aligned files, name the other in --target.",
        ),
        (["{answers}", "{test}", "--out", "x.pdf"], "--out x.pdf: cannot tell what to write. End it in .html or .svg."),
        (
            ["{answers}", "{test}", "--bins", "2,x"],
            "bins: '2,x' is not allowed: whole numbers above 0 that rise, such as 10,15,20",
        ),
        (
            ["{answers}", "{test}", "--bins", "3,2"],
            "bins: '3,2' is not allowed: whole numbers above 0 that rise, such as 10,15,20",
        ),
        (
            ["{answers}", "{test}", "--bins", "2,4,9"],
            "bins: no source has 5 to 9 words; these 4 have 1 to 4. Leave an edge out.",
        ),
    ],
    ids=[
        "nothing", "one path", "no system", "no model", "short", "empty", "not utf-8", "no test", "test is a folder",
        "one column", "out", "unreadable bins", "falling bins", "empty bin",
    ],
)  # fmt: skip
def test_what_cannot_be_compared(antiphon, tmp_path, pairs, answers, words, message):
    for name, content in (("short", b"eins\n"), ("empty", b""), ("latin", b"eins\nf\xfcnf\ndrei\nvier\n")):
        (tmp_path / name).write_bytes(content)
    places = {"test": pairs, "answers": answers, "folder": tmp_path}
    ended = antiphon("compare", *[word.format(**places) for word in words])
    assert (ended.code, ended.out, ended.err) == (2, "", f"antiphon: {message.format(**places)}\n")


def test_a_beam_is_checked_before_any_answer(trained, antiphon, pairs):
    ended = antiphon("compare", trained, pairs, "--beam", 0)
    assert (ended.code, ended.err) == (2, "antiphon: search.beam: 0 is not allowed: at least 1\n")


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["runs/a", "runs/b/"], ["a", "b"]),
        (["/x/a/best", "/x/b/best", "/x/other"], ["a/best", "b/best", "other"]),
        (["/1/x/a", "/2/x/a", "/2/y/a"], ["1/x/a", "2/x/a", "y/a"]),
        (["runs/a", "./runs/a", "/b/a"], ["a (1)", "a (2)", "b/a"]),
        (["/a", "/b/a"], ["/a", "b/a"]),
    ],
)
def test_names_tell_systems_apart(paths, names):
    assert name_systems(paths) == names


@pytest.mark.parametrize("as_json", [False, True])
def test_a_bar_on_a_terminal_names_the_model_that_answers(trained, pairs, monkeypatch, capsys, as_json):
    file = io.StringIO()
    monkeypatch.setattr(asking, "terminal", lambda: Console(file=file, force_terminal=True, width=80))
    run_compare([str(trained), str(pairs)], None, "bleu", None, None, "13a", False, None, as_json)
    assert ("run" in file.getvalue() and "4 of 4 answered" in file.getvalue()) is not as_json
    assert capsys.readouterr().out.startswith("{" if as_json else "BLEU by source length")
