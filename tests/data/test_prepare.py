"""From data files to token stores."""

import json
from pathlib import Path

import pytest

from antiphon.config.schema import Bytes, Characters, Data, Side, Subwords, Words
from antiphon.data import prepare as module
from antiphon.data.prepare import prepare
from antiphon.errors import AntiphonError, DiskError

WORDS = Side(tokenizer=Words())


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name, pairs):
    Path(name).write_text("".join(f"{source}\t{target}\n" for source, target in pairs))


def numbers(first, last):
    return [(f"number {n}", f"nummer {n} !") for n in range(first, last)]


def data(**options):
    return Data(**{"train": "train.tsv", "source": WORDS, "target": WORDS} | options)


def texts(store, prepared):
    return [
        (prepared.source.decode(store.source(i)), prepared.target.decode(store.target(i))) for i in range(len(store))
    ]


@pytest.fixture
def files():
    write("train.tsv", numbers(0, 100))
    write("valid.tsv", [("number 7", "nummer 8 !"), ("number 200", "nummer  9 !")])


def test_files_become_stores(files):
    prepared = prepare(data(valid="valid.tsv"), Path("out"))
    assert texts(prepared.train, prepared) == numbers(0, 100)
    assert texts(prepared.valid, prepared) == [("number 7", "nummer 8 !"), ("number <unk>", "nummer 9 !")]
    assert prepared.valid_pairs == [("number 7", "nummer 8 !"), ("number 200", "nummer 9 !")]
    assert prepared.length_ratio == pytest.approx(1.5 * 1.2)
    assert [count.kept for count in prepared.report.counts] == [100, 2]
    assert prepared.report.notes == ("source: 200 symbols out of 105 words", "target: 300 symbols out of 106 words")


@pytest.mark.parametrize("tokenizer", [Subwords(size=300), Subwords(model="unigram"), Characters(), Bytes()], ids=str)
@pytest.mark.parametrize("joint", [False, True])
def test_every_tokenizer(files, tokenizer, joint):
    side = Side(tokenizer=tokenizer)
    for _ in range(2):
        prepared = prepare(data(source=side, target=side, joint=joint), Path("out"))
        assert sorted(texts(prepared.train, prepared) + texts(prepared.valid, prepared)) == sorted(numbers(0, 100))
        assert (prepared.source is prepared.target) == joint


def test_a_joint_vocabulary_knows_both_sides(files):
    prepared = prepare(data(joint=True), Path("out"))
    assert prepared.source.unknown("nummer number !") == []


def test_held_out_pairs_are_not_trained_on(files):
    prepared = prepare(data(), Path("out"))
    assert len(prepared.valid) == 5
    assert texts(prepared.train, prepared) == [pair for pair in numbers(0, 100) if pair not in prepared.valid_pairs]
    assert prepared.source.unknown(prepared.valid_pairs[0][0]) == [prepared.valid_pairs[0][0].split()[1]]
    assert prepared.report.counts[0].held_out == 5
    assert prepared.report.notes[0] == (
        "valid: data.valid is not set, so 5 of the training pairs are held out, chosen by their source"
    )


def test_held_out_pairs_stay_when_the_file_is_reordered_or_grows(files):
    before = prepare(data(), Path("out")).valid_pairs
    write("train.tsv", numbers(0, 100)[::-1])
    assert sorted(prepare(data(), Path("out")).valid_pairs) == sorted(before)
    write("train.tsv", numbers(0, 140))
    assert set(before) < set(prepare(data(), Path("out")).valid_pairs)


def test_one_pair_trains_and_validates():
    write("train.tsv", [("a", "b")])
    prepared = prepare(data(), Path("out"))
    assert texts(prepared.train, prepared) == texts(prepared.valid, prepared) == [("a", "b")]
    assert prepared.report.notes[0] == (
        "valid: data.valid is not set and all training pairs are the same, so they validate too"
    )


def test_one_source_for_all_is_told():
    write("train.tsv", [("a", f"b{n}") for n in range(40)])
    assert prepare(data(), Path("out")).report.notes[0] == (
        "valid: data.valid is not set, so 2 of the training pairs are held out; "
        "their sources are trained on too, for there are too few"
    )


def test_overlong_pairs_are_left_out_and_counted(files):
    write("train.tsv", [*numbers(0, 20), ("long " * 9, "x"), ("x", "long " * 8)])
    write("valid.tsv", [("long " * 9, "x"), ("a", "b")])
    prepared = prepare(data(valid="valid.tsv", max_length=8), Path("out"))
    assert len(prepared.train) == 21
    assert prepared.valid_pairs == [("a", "b")]
    told = [(each.split, each.count, each.places) for each in prepared.report.findings if each.effect == "left out"]
    assert told == [("train", 1, ("train.tsv:21",)), ("valid", 1, ("valid.tsv:1",))]
    assert [count.kept for count in prepared.report.counts] == [21, 1]


def test_test_pairs_are_only_looked_at(files):
    write("test.tsv", [("number 3", "nummer 3 !")])
    report = prepare(data(valid="valid.tsv", test="test.tsv"), Path("out")).report
    assert ("test", "pair that is trained on too") in [(each.split, each.what) for each in report.findings]


@pytest.fixture
def built(monkeypatch):
    """Counts how often data is built and not loaded."""
    builds = []
    real = module._build
    monkeypatch.setattr(module, "_build", lambda *given: (builds.append(1), real(*given)))
    return builds


def test_the_second_time_all_is_there(files, built):
    first, second = prepare(data(), Path("out")), prepare(data(), Path("out"))
    assert len(built) == 1
    assert texts(first.train, first) == texts(second.train, second)
    for name in ("source", "target", "valid_pairs", "report", "length_ratio", "fingerprint"):
        assert getattr(first, name) == getattr(second, name)


def test_a_run_from_before_characters_could_be_decomposed_goes_on(files):
    characters = data(source={"tokenizer": {"kind": "characters"}})
    known = module.fingerprint(characters)
    assert "decompose" in characters.model_dump()["source"]["tokenizer"]
    whole, parts = (data(source={"tokenizer": {"kind": "characters", "decompose": cut}}) for cut in (False, True))
    assert module.fingerprint(whole) == known != module.fingerprint(parts)


def test_other_options_or_files_are_prepared_anew(files, built):
    first = prepare(data(), Path("out"))
    assert prepare(data(max_length=99), Path("out")).fingerprint != first.fingerprint
    write("train.tsv", numbers(0, 101))
    assert prepare(data(), Path("out")).fingerprint != first.fingerprint
    assert len(built) == 3


@pytest.mark.parametrize(
    "name",
    ["prepared.json", "valid.jsonl", "source.tokenizer.json", "target.tokenizer.json", "train/tokens.bin",
     "train/offsets.bin", "train/store.json", "valid/tokens.bin"],
)  # fmt: skip
def test_what_is_damaged_is_made_anew(files, built, name):
    first = prepare(data(), Path("out"))
    whole = texts(first.train, first)
    path = Path("out") / name
    for damage in (lambda: path.write_bytes(path.read_bytes()[:-2]), path.unlink):
        damage()
        again = prepare(data(), Path("out"))
        assert texts(again.train, again) == whole
        assert again.valid_pairs == first.valid_pairs
    assert len(built) == 3


def test_a_killed_preparation_is_begun_anew(files, built, monkeypatch):
    prepare(data(), Path("out"))
    write("train.tsv", numbers(0, 50))

    def killed(*given):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module.Writer, "notes", killed)
        with pytest.raises(KeyboardInterrupt):
            prepare(data(), Path("out"))
    assert not Path("out/prepared.json").exists()
    assert len(prepare(data(), Path("out")).train) == 48
    assert len(built) == 3


def refusal(choice):
    with pytest.raises(AntiphonError) as caught:
        prepare(choice, Path("out"))
    return str(caught.value)


def test_nothing_left_says_why(files):
    Path("train.tsv").write_bytes(b"a\t\nb\t \n\tc\n\xff\tx\n")
    assert refusal(data()) == (
        "data.train: no pair is left of 4 read: 2 blank target (first: train.tsv:1), "
        "1 blank source (first: train.tsv:3), 1 bad UTF-8 (first: train.tsv:4). Mend the file."
    )


def test_all_overlong_says_why(files):
    assert refusal(data(valid="valid.tsv", max_length=1)) == (
        "data.train: no pair is left of 100 read: 100 longer than data.max_length = 1 (first: train.tsv:1). "
        "Raise the limit, or cut the texts."
    )


def test_no_validation_pair_left(files):
    write("valid.tsv", [("", "")])
    assert refusal(data(valid="valid.tsv")) == (
        "data.valid: no pair is left of 1 read: 1 both sides blank (first: valid.tsv:1). Mend the file."
    )


def test_held_out_pairs_all_too_long(files):
    held = {source for source, _ in prepare(data(), Path("out")).valid_pairs}
    write("train.tsv", [(source, target + " more" * 9 * (source in held)) for source, target in numbers(0, 100)])
    assert refusal(data(max_length=5)) == (
        "data.train: no pair is left to validate on: those held out are longer than data.max_length, "
        "or have a label that no other has. Name a file in data.valid."
    )


def test_no_file_named():
    assert refusal(data(train=[])) == "data.train: no file is named. Name at least one file of pairs."


def test_missing_file_is_told_before_anything_is_written(files):
    assert refusal(data(valid="walid.tsv")) == 'data.valid: no such file as walid.tsv. Did you mean "valid.tsv"?'
    assert not Path("out").exists()


def test_a_folder_that_cannot_be_written(files):
    Path("out").write_text("a file")
    with pytest.raises(DiskError, match=r"^out: cannot be written: "):
        prepare(data(), Path("out"))


def test_progress_is_told(files):
    told = []
    prepare(data(), Path("out"), told.append)
    assert told == [
        "looking at the files",
        "reading the train pairs",
        "learning the words of the source",
        "learning the words of the target",
        "writing the training pairs",
        "writing the validation pairs",
    ]


def test_the_label_is_plain_json(files):
    prepare(data(), Path("out"))
    assert set(json.loads(Path("out/prepared.json").read_text())) == {"fingerprint", "files", "length_ratio", "report"}


def test_a_line_that_is_left_out_for_its_length_shapes_no_vocabulary(files):
    own = data(train=["train.tsv"], max_length=20, source=Side(tokenizer=Subwords()))
    write("longer.tsv", [*numbers(0, 60), ("qjx" * 400, "w" * 2000)])
    write("train.tsv", numbers(0, 60))
    plain = prepare(own, Path("plain"))
    longer = prepare(own.model_copy(update={"train": ["longer.tsv"]}), Path("longer"))
    assert longer.source.to_bytes() == plain.source.to_bytes()
