"""The one path from data files to token stores: read, report, learn the tokenisers, write; or find it all done."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np

from antiphon.config.schema import Data, Labels, Rows
from antiphon.data.corpus import Row, SplitName
from antiphon.data.doctor import Chart, Doctor, Report
from antiphon.data.holdout import hold_out, hold_out_end
from antiphon.data.holes import opened
from antiphon.data.labels import LabelTokenizer
from antiphon.data.opened import hash_file
from antiphon.data.questions import asked_texts
from antiphon.data.rows import NOUNS, group_noun, has_questions, has_source, is_written, layout_note, read_split
from antiphon.data.store import PairStore, open_store
from antiphon.data.subwords import LONGEST_PIECE
from antiphon.data.tokenize import Choice, SideName, Tokenizer, learn, load_tokenizer, save_tokenizer
from antiphon.data.writer import OVERLONG, SIDES, Writer
from antiphon.errors import AntiphonError
from antiphon.files import make_folder, write_text

FORMAT = 1
LABEL, VALID_PAIRS = "prepared.json", "valid.jsonl"
_FEW = 100  # labels that any number of texts may have
Tell = Callable[[str], None]
Given = Mapping[SideName, Tokenizer]
NOTHING_GIVEN: Given = MappingProxyType({})


@dataclass(frozen=True)
class Prepared:
    """Everything that training needs to know of the data."""

    source: Tokenizer  # the target's own where there is no source
    target: Tokenizer
    train: PairStore
    valid: PairStore
    valid_pairs: list[tuple[str, str]]  # the normalised texts of `valid`, in its order
    report: Report
    length_ratio: float  # target symbols a source symbol: more than nearly all training pairs have
    fingerprint: str


def prepare(
    data: Data, folder: Path, tell: Tell = lambda phrase: None, rows: Rows = "pairs", given: Given = NOTHING_GIVEN
) -> Prepared:
    """Prepares the data in `folder`, or loads what an earlier call left there if files and options are the same.

    A tokeniser that is `given` is not learnt.
    """
    tell("looking at the files")
    mark = fingerprint(data, rows, given)
    try:
        return _load(data, folder, mark, rows)
    except (AntiphonError, OSError, ValueError, KeyError, TypeError):
        # Nothing there, something else, or half of it: all the same, it is made anew.
        pass
    make_folder(folder)
    (folder / LABEL).unlink(missing_ok=True)
    _build(data, folder, mark, tell, rows, given)
    return _load(data, folder, mark, rows)


def fingerprint(data: Data, rows: Rows = "pairs", given: Given = NOTHING_GIVEN) -> str:
    """Another one where a file or an option of the data, or a tokeniser that is given, is another."""
    # Runs from before a key existed went by its default, and go on.
    later = {key: Data.model_fields[key].default for key in ("window", "denoise", "columns", "header", "stride")}
    options = data.model_dump(mode="json", exclude={key for key, value in later.items() if getattr(data, key) == value})
    for side in SIDES:
        if options[side]["tokenizer"].get("decompose") is False:
            del options[side]["tokenizer"]["decompose"]
    hashes = [hash_file(path, address) for address, path in data.files]
    parts = [FORMAT, options, hashes, *([] if rows == "pairs" else [rows])]
    parts += [[side, hashlib.sha256(one.to_bytes()).hexdigest()] for side, one in sorted(given.items())]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _load(data: Data, folder: Path, mark: str, rows: Rows) -> Prepared:
    label = json.loads((folder / LABEL).read_bytes())
    if label["fingerprint"] != mark:
        raise ValueError("other files or options")
    for name, checksum in label["files"].items():
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != checksum:
            raise ValueError(f"{name} is damaged")
    target = load_tokenizer(folder, "target", data.target_tokenizer)
    source = load_tokenizer(folder, "source", data.source.tokenizer) if _reads_source(data, rows) else target
    texts = [json.loads(line) for line in (folder / VALID_PAIRS).read_bytes().splitlines()]
    return Prepared(
        source=opened(source, data),
        target=opened(target, data),
        train=open_store(folder / "train"),
        valid=open_store(folder / "valid"),
        valid_pairs=[(source_text, target_text) for source_text, target_text in texts],
        report=Report.from_dict(label["report"]),
        length_ratio=float(label["length_ratio"]),
        fingerprint=mark,
    )


def _reads_source(data: Data, rows: Rows) -> bool:
    """Whether the source has a tokeniser of its own."""
    return has_source(rows) and not data.joint


def _build(data: Data, folder: Path, mark: str, tell: Tell, rows: Rows, given: Given) -> None:
    """The files are gone through once for the report, and again for each thing that is learnt or written."""
    doctor = _examine(data, tell, rows)
    sides = SIDES if has_source(rows) else SIDES[1:]
    shared, asked = data.joint or len(sides) == 1, has_questions(rows)  # whose answers are parts of the source
    source = given.get(sides[0]) or _learn(data, doctor, SIDES if data.joint and not asked else sides[:1], tell)
    target = source if shared else given.get("target") or _learn(data, doctor, SIDES[1:], tell)
    names = [
        save_tokenizer(one, folder, side) for side, one in zip(SIDES, (source, target), strict=True) if side in sides
    ]
    several = rows != "tagged" and data.target.tokenizer != Labels()  # then one label is a question of yes or no
    _check_labels(target, sum(doctor.charts["train"].kept), 1 if several else 2)
    writer = Writer(folder, doctor, source, target, sides, data.max_length, data.denoise, data.stride)
    tell(f"writing the training {NOUNS[rows]}s")
    train = _written(writer, data, doctor, "train")
    tell(f"writing the validation {NOUNS[rows]}s")
    valid = _written(writer, data, doctor, "valid")
    write_text(folder / VALID_PAIRS, "".join(json.dumps(texts) + "\n" for texts in writer.valid_texts))
    notes = [*_held_out_note(data, doctor), *layout_note(data, rows), *writer.notes(data)]
    label = {
        "fingerprint": mark,
        "files": {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in [*names, VALID_PAIRS]},
        "length_ratio": _length_ratio(valid if data.denoise.on else train) if is_written(rows) else 0.0,
        "report": doctor.report(notes).to_dict(),
    }
    # The label comes last: without it nothing here counts.
    write_text(folder / LABEL, json.dumps(label, indent=1))


def _written(writer: Writer, data: Data, doctor: Doctor, split: SplitName) -> PairStore:
    store = writer.write(split, _kept_rows(data, doctor, split), _chart(data, doctor, split))
    if not len(store):
        _check_some_left(split, _chart(data, doctor, split), doctor.rows)
        raise AntiphonError(
            f"data.train: no {NOUNS[doctor.rows]} is left to validate on: those held out are longer than "
            "data.max_length, or have a label that no other has. Name a file in data.valid."
        )
    return store


def _check_labels(target: Tokenizer, examples: int, least: int) -> None:
    """One label for all teaches nothing, and a label for each is no label."""
    if not isinstance(target, LabelTokenizer):
        return
    if len(target.labels) < least:
        told = f"every text has the label {target.labels[0]!r}" if target.labels else "no text has a label"
        raise AntiphonError(f"data.train: {told}, so there is nothing to tell apart. Add texts with other labels.")
    if len(target.labels) > max(_FEW, examples // 2):
        raise AntiphonError(
            f"data.train: {len(target.labels):,} different labels for {examples:,} texts, such as "
            f"{target.labels[-1][:40]!r}. Is that the column of the labels? Else name it: data.columns = [2, 1]."
        )


def _examine(data: Data, tell: Tell, rows: Rows) -> Doctor:
    doctor = Doctor(rows)
    splits: tuple[SplitName, ...] = ("train", "valid", "test")
    for split in splits:
        for row in read_split(data, split, rows):
            if split not in doctor.charts:
                tell(f"reading the {split} {NOUNS[rows]}s")
            doctor.see(split, row)
        if split in doctor.charts:
            _check_some_left(split, doctor.charts[split], rows)
    if "train" not in doctor.charts:
        raise AntiphonError(f"data.train: no file is named. Name at least one file of {NOUNS[rows]}s.")
    if not data.valid:
        chart = doctor.charts["train"]
        kept = chart.kept_indices()
        sources, pairs = (np.frombuffer(hashes, dtype=np.uint64)[kept] for hashes in (chart.sources, chart.pairs))
        held = hold_out_end(len(kept)) if rows == "running" else hold_out(sources, pairs)
        doctor.held_out = set(kept[held].tolist())
    return doctor


def _check_some_left(split: SplitName, chart: Chart, rows: Rows) -> None:
    if any(chart.kept):
        return
    reasons = [
        (count, what, places) for (effect, what), (count, places) in chart.tallies.items() if effect == "left out"
    ]
    told = ", ".join(f"{count:,} {what} (first: {places[0]})" for count, what, places in reasons)
    advice = "Raise the limit, or cut the texts" if OVERLONG in told else "Mend the file"
    raise AntiphonError(f"data.{split}: no {NOUNS[rows]} is left of {len(chart.kept):,} read: {told}. {advice}.")


def _chart(data: Data, doctor: Doctor, split: SplitName) -> Chart:
    return doctor.charts["valid" if split == "valid" and data.valid else "train"]


def _kept_rows(data: Data, doctor: Doctor, split: SplitName) -> Iterator[tuple[int, Row]]:
    """The rows of one split that are of use, with their indices."""
    chart = _chart(data, doctor, split)
    named = chart is doctor.charts.get("valid")
    rows = read_split(data, "valid" if named else "train", doctor.rows)
    # Where all pairs are the same none is held out, and they validate too.
    held = (split == "valid") if doctor.held_out and not named else None
    for index, (row, kept) in enumerate(zip(rows, chart.kept, strict=False)):
        if kept and (held is None or (index in doctor.held_out) is held):
            yield index, row


@dataclass(frozen=True)
class _Texts:
    """The texts of the training pairs, read anew each time they are gone through."""

    data: Data
    doctor: Doctor
    sides: tuple[SideName, ...]
    longest: float  # letters; a longer text is left out anyway

    def __iter__(self) -> Iterator[str]:
        pairs = (row.pair for _, row in _kept_rows(self.data, self.doctor, "train"))
        if has_questions(self.doctor.rows):
            yield from asked_texts(pairs)
        for pair in pairs:
            texts = [pair.source if side == "source" else pair.target for side in self.sides]
            yield from (text for text in texts if len(text) <= self.longest)


def _learn(data: Data, doctor: Doctor, sides: tuple[SideName, ...], tell: Tell) -> Tokenizer:
    choice: Choice = (data.source if "source" in sides else data.target).tokenizer
    kind = "words and letters" if choice.kind == "spelled" else choice.kind
    tell(f"learning the {kind} of the {' and the '.join(sides)}")
    longest = LONGEST_PIECE * data.max_length if choice.kind == "subwords" and not data.window else float("inf")
    return learn(choice, _Texts(data, doctor, sides, longest))


def _held_out_note(data: Data, doctor: Doctor) -> Iterator[str]:
    if data.valid:
        return
    nouns = f"{NOUNS[doctor.rows]}s"
    if not doctor.held_out:
        yield f"valid: data.valid is not set and all training {nouns} are the same, so they validate too"
        return
    chart = doctor.charts["train"]
    held, what = np.array(sorted(doctor.held_out)), group_noun(doctor.rows)
    sources = np.frombuffer(chart.sources, dtype=np.uint64)
    shared = np.isin(sources[held], sources[np.setdiff1d(chart.kept_indices(), held)]).any()
    how = f"; their {what}s are trained on too, for there are too few" if shared else f", chosen by their {what}"
    which = f"{len(held):,} of the training {nouns} are held out"
    if doctor.rows == "running":
        which, how = f"the last {len(held):,} lines of the text are held out", ""
    yield f"valid: data.valid is not set, so {which}{how if has_source(doctor.rows) else ''}"


def _length_ratio(train: PairStore) -> float:
    """0 where there are no sources to measure by."""
    source, target = train.lengths.T
    return float(np.percentile(target / np.maximum(source, 1), 99.9) * 1.2) if source.any() else 0.0
