"""`antiphon predict`: line N of the output answers line N of the input, whatever the lines hold."""

import gzip
import json

import pytest

from antiphon.predict.quantize import quantize
from tests.conftest import SMALL


@pytest.fixture
def expected(trained, antiphon):
    """The answers to one, two and six five."""
    return antiphon("predict", trained, stdin=b"one\ntwo\nsix five\n").out.splitlines()


def test_one_answer_a_line(expected):
    assert expected == ["eins", "zwei", "fünf sechs"]


@pytest.mark.parametrize(
    ("stdin", "lines"),
    [
        (b"one\n\ntwo\n", ["eins", "", "zwei"]),
        (b"\n\n", ["", ""]),
        (b"", []),
        (b"\n", [""]),
        (b"one\ntwo", ["eins", "zwei"]),
        (b"\xef\xbb\xbfone\ntwo\n", ["eins", "zwei"]),
        (b"one\r\n\r\ntwo\r\n", ["eins", "", "zwei"]),
        (b"   \none\n\t\n", ["", "eins", ""]),
        ("one\u2028\n\u3000\ntwo\x85\n".encode(), ["eins", "", "zwei"]),
    ],
    ids=["blank", "only blanks", "nothing", "one blank", "no final newline", "BOM", "CRLF", "spaces", "odd breaks"],
)
def test_line_n_answers_line_n(trained, antiphon, stdin, lines):
    ended = antiphon("predict", trained, stdin=stdin)
    assert (ended.code, ended.out, ended.err) == (0, "".join(f"{line}\n" for line in lines), "")


def test_a_file_and_its_gz(trained, antiphon, expected, tmp_path):
    content = b"one\ntwo\nsix five"
    (tmp_path / "in.txt").write_bytes(content)
    (tmp_path / "in.txt.gz").write_bytes(gzip.compress(content))
    for name in ("in.txt", "in.txt.gz"):
        assert antiphon("predict", trained, tmp_path / name).out.splitlines() == expected


def test_more_lines_than_are_taken_at_once(trained, antiphon, monkeypatch):
    monkeypatch.setattr("antiphon.commands.predict._AT_ONCE", 3)
    ended = antiphon("predict", trained, stdin=b"one\n\ntwo\n" * 5)
    assert ended.out == "eins\n\nzwei\n" * 5


def test_scores_and_n_best(trained, antiphon):
    for line in antiphon("predict", trained, "--scores", stdin=b"one\n\n").out.splitlines():
        float(line.split("\t")[0])
    rows = [
        line.split("\t") for line in antiphon("predict", trained, "--n-best", 3, stdin=b"one\n\ntwo\n").out.splitlines()
    ]
    assert [row[0] for row in rows] == ["1", "1", "1", "2", "3", "3", "3"]
    assert rows[0][2] == "eins"
    assert rows[3][2] == ""


def test_json_is_an_object_a_line(trained, antiphon):
    ended = antiphon("predict", trained, "--json", "--n-best", 2, stdin="one\n\nseven fünf\n".encode())
    found = [json.loads(line) for line in ended.out.splitlines()]
    assert [entry["line"] for entry in found] == [1, 2, 3]
    assert [entry["source"] for entry in found] == ["one", "", "seven fünf"]
    assert [len(entry["answers"]) for entry in found] == [2, 1, 2]
    assert found[0]["answers"][0]["text"] == "eins"
    assert found[2]["unseen"] == ["seven", "fünf"]
    assert ended.err == ""


def test_what_was_never_seen_is_told_on_the_side(trained, antiphon):
    ended = antiphon("predict", trained, stdin=b"one\nseven one eight\n")
    assert ended.code == 0
    assert len(ended.out.splitlines()) == 2
    assert ended.err == "line 2: never seen in training: seven eight\n"


def test_many_strange_lines_are_summed_up(trained, antiphon):
    ended = antiphon("predict", trained, stdin=b"seven\n" * 8)
    assert ended.err.count("never seen in training: ") == 5
    assert ended.err.endswith("8 of 8 lines hold symbols never seen in training.\n")


def test_draws_are_the_same_whatever_stands_around_them(trained, antiphon):
    options = ("--sample", "--seed", 3, "--temperature", 2.0, "--top-k", 5)
    whole = antiphon("predict", trained, *options, stdin=b"one two\n" * 6).out
    assert whole == antiphon("predict", trained, *options, stdin=b"one two\n" * 6).out
    assert len(set(whole.splitlines())) > 1
    assert whole != antiphon("predict", trained, *options[:2], 4, *options[3:], stdin=b"one two\n" * 6).out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--beam", "0"], "search.beam: 0 is not allowed: at least 1, at most 1000"),
        (["--n-best", "9", "--beam", "5"], "search: n_best 9 is more than beam 5 can give: raise beam"),
        (["--top-p", "2"], "search.top_p: 2.0 is not allowed: above 0, at most 1"),
        (["--temperature", "0"], "search.temperature: 0.0 is not allowed: above 0"),
        (["--max-length", "-3"], "search.max_length: -3 is not allowed: at least 1"),
        (["--length-exponent", "nan"], "search.length_exponent: nan is not allowed: give a finite number"),
    ],
)
def test_a_wrong_value(trained, antiphon, options, message):
    ended = antiphon("predict", trained, *options, stdin=b"one\n")
    assert (ended.code, ended.out, ended.err) == (2, "", f"antiphon: {message}\n")


def test_a_too_long_line(trained, antiphon):
    ended = antiphon("predict", trained, "--max-source", 25, stdin=b"one\n" + b"one " * 30 + b"\n")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        "antiphon: line 2: 30 symbols, and this model reads at most 25. "
        "Split the text, or raise search.max_source where memory allows.\n"
    )


def test_a_line_of_a_file_is_named_by_both(trained, antiphon, tmp_path):
    file = tmp_path / "in.txt"
    file.write_text("one\nseven\n" + "one\n" * 998 + "one " * 30 + "\n")
    reason = (
        "30 symbols, and this model reads at most 25. Split the text, or raise search.max_source where memory allows.\n"
    )
    ended = antiphon("predict", trained, file, "--max-source", 25)
    assert ended.code == 2
    assert ended.err == f"{file}:2: never seen in training: seven\nantiphon: {file}:1001: {reason}"


def test_a_line_without_a_vector_is_named_by_its_file(trained, antiphon, tmp_path):
    file = tmp_path / "in.txt"
    file.write_text("one\n" + "one " * 1025 + "\n")
    ended = antiphon("predict", trained, file, "--embed")
    assert ended.err.startswith(f"antiphon: {file}:2: 1,025 symbols, and this model reads at most 1,024. ")


def test_bad_utf8_by_file_and_line(trained, antiphon, tmp_path):
    (tmp_path / "in.txt").write_bytes(b"one\ntw\xff\n")
    ended = antiphon("predict", trained, tmp_path / "in.txt")
    assert ended.code == 2
    assert ended.err == (
        f"antiphon: {tmp_path / 'in.txt'}:2: not UTF-8 (byte 3 of the line). If it is Latin-1: iconv -f LATIN1 -t UTF-8\n"
    )


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("none.txt", None, "No such file or directory"),
        ("cut.gz", gzip.compress(b"one\n" * 99, mtime=0)[:-9], "not a whole gzip file"),
        ("text.gz", b"one\n", "not a whole gzip file"),
        ("", None, "Is a directory"),
    ],
)
def test_a_file_that_cannot_be_read(trained, antiphon, tmp_path, name, content, reason):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    ended = antiphon("predict", trained, tmp_path / name)
    assert (ended.code, ended.err) == (2, f"antiphon: {tmp_path / name}: cannot be read: {reason}.\n")


def test_8_bit_weights_give_the_same_answers_here(trained, antiphon, expected, monkeypatch):
    monkeypatch.setattr("antiphon.api.quantize", lambda model: quantize(model, narrowest=1))
    ended = antiphon("predict", trained, "--int8", stdin=b"one\ntwo\nsix five\n")
    assert (ended.code, ended.out.splitlines(), ended.err) == (0, expected, "")


def test_8_bit_weights_are_refused_where_they_gain_nothing(trained, antiphon):
    ended = antiphon("predict", trained, "--int8", stdin=b"one\n")
    assert (ended.code, ended.err) == (
        2,
        f"antiphon: int8: {trained} has no product that is large enough to gain by it: half a million weights that "
        "read 512 numbers or more. Leave it out.\n",
    )


def test_confidence_before_each_answer(trained, antiphon, expected):
    lines = antiphon("predict", trained, "--confidence", stdin=b"one\ntwo\nsix five\n\n").out.splitlines()
    assert [line.split("\t")[1] for line in lines] == [*expected, ""]
    assert all(0 < float(line.split("\t")[0]) <= 1 for line in lines)
    both = antiphon("predict", trained, "--confidence", "--scores", stdin=b"one\n").out.split("\t")
    assert len(both) == 3
    assert both[1] == lines[0].split("\t")[0]
    listed = antiphon("predict", trained, "--confidence", "--n-best", 2, stdin=b"one\n").out.splitlines()
    assert [len(line.split("\t")) for line in listed] == [4, 4]


def test_confidence_as_json(trained, antiphon):
    ended = antiphon("predict", trained, "--confidence", "--json", "--n-best", 2, stdin=b"six five\n")
    content = json.loads(ended.out)
    for answer in content["answers"]:
        assert {"confidence", "probability", "words", "warnings"} <= set(answer)
        assert [word["text"] for word in answer["words"]] == answer["symbols"]
    assert "abstained" not in content
    assert "confidence" not in json.loads(antiphon("predict", trained, "--json", stdin=b"six\n").out)["answers"][0]


def test_an_answer_that_is_not_sure_enough_is_an_empty_line(trained, antiphon, expected):
    asked = b"one\ntwo\nsix five\n"
    assert antiphon("predict", trained, "--min-confidence", 0, stdin=asked).out.splitlines() == expected
    ended = antiphon("predict", trained, "--min-confidence", 1, stdin=asked + b"\n")
    assert ended.out == "\n\n\n\n"
    assert ended.err == "No answer for 3 of 4 lines; the first reason of each: low confidence 3.\n"
    content = [
        json.loads(line)
        for line in antiphon("predict", trained, "--min-confidence", 1, "--json", stdin=b"one\n\n").out.splitlines()
    ]
    sure = content[0]["answers"][0]["confidence"]
    assert (content[0]["abstained"], content[0]["reason"]) == (True, f"low confidence: {sure:.4f} is less than 1")
    assert content[0]["answers"][0]["text"] == "eins"
    assert (content[1]["abstained"], content[1]["reason"]) == (False, "")


def test_line_n_is_still_line_n_where_several_answers_are_asked_for(trained, antiphon):
    ended = antiphon("predict", trained, "--min-confidence", 1, "--n-best", 3, stdin=b"one\ntwo\n")
    assert [line.split("\t")[0] for line in ended.out.splitlines()] == ["1", "2"]
    assert all(line.endswith("\t") for line in ended.out.splitlines())


@pytest.mark.parametrize("least", ["1.5", "-0.1", "nan"])
def test_a_confidence_that_is_no_probability(trained, antiphon, least):
    ended = antiphon("predict", trained, "--min-confidence", least, stdin=b"one\n")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == f"antiphon: --min-confidence {least}: a probability is needed. Give a number from 0 to 1.\n"


def test_a_model_without_a_calibration_says_so(run_folder, antiphon):
    (run_folder / "report.json").unlink()
    ended = antiphon("predict", run_folder, "--confidence", stdin=b"one\n")
    assert ended.code == 0
    assert ended.err == (
        f"{run_folder}: not calibrated, so confidence is the model's own. Train it further: that calibrates it.\n"
    )


def test_every_flag_of_search(trained, antiphon, tmp_path):
    (tmp_path / "terms.tsv").write_text("two\tdrei\n")
    (tmp_path / "answers.txt").write_text("eins zwei\n\nvier\n")

    def lines(*options, stdin=b"one\ntwo six\n"):
        ended = antiphon("predict", trained, *options, stdin=stdin)
        assert (ended.code, ended.err) == (0, "")
        return ended.out.splitlines()

    assert all(line.startswith("vier drei") for line in lines("--prefix", "vier drei"))
    assert all("vier vier" in line and "eins" in line for line in lines("--contain", "vier vier", "--contain", "eins"))
    assert not any("ei" in line for line in lines("--avoid", "ei", "--avoid", "vier"))
    assert "drei" in lines("--glossary", tmp_path / "terms.tsv")[1]
    assert set(lines("--answers", tmp_path / "answers.txt")) <= {"eins zwei", "vier"}
    assert len({line.split("\t")[2] for line in lines("--groups", 3, "--n-best", 3, stdin=b"one\n")}) == 3
    for options in (
        ("--length-penalty", "gnmt", "--length-exponent", 0.6, "--coverage", 0.2), ("--no-repeat", 2, "--max-repeats", 1),
        ("--sample", "--min-p", 0.5), ("--mbr", "chrf"), ("--sample", "--mbr", "bleu", "--draws", 4),
        ("--with", trained, "--with", trained), ("--beam", 4, "--groups", 2, "--diversity", 1.0),
        ("--keep", "eins"),
    ):  # fmt: skip
        assert len(lines(*options)) == 2


def test_a_model_with_itself_is_itself_and_with_itself_backwards_too(trained, antiphon, expected):
    for options in (("--with", trained), ("--reverse", trained, "--reverse-weight", 0.0)):
        ended = antiphon("predict", trained, *options, stdin=b"one\ntwo\nsix five\n")
        assert ended.out.splitlines() == expected


def test_a_model_of_answers_is_a_language_model_of_texts(trained, antiphon):
    ended = antiphon("predict", trained, "--model-of-answers", trained, stdin=b"one\n")
    assert (ended.code, ended.err) == (
        2, f"antiphon: model_of_answers: {trained} is a seq2seq, and a language model of texts is needed. "
        "Name such a folder.\n",
    )  # fmt: skip


def test_of_several_models_together_no_confidence_is_known(trained, antiphon):
    ended = antiphon("predict", trained, "--with", trained, "--confidence", stdin=b"one\n")
    assert (ended.code, ended.err) == (
        2, "antiphon: confidence: each model was calibrated by itself, and of several together nothing is known. "
        "Leave one out.\n",
    )  # fmt: skip


def test_models_with_different_target_vocabularies_do_not_write_together(trained, antiphon, tmp_path):
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("a\tb c\nc\td\n" * 20)
    sets = [part for text in SMALL for part in ("--set", text)]
    antiphon("train", "--train", pairs, "--out", tmp_path / "other", *sets, "--set", "train.max_steps=2")
    ended = antiphon("predict", trained, "--with", tmp_path / "other", stdin=b"one\n")
    assert (ended.code, ended.out, ended.err) == (
        2, "", f"antiphon: {tmp_path / 'other'}: its target vocabulary is not that of {trained}, and models that write "
        "together need the same. Train both with the same target texts and data.target.tokenizer.\n",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--beam", "5", "--groups", "2"], "search: beam 5 cannot be divided into 2 groups of the same size: change one"),
        (["--groups", "2", "--contain", "eins"], "search: contain needs the whole beam: leave groups at 1"),
        (["--sample", "--coverage", "0.2"],
         "search: coverage needs beam search, and sample = true draws answers: drop one of them"),
        (["--sample", "--keep", "one"],
         "search: keep needs beam search, and sample = true draws answers: drop one of them"),
        (["--mbr", "chrf", "--beam", "1"], "search: mbr chooses among several answers: raise beam, or set sample = true"),
        (["--min-p", "1"], "search.min_p: 1.0 is not allowed: at least 0, below 1"),
        (["--contain", "sieben"],
         "line 1: search.contain: 'sieben': this model cannot write sieben: never seen in training. "
         "Spell it otherwise, or leave it out."),
        (["--contain", "eins zwei drei", "--max-length", "3"],
         "line 1: an answer with 'eins zwei drei' takes at least 4 symbols, its end counted, and 3 are allowed. "
         "Raise search.max_length where the model can, or ask for less."),
    ],
)  # fmt: skip
def test_a_wrong_wish(trained, antiphon, options, message):
    ended = antiphon("predict", trained, *options, stdin=b"one\n")
    assert (ended.code, ended.out, ended.err) == (2, "", f"antiphon: {message}\n")


@pytest.mark.parametrize(
    ("flag", "content", "message"),
    [
        ("--glossary", "one\n", "{}:1: no TAB. A line of a glossary is a source term, TAB, a target term."),
        ("--answers", "\n \n", "{}: no line in it holds text. Give one text a line."),
        ("--answers", None, "{}: cannot be read: No such file or directory."),
    ],
)
def test_a_wrong_file_of_wishes(trained, antiphon, tmp_path, flag, content, message):
    file = tmp_path / "wishes.txt"
    if content is not None:
        file.write_text(content)
    ended = antiphon("predict", trained, flag, file, stdin=b"one\n")
    assert (ended.code, ended.err) == (2, f"antiphon: {message.format(file)}\n")
