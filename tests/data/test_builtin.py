"""The demo's dates are real, different, unmistakable and never shared; dictionaries are read with care."""

import gzip
import os
import unicodedata
from datetime import date, timedelta
from pathlib import Path

import pytest

from antiphon.data import builtin
from antiphon.data.builtin import FORMATS, LOCALES, dates, read_dictionary, read_pronunciations, write_date
from antiphon.errors import AntiphonError

CMUDICT = (
    Path(os.environ.get("ANTIPHON_DATA", Path(__file__).parents[3] / "shared" / "data")) / "cmudict" / "cmudict.dict.gz"
)


@pytest.mark.parametrize(
    ("code", "form", "written"),
    [
        ("fr", "full", "fr mardi 3 mars 1987"),
        ("en_US", "short", "en_US 3/3/87"),
        ("en_GB", "short", "en_GB 03/03/1987"),
        ("hu", "long", "hu 1987. március 3."),
        ("ja", "full", "ja 1987年3月3日火曜日"),
        ("ru", "medium", "ru 3 мар. 1987 г."),
        ("mr", "short", "mr ३/३/८७"),
        ("my", "long", "my ၁၉၈၇ မတ် ၃"),
        ("bn", "short", "bn ৩/৩/৮৭"),
        ("fa", "short", "fa ۱۹۸۷/۳/۳"),
        ("ar_EG", "short", "ar_EG ٣\u200f/٣\u200f/١٩٨٧"),
    ],
)
def test_a_date_is_written_with_the_words_order_and_numerals_of_its_place(code: str, form: str, written: str) -> None:
    assert write_date(date(1987, 3, 3), code, form) == written


def test_there_are_many_locales_and_scripts() -> None:
    assert len(set(LOCALES)) == len(LOCALES) >= 30
    texts = "".join(write_date(date(1987, 3, 3), code, "full") for code in LOCALES)
    scripts = {unicodedata.name(char).split()[0] for char in texts if char.isalpha()}
    assert {"LATIN", "GREEK", "CYRILLIC", "HEBREW", "ARABIC", "DEVANAGARI", "THAI", "CJK", "HANGUL"} <= scripts


def test_no_text_means_two_dates() -> None:
    # Day, month and year are most alike among the first days of the first years; one leap year has every day and
    # month, and one day of each year every year.
    alike = [date(2000 + year, month, day) for year in range(1, 9) for month in range(1, 13) for day in range(1, 9)]
    leap_year = [date(2000, 1, 1) + timedelta(day) for day in range(366)]
    every_year = [date(year, 12, 31) for year in range(1950, 2050)]
    for code in LOCALES:
        meanings: dict[str, date] = {}
        for day in alike + leap_year + every_year:
            for form in FORMATS:
                text = write_date(day, code, form)
                assert meanings.setdefault(text, day) == day, text


def test_the_days_are_one_century() -> None:
    last = builtin.FIRST_DAY + timedelta(builtin.DAYS - 1)
    assert (builtin.FIRST_DAY, last) == (date(1950, 1, 1), date(2049, 12, 31))


def test_dates_come_in_the_numbers_asked_for_all_different_and_ready_for_the_tokenizer() -> None:
    demo = dates(train=3000, valid=200, test=300, seed=1)
    assert [len(part) for part in (demo.train, demo.valid, demo.test)] == [3000, 200, 300]
    sources = [source for part in (demo.train, demo.valid, demo.test) for source, _ in part]
    assert len(set(sources)) == len(sources)
    assert {source.split()[0] for source in sources} == set(LOCALES)
    for source in sources:
        assert source == " ".join(unicodedata.normalize("NFC", source).split())


def test_a_date_that_is_tested_was_never_seen_in_any_language() -> None:
    demo = dates(train=20_000, valid=1000, test=1000, seed=7)
    train, valid, test = ({target for _, target in part} for part in (demo.train, demo.valid, demo.test))
    assert not train & (valid | test)
    assert not valid & test
    assert all(date.fromisoformat(target).year in range(1950, 2050) for target in train | valid | test)


def test_the_seed_decides_everything() -> None:
    assert dates(50, 10, 10, seed=3) == dates(50, 10, 10, seed=3)
    assert dates(50, 10, 10, seed=3) != dates(50, 10, 10, seed=4)


@pytest.mark.parametrize("count", [-1, 138_776 + 1])
def test_numbers_that_cannot_be_met_are_refused(count: int) -> None:
    with pytest.raises(AntiphonError) as error:
        dates(10, 10, count, seed=1)
    assert str(error.value) == f"dates: {count} pairs for test cannot be made. Ask for 0 to 138776."


DICTIONARY = """\ufeff;;; a comment
cat K AE1 T
READ  R EH1 D
read(2) R IY1 D
read(3) R EH0 D
aalto AA1 L T OW2 # name, finnish

a.m. EY1 EH1 M
don't\tD OW1 N T
"""


@pytest.mark.parametrize("name", ["words.dict", "words.dict.gz"])
def test_a_dictionary_is_read_plain_or_zipped(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    data = DICTIONARY.replace("\n", "\r\n").encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    assert read_dictionary(path) == (
        {"cat": ["K AE T"], "read": ["R EH D", "R IY D"], "aalto": ["AA L T OW"], "don't": ["D OW N T"]},
        1,
    )


def test_a_table_of_another_language_keeps_its_letters_and_digits(tmp_path: Path) -> None:
    path = tmp_path / "words.tsv"
    path.write_text("fête\tf ɛ t\nमार्च\tm aː r tʃ\n媽\tm a 1\n", encoding="utf-8")
    assert read_dictionary(path) == ({"fête": ["f ɛ t"], "मार्च": ["m aː r tʃ"], "媽": ["m a 1"]}, 0)


def test_the_first_pronunciation_is_the_target_and_md5_parts_the_words(tmp_path: Path) -> None:
    path = tmp_path / "words.dict"
    path.write_text("".join(f"{word} {word.upper()}1\n{word}(2) X\n" for word in ("abaco", "two", "cat", "dog")))
    # By hand: md5("abaco") % 20 is 0, md5("two") % 20 is 1, of the others 12 and 5.
    demo = read_pronunciations(path)
    assert (demo.test, demo.valid) == ([("abaco", "ABACO")], [("two", "TWO")])
    assert demo.train == [("cat", "CAT"), ("dog", "DOG")]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none", None, "{path}: no such file. Name a pronunciation dictionary, plain or .gz."),
        ("empty", b"", "{path}: no words in it. A line is a word, a space or TAB, its phones."),
        ("comments", b";;; only\n\n", "{path}: no words in it. A line is a word, a space or TAB, its phones."),
        ("few", b"cat K AE1 T\n", "{path}: too few usable words (1) to hold some out for validation and test."
         " Give a dictionary of a few hundred words or more."),
        ("one", b"cat K AE1 T\ndog\n", "{path}:2: 'dog' is not a word and its phones."
         " Separate the two by one space or TAB."),
        ("three", b"cat\tK AE T\tnoun\n", "{path}:1: 'cat\\tK AE T\\tnoun' is not a word and its phones."
         " Separate the two by one space or TAB."),
        ("wordless", b"(2) K AE1 T\n", "{path}:1: '(2) K AE1 T' is not a word and its phones."
         " Separate the two by one space or TAB."),
        ("latin1", b"cat K AE1 T\nd\xe9j\xe0 D EY Z AA\n", "{path}:2: not UTF-8 (invalid continuation byte)."
         " Save the file as UTF-8."),
        ("plain.gz", b"cat K AE1 T\n", "{path}: cannot be read (Not a gzipped file (b'ca'))."),
        ("cut.gz", gzip.compress(b"cat K AE1 T\n" * 999, mtime=0)[:-12], "{path}: cannot be read (Compressed file ended"
         " before the end-of-stream marker was reached)."),
    ],
)  # fmt: skip
def test_a_bad_dictionary_is_refused_with_a_reason(
    tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(AntiphonError) as error:
        read_pronunciations(path)
    assert str(error.value) == message.format(path=path)


def test_a_folder_is_no_dictionary(tmp_path: Path) -> None:
    with pytest.raises(AntiphonError) as error:
        read_pronunciations(tmp_path)
    assert str(error.value) == f"{tmp_path}: cannot be read (Is a directory)."


@pytest.mark.skipif(not CMUDICT.is_file(), reason="the CMU dictionary is not here")
def test_the_whole_cmu_dictionary() -> None:
    demo = read_pronunciations(CMUDICT)
    assert (len(demo.train), len(demo.valid), len(demo.test), demo.left_out) == (112_359, 6_269, 6_298, 1_126)
    assert ("abacus", "AE B AH K AH S") in demo.test
    words = [word for part in (demo.train, demo.valid, demo.test) for word, _ in part]
    assert set("".join(words)) == set("abcdefghijklmnopqrstuvwxyz'")
    phones = {phone for _, target in demo.train for phone in target.split()}
    assert len(phones) == 39
