"""Foreign folders written by hand, for tests that do without the toolkit that writes real ones."""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file

from antiphon.data.byte_bpe import LETTERS

WIDTH, INNER, PLACES = 8, 12, 300


def write_gpt2(folder: Path) -> None:
    """One layer of random weights, and a symbol a byte."""
    symbols = [*LETTERS.values(), "<|endoftext|>"]
    config = {"model_type": "gpt2", "vocab_size": 257, "n_embd": WIDTH, "n_layer": 1, "n_head": 2, "n_inner": INNER,
              "n_positions": PLACES}  # fmt: skip
    shapes = {"wte.weight": (257, WIDTH), "wpe.weight": (PLACES, WIDTH)}
    shapes |= {f"{norm}.{kind}": (WIDTH,) for norm in ("ln_f", "h.0.ln_1", "h.0.ln_2") for kind in ("weight", "bias")}
    layers = {"attn.c_attn": (WIDTH, 3 * WIDTH), "attn.c_proj": (WIDTH, WIDTH), "mlp.c_fc": (WIDTH, INNER),
              "mlp.c_proj": (INNER, WIDTH)}  # fmt: skip
    for name, shape in layers.items():
        shapes |= {f"h.0.{name}.weight": shape, f"h.0.{name}.bias": shape[1:]}
    _write(folder, config, shapes)
    (folder / "vocab.json").write_text(json.dumps({symbol: number for number, symbol in enumerate(symbols)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")


def write_bert(folder: Path) -> None:
    """One layer of random weights, and a symbol a letter, alone and inside a word."""
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    symbols = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    size = len(symbols)
    config = {"model_type": "bert", "vocab_size": size, "hidden_size": WIDTH, "num_hidden_layers": 1,
              "num_attention_heads": 2, "intermediate_size": INNER, "max_position_embeddings": PLACES,
              "type_vocab_size": 2}  # fmt: skip
    tables = {"word": size, "position": PLACES, "token_type": 2}
    shapes = {f"embeddings.{name}_embeddings.weight": (rows, WIDTH) for name, rows in tables.items()}
    layer, dense = "encoder.layer.0", (WIDTH, WIDTH)
    parts = {f"{layer}.attention.self.{part}": dense for part in ("query", "key", "value")}
    parts |= {f"{layer}.attention.output.dense": dense, f"{layer}.intermediate.dense": (INNER, WIDTH),
              f"{layer}.output.dense": (WIDTH, INNER), "cls.predictions.transform.dense": dense}  # fmt: skip
    norms = ("embeddings", f"{layer}.attention.output", f"{layer}.output", "cls.predictions.transform")
    parts |= {f"{norm}.LayerNorm": (WIDTH,) for norm in norms}
    for name, shape in parts.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    _write(folder, config, shapes | {"cls.predictions.bias": (size,)})
    (folder / "vocab.txt").write_text("".join(f"{symbol}\n" for symbol in symbols))
    (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": True}))


def _write(folder: Path, config: dict[str, object], shapes: dict[str, tuple[int, ...]]) -> None:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    torch.manual_seed(1)
    save_file({name: torch.randn(shape) * 0.3 for name, shape in shapes.items()}, folder / "model.safetensors")
