"""A study in its file: blinded, resumable, several judges, refused where it is another's."""

import pytest

from antiphon.errors import AntiphonError
from antiphon.evaluate.judgements import Mark
from antiphon.evaluate.study import Study

SOURCES = [f"source {number}" for number in range(20)]
ANSWERS = {name: [f"{name} {number}" for number in range(20)] for name in ("alpha", "beta", "gamma")}


def begin(path, sample=None, seed=1, answers=ANSWERS, references=None):
    return Study.create(path, SOURCES, references, answers, sample, seed)


def test_answers_come_without_names_in_an_order_of_the_judges_own(tmp_path):
    study = begin(tmp_path / "s.db")
    orders = [[study.sheet(judge, number).answers for number in range(20)] for judge in ("ann", "bob", "ann")]
    assert orders[0] == orders[2] != orders[1]
    assert len({tuple(text.split()[0] for text in answers) for answers in orders[0]}) > 3
    for number, answers in enumerate(orders[0]):
        assert sorted(answers) == sorted(lines[number] for lines in ANSWERS.values())


def test_it_goes_on_where_it_ended(tmp_path):
    study = begin(tmp_path / "s.db")
    sheet = study.sheet("ann")
    assert (sheet.number, sheet.marks) == (0, ())
    study.save("ann", 0, [(5, 4, 1), (3, 3, 2), (1, 2, 3)])
    study.close()
    again = begin(tmp_path / "s.db")
    assert (again.sheet("ann").number, again.done("ann"), again.sheet("bob").number) == (1, 1, 0)
    assert again.sheet("ann", 0).marks == ((5, 4, 1), (3, 3, 2), (1, 2, 3))
    assert Study.open(tmp_path / "s.db").marks() == again.marks()


def test_marks_find_their_systems(tmp_path):
    study = begin(tmp_path / "s.db")
    for number in range(20):
        # Who sees alpha's answer gives it the best of everything.
        seen = study.sheet("ann", number).answers
        study.save("ann", number, [(5, 5, 1) if text.startswith("alpha") else (1, 1, 2) for text in seen])
    assert study.sheet("ann") is None
    assert {(mark.system, mark.rank) for mark in study.marks()} == {(0, 1), (1, 2), (2, 2)}


def test_a_second_opinion_replaces_the_first(tmp_path):
    study = begin(tmp_path / "s.db")
    for best in (1, 5):
        study.save("ann", 3, [(best, best, 1)] * 3)
    assert study.marks() == [Mark("ann", 3, system, 5, 5, 1) for system in range(3)]


def test_a_sample_is_drawn_from_its_seed(tmp_path):
    drawn = [begin(tmp_path / f"{number}.db", 5, seed) for number, seed in enumerate((1, 1, 2))]
    sources = [[study.sheet("a", number).source for number in range(5)] for study in drawn]
    assert sources[0] == sources[1] != sources[2]
    assert begin(tmp_path / "all.db", 99).pairs == 20


def test_a_reference_is_shown_where_there_is_one(tmp_path):
    assert begin(tmp_path / "a.db").sheet("ann").reference is None
    assert begin(tmp_path / "b.db", references=[f"r {n}" for n in range(20)]).sheet("ann").reference == "r 0"


def test_a_file_of_something_else_is_refused(tmp_path):
    path = tmp_path / "s.db"
    begin(path).close()
    with pytest.raises(AntiphonError) as caught:
        begin(path, answers=ANSWERS | {"beta": ["x"] * 20})
    assert str(caught.value) == (
        f"{path}: it holds judgements of other answers or pairs. Name another file in --out, "
        f"or go on with those: antiphon judge --out {path}"
    )
    (tmp_path / "text").write_text("no database at all " * 100)
    for name in ("text", "empty"):
        (tmp_path / "empty").touch()
        with pytest.raises(AntiphonError) as caught:
            Study.open(tmp_path / name)
        assert str(caught.value) == f"{tmp_path / name}: not a study of judgements. Name another file in --out."
    with pytest.raises(AntiphonError) as caught:
        Study.open(tmp_path / "none")
    assert str(caught.value).startswith(f"{tmp_path / 'none'}: no such study. Begin one: ")
    with pytest.raises(AntiphonError) as caught:
        begin(tmp_path / "no" / "folder.db")
    assert str(caught.value) == (
        f"{tmp_path / 'no' / 'folder.db'}: cannot be opened (unable to open database file). Name another file in --out."
    )
