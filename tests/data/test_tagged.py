import json

import pytest

from antiphon.config.schema import Spelled, Subwords, Words
from antiphon.data.rows import encode_tagged
from antiphon.data.spelled import learn_spelled
from antiphon.data.tagged import Tagged
from antiphon.data.tokenize import learn, load_tokenizer, save_tokenizer
from antiphon.data.vocab import END, START, UNKNOWN
from antiphon.errors import AntiphonError

CONLLU = """\
# sent_id = 1
# text = vámonos al mar
1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tvamos\tir\tVERB\tV\t_\t0\troot\t_\t_
2\tnos\tnosotros\tPRON\tP\t_\t1\tobj\t_\t_
2.1\tghost\t_\tX\t_\t_\t_\t_\t_\t_

1\t10 000\t10\tNUM\tN\t_\t0\troot\t_\t_
"""


def rows(tmp_path, text, *columns):
    (tmp_path / "f").write_text(text)
    found = Tagged(columns).read(str(tmp_path / "f"), "data.train")
    return [(row.pair.source, row.pair.target, row.pair.place.rpartition(":")[2], row.fault) for row in found]


def test_conllu_without_comments_ranges_and_unwritten_words(tmp_path):
    assert rows(tmp_path, CONLLU) == [("vamos nos", "VERB PRON", "4", None), ("10_000", "NUM", "8", None)]


def test_a_column_can_be_chosen(tmp_path):
    assert [row[1] for row in rows(tmp_path, CONLLU, 2, 8)] == ["root obj", "root"]


def test_plain_conll_has_the_word_first_and_the_tag_last(tmp_path):
    text = "-DOCSTART- -X- O\n\nEU NNP B-ORG\nrejects VBZ O\n\n\n#\tNN\tO\nhash\tNN\tO\n"
    assert rows(tmp_path, text) == [("EU rejects", "B-ORG O", "3", None), ("# hash", "O O", "7", None)]


def test_a_missing_column_names_its_line(tmp_path):
    text = "a\tX\nb\nc\tX\n\nd\tX\n"
    assert rows(tmp_path, text) == [("a c", "X X", "2", "missing column"), ("d", "X", "5", None)]


def test_columns_are_counted_by_most_lines(tmp_path):
    """A shorter line would give another column as its tag; of a longer one the usual column is taken."""
    text = "EU NNP I B-ORG\nsees NN O\nit PRP I O more\n\nso RB I O\n"
    assert rows(tmp_path, text) == [("EU it", "B-ORG O", "2", "missing column"), ("so", "O", "5", None)]
    assert rows(tmp_path, CONLLU + "2\tAP\tAP\n")[1] == ("10_000", "NUM", "9", "missing column")


def test_a_word_may_begin_with_a_hash(tmp_path):
    text = "# sent_id = 1\n# a comment of words\n#winning O\n# O\n1 X\n"
    assert rows(tmp_path, text) == [("#winning # 1", "O O X", "3", None)]


def test_a_blank_tag_is_a_fault(tmp_path):
    assert rows(tmp_path, "a\tX\nb\t \n")[0][3] == "word without a tag"


def test_json_lines(tmp_path):
    lines = [{"words": ["a b", "c"], "tags": ["X", "Y"]}, {"words": ["a"], "tags": ["X", "Y"]}, {"words": "a"}]
    found = rows(tmp_path, "".join(json.dumps(line) + "\n" for line in lines) + "{\n")
    assert found[0][:2] == ("a_b c", "X Y")
    assert [row[3] for row in found] == [None, "not a tag for each word", "no words or tags key", "invalid JSON"]


def test_line_aligned_tags(tmp_path):
    (tmp_path / "a").write_text("one two\nthree\n")
    (tmp_path / "b").write_text("X Y\nX Y\n")
    found = list(Tagged().read_aligned(str(tmp_path / "a"), str(tmp_path / "b"), "k"))
    assert [row.fault for row in found] == [None, "not a tag for each word"]


def test_blank_files_are_refused(tmp_path):
    with pytest.raises(AntiphonError, match="holds no sentences, only blank lines"):
        rows(tmp_path, "\n\n")


def test_a_tag_stands_at_the_first_symbol_of_its_word():
    spelled = learn_spelled(10, 10, ["ab c"])
    ids, tags = encode_tagged(spelled, "ab c", [7, 8])
    assert tags == [7, START, START, 8, START]
    assert len(ids) == 5
    subwords = learn(Subwords(size=300), ["hello hello"] * 20)
    ids, tags = encode_tagged(subwords, "hello Ω", [7, 8])
    assert len(ids) == len(tags)
    assert [tag for tag in tags if tag != START] == [7, 8]
    assert encode_tagged(learn(Words(), ["a"]), "", []) == ([], [])


def test_spelled_words_are_known_by_name_and_by_letters(tmp_path):
    spelled = learn_spelled(1, 3, ["aab aab c"])
    known, unknown = spelled.encode("aab"), spelled.encode("ca")
    assert known[0] > UNKNOWN
    assert unknown[0] == UNKNOWN
    assert spelled.decode([*known, *unknown, END]) == "aab ca"
    assert spelled.words([*known, *unknown, END]) == [4, 3, 1]
    assert spelled.pieces(spelled.encode("ax")) == ["<unk>", "a", "<unk>"]
    assert spelled.unknown("ax z") == ["x", "z"]
    save_tokenizer(spelled, tmp_path, "source")
    assert load_tokenizer(tmp_path, "source", Spelled()) == spelled
