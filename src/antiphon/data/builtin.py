"""The demo's pairs: dates as people of many languages write them, and pronunciations from a dictionary file."""

import gzip
import hashlib
import random
import re
import unicodedata
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import IO, cast

from babel import Locale
from babel.dates import format_date

from antiphon.errors import AntiphonError

Pair = tuple[str, str]

LOCALES = (
    *("en_US", "en_GB", "de", "fr", "es", "it", "pt_BR", "nl", "sv", "fi", "nb", "pl", "cs", "hu", "ro", "tr"),
    *("el", "ru", "uk", "bg", "hy", "ka", "he", "ar_EG", "fa", "hi", "mr", "ne", "bn", "ta", "my", "th"),
    *("ja", "ko", "zh", "vi", "id", "sw"),
)
FORMATS = ("full", "long", "medium", "short")

# One century, so that the two digits of a short year mean one year only.
FIRST_DAY = date(1950, 1, 1)
DAYS = (date(2050, 1, 1) - FIRST_DAY).days

# CLDR's short names of numbering systems beside the names Unicode gives their digits.
_DIGITS = {
    "latn": "",
    "arab": "ARABIC-INDIC ",
    "arabext": "EXTENDED ARABIC-INDIC ",
    "beng": "BENGALI ",
    "deva": "DEVANAGARI ",
    "mymr": "MYANMAR ",
}

# ARPAbet marks stress by a digit after the vowel; other alphabets may have digits for tones and keep them.
_STRESS = re.compile(r"(?<!\S)([A-Z]+)[012](?!\S)")


@dataclass(frozen=True)
class Demo:
    """Pairs in three parts that share nothing, and how many words of the file were not fit for any of them."""

    train: list[Pair]
    valid: list[Pair]
    test: list[Pair]
    left_out: int = 0


def dates(train: int, valid: int, test: int, seed: int) -> Demo:
    """So many different pairs such as `fr mardi 3 mars 1987` and `1987-03-03`; the same for the same seed.

    Nine days of ten are for training, half of the rest for validation, half for the test: a day of one part is in no
    other part, in no language.
    """
    draw = random.Random(seed)  # noqa: S311  (reproducible, not secret)
    days = list(range(DAYS))
    draw.shuffle(days)
    held = DAYS // 20
    return Demo(
        train=_some_dates("training", train, days[2 * held :], draw),
        valid=_some_dates("validation", valid, days[held : 2 * held], draw),
        test=_some_dates("test", test, days[:held], draw),
    )


def _some_dates(part: str, count: int, days: list[int], draw: random.Random) -> list[Pair]:
    # Some formats of a locale coincide; half of all drawings are sure to be different and quick to find by chance.
    most = len(days) * len(LOCALES) * len(FORMATS) // 2
    if not 0 <= count <= most:
        raise AntiphonError(f"dates: {count} pairs for {part} cannot be made. Ask for 0 to {most}.")
    pairs: dict[str, str] = {}
    while len(pairs) < count:
        day = FIRST_DAY + timedelta(draw.choice(days))
        pairs[write_date(day, draw.choice(LOCALES), draw.choice(FORMATS))] = day.isoformat()
    return list(pairs.items())


def write_date(day: date, code: str, form: str) -> str:
    """The date as the locale writes it, in its own numerals, after its code: 03/04/05 is another day elsewhere."""
    locale, numerals = _locale(code)
    text = format_date(day, form, locale).translate(numerals)
    # What the tokenizer would do: narrow and unbreakable spaces become plain ones; direction marks stay.
    return " ".join(unicodedata.normalize("NFC", f"{code} {text}").split())


@cache
def _locale(code: str) -> tuple[Locale, dict[int, str]]:
    """The locale, and what Babel's ASCII digits are to become."""
    locale = Locale.parse(code)
    zero = ord(unicodedata.lookup(_DIGITS[locale.default_numbering_system] + "DIGIT ZERO"))
    return locale, {ord("0") + value: chr(zero + value) for value in range(10)}


def read_pronunciations(path: str | Path) -> Demo:
    """Pairs of a word and its first pronunciation, such as `cat` and `K AE T`, parted by the md5 of the word."""
    words, left_out = read_dictionary(path)
    parts: tuple[list[Pair], list[Pair], list[Pair]] = ([], [], [])
    for word, spoken in words.items():
        slot = int(hashlib.md5(word.encode(), usedforsecurity=False).hexdigest(), 16) % 20
        parts[min(slot, 2)].append((word, spoken[0]))
    test, valid, train = parts
    if not (train and valid and test):
        raise AntiphonError(
            f"{path}: too few usable words ({len(words)}) to hold some out for validation and test."
            " Give a dictionary of a few hundred words or more."
        )
    return Demo(train, valid, test, left_out)


def read_dictionary(path: str | Path) -> tuple[dict[str, list[str]], int]:
    """Every word of letters and apostrophes with all its different pronunciations, and how many other words there were.

    The file is in the format of the CMU dictionary (`word phones`, `;;;` comments, alternatives `word(2)`) or has two
    columns, word TAB phones.
    """
    words: dict[str, list[str]] = {}
    others: set[str] = set()
    for number, line in enumerate(_lines(Path(path)), start=1):
        entry = re.sub(r"\s#.*", "", line).rstrip()
        if not entry or entry.startswith(";;;"):
            continue
        word, _, phones = entry.partition("\t" if "\t" in entry else " ")
        spoken = " ".join(_STRESS.sub(r"\1", phones).split())
        word = unicodedata.normalize("NFC", re.sub(r"\(\d+\)$", "", word.strip()).lower())
        if not word or not spoken or "\t" in phones:
            raise AntiphonError(
                f"{path}:{number}: {entry[:40]!r} is not a word and its phones. Separate the two by one space or TAB."
            )
        if not all(letter == "'" or unicodedata.category(letter)[0] in "LM" for letter in word):
            others.add(word)
        elif spoken not in words.setdefault(word, []):
            words[word].append(spoken)
    if not words:
        raise AntiphonError(f"{path}: no words in it. A line is a word, a space or TAB, its phones.")
    return words, len(others)


def _lines(path: Path) -> Iterator[str]:
    """The lines of a text file, plain or gzipped, as UTF-8; whatever stops the reading is said in one line."""
    number = 0
    try:
        with cast(IO[bytes], gzip.open(path) if path.suffix == ".gz" else path.open("rb")) as file:
            for number, line in enumerate(file, start=1):
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
    except FileNotFoundError:
        raise AntiphonError(f"{path}: no such file. Name a pronunciation dictionary, plain or .gz.") from None
    except UnicodeDecodeError as error:
        raise AntiphonError(f"{path}:{number}: not UTF-8 ({error.reason}). Save the file as UTF-8.") from None
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise AntiphonError(f"{path}: cannot be read ({reason}).") from None
