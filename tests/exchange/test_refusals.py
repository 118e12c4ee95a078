"""What is not imported, and what is said of it."""

import json
import os
import shutil
import struct

import pytest
import torch
from safetensors.torch import load_file, save_file

from antiphon import AntiphonError, import_folder
from tests.exchange.conftest import make_bert

transformers = pytest.importorskip("transformers")


@pytest.fixture
def copies(foreign, tmp_path):
    """A copy of a family's folder, to be spoilt."""
    return lambda name: shutil.copytree(foreign[name].path, tmp_path / name)


def refusal(folder):
    out = folder.parent / "out"
    with pytest.raises(AntiphonError) as caught:
        import_folder(folder, out)
    assert not out.exists(), "nothing is left of a model that is refused"
    return str(caught.value).replace(str(folder), "FOLDER")


def change(folder, file, **keys):
    path = folder / file
    path.write_text(json.dumps(json.loads(path.read_text()) | keys))


def change_weights(folder, work):
    tensors = load_file(folder / "model.safetensors")
    work(tensors)
    save_file(tensors, folder / "model.safetensors")


@pytest.mark.parametrize(
    ("name", "keys", "message"),
    [
        ("gpt2", {"model_type": "llama"}, "model_type = 'llama' cannot be imported. Known: gpt2, bert, roberta."),
        ("gpt2", {"scale_attn_weights": False}, "scale_attn_weights = false is not understood here: only true is."),
        ("gpt2", {"n_layer": 0}, "n_layer = 0 is not a size."),
        ("gpt2", {"n_layer": None}, "no n_layer in it. Get it anew."),
        ("gpt2", {"n_head": "three"}, 'n_head = "three" is not what belongs there. Get it anew.'),
        ("gpt2", {"n_head": 5}, "tells of a model that cannot be built here: width 12 cannot be shared among 5 heads: choose a divisor."),
        ("gpt2", {"n_layer": 10**6}, "tells of a model that cannot be built here: Input should be less than or equal to 1000."),
        (
            "gpt2",
            {"quantization_config": {"bits": 4}},
            'not understood, so the model may not be what it seems: quantization_config = {"bits": 4}. '
            "If a key says nothing of what the model computes, delete it there.",
        ),
        ("bert", {"position_embedding_type": "relative_key"}, 'position_embedding_type = "relative_key" is not understood here: only "absolute" is.'),
        ("bert", {"hidden_act": "silu"}, 'hidden_act = "silu" is not understood here: only "gelu" is.'),
        ("bert", {"is_decoder": True}, "is_decoder = true is not understood here: only false is."),
        ("roberta", {"max_position_embeddings": 2}, "max_position_embeddings leaves no place for a word."),
    ],
)  # fmt: skip
def test_a_config_that_is_not_understood(copies, name, keys, message):
    folder = copies(name)
    change(folder, "config.json", **keys)
    assert refusal(folder) == f"FOLDER/config.json: {message}"


def test_tensors_that_are_missing_misshapen_or_left_over(copies):
    folder = copies("gpt2")
    change_weights(folder, lambda held: held.pop("transformer.ln_f.bias"))
    assert (
        refusal(folder) == "FOLDER/model.safetensors: no tensor ln_f.bias in it, and the model needs it. Get it anew."
    )
    change_weights(folder, lambda held: held.update({"transformer.ln_f.bias": torch.zeros(5)}))
    assert refusal(folder) == "FOLDER/model.safetensors: ln_f.bias is 5, and config.json makes it 12."
    change_weights(folder, lambda held: held.update({"transformer.ln_f.bias": torch.full((12,), torch.nan)}))
    assert refusal(folder) == "FOLDER/model.safetensors: ln_f.bias holds numbers that are not finite. Get it anew."
    change_weights(folder, lambda held: held.update({"transformer.ln_f.bias": torch.zeros(12, dtype=torch.int8)}))
    assert refusal(folder) == (
        "FOLDER/model.safetensors: ln_f.bias holds int8, and only float32, float16 and bfloat16 are read."
    )
    more = {"transformer.ln_f.bias": torch.zeros(12), "score.weight": torch.zeros(2, 12), "adapter": torch.zeros(1)}
    change_weights(folder, lambda held: held.update(more))
    assert (
        refusal(folder)
        == "FOLDER/model.safetensors: no part of such a model: adapter, score.weight. So nothing is imported."
    )


def test_a_copy_that_differs_from_what_it_is_tied_to(copies):
    folder = copies("gpt2")
    change_weights(folder, lambda held: held.update({"lm_head.weight": held["transformer.wte.weight"] + 1}))
    assert refusal(folder) == (
        "FOLDER/model.safetensors: lm_head.weight is tied to another tensor, and differs from it. Get it anew."
    )


def test_a_model_without_its_head(copies):
    folder = copies("bert")
    change_weights(folder, lambda held: [held.pop(name) for name in list(held) if name.startswith("cls.")])
    assert refusal(folder) == (
        "FOLDER/model.safetensors: no masked-word head in it (no cls.predictions.bias), so there is nothing that guesses "
        "words. Name a folder that has one: of the model before it was fine-tuned, or before its encoder was saved alone."
    )


@pytest.mark.parametrize(
    ("family", "saved_as", "head"),
    [
        ("bert", "BertModel", "cls.predictions.bias"), ("bert", "BertForSequenceClassification", "cls.predictions.bias"),
        ("roberta", "RobertaModel", "lm_head.bias"), ("roberta", "RobertaForTokenClassification", "lm_head.bias"),
    ],
)  # fmt: skip
def test_encoders_that_the_toolkit_saved_without_a_head(copies, family, saved_as, head):
    folder = copies(family)
    getattr(transformers, saved_as).from_pretrained(folder).save_pretrained(folder)
    assert refusal(folder).startswith(f"FOLDER/model.safetensors: no masked-word head in it (no {head}), so ")


def test_old_names_of_norms_and_buffers_are_known(tmp_path, foreign):
    folder = shutil.copytree(foreign["bert"].path, tmp_path / "bert")

    def age(held):
        for name in [name for name in held if "LayerNorm" in name]:
            held[name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")] = (
                held.pop(name)
            )
        held["bert.embeddings.position_ids"] = torch.arange(40).unsqueeze(0)
        held["bert.pooler.dense.weight"], held["bert.pooler.dense.bias"] = torch.zeros(12, 12), torch.zeros(12)

    change_weights(folder, age)
    ours = import_folder(folder, tmp_path / "ours")
    assert ours.report["imported"]["notes"] == ["its pooler, without a next-sentence head to read it, is left out"]
    text = "hello [MASK] world"
    assert ours.pipeline.answer([text]) == foreign["bert"].ours.pipeline.answer([text])


def test_spare_rows_are_left_out_and_told(tmp_path, foreign):
    folder = shutil.copytree(foreign["gpt2"].path, tmp_path / "gpt2")
    size = len(foreign["gpt2"].tokenizer)
    change(folder, "config.json", vocab_size=size + 7)
    change_weights(
        folder,
        lambda held: held.update(
            {"transformer.wte.weight": torch.cat([held["transformer.wte.weight"], torch.zeros(7, 12)])}
        ),
    )
    ours = import_folder(folder, tmp_path / "ours")
    assert ours.report["imported"]["notes"] == ["7 rows of its embedding, which no symbol has, are left out"]
    assert "7 rows of its embedding" in (tmp_path / "ours" / "README.md").read_text()


def test_a_pickle_is_never_opened(copies):
    folder = copies("gpt2")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    assert refusal(folder) == (
        "FOLDER/pytorch_model.bin: pickled, which can run anything, so it is not opened; model.safetensors is missing.\n"
        "If you trust it, convert it where transformers is installed: "
        "AutoModelForPreTraining.from_pretrained('FOLDER').save_pretrained('converted')"
    )
    (folder / "pytorch_model.bin").unlink()
    assert refusal(folder) == "FOLDER: no model.safetensors in it. Name a folder that holds a model in safetensors."


@pytest.mark.parametrize("file", ["config.json", "model.safetensors", "tokenizer.json"])
def test_links_are_refused(copies, file):
    folder = copies("gpt2")
    (folder / file).rename(folder.parent / "elsewhere")
    (folder / file).symlink_to(folder.parent / "elsewhere")
    assert (
        refusal(folder) == f"FOLDER/{file}: a link, and only plain files are read. Copy the folder with cp -rL first."
    )


def test_an_index_leads_nowhere_else(copies):
    folder = copies("gpt2")
    (folder / "model.safetensors").rename(folder.parent / "other.safetensors")
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"transformer.wte.weight": "../other.safetensors"}}))
    assert refusal(folder) == "FOLDER: names a file '../other.safetensors', which is none of its own. Get it anew."
    index.write_text(json.dumps({"weight_map": ["model.safetensors"]}))
    assert refusal(folder) == (
        "FOLDER/model.safetensors.index.json: damaged: it does not say which file holds what. Get it anew."
    )
    shutil.copy(folder.parent / "other.safetensors", folder / "part.safetensors")
    index.write_text(json.dumps({"weight_map": {"transformer.wte.weight": "part.safetensors"}}))
    assert refusal(folder).startswith("FOLDER/part.safetensors: model.safetensors.index.json tells another story of ")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "damaged, or no safetensors file. Get it anew."),
        (b"x" * 100, "damaged: its header claims 8,680,820,740,569,200,760 bytes. Get it anew."),
        (struct.pack("<Q", 1000) + b"{}", "damaged, or no safetensors file. Get it anew."),
        (struct.pack("<Q", 2) + b"{}", "no tensor wte.weight in it, and the model needs it. Get it anew."),
    ],
    ids=["empty", "huge header", "cut short", "nothing"],
)
def test_damaged_weights(copies, content, message):
    folder = copies("gpt2")
    (folder / "model.safetensors").write_bytes(content)
    assert refusal(folder) == f"FOLDER/model.safetensors: {message}"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "damaged: not JSON. Get it anew."),
        (b"[" * 100_000, "damaged: not JSON. Get it anew."),
        (b"[1]", "damaged: not a table of keys. Get it anew."),
        (b"\xff", "damaged: not UTF-8. Get it anew."),
    ],
)
def test_damaged_json(copies, content, message):
    for file in ("config.json", "tokenizer.json"):
        folder = copies("gpt2")
        (folder / file).write_bytes(content)
        assert refusal(folder) == f"FOLDER/{file}: {message}"
        shutil.rmtree(folder)


def test_a_file_that_is_too_long_is_not_read(copies):
    folder = copies("gpt2")
    os.truncate(folder / "config.json", 1 << 40)
    assert refusal(folder) == "FOLDER/config.json: 1,099,511,627,776 bytes are too many for such a file. Get it anew."


def test_tokenisers_that_are_not_understood(copies):
    folder = copies("gpt2")
    whole = json.loads((folder / "tokenizer.json").read_text())

    def said(**keys):
        (folder / "tokenizer.json").write_text(json.dumps(whole | keys))
        return refusal(folder)

    assert (
        said(normalizer={"type": "NFC"})
        == 'FOLDER/tokenizer.json: normalizer = {"type": "NFC"} is not understood here: only null is.'
    )
    assert (
        said(pre_tokenizer={"type": "Split"})
        == "FOLDER/tokenizer.json: pre_tokenizer is 'Split', and here only 'ByteLevel' is understood."
    )
    assert (
        said(model={"type": "Unigram"})
        == "FOLDER/tokenizer.json: model is 'Unigram', and here only 'BPE' is understood."
    )
    assert (
        said(model=whole["model"] | {"dropout": 0.1})
        == "FOLDER/tokenizer.json: model: dropout = 0.1 is not understood here: only null is."
    )
    assert (
        said(model=whole["model"] | {"merges": [1]})
        == "FOLDER/tokenizer.json: damaged: its merges are not pairs. Get it anew."
    )
    assert said(model=whole["model"] | {"merges": ["a zzz"]}) == (
        "FOLDER: its tokeniser is not one that can be read here: 'a zzz' is merged, and 'zzz' is no symbol."
    )
    assert said(model=whole["model"] | {"vocab": {"a": 1}}, added_tokens=[]) == (
        "FOLDER: its vocabulary has no '<|endoftext|>', which is its eos_token. Get it anew."
    )
    vocab = {symbol: number + 1 for symbol, number in whole["model"]["vocab"].items()}
    assert said(model=whole["model"] | {"vocab": vocab}, added_tokens=[]) == (
        f"FOLDER: its symbols are not numbered each by itself from 0 to {len(vocab) - 1}."
    )


def test_a_folder_must_say_how_words_are_written(tmp_path):
    folder = make_bert(tmp_path / "bert").path
    change(folder, "tokenizer_config.json", do_lower_case=False)
    assert refusal(folder) == (
        "FOLDER/tokenizer_config.json: do_lower_case = false, and tokenizer.json says otherwise. Mend one of them."
    )
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer_config.json").unlink()
    (folder / "vocab.txt").write_text("[PAD]\n")
    assert refusal(folder) == (
        'FOLDER: no tokenizer.json, and no tokenizer_config.json that says {"do_lower_case": true} or false, '
        "so nobody knows how its words are written. Get it anew, or add the file."
    )


def test_where_there_is_no_folder_or_no_room(foreign, tmp_path):
    assert refusal(tmp_path / "none") == (
        "FOLDER: no such folder. Name one that holds a config.json and a model.safetensors."
    )
    with pytest.raises(AntiphonError) as caught:
        import_folder(foreign["gpt2"].path, foreign["gpt2"].out)
    assert str(caught.value) == f"{foreign['gpt2'].out}: there already. Choose another --out."


def test_a_name_that_is_no_name_is_not_told(foreign, tmp_path):
    folder = shutil.copytree(foreign["gpt2"].path, tmp_path / "gpt2")
    change(folder, "config.json", _name_or_path="<script>alert(1)</script>")
    import_folder(folder, tmp_path / "ours")
    assert "script" not in (tmp_path / "ours" / "README.md").read_text()
