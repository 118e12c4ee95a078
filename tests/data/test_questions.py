"""Questions out of files, in every layout; what is wrong with one, and what the report says of it."""

import gzip
import json

import pytest

from antiphon.config.schema import Data, Run, Side, Spans, Words
from antiphon.data.corpus import Pair
from antiphon.data.passages import IN_NO_WINDOW, LONG_QUESTION, cut_windows, encode_passages, symbols_at
from antiphon.data.prepare import prepare
from antiphon.data.questions import Gold, Questions, part, read_golds, write_golds
from antiphon.data.tokenize import learn
from antiphon.data.vocab import END
from antiphon.errors import AntiphonError

PARAGRAPH = "Ada wrote the first programme in 1843."


def squad(*questions: dict, context: str = PARAGRAPH) -> str:
    return json.dumps(
        {"version": "v2.0", "data": [{"title": "x", "paragraphs": [{"context": context, "qas": questions}]}]}
    )


def asked(question="Who wrote it?", text="Ada", start=0, name="a", **more) -> dict:
    return {"question": question, "id": name, "answers": [{"text": text, "answer_start": start}], **more}


def rows(tmp_path, text, no_answer=True, name="f.json", placed=True):
    (tmp_path / name).write_text(text, "utf-8")
    found = Questions(no_answer, placed).read(str(tmp_path / name), "data.train")
    return [
        (
            row.pair.source,
            [(gold.text, gold.start) for gold in read_golds(row.pair.target or "[]")],
            row.fault,
            row.name,
        )
        for row in found
    ]


def test_squad(tmp_path):
    text = squad(
        asked(), asked("When?", "1843", 33, "b"), {"question": "Why?", "id": "c", "answers": [], "is_impossible": True}
    )
    assert rows(tmp_path, text) == [
        (f"Who wrote it?\t{PARAGRAPH}", [("Ada", 0)], None, "a"),
        (f"When?\t{PARAGRAPH}", [("1843", 33)], None, "b"),
        (f"Why?\t{PARAGRAPH}", [], None, "c"),
    ]
    assert rows(tmp_path, text, no_answer=False)[2][2] == "no answer"


def test_what_is_impossible_has_no_answer_however_plausible(tmp_path):
    assert rows(tmp_path, squad(asked(is_impossible=True)))[0][1:3] == ([], None)


def test_faults(tmp_path):
    text = squad(
        asked(start=1), asked(" ", name="b"), asked(name="a"), {"id": "c"}, asked(text="Bob", name="d"), asked(text=" ", name="e"),
    )  # fmt: skip
    assert [fault for _, _, fault, _ in rows(tmp_path, text)] == [
        "answer not at its place in the paragraph", "blank question", "duplicate id", "no question or context key",
        "answer not at its place in the paragraph", None,
    ]  # fmt: skip
    assert rows(tmp_path, squad(asked(), context=" \n"))[0][2] == "blank paragraph"
    assert rows(tmp_path, squad(asked(start=1)), placed=False)[0][2] is None
    assert rows(tmp_path, '{"data": [{}, {"paragraphs": [3]}]}')[0][2] == "no question or context key"


def test_json_lines_in_every_layout(tmp_path):
    lines = [
        {"question": "Who?", "context": PARAGRAPH, "answers": [{"text": "Ada", "answer_start": 0}], "id": 7},
        {"question": "Who?", "context": PARAGRAPH, "answers": {"text": ["Ada", "first"], "answer_start": [0, 14]}},
        {"question": "Who\t?", "context": PARAGRAPH, "answers": {"text": "Ada", "answer_start": 0}},
        {"question": "Who?", "context": PARAGRAPH, "answers": ["Ada", "in"]},
        {"question": "Who?", "context": "A\tb\nc", "answers": "b\nc"},
        {"question": "Who?", "context": PARAGRAPH, "answers": ["Eve"]},
        {"question": "Who?", "context": PARAGRAPH, "answers": 3},
    ]
    found = rows(tmp_path, "\n".join(map(json.dumps, lines)) + "\nnot json\n", name="f.jsonl")
    assert [(golds, fault, name) for _, golds, fault, name in found] == [
        ([("Ada", 0)], None, "7"), ([("Ada", 0), ("first", 14)], None, ""), ([("Ada", 0)], None, ""),
        ([("Ada", 0), ("in", 30)], None, ""), ([("b\nc", 2)], None, ""),
        ([("Eve", -1)], "answer not at its place in the paragraph", ""), ([], "no question or context key", ""),
        ([], "invalid JSON", ""),
    ]  # fmt: skip
    assert found[2][0] == f"Who ?\t{PARAGRAPH}"
    assert part(found[4][0]) == ("Who?", "A\tb\nc")


def test_marks_and_gzip_change_no_character(tmp_path):
    with gzip.open(tmp_path / "f.json.gz", "wb") as file:
        file.write(b"\xef\xbb\xbf" + squad(asked(context="x"), context="Ada\u2028\ufeff!").encode())
    (row,) = Questions(no_answer=True).read(str(tmp_path / "f.json.gz"), "k")
    assert (row.pair.source, row.fault) == ("Who wrote it?\tAda\u2028\ufeff!", None)


@pytest.mark.parametrize("text", ['{"a": 1}', "[]", "question\tparagraph\n", "{}\n{}\n", '{"data": 3}'])
def test_what_is_no_file_of_questions_is_refused(tmp_path, text):
    with pytest.raises(AntiphonError) as caught:
        rows(tmp_path, text)
    assert str(caught.value) == (
        f"data.train: {tmp_path / 'f.json'} holds no questions. A file of questions is SQuAD's JSON (v1.1 or v2.0: data, "
        'paragraphs, qas), or JSONL with "question", "context" and "answers".'
    )


def test_what_is_empty_or_not_utf8_is_refused(tmp_path):
    with pytest.raises(AntiphonError, match=r"f.json is empty. Is it the right file\?"):
        rows(tmp_path, " \n")
    (tmp_path / "g.json").write_bytes(b'{"data": "\xff"}')
    with pytest.raises(
        AntiphonError, match=r"g.json is not UTF-8 \(byte 11\). If it is Latin-1: iconv -f LATIN1 -t UTF-8"
    ):
        list(Questions(no_answer=True).read(str(tmp_path / "g.json"), "data.train"))


def test_windows_by_hand():
    question, paragraph = [4, 5], list(range(10, 20))
    (whole,) = cut_windows(question, paragraph, 13, 0)
    assert (whole.ids, whole.end, whole.first, whole.last) == ([4, 5, END, *paragraph], 2, 0, 10)
    windows = cut_windows(question, paragraph, 8, 3)  # five symbols at a time
    assert [(one.first, one.last) for one in windows] == [(0, 5), (3, 8), (6, 10)]
    assert windows[1].ids == [4, 5, END, 13, 14, 15, 16, 17]
    assert [one.first for one in cut_windows(question, paragraph, 8, 8)] == [0, 5]  # never farther than what is read
    assert [one.first for one in cut_windows(question, paragraph, 8, 0)] == [0, 4, 8]  # half of what is read
    assert cut_windows([4] * 5, paragraph, 9, 0) == []


def test_an_answer_stands_on_symbols():
    places = [(0, 3), (3, 3), (4, 8), (8, 9)]
    assert symbols_at(places, 4, 8) == (2, 2)
    assert symbols_at(places, 1, 5) == (0, 2)  # inside of symbols: all of them
    assert symbols_at(places, 3, 4) is None


def encoded(answer, start, no_answer, longest=8, stride=3, question="who is"):
    words = learn(Words(), ["a b c d e f g h i j who is"])
    pair = Pair(f"{question}\ta b c d e f g h i j", write_golds([Gold(answer, start)] if answer else []), "x:1")
    return encode_passages(words, pair, no_answer, longest, stride)


def test_windows_that_hold_the_answer_are_learnt_from():
    found = encoded("d e", 6, no_answer=False)
    assert [ends for _, ends in found.rows] == [[4 + 3 + 3, 4 + 3 + 4], [4 + 3 + 0, 4 + 3 + 1]]
    assert (found.without, found.exact) == (1, True)
    assert [ends for _, ends in encoded("d e", 6, no_answer=True).rows][2] == [4 + 2, 4 + 2]  # the question's end
    assert [ends for _, ends in encoded("", 0, no_answer=True).rows] == [[6, 6]] * 3
    assert not encoded(" d ", 5, no_answer=False).reason


def test_an_answer_in_no_window_is_left_out():
    for no_answer in (False, True):
        assert encoded("a b c d e f", 0, no_answer).reason == IN_NO_WINDOW
    assert encoded("a", 0, no_answer=True, question="who is who is who").reason == LONG_QUESTION


def test_an_answer_inside_a_symbol_is_told():
    words = learn(Words(), ["a"])
    assert not encode_passages(words, Pair("q\tab c", write_golds([Gold("b", 1)]), "x:1"), False, 9, 0).exact


def test_the_report_names_file_and_id(tmp_path):
    questions = [asked(f"Who {n}?", name=f"id{n}") for n in range(30)] + [asked(start=1, name="odd")]
    (tmp_path / "f.json").write_text(squad(*questions[:10], questions[-1]))
    other = squad(*questions[10:-1], context=f"{PARAGRAPH} Again.")
    (tmp_path / "g.json").write_text(other)
    data = Data(train=[str(tmp_path / "f.json"), str(tmp_path / "g.json")], source=Side(tokenizer=Words()))
    run = Run(data=data.model_copy(update={"joint": True}), model=Spans())
    found = prepare(run.data, tmp_path / "tokens", rows=run.rows)
    (left,) = [finding for finding in found.report.findings if finding.effect == "left out"]
    assert (left.what, left.count, left.places) == (
        "answer not at its place in the paragraph", 1, (f"{tmp_path / 'f.json'}:11 (odd)",),
    )  # fmt: skip
    # All questions on a paragraph are held out together, or else the questions themselves are drawn.
    assert found.report.notes[-1] == f"windows: {len(found.train)} for {len(found.train)} training questions"
    assert len(found.valid_pairs) == len(found.valid) == 2
    assert read_golds(found.valid_pairs[0][1]) == [Gold("Ada", 0)]
