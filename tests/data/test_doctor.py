"""The data report."""

import json

import pytest

from antiphon.data.corpus import Pair, Row, read_rows
from antiphon.data.doctor import Doctor, Report


def report_of(notes=(), **splits):
    doctor = Doctor()
    for split, pairs in splits.items():
        for number, (source, target) in enumerate(pairs, start=1):
            doctor.see(split, Row(Pair(source, target, f"{split}.tsv:{number}"), None, ()))
    return doctor.report(notes)


def found(report, what):
    return [(each.effect, each.split, each.count, each.places) for each in report.findings if each.what == what]


def unlike(count):
    return [(f"s{n}", f"t{n}") for n in range(count)]


def test_clean_data_has_no_findings():
    report = report_of(train=unlike(40), valid=[("v", "w")])
    assert report.findings == ()
    assert [(count.split, count.read, count.kept) for count in report.counts] == [("train", 40, 40), ("valid", 1, 1)]


def test_faults_are_counted_with_their_first_places(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.tsv").write_bytes(b"a\tb\r\n" + b"x\t\n" * 5 + b"\xff\ty\nc\td\te\n")
    doctor = Doctor()
    for row in read_rows(["a.tsv"], [], "data.train"):
        doctor.see("train", row)
    report = doctor.report([])
    assert found(report, "blank target") == [("left out", "train", 5, ("a.tsv:2", "a.tsv:3", "a.tsv:4"))]
    assert found(report, "bad UTF-8") == [("left out", "train", 1, ("a.tsv:7",))]
    assert found(report, "CRLF line ending") == [("mended", "train", 1, ("a.tsv:1",))]
    assert found(report, "more than two columns") == [("noticed", "train", 1, ("a.tsv:8",))]
    assert (report.counts[0].read, report.counts[0].kept) == (8, 2)


def test_duplicates_and_several_targets():
    report = report_of(train=[("a", "b"), ("c", "d"), ("a", "b"), (" a", "b "), ("a", "x"), ("a", "y"), ("c", "d")])
    assert found(report, "duplicate pair") == [("noticed", "train", 3, ("train.tsv:3", "train.tsv:4", "train.tsv:7"))]
    assert found(report, "source with several targets") == [("noticed", "train", 1, ("train.tsv:5",))]


def test_copies():
    report = report_of(train=[*unlike(3), ("same", "same ")])
    assert found(report, "copy of the source") == [("noticed", "train", 1, ("train.tsv:4",))]


def test_length_outliers_are_measured_against_the_usual_ratio():
    usual = [(f"{n:03}" * 10, f"{n:03}" * 30) for n in range(40)]
    report = report_of(train=[*usual, ("q" * 10, "r" * 300), ("s" * 90, "t" * 29), ("u", "v" * 29)])
    assert found(report, "unusual length ratio") == [("noticed", "train", 2, ("train.tsv:41", "train.tsv:42"))]


def test_overlap_is_a_warning():
    train = [("a", "b"), ("c", "d"), ("e", "f")]
    report = report_of(train=train, valid=[("c", "d"), ("a", "other"), ("n", "m")], test=[("e", "f")])
    assert found(report, "pair that is trained on too") == [
        ("warning", "valid", 1, ("valid.tsv:1",)),
        ("warning", "test", 1, ("test.tsv:1",)),
    ]
    assert found(report, "source that is trained on too")[0] == ("warning", "valid", 2, ("valid.tsv:1", "valid.tsv:2"))


def test_shifted_stretch_is_a_warning():
    words = [(f"{n}" + "x" * (n * 7919 % 97), f"{n}" + "y" * (n * 7919 % 97 * 3 // 2)) for n in range(400)]
    targets = [target for _, target in words]
    del targets[150]
    report = report_of(train=list(zip([source for source, _ in words], targets, strict=False)))
    [(effect, split, count, (place,))] = found(report, "looks shifted: target 1 line early")
    assert (effect, split) == ("warning", "train")
    first, last = map(int, place.removeprefix("train.tsv:").split("-"))
    assert abs(first - 150) < 60
    assert last > 370
    assert count == last - first + 1


def test_the_same_file_twice_keeps_its_line_numbers():
    doctor = Doctor()
    for number in (1, 2, 1, 2):
        doctor.see("train", Row(Pair("a", "b", f"x.tsv:{number}"), None, ()))
    assert [doctor.charts["train"].place(index) for index in range(4)] == ["x.tsv:1", "x.tsv:2", "x.tsv:1", "x.tsv:2"]


def test_a_report_survives_json():
    report = report_of(train=[("a", "b"), ("a", "b")], valid=[("a", "b")], notes=["a note"])
    assert Report.from_dict(json.loads(json.dumps(report.to_dict()))) == report


def test_lines_for_people():
    doctor = Doctor()
    for number in range(1, 1301):
        fault = "blank target" if number > 1295 else None
        doctor.see(
            "train", Row(Pair(f"s{number // 2}", "" if fault else f"t{number // 2}", f"a.tsv:{number}"), fault, ())
        )
    doctor.see("valid", Row(Pair("s7", "t7", "b.tsv:1"), None, ()))
    doctor.held_out = {0, 1}
    assert doctor.report(["source: 9 words"]).lines() == [
        "train  1,300 read  1,293 kept  5 left out  2 held out  a.tsv",
        "valid      1 read      1 kept  0 left out              b.tsv",
        "warning   valid  pair that is trained on too      1  b.tsv:1",
        "warning   valid  source that is trained on too    1  b.tsv:1",
        "left out  train  blank target                     5  a.tsv:1296, a.tsv:1297, a.tsv:1298, ...",
        "noticed   train  duplicate pair                 647  a.tsv:3, a.tsv:5, a.tsv:7, ...",
        "source: 9 words",
    ]


@pytest.mark.parametrize("rows", [1, 5_000])
def test_memory_a_pair_is_small(rows):
    doctor = Doctor()
    for number in range(1, rows + 1):
        doctor.see("train", Row(Pair(f"source {number}" * 9, "target" * 9, f"a.tsv:{number}"), None, ()))
    chart = doctor.charts["train"]
    parts = (chart.sources, chart.pairs, chart.source_lengths, chart.target_lengths)
    assert sum(part.itemsize * len(part) for part in parts) + len(chart.kept) == 25 * rows
