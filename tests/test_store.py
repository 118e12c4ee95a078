"""A model folder that is missing, damaged, foreign, newer or hostile is refused, word for word."""

import json
import os
import pickle
import shutil
import struct

import pytest
import torch
from safetensors.torch import save_file

from antiphon.errors import AntiphonError, DiskError
from antiphon.files import write_text, write_whole
from antiphon.store import identity, load_folder, read_tensors, weights_of, write_tensors


def refusal(folder):
    with pytest.raises(AntiphonError) as caught:
        load_folder(folder)
    assert caught.value.code == 2
    return str(caught.value)


DAMAGED = "damaged: its checksum does not match, or it is cut short. Copy it anew, or train again."


def test_a_missing_folder(tmp_path):
    assert refusal(tmp_path / "none") == (
        f"{tmp_path / 'none'}: no such model folder. `antiphon train` makes one; `antiphon demo` makes a small one."
    )


def test_a_file_is_no_model_folder(tmp_path):
    (tmp_path / "file").write_text("x")
    assert refusal(tmp_path / "file") == (
        f"{tmp_path / 'file'}: no such model folder. `antiphon train` makes one; `antiphon demo` makes a small one."
    )


def test_any_other_folder(tmp_path):
    (tmp_path / "holiday.jpg").write_bytes(b"\xff\xd8")
    expected = f"{tmp_path}: not a model folder: it has no antiphon.toml. Name one that `antiphon train` made."
    assert refusal(tmp_path) == expected


def test_a_run_without_weights_yet(run_folder):
    (run_folder / "model.safetensors").unlink()
    assert refusal(run_folder) == (
        f"{run_folder}: no model.safetensors in it. A run writes its first weights with its first checkpoint; "
        "let it train longer, or name another folder."
    )


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_missing_tokeniser(run_folder, side):
    path = run_folder / f"{side}.tokenizer.json"
    path.unlink()
    assert refusal(run_folder) == f"{path}: cannot be read (No such file or directory). Is the folder whole?"


@pytest.mark.parametrize("name", ["model.pkl", "run.py", "pytorch_model.bin", "antiphon.toml.bak", ".hidden"])
def test_strangers_are_not_let_in(run_folder, name):
    (run_folder / name).write_bytes(b"x")
    assert refusal(run_folder) == (
        f"{run_folder / name}: not part of a model folder, so nothing in it is trusted. Move it elsewhere."
    )


class Bomb:
    def __reduce__(self):
        return (os.mkdir, ("fired",))


@pytest.mark.parametrize("name", ["model.safetensors", "source.tokenizer.json", "report.json", "antiphon.toml"])
def test_a_pickle_under_a_known_name_does_not_fire(run_folder, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (run_folder / name).write_bytes(pickle.dumps(Bomb()))
    refusal(run_folder)
    assert not (tmp_path / "fired").exists()


@pytest.mark.parametrize("name", ["model.safetensors", "antiphon.toml", "checkpoints", "README.md"])
def test_links_are_not_followed(run_folder, tmp_path, name):
    shutil.move(run_folder / name, tmp_path / "elsewhere")
    (run_folder / name).symlink_to(tmp_path / "elsewhere")
    assert refusal(run_folder) == (
        f"{run_folder / name}: a link, and a model folder holds plain files only. Replace it by the file itself."
    )


def test_what_is_neither_file_nor_folder_is_not_waited_for(run_folder):
    (run_folder / "README.md").unlink()
    os.mkfifo(run_folder / "README.md")
    assert refusal(run_folder) == f"{run_folder / 'README.md'}: neither a file nor a folder. Delete it."


def test_a_file_that_is_still_being_written_does_no_harm(run_folder):
    (run_folder / "model.safetensors.partial").write_bytes(b"half")
    load_folder(run_folder)


def test_cut_weights(run_folder):
    path = run_folder / "model.safetensors"
    for size in (0, 7, 8, 100, path.stat().st_size - 1):
        os.truncate(path, size)
        assert refusal(run_folder) == f"{path}: {DAMAGED}"


def test_one_flipped_bit_in_every_part_of_the_weights(run_folder):
    path = run_folder / "model.safetensors"
    whole = path.read_bytes()
    head = 8 + struct.unpack("<Q", whole[:8])[0]
    for place in (0, 8, head // 2, head - 1, head, (head + len(whole)) // 2, len(whole) - 1):
        content = bytearray(whole)
        content[place] ^= 1
        path.write_bytes(content)
        assert refusal(run_folder).startswith(f"{path}: ")
    path.write_bytes(whole)
    load_folder(run_folder)


def test_every_bit_of_a_small_file_counts(tmp_path):
    path = tmp_path / "x.safetensors"
    write_tensors(path, {"a": torch.tensor([1.0, 2.0]), "b": torch.tensor([[3]], dtype=torch.int64)}, {"antiphon": "1"})
    whole = path.read_bytes()
    for place in range(8 * len(whole)):
        content = bytearray(whole)
        content[place // 8] ^= 1 << place % 8
        path.write_bytes(content)
        with pytest.raises(AntiphonError):
            read_tensors(path)


def test_weights_from_elsewhere(run_folder):
    path = run_folder / "model.safetensors"
    save_file({"weight": torch.zeros(3)}, path)
    assert refusal(run_folder) == f"{path}: not written by Antiphon. Make it anew: antiphon train, or antiphon import."


def test_a_newer_version(run_folder):
    """Its config may hold keys that we do not know; the advice is to upgrade all the same."""
    path = run_folder / "model.safetensors"
    tensors, facts = read_tensors(path)
    write_tensors(path, tensors, {**facts, "antiphon": "2"})
    with (run_folder / "antiphon.toml").open("a") as file:
        file.write("[quantum]\nentangled = true\n")
    assert refusal(run_folder) == (
        f"{path}: written by a newer version (format 2; this one reads 1). Upgrade: pip install -U antiphon"
    )


def test_a_changed_config(run_folder):
    path = run_folder / "antiphon.toml"
    path.write_text(path.read_text(encoding="utf-8").replace("width = 12", "width = 13"), encoding="utf-8")
    assert refusal(run_folder) == (
        f"{run_folder}: antiphon.toml is not the one that model.safetensors was trained with. Copy the folder anew."
    )


def without_a_key(folder, key, *halves):
    """As a version wrote it that did not know this key of the decoder, or of the halves named."""
    path = folder / "model.safetensors"
    tensors, facts = read_tensors(path)
    choices = json.loads(facts["choices"])
    for half in halves or ("decoder",):
        del choices["model"][half][key]
    write_tensors(path, tensors, {**facts, "choices": json.dumps(choices)})


def test_a_model_from_before_a_key_existed_still_loads(run_folder):
    without_a_key(run_folder, "bridge")
    config = run_folder / "antiphon.toml"
    config.write_text(config.read_text(encoding="utf-8").replace('bridge = "transform"\n', ""), encoding="utf-8")
    assert load_folder(run_folder).run.model.decoder.bridge == "transform"


def test_a_model_from_before_recurrent_halves_scaled_their_words_reads_them_as_it_learnt_to(run_folder):
    config = run_folder / "antiphon.toml"
    text = config.read_text(encoding="utf-8")
    scaled = "scale_embedding = true\n"
    assert text.count(scaled) == 2
    without_a_key(run_folder, "scale_embedding", "encoder", "decoder")
    config.write_text(text.replace(scaled, ""), encoding="utf-8")
    loaded = load_folder(run_folder)
    assert not loaded.run.model.encoder.scale_embedding
    assert loaded.model.source.scale == loaded.model.target.scale == 1.0


def test_a_key_that_came_later_may_only_stand_at_its_default(run_folder):
    without_a_key(run_folder, "cell")
    path = run_folder / "antiphon.toml"
    text = path.read_text(encoding="utf-8")
    head, decoder = text.split("[model.decoder]")
    path.write_text(f"{head}[model.decoder]{decoder.replace('lstm', 'gru', 1)}", encoding="utf-8")
    assert refusal(run_folder) == (
        f"{run_folder}: antiphon.toml is not the one that model.safetensors was trained with. Copy the folder anew."
    )


def test_a_misspelt_config_says_in_which_file(run_folder):
    path = run_folder / "antiphon.toml"
    path.write_text(path.read_text(encoding="utf-8").replace("max_steps", "maxsteps"), encoding="utf-8")
    assert refusal(run_folder).startswith(f'{path}: train.maxsteps: no such key. Did you mean "max_steps"?')


def test_a_config_that_is_not_toml(run_folder):
    path = run_folder / "antiphon.toml"
    path.write_text("seed = \n")
    assert refusal(run_folder).startswith(f"{path}:1: this is not TOML: invalid value")


def test_the_tokeniser_of_another_model(run_folder):
    path = run_folder / "source.tokenizer.json"
    content = json.loads(path.read_bytes())
    content["symbols"] = content["symbols"][::-1]
    path.write_text(json.dumps(content))
    assert refusal(run_folder) == (
        f"{run_folder}: the source tokeniser is not the one that model.safetensors was trained with. "
        "Copy the folder anew."
    )


def test_a_tokeniser_that_is_no_json(run_folder):
    path = run_folder / "target.tokenizer.json"
    path.write_bytes(path.read_bytes()[:-5])
    assert refusal(run_folder) == (
        f"{path}: damaged, or of another run (not a tokeniser file). Train again, or copy it anew."
    )


def test_tensors_of_other_shapes(run_folder):
    loaded = load_folder(run_folder)
    tensors = weights_of(loaded.model)
    tensors["head.bias_V"] = torch.zeros(99)
    facts = identity(loaded.run, loaded.source, loaded.target)
    write_tensors(run_folder / "model.safetensors", tensors, facts)
    assert refusal(run_folder) == (
        f"{run_folder / 'model.safetensors'}: does not fit antiphon.toml: head.bias_V and 0 more differ. "
        "Copy the folder anew."
    )


def test_a_report_that_is_no_json(run_folder):
    for content in ("{", "[" * 100_000):
        (run_folder / "report.json").write_text(content)
        assert refusal(run_folder) == f"{run_folder / 'report.json'}: damaged: not JSON. Copy it anew, or delete it."


def test_a_folder_without_report_and_card_answers(run_folder):
    for name in ("report.json", "README.md", "log.jsonl"):
        (run_folder / name).unlink()
    for name in ("checkpoints", "tokens"):
        shutil.rmtree(run_folder / name)
    assert load_folder(run_folder).report == {}


ERRORS = {
    28: "no space is left on the disk",
    30: "the disk is read-only",
    13: "you may not write there",
    5: "Input/output error",
}


@pytest.mark.parametrize("number", ERRORS)
def test_what_cannot_be_written_leaves_what_was_there(tmp_path, number):
    path = tmp_path / "file.txt"
    write_text(path, "before")

    def fail(file):
        file.write(b"af")
        raise OSError(number, os.strerror(number))

    with pytest.raises(DiskError) as caught:
        write_whole(path, fail)
    assert str(caught.value) == (
        f"{path}: cannot be written: {ERRORS[number]}.\n"
        "What was there before is whole: make room or choose another --out, and run the same command again."
    )
    assert caught.value.code == 1
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [("file.txt", "before")]


def test_on_a_read_only_disk_nothing_else_goes_wrong(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("pathlib.Path.open", refuse)
    monkeypatch.setattr("pathlib.Path.unlink", refuse)
    with pytest.raises(DiskError, match="the disk is read-only"):
        write_text(tmp_path / "file.txt", "x")
