"""`antiphon compare`: models and files of answers on one test, and what cannot be compared."""

import gzip
import io
import json
import xml.etree.ElementTree as ElementTree

import pytest
from rich.console import Console

from antiphon.commands import asking
from antiphon.commands.compare import Asking, run_compare
from antiphon.commands.systems import name_systems

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
    table, apart, rare, habits = ended.out.split("\n\n")
    *lines, signature = table.splitlines()
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
    assert apart.startswith("run less answers.txt: +25.00 (95 %: +0.00 to +75.00), p ")
    assert apart.endswith(": not sure")
    assert rare.splitlines() == [
        "Words of the references, F1, by how often they stand in the references",
        "count  words     run  answers.txt",
        "    1      3  100.00       100.00",
        "  2-4      6  100.00        90.91",
    ]
    assert habits.splitlines() == [
        "Repetition and copying, per cent",
        "                        per cent of   run  answers.txt  references",
        "words in a row (3) that came before  0.00         0.00        0.00",
        "     words that stand in the source  0.00         0.00        0.00",
        "      answers that are their source  0.00         0.00        0.00",
        "                      empty answers  0.00        25.00        0.00",
    ]


def worse_and_better(tmp_path, count=60):
    """A test, answers that are all right, and answers of which every third is wrong."""
    lines = [f"word {number} here" for number in range(count)]
    (tmp_path / "t.tsv").write_text("".join(f"{line}\t{line} x y\n" for line in lines))
    (tmp_path / "good").write_text("".join(f"{line} x y\n" for line in lines))
    (tmp_path / "bad").write_text("".join(f"{line} x y\n" if n % 3 else "nothing\n" for n, line in enumerate(lines)))
    return [tmp_path / name for name in ("bad", "good", "t.tsv")]


@pytest.mark.parametrize("metric", ["bleu", "chrf", "ter", "wer", "exact_match", "meteor"])
def test_the_exit_code_tells_who_is_worse(antiphon, tmp_path, metric):
    bad, good, test = worse_and_better(tmp_path)
    how = [
        "--metric",
        metric,
        "--samples",
        200,
        "--fail-if-worse",
        *(["--language", "en"] if metric == "meteor" else []),
    ]
    assert antiphon("compare", good, bad, test, *how).code == 0
    assert antiphon("compare", good, good, test, *how).code == 0
    ended = antiphon("compare", bad, good, test, *how)
    assert ended.code == 3
    assert ended.err.startswith("antiphon: bad is worse than good (")
    assert ended.err.endswith(", p < 0.05 by both tests.\n")
    assert ": worse\n" in ended.out


def test_lines_side_by_side(antiphon, tmp_path):
    bad, good, test = worse_and_better(tmp_path)
    found = json.loads(antiphon("compare", bad, good, test, "--json", "--samples", 100, "--level", "0.1").out)
    assert found["certainty"] == {"samples": 100, "seed": 1, "level": 0.1}
    (one,) = found["against"]
    assert (one["other"], one["first_is"], one["gains"]) == ("good", "worse", [])
    assert [loss["pair"] for loss in one["losses"]] == [1, 4, 7, 10, 13, 16, 19, 22, 25, 28]
    assert one["losses"][0]["first"] == {"answer": "nothing", "score": 0.0}
    assert one["losses"][0]["other"] == {"answer": "word 0 here x y", "score": pytest.approx(100.0)}
    low, high = found["systems"][0]["interval"]
    assert low < found["systems"][0]["overall"] < high


def test_rare_words_are_counted_in_the_training_pairs(antiphon, tmp_path):
    _, good, test = worse_and_better(tmp_path)
    (tmp_path / "train.tsv").write_text("a\tx x word\nb\tx y\n")
    found = json.loads(antiphon("compare", good, test, "--train", tmp_path / "train.tsv", "--json").out)
    assert found["by_rarity"]["counted"] == "training text"
    # 60 numbers and `here` were never seen; `word` and `y` once; `x` thrice.
    assert [(row["label"], row["words"]) for row in found["by_rarity"]["rows"]] == [("0", 120), ("1", 120), ("2-4", 60)]


def test_json_says_it_all(trained, antiphon, pairs, answers):
    found = json.loads(antiphon("compare", trained, answers, pairs, "--json", "--beam", 2, "--tokenize", "none").out)
    assert set(found) == {
        "test", "pairs", "left_out", "metric", "signature", "unit", "bins", "certainty", "systems", "against",
        "by_rarity", "habits",
    }  # fmt: skip
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
    assert "\n  all      2      100.00\n" in ended.out
    assert ended.err == f"{test}: 1 line left out: both sides blank\n{test}: 1 line left out: invalid JSON\n"


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
    assert antiphon("evaluate", trained, test).err == ended.err


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
        (["{folder}", "{test}"],
         "{folder}: not a model folder: it has no antiphon.toml. Name one that `antiphon train` made."),
        (
            ["{folder}/short", "{test}"],
            "{folder}/short has 1 line, but {test} has 4. "
            "Line N of one must answer line N of the other: find the line that is missing.",
        ),
        (
            ["{folder}/empty", "{test}"],
            "{folder}/empty has 0 lines, but {test} has 4. "
            "It is empty: make it anew.",
        ),
        (
            ["{folder}/latin", "{test}"],
            "{folder}/latin:2: not UTF-8 (byte 2 of the line). If it is Latin-1: iconv -f LATIN1 -t UTF-8",
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
            ["{answers}", "{test}", "--beam", "3"],
            "--beam: it is for models, and these are files of answers. Leave it out.",
        ),
        (
            ["{answers}", "{test}", "--language", "de"],
            "--language: it is for --metric meteor, and bleu is compared. Leave it out.",
        ),
        (["{answers}", "{test}", "--seed", "-1"], "compare.seed: -1 is not allowed: at least 0."),
        (
            ["{answers}", "{test}", "--out", "{folder}/none/x.html"],
            "--out {folder}/none/x.html: there is no folder {folder}/none. Make it, or name another.",
        ),
        (
            ["{answers}", "{answers}", "{test}", "--train", "{answers}"],
            "--train: {answers} has one column: 3 of 3 lines have no TAB, the first is {answers}:1. "
            "A line is source TAB target; join two line-aligned files: paste a.en a.de.",
        ),
        (["{answers}", "{test}", "--samples", "9"], "compare.samples: 9 is not allowed: at least 100, or p says nothing."),
        (["{answers}", "{test}", "--level", "5"], "compare.level: 5.0 is not allowed: between 0 and 1, such as 0.05."),
        (
            ["{answers}", "{test}", "--fail-if-worse"],
            "--fail-if-worse: one system is worse than none. Name another: the one to hold it to.",
        ),
        (
            ["{answers}", "{test}", "--metric", "meteor"],
            "compare.metric: meteor needs a language. Name it: --language de",
        ),
        (
            ["{answers}", "{test}", "--references", "{folder}/short"],
            "--references: {folder}/short has 1 line, but {test} has 4. "
            "Line N of one belongs to line N of the other: find the line that is missing.",
        ),
        (
            ["{answers}", "{test}", "--bins", "2,4,9"],
            "bins: no source has 5 to 9 words; these 4 have 1 to 4. Leave an edge out.",
        ),
    ],
    ids=[
        "nothing", "one path", "no system", "no model", "short", "empty", "not utf-8", "no test", "test is a folder",
        "one column", "out", "unreadable bins", "falling bins", "beam", "idle language", "seed", "no folder", "columns of train",
        "samples", "level", "worse than none", "no language",
        "short references", "empty bin",
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
    assert (ended.code, ended.err) == (2, "antiphon: search.beam: 0 is not allowed: at least 1, at most 1000\n")


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
    run_compare([str(trained), str(pairs)], Asking(), None, as_json, fail_if_worse=False)
    assert ("run" in file.getvalue() and "4 of 4 answered" in file.getvalue()) is not as_json
    assert capsys.readouterr().out.startswith("{" if as_json else "BLEU by source length")


def test_answers_too_short_for_bleu_are_compared_by_chrf(antiphon, tmp_path):
    (tmp_path / "t.tsv").write_text("".join(f"number {n}\t{n * 37}\n" for n in range(40)))
    (tmp_path / "good").write_text("".join(f"{n * 37}\n" for n in range(40)))
    (tmp_path / "bad").write_text("x\n" * 40)
    ended = antiphon("compare", tmp_path / "bad", tmp_path / "good", tmp_path / "t.tsv", "--fail-if-worse")
    assert ended.code == 3
    assert "chrF2" in ended.out
    assert "BLEU" not in ended.out


@pytest.mark.parametrize(("line", "what"), [('{"text": "a"}', "JSON"), ("a\tb", "a TAB")])
def test_answers_with_more_than_the_answer_are_refused(antiphon, tmp_path, line, what):
    (tmp_path / "t.tsv").write_text("one\teins\ntwo\tzwei\n")
    (tmp_path / "answers").write_text(f"{line}\n{line}\n")
    ended = antiphon("compare", tmp_path / "answers", tmp_path / "answers", tmp_path / "t.tsv")
    assert (ended.code, ended.err) == (
        2,
        f"antiphon: {tmp_path / 'answers'}: every line holds {what}. An answer stands alone, line N for line N of the "
        "test: antiphon predict MODEL FILE > answers.txt\n",
    )
