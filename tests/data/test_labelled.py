import gzip

import pytest

from antiphon.config.schema import Classifier, Data, Run, Side, Words
from antiphon.data.labelled import Labelled, Layout
from antiphon.data.labels import cut_labels, learn_labels
from antiphon.data.prepare import prepare
from antiphon.data.rows import encode_source, tidy
from antiphon.data.tokenize import learn
from antiphon.data.vocab import END, UNKNOWN
from antiphon.errors import AntiphonError


def layout(tmp_path, text, **how):
    (tmp_path / "f.tsv").write_text(text)
    return Labelled(**how).layout(str(tmp_path / "f.tsv"), "data.train")


def rows(tmp_path, text, name="f.tsv", **how):
    (tmp_path / name).write_text(text)
    reader, path = Labelled(**how), str(tmp_path / name)
    return [(row.pair.source, row.pair.target, row.fault) for row in reader.read(path, "k", reader.layout(path, "k"))]


def test_the_column_with_fewer_values_is_the_label(tmp_path):
    assert layout(tmp_path, "good\ta\nbad\tb\ngood\tc\n") == Layout((1,), 0, usual=2)
    assert layout(tmp_path, "a\tgood\nb\tbad\nc\tgood\n") == Layout((0,), 1, usual=2)
    assert layout(tmp_path, "a\tb\n") == Layout((0,), 1, usual=2)  # nothing tells: as pairs are
    assert layout(tmp_path, "a\tb\tx\nc\td\tx\n", texts=2) == Layout((0, 1), 2, usual=3)


def test_a_known_label_tells_more_than_counts(tmp_path):
    (tmp_path / "f.tsv").write_text("good\tgood film\nbad\tgood film\n")
    found = Labelled().layout(str(tmp_path / "f.tsv"), "k", lambda label: label in ("good", "bad"))
    assert found.label == 0


def test_a_first_word_of_few_is_a_label(tmp_path):
    text = "1 a fine film\n0 no , thanks\n1 yes\n0 dull\n"
    assert rows(tmp_path, text)[:2] == [("a fine film", "1", None), ("no , thanks", "0", None)]
    with gzip.open(tmp_path / "f.gz", "wt") as file:
        file.write(text)
    assert not Labelled().layout(str(tmp_path / "f.gz"), "k").tabs


def test_a_file_without_tabs_shows_its_own_layout(tmp_path):
    (tmp_path / "f.txt").write_text("1 a fine film\n0 no\n1 yes\n0 dull\n")
    found = list(Labelled().read(str(tmp_path / "f.txt"), "k", Layout((1,), 0, usual=2)))
    assert [(row.pair.target, row.fault) for row in found] == [("1", None), ("0", None), ("1", None), ("0", None)]


def test_columns_and_a_header_can_be_named(tmp_path):
    text = "id\tA\tB\tscore\tverdict\n1\tone\ttwo\t4.5\tYES\n2\tthree\t\t1\tNO\n"
    assert rows(tmp_path, text, texts=2, columns=(2, 3, 5), header=True) == [
        ("one\ttwo", "YES", None), ("three\t", "NO", "blank text"),
    ]  # fmt: skip


def test_json_lines(tmp_path):
    text = '{"text": "a\\tb", "label": 1}\n{"text": "c"}\n{"text": "d", "labels": ["x", "y"]}\nnot json\n\n'
    assert rows(tmp_path, text, "f.jsonl") == [
        ("a b", "1", None), ('{"text": "c"}', "", "no text or label key"),
        ('{"text": "d", "labels": ["x", "y"]}', "", "several labels where one is needed"),
        ("not json", "", "invalid JSON"), ("", "", "blank line"),
    ]  # fmt: skip
    assert rows(tmp_path, '{"text": "d", "labels": ["x", "y"]}\n{"text": "e", "labels": []}\n', "f.jsonl", between=";") == [
        ("d", "x;y", None), ("e", "", None),
    ]  # fmt: skip


def test_line_aligned_labels(tmp_path):
    (tmp_path / "a").write_text("one\ttwo\nthree\n")
    (tmp_path / "b").write_text("yes\nno\n")
    found = list(Labelled(texts=2).read_aligned(str(tmp_path / "a"), str(tmp_path / "b"), "k"))
    assert [row.fault for row in found] == [None, "no second text"]
    assert found[0].pair.source == "one\ttwo"


def test_labels_are_a_closed_list_the_most_frequent_first():
    labels = learn_labels("", ["so  so", "good", "good"])
    assert labels.labels == ("good", "so so")
    assert labels.encode(" so so ") == [5]
    assert labels.encode("bad") == [UNKNOWN]
    assert labels.decode([5]) == "so so"
    assert cut_labels(" a, b,a,,", ",") == ["a", "b"]


def test_two_texts_have_an_end_between_them():
    words = learn(Words(), ["a b c"])
    a, b = words.encode("a b")
    assert encode_source(words, "a\tb", "compared") == [a, END, b]
    assert encode_source(words, "a\tb", "labelled") == [a, b]
    assert tidy(" a  b\tc ", "compared") == "a b\tc"


def prepared(tmp_path, train, valid):
    (tmp_path / "t.tsv").write_text(train)
    (tmp_path / "v.tsv").write_text(valid)
    data = {"train": [str(tmp_path / "t.tsv")], "valid": [str(tmp_path / "v.tsv")], "source": Side(tokenizer=Words())}
    run = Run(data=Data(**data), model=Classifier())
    return prepare(run.data, tmp_path / "tokens", rows=run.rows)


def test_a_validation_label_never_seen_is_left_out_and_told(tmp_path):
    found = prepared(tmp_path, "a\tx\nb\ty\nc\tx\n", "a\tx\nd\tz\n")
    assert len(found.valid) == 1
    assert found.valid_pairs == [("a", "x")]
    (left,) = [finding for finding in found.report.findings if finding.effect == "left out"]
    assert (left.what, left.places) == ("label never seen in training", (f"{tmp_path / 'v.tsv'}:2",))
    assert f"labels: a line is text TAB label, found by looking at {tmp_path / 't.tsv'}" in found.report.notes[0]


def test_a_text_with_two_labels_is_a_warning(tmp_path):
    found = prepared(tmp_path, "a\tx\nb\ty\na\ty\nd\tx\n", "a\tx\n")
    assert ("warning", "text with several labels") in {(each.effect, each.what) for each in found.report.findings}


def test_a_label_for_every_text_is_no_label(tmp_path):
    lines = "".join(f"same words\tnumber {n}\n" for n in range(300))
    (tmp_path / "t.tsv").write_text(lines)
    data = Data(train=[str(tmp_path / "t.tsv")], columns=[1, 2], source=Side(tokenizer=Words()))
    run = Run(data=data, model=Classifier())
    with pytest.raises(AntiphonError, match=r"different labels for 300 texts, such as 'number 99'. Is that the column"):
        prepare(run.data, tmp_path / "tokens", rows=run.rows)
