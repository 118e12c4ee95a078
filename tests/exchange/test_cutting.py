"""Imported tokenisers against transformers' own: the same pieces of the same texts."""

import gzip
import io
import json
import random
import shutil
import zipfile

import pytest

from antiphon import import_folder
from antiphon.data.text import normalise
from antiphon.data.vocab import SPECIAL
from antiphon.exchange import cutting
from antiphon.exchange.foreign import Folder
from tests.exchange.conftest import TEXTS, make_bert

AWKWARD = [
    "", "   ", "a", "'s", "it's 's ''s 'save they'll", "DON'T don't I'D", "x" * 300, "un" + "believ" * 40 + "able",
    "a\x00b\x07c\u200bd\u200de\u00ade\ufeff", "\u0378 \ue000 \uffff", "ǅ ŉ İstanbul ΟΔΟΣ ẞ ﬁ", "e\u0301 n\u0303 한국 각",
    "漢字かな交じり文ㄅ", "𠀀𪜀 丽", "١٢٣ ४५६ ½ ⅷ ² ㉑", "👨‍👩‍👧 🇩🇪 ✊🏿", "#hash ##hash [unk <unk", "a--b...c!?!? $5 €5 ¥5",
    "tab", "نص عربي مع تشكيلٌ", "ไทยไม่มีช่องว่าง", "a\u0338b \u2028 c", "‘quoted’ “text” – dash—dash …",
]  # fmt: skip
CASES = {
    "gpt2": ("byte_bpe", cutting.GPT2),
    "bert": ("wordpiece", cutting.BERT),
    "roberta": ("byte_bpe", cutting.ROBERTA),
}


def theirs_as_ours(name, made, text):
    """Their numbers of a text that is normalised as ours are, in our numbering."""
    kind, names = CASES[name]
    adopted = cutting.adopt(Folder(made.path), kind, names, len(made.tokenizer))
    ours = {number: symbol for symbol, number in reversed(list(enumerate(adopted.rows)))}
    return [
        [ours[n] for n in made.tokenizer(one, add_special_tokens=False)["input_ids"]] for one in map(normalise, text)
    ]


def check_all(name, made, texts):
    tokenizer = made.ours.pipeline.target
    for text, expected in zip(texts, theirs_as_ours(name, made, texts), strict=True):
        assert tokenizer.encode(text) == expected, text


@pytest.mark.parametrize("name", CASES)
def test_awkward_texts_are_cut_as_transformers_cuts_them(foreign, name):
    check_all(name, foreign[name], [*TEXTS, *AWKWARD])


@pytest.mark.parametrize("name", CASES)
def test_real_texts_are_cut_as_transformers_cuts_them(foreign, name, real_data):
    with zipfile.ZipFile(real_data / "tatoeba" / "fra-eng.zip") as archive:
        file = next(entry for entry in archive.namelist() if entry.startswith("fra"))
        lines = io.TextIOWrapper(archive.open(file), encoding="utf-8").read().splitlines()
    texts = [part for line in random.Random(1).sample(lines, 150) for part in line.split("\t")[:2]]
    for language in ("de", "fr", "cs"):
        path = real_data / "multi30k" / "raw" / f"test_2016_flickr.{language}.gz"
        if path.exists():
            texts += gzip.decompress(path.read_bytes()).decode().splitlines()[:100]
    squad = json.loads(gzip.decompress((real_data / "xquad_en" / "xquad.en.json.gz").read_bytes()))
    texts += [paragraph["context"] for article in squad["data"][:20] for paragraph in article["paragraphs"][:2]]
    check_all(name, foreign[name], texts)


@pytest.mark.parametrize("choices", [{"lower": False}, {"lower": True}], ids=["cased", "uncased"])
def test_vocabulary_files_say_the_same_as_one_tokeniser_file(tmp_path, choices):
    made = make_bert(tmp_path / "bert", **choices)
    whole = import_folder(made.path, tmp_path / "whole").pipeline.target
    numbers = sorted(made.tokenizer.get_vocab().items(), key=lambda entry: entry[1])
    (made.path / "tokenizer.json").unlink()
    (made.path / "vocab.txt").write_text("".join(f"{symbol}\n" for symbol, _ in numbers), encoding="utf-8")
    assert import_folder(made.path, tmp_path / "parts").pipeline.target == whole


def test_merges_in_a_file_of_their_own_say_the_same(tmp_path, foreign):
    made = foreign["gpt2"]
    folder = shutil.copytree(made.path, tmp_path / "gpt2")
    model = json.loads((folder / "tokenizer.json").read_text())["model"]
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.json").write_text(json.dumps(model["vocab"]))
    lines = ["#version: 0.2", *(" ".join(pair) for pair in model["merges"])]
    (folder / "merges.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert import_folder(folder, tmp_path / "ours").pipeline.target == made.ours.pipeline.target


def test_a_special_symbol_that_a_user_writes_is_plain_text(foreign):
    for name, written in (("gpt2", "<|endoftext|>"), ("bert", "[SEP]"), ("roberta", "</s>")):
        tokenizer = foreign[name].ours.pipeline.target
        numbers = tokenizer.encode(f"a {written} b")
        assert len(numbers) > 3
        assert set(numbers) & set(range(len(SPECIAL) - 1)) == set()
        assert tokenizer.hole not in numbers
