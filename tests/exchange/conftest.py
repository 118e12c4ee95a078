"""Small foreign folders with random weights, made by transformers itself, with tokenisers learnt from a few sentences."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

TEXTS = [
    "The quick brown fox jumps over the lazy dog, and it doesn't care.", "She said: \"I'll be there at 10:30!\"",
    "Der schnelle braune Fuchs springt über den faulen Hund.", "L'été dernier, nous sommes allés à la plage.",
    "¿Dónde está la biblioteca? Mañana será otro día.", "Быстрая коричневая лиса", "今天天气很好。", "これはペンです。",
    "한국어 문장입니다", "Emoji 😀👍🏽 and 👨‍👩‍👧 families", "naïve café résumé coöperate", "3.14159 and 2,718.28 and ½ of ⅷ",
    "they've we're I'm he'd it's y'all", "hello hello hello world worlds worldly", "nothing is ever unknown",
]  # fmt: skip
WIDTH, LAYERS, HEADS, INNER, PLACES = 12, 2, 3, 20, 40
GPT2 = {"n_embd": WIDTH, "n_layer": LAYERS, "n_head": HEADS, "n_inner": INNER, "n_positions": PLACES}
BERT = {
    "hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "intermediate_size": INNER,
    "max_position_embeddings": PLACES,
}  # fmt: skip


@pytest.fixture(scope="session", autouse=True)
def _quiet() -> None:
    transformers = pytest.importorskip("transformers")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()


def byte_bpe(special: list[str], size: int = 420) -> Any:
    """A byte-level tokeniser of the library, learnt from the texts."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(TEXTS * 2, trainer)
    return tokenizer


def learnt(tokenizer: Any) -> tuple[dict[str, int], list[tuple[str, str]]]:
    import json

    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"], [tuple(pair) for pair in model["merges"]]


def gpt2_tokenizer() -> Any:
    from transformers import GPT2Tokenizer

    vocab, merges = learnt(byte_bpe(["<|endoftext|>"]))
    return GPT2Tokenizer(vocab=vocab, merges=merges)


def roberta_tokenizer(wide: bool) -> Any:
    from transformers import AddedToken, RobertaTokenizer

    vocab, merges = learnt(byte_bpe(["<s>", "<pad>", "</s>", "<unk>", "<mask>"]))
    return RobertaTokenizer(vocab=vocab, merges=merges, mask_token=AddedToken("<mask>", lstrip=wide))


def bert_tokenizer(lower: bool = True) -> Any:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
    from transformers import BertTokenizer

    tokenizer = Tokenizer(models.WordPiece())
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lower)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(
        TEXTS * 2, trainers.WordPieceTrainer(vocab_size=400, special_tokens=special, show_progress=False)
    )
    return BertTokenizer(vocab=learnt_words(tokenizer), do_lower_case=lower)


def learnt_words(tokenizer: Any) -> dict[str, int]:
    return tokenizer.get_vocab()


def saved(place: Path, model: Any, tokenizer: Any) -> SimpleNamespace:
    """The folder, with the model and tokeniser that wrote it; biases and norms moved, for none is 0 or 1 in real life."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    model.save_pretrained(place)
    tokenizer.save_pretrained(place)
    return SimpleNamespace(path=place, model=model.eval(), tokenizer=tokenizer)


def make_gpt2(place: Path, **choices: Any) -> SimpleNamespace:
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(1)
    tokenizer = gpt2_tokenizer()
    end = tokenizer.eos_token_id
    config = GPT2Config(vocab_size=len(tokenizer), bos_token_id=end, eos_token_id=end, **(GPT2 | choices))
    return saved(place, GPT2LMHeadModel(config), tokenizer)


def make_bert(place: Path, paired: bool = False, lower: bool = True, **choices: Any) -> SimpleNamespace:
    from transformers import BertConfig, BertForMaskedLM, BertForPreTraining

    torch.manual_seed(2)
    tokenizer = bert_tokenizer(lower)
    config = BertConfig(vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id, **(BERT | choices))
    return saved(place, (BertForPreTraining if paired else BertForMaskedLM)(config), tokenizer)


def make_roberta(place: Path, wide: bool = True, **choices: Any) -> SimpleNamespace:
    from transformers import RobertaConfig, RobertaForMaskedLM

    torch.manual_seed(3)
    tokenizer = roberta_tokenizer(wide)
    config = RobertaConfig(vocab_size=len(tokenizer), **(BERT | {"type_vocab_size": 1} | choices))
    return saved(place, RobertaForMaskedLM(config), tokenizer)


MAKERS: dict[str, Callable[..., SimpleNamespace]] = {"gpt2": make_gpt2, "bert": make_bert, "roberta": make_roberta}


@pytest.fixture(scope="session")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> dict[str, SimpleNamespace]:
    """One of each family, and what it is imported into. To be read only: change a copy."""
    from antiphon import import_folder

    place = tmp_path_factory.mktemp("foreign")
    made = {name: make(place / name) for name, make in MAKERS.items()}
    for name, one in made.items():
        one.out = place / f"our-{name}"
        one.ours = import_folder(one.path, one.out)
    return made
