"""Foreign models: what their configs mean in our words, and which of their tensors is which of ours.

V words · D width · T places · K texts that are told apart
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from antiphon.config import schema
from antiphon.errors import AntiphonError
from antiphon.exchange import cutting
from antiphon.exchange.cutting import Adopted
from antiphon.exchange.foreign import Folder, Settings, Weights

Tensors = dict[str, Tensor]
_HARMLESS = (
    "model_type", "architectures", "transformers_version", "dtype", "torch_dtype", "_name_or_path", "name_or_path",
    "initializer_range", "use_cache", "bos_token_id", "eos_token_id", "pad_token_id", "gradient_checkpointing",
    "output_past", "task_specific_params", "id2label", "label2id", "finetuning_task", "problem_type", "return_dict",
    "output_attentions", "output_hidden_states", "classifier_dropout", "directionality", "pooler_fc_size",
    "pooler_num_attention_heads", "pooler_num_fc_layers", "pooler_size_per_head", "pooler_type", "n_ctx",
    "summary_activation", "summary_first_dropout", "summary_proj_to_labels", "summary_type", "summary_use_proj",
    "_num_labels", "num_labels", "chunk_size_feed_forward", "_attn_implementation_autoset",
)  # fmt: skip
_BENDS = {"gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "relu": "relu"}
# A symbol that a model never had is written e^30 times more rarely than the one whose row it borrows: never.
_NEVER = -30.0


@dataclass(frozen=True)
class Model:
    """A foreign model in our words."""

    choice: schema.LanguageModel | schema.Masked
    adopted: Adopted
    tensors: Tensors  # by our names
    notes: Sequence[str]  # what did not come along


def read_model(folder: Folder, settings: Settings) -> Model:
    kind = settings.need("model_type", str)
    families: dict[str, Callable[[Folder, Settings], Model]] = {"gpt2": _gpt2, "bert": _bert, "roberta": _roberta}
    if kind not in families:
        known = ", ".join(families)
        raise AntiphonError(f"{settings.path}: model_type = {kind[:40]!r} cannot be imported. Known: {known}.")
    settings.ignore(_HARMLESS)
    return families[kind](folder, settings)


def _size(settings: Settings, key: str) -> int:
    number = settings.need(key, int)
    if not 0 < number < 1 << 31:
        raise AntiphonError(f"{settings.path}: {key} = {number} is not a size.")
    return number


def _activation(settings: Settings, key: str, allowed: Sequence[str]) -> str:
    settings.must_be(key, *allowed)
    return _BENDS[settings.get(key, str, allowed[0])]


def _gpt2(folder: Folder, settings: Settings) -> Model:
    """GPT-2 (Radford et al., 2019): a decoder with norms before, which has no bias over words."""
    size, width, layers = (_size(settings, key) for key in ("vocab_size", "n_embd", "n_layer"))
    heads, places = _size(settings, "n_head"), _size(settings, "n_positions")
    inner = settings.get("n_inner", int, 4 * width)
    drop, first = settings.get("resid_pdrop", float, 0.1), settings.get("embd_pdrop", float, 0.1)
    stack = schema.TransformerStack.model_validate(
        {
            "width": width, "layers": layers, "heads": heads, "feedforward": inner, "positions": "learned",
            "max_positions": places, "scale_embedding": False, "norm": "before", "dropout": drop,
            "activation": _activation(settings, "activation_function", ("gelu_new", *_BENDS)),
            "norm_epsilon": settings.get("layer_norm_epsilon", float, 1e-5),
            "attention_dropout": settings.get("attn_pdrop", float, 0.1),
        }
    )  # fmt: skip
    settings.must_be("scale_attn_weights", True)
    for key in ("scale_attn_by_inverse_layer_idx", "reorder_and_upcast_attn", "add_cross_attention"):
        settings.must_be(key, False)
    tied = settings.get("tie_word_embeddings", bool, True)
    settings.refuse_rest()
    adopted = cutting.adopt(folder, "byte_bpe", cutting.GPT2, size)
    held = folder.weights().renamed({}, "transformer.")
    table_VD = held.take("wte.weight", size, width)
    tensors = {"target.weight_VD": table_VD[adopted.rows], "head.bias_V": torch.zeros(len(adopted.rows))}
    tensors["head.bias_V"][adopted.doubles] = _NEVER
    tensors["decoder.positions.table_TD"] = held.take("wpe.weight", places, width)
    for n in range(layers):
        for buffer in ("bias", "masked_bias"):  # the mask itself, which older files keep
            held.drop(f"h.{n}.attn.{buffer}")
        for theirs, ours, read, written in (
            ("attn.c_attn", "attention.projection", width, 3 * width), ("attn.c_proj", "attention.out", width, width),
            ("mlp.c_fc", "feedforward.inner", width, inner), ("mlp.c_proj", "feedforward.out", inner, width),
        ):  # fmt: skip
            name = f"decoder.layers.{n}.{ours}"
            tensors[f"{name}.weight"] = held.take(f"h.{n}.{theirs}.weight", read, written).t()
            tensors[f"{name}.bias"] = held.take(f"h.{n}.{theirs}.bias", written)
        for theirs, ours in (("ln_1", "around_attention"), ("ln_2", "around_feedforward")):
            tensors |= _pair(held, f"h.{n}.{theirs}", f"decoder.layers.{n}.{ours}.norm", width)
    tensors |= _pair(held, "ln_f", "decoder.final_norm", width)
    if not tied:
        tensors["head.weight_VE"] = held.take("lm_head.weight", size, width)[adopted.rows]
    _drop_copy(held, "lm_head.weight", table_VD)
    held.refuse_rest()
    notes = [f"embd_pdrop = {first} becomes {drop}, as in the layers"] if first != drop else []
    choice = schema.LanguageModel(decoder=stack, tie="output" if tied else "none")
    return Model(choice, adopted, tensors, [*notes, *_rows_note(adopted, size)])


def _bert(folder: Folder, settings: Settings) -> Model:
    """BERT (Devlin et al., 2019), with its masked-word head, and its next-sentence head where there is one."""
    settings.must_be("hidden_act", "gelu")  # which bends the masked-word head too
    stack = _encoder(settings, 0)
    segments, size = _size(settings, "type_vocab_size"), _size(settings, "vocab_size")
    settings.refuse_rest()
    adopted = cutting.adopt(folder, "wordpiece", cutting.BERT, size)
    held = folder.weights().renamed({".gamma": ".weight", ".beta": ".bias"}, "bert.")
    tensors = _embedded(held, adopted, stack, size, 0)
    tensors["source.segments_KD"] = held.take("embeddings.token_type_embeddings.weight", segments, stack.width)
    tensors |= _layers(held, stack)
    _need_head(held, "cls.predictions.bias")
    head = "cls.predictions.transform"
    tensors |= _pair(held, f"{head}.dense", "between", stack.width, stack.width)
    tensors |= _pair(held, f"{head}.LayerNorm", "norm", stack.width)
    bias_V = held.take("cls.predictions.bias", size)
    _drop_copy(held, "cls.predictions.decoder.bias", bias_V)
    tensors["head.bias_V"] = bias_V[adopted.rows]
    paired, notes = "cls.seq_relationship.weight" in held, list(_rows_note(adopted, size))
    if paired:
        tensors |= _pair(held, "pooler.dense", "pair.hidden", stack.width, stack.width)
        # There 0 means that the second text follows; here it is 1.
        tensors["pair.out.weight"] = held.take("cls.seq_relationship.weight", 2, stack.width).flip(0)
        tensors["pair.out.bias"] = held.take("cls.seq_relationship.bias", 2).flip(0)
    _drop_unused(held, notes)
    held.refuse_rest()
    choice = schema.Masked(
        encoder=stack.model_copy(update={"segments": segments}), next_sentence=paired, whole_words=False
    )
    return Model(choice, adopted, tensors, notes)


def _roberta(folder: Folder, settings: Settings) -> Model:
    """RoBERTa (Liu et al., 2019): its places are counted from behind its padding, and its texts are all of one type."""
    before = settings.get("pad_token_id", int, 1) + 1  # rows that no place has
    activation = _activation(settings, "hidden_act", ("gelu", *_BENDS))
    stack = _encoder(settings, before).model_copy(update={"activation": activation})
    types, size = _size(settings, "type_vocab_size"), _size(settings, "vocab_size")
    settings.refuse_rest()
    adopted = cutting.adopt(folder, "byte_bpe", cutting.ROBERTA, size)
    held = folder.weights().renamed({}, "roberta.")
    tensors = _embedded(held, adopted, stack, size, before)
    types_KD = held.take("embeddings.token_type_embeddings.weight", types, stack.width)
    tensors["encoder.positions.table_TD"] = tensors["encoder.positions.table_TD"] + types_KD[0]
    tensors |= _layers(held, stack)
    _need_head(held, "lm_head.bias")
    tensors |= _pair(held, "lm_head.dense", "between", stack.width, stack.width)
    tensors |= _pair(held, "lm_head.layer_norm", "norm", stack.width)
    bias_V = held.take("lm_head.bias", size)
    _drop_copy(held, "lm_head.decoder.bias", bias_V)
    tensors["head.bias_V"] = bias_V[adopted.rows]
    notes = list(_rows_note(adopted, size))
    notes += [f"{types - 1} of its {types} token types, which no text of a RoBERTa has, are left out"] * (types > 1)
    _drop_unused(held, notes)
    held.refuse_rest()
    return Model(schema.Masked(encoder=stack, whole_words=False), adopted, tensors, notes)


def _encoder(settings: Settings, before: int) -> schema.TransformerStack:
    """What both BERTs choose; the first `before` rows of positions belong to no place."""
    for key in ("is_decoder", "add_cross_attention"):
        settings.must_be(key, False)
    settings.must_be("tie_word_embeddings", True)
    settings.must_be("position_embedding_type", "absolute")
    settings.must_be("pruned_heads", {})
    places = _size(settings, "max_position_embeddings") - before
    if places < 1:
        raise AntiphonError(f"{settings.path}: max_position_embeddings leaves no place for a word.")
    return schema.TransformerStack.model_validate(
        {
            "width": _size(settings, "hidden_size"), "layers": _size(settings, "num_hidden_layers"),
            "heads": _size(settings, "num_attention_heads"), "feedforward": _size(settings, "intermediate_size"),
            "activation": "gelu", "norm": "after", "embedding_norm": True, "positions": "learned",
            "max_positions": places, "scale_embedding": False,
            "norm_epsilon": settings.get("layer_norm_eps", float, 1e-12),
            "dropout": settings.get("hidden_dropout_prob", float, 0.1),
            "attention_dropout": settings.get("attention_probs_dropout_prob", float, 0.1),
        }
    )  # fmt: skip


def _embedded(held: Weights, adopted: Adopted, stack: schema.TransformerStack, size: int, before: int) -> Tensors:
    held.drop("embeddings.position_ids")  # 0, 1, 2, ..., which older files keep
    table_VD = held.take("embeddings.word_embeddings.weight", size, stack.width)
    for copy in ("cls.predictions.decoder.weight", "lm_head.decoder.weight"):
        _drop_copy(held, copy, table_VD)
    positions = held.take("embeddings.position_embeddings.weight", before + stack.max_positions, stack.width)
    tensors = {"source.weight_VD": table_VD[adopted.rows], "encoder.positions.table_TD": positions[before:]}
    return tensors | _pair(held, "embeddings.LayerNorm", "encoder.first_norm", stack.width)


def _layers(held: Weights, stack: schema.TransformerStack) -> Tensors:
    tensors: Tensors = {}
    width, inner = stack.width, stack.feedforward
    for n in range(stack.layers):
        theirs, ours = f"encoder.layer.{n}", f"encoder.layers.{n}"
        asked = [
            _pair(held, f"{theirs}.attention.self.{part}", part, width, width) for part in ("query", "key", "value")
        ]
        for kind in ("weight", "bias"):
            tensors[f"{ours}.attention.projection.{kind}"] = torch.cat(
                [tensor for part in asked for name, tensor in part.items() if name.endswith(kind)]
            )
        tensors |= _pair(held, f"{theirs}.attention.output.dense", f"{ours}.attention.out", width, width)
        tensors |= _pair(held, f"{theirs}.attention.output.LayerNorm", f"{ours}.around_attention.norm", width)
        tensors |= _pair(held, f"{theirs}.intermediate.dense", f"{ours}.feedforward.inner", inner, width)
        tensors |= _pair(held, f"{theirs}.output.dense", f"{ours}.feedforward.out", width, inner)
        tensors |= _pair(held, f"{theirs}.output.LayerNorm", f"{ours}.around_feedforward.norm", width)
    return tensors


def _pair(held: Weights, theirs: str, ours: str, *shape: int) -> Tensors:
    """A weight of this shape and its bias."""
    weight, bias = held.take(f"{theirs}.weight", *shape), held.take(f"{theirs}.bias", shape[0])
    return {f"{ours}.weight": weight, f"{ours}.bias": bias}


def _drop_copy(held: Weights, name: str, kept: Tensor) -> None:
    """A tensor that the file holds twice, if it does."""
    if name in held and not torch.equal(held.take(name, *kept.shape), kept):
        raise AntiphonError(f"{held.path}: {name} is tied to another tensor, and differs from it. Get it anew.")


def _drop_unused(held: Weights, notes: list[str]) -> None:
    dropped = [held.drop(f"pooler.dense.{kind}") for kind in ("weight", "bias")]
    if any(dropped):
        notes.append("its pooler, without a next-sentence head to read it, is left out")


def _need_head(held: Weights, name: str) -> None:
    if name not in held:
        raise AntiphonError(
            f"{held.path}: no masked-word head in it (no {name}), so there is nothing that guesses words. "
            "Name a folder that has one: of the model before it was fine-tuned, or before its encoder was saved alone."
        )


def _rows_note(adopted: Adopted, size: int) -> list[str]:
    spare = size - len(set(adopted.rows))
    return [f"{spare} rows of its embedding, which no symbol has, are left out"] * (spare > 0)
