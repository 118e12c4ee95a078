"""A study of people's judgements, in one SQLite file: pairs, answers, and what each judge has said so far."""

import hashlib
import json
import random
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from antiphon.errors import AntiphonError
from antiphon.evaluate.judgements import Mark

BEST = 5  # adequacy and fluency go from 1 to this
_LAYOUT = "1"
_TABLES = """
CREATE TABLE study (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE pair (number INTEGER PRIMARY KEY, source TEXT NOT NULL, reference TEXT);
CREATE TABLE answer (pair INTEGER, system INTEGER, text TEXT NOT NULL, PRIMARY KEY (pair, system));
CREATE TABLE mark (
    judge TEXT, pair INTEGER, system INTEGER, adequacy INTEGER NOT NULL, fluency INTEGER NOT NULL,
    rank INTEGER NOT NULL, at TEXT NOT NULL, PRIMARY KEY (judge, pair, system)
);
"""


@dataclass(frozen=True)
class Sheet:
    """What a judge sees of one pair: answers in an order of the judge's own, without the names of their systems."""

    number: int  # of the pair in the study, from 0
    source: str
    reference: str | None
    answers: tuple[str, ...]
    marks: tuple[tuple[int, int, int], ...]  # adequacy, fluency and rank of each answer, where it was judged before


class Study:
    """One file; several judges may use it at the same time."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path, self._connection, self._lock = path, connection, threading.Lock()
        facts = dict(connection.execute("SELECT key, value FROM study"))
        self.systems: list[str] = json.loads(facts["systems"])
        self.seed, self.fingerprint = int(facts["seed"]), facts["fingerprint"]
        (self.pairs,) = connection.execute("SELECT count(*) FROM pair").fetchone()

    @classmethod
    def create(
        cls,
        path: Path,
        sources: Sequence[str],
        references: Sequence[str] | None,
        answers: Mapping[str, Sequence[str]],
        sample: int | None,
        seed: int,
    ) -> "Study":
        """A new study of some of the pairs; where the file holds the same one already, it goes on."""
        numbers = list(range(len(sources)))
        if sample is not None and sample < len(numbers):
            numbers = random.Random(seed).sample(numbers, sample)  # noqa: S311
        rows = [
            (sources[n], references[n] if references else None, [lines[n] for lines in answers.values()])
            for n in numbers
        ]
        fingerprint = hashlib.sha256(json.dumps([list(answers), seed, rows]).encode()).hexdigest()
        if path.exists():
            study = cls.open(path)
            if study.fingerprint != fingerprint:
                raise AntiphonError(
                    f"{path}: it holds judgements of other answers or pairs. Name another file in --out, "
                    f"or go on with those: antiphon judge --out {path}"
                )
            return study
        facts = {"layout": _LAYOUT, "systems": json.dumps(list(answers)), "seed": seed, "fingerprint": fingerprint}
        connection = _connect(path)
        try:
            with connection:
                connection.executescript(_TABLES)
                connection.executemany("INSERT INTO study VALUES (?, ?)", facts.items())
                for number, (source, reference, texts) in enumerate(rows):
                    connection.execute("INSERT INTO pair VALUES (?, ?, ?)", (number, source, reference))
                    several = [(number, system, text) for system, text in enumerate(texts)]
                    connection.executemany("INSERT INTO answer VALUES (?, ?, ?)", several)
        except sqlite3.Error as error:
            raise AntiphonError(f"{path}: cannot be written ({error}). Name another file in --out.") from None
        return cls(path, connection)

    @classmethod
    def open(cls, path: Path) -> "Study":
        if not path.exists():
            raise AntiphonError(f"{path}: no such study. Begin one: antiphon judge test.tsv runs/a runs/b --out {path}")
        connection = _connect(path)
        try:
            layout = connection.execute("SELECT value FROM study WHERE key = 'layout'").fetchone()
        except sqlite3.DatabaseError:
            layout = None
        if layout != (_LAYOUT,):
            raise AntiphonError(f"{path}: not a study of judgements. Name another file in --out.")
        return cls(path, connection)

    def sheet(self, judge: str, number: int | None = None) -> Sheet | None:
        """A pair by its number, or the first that the judge has not judged; None where all are."""
        if number is None:
            rows = self._ask("SELECT number FROM pair WHERE number NOT IN (SELECT pair FROM mark WHERE judge = ?) "
                             "ORDER BY number LIMIT 1", judge)  # fmt: skip
            if not rows:
                return None
            ((number,),) = rows
        ((source, reference),) = self._ask("SELECT source, reference FROM pair WHERE number = ?", number)
        texts = dict(self._ask("SELECT system, text FROM answer WHERE pair = ?", number))
        said = {
            system: marks
            for system, *marks in self._ask(
                "SELECT system, adequacy, fluency, rank FROM mark WHERE judge = ? AND pair = ?", judge, number
            )
        }
        order = self.order(judge, number)
        marks = tuple((m[0], m[1], m[2]) for m in (said[system] for system in order)) if said else ()
        return Sheet(number, source, reference, tuple(texts[system] for system in order), marks)

    def order(self, judge: str, number: int) -> list[int]:
        """Systems as this judge sees them at this pair: always the same, and not to be guessed from other pairs."""
        key = hashlib.sha256(f"{self.seed}\n{number}\n{judge}".encode()).hexdigest()
        return random.Random(key).sample(range(len(self.systems)), len(self.systems))  # noqa: S311

    def save(self, judge: str, number: int, marks: Sequence[tuple[int, int, int]]) -> None:
        """All marks of a sheet at once, in its order; earlier ones of the same judge are replaced."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        rows = [(judge, number, s, *m, now) for s, m in zip(self.order(judge, number), marks, strict=True)]
        with self._lock, self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO mark VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    def done(self, judge: str) -> int:
        ((count,),) = self._ask("SELECT count(DISTINCT pair) FROM mark WHERE judge = ?", judge)
        return int(count)

    def marks(self) -> list[Mark]:
        found = self._ask("SELECT judge, pair, system, adequacy, fluency, rank FROM mark ORDER BY judge, pair, system")
        return [Mark(*row) for row in found]

    def close(self) -> None:
        self._connection.close()

    def _ask(self, question: str, *values: object) -> list[Any]:
        with self._lock:
            return self._connection.execute(question, values).fetchall()


def _connect(path: Path) -> sqlite3.Connection:
    try:
        return sqlite3.connect(path, timeout=10, check_same_thread=False)
    except sqlite3.Error as error:
        raise AntiphonError(f"{path}: cannot be opened ({error}). Name another file in --out.") from None
