"""From choices to Transformer stacks."""

from collections.abc import Callable
from typing import assert_never

from torch import nn

from antiphon.attend.multihead import CrossAttention, SelfAttention
from antiphon.config import schema
from antiphon.encode import transformer as transformer_encoder
from antiphon.layers import positions
from antiphon.layers.blocks import FeedForward, SubLayer, make_norm, scale_by_depth
from antiphon.predict import transformer as transformer_decoder


def build_reader(choice: schema.TransformerStack) -> transformer_encoder.Transformer:
    relative = _relative(choice, both_ways=True)
    blocks = [
        transformer_encoder.EncoderLayer(_self_attention(choice, relative), _feedforward(choice), _around(choice))
        for _ in range(choice.layers)
    ]
    if choice.init == "depth_scaled":
        scale_by_depth(blocks)
    return transformer_encoder.Transformer(
        blocks, _positions(choice), _first_norm(choice), choice.dropout, choice.layer_drop, _final_norm(choice)
    )


def build_decoder(choice: schema.TransformerStack, memory_width: int | None) -> transformer_decoder.Transformer:
    """Without a memory there is nothing to look at but the words before."""
    relative = _relative(choice, both_ways=False)
    blocks = [
        transformer_decoder.DecoderLayer(
            _self_attention(choice, relative), _cross_attention(choice, memory_width), _feedforward(choice),
            _around(choice),
        )
        for _ in range(choice.layers)
    ]  # fmt: skip
    if choice.init == "depth_scaled":
        scale_by_depth(blocks)
    return transformer_decoder.Transformer(
        blocks, choice.width, _positions(choice), _first_norm(choice), choice.dropout, choice.layer_drop,
        _final_norm(choice),
    )  # fmt: skip


def _cross_attention(choice: schema.TransformerStack, memory_width: int | None) -> CrossAttention | None:
    if memory_width is None:
        return None
    return CrossAttention(choice.width, memory_width, choice.heads, choice.key_value_heads, choice.attention_dropout)


def _positions(choice: schema.TransformerStack) -> positions.Positions | None:
    match choice.positions:
        case "sinusoidal":
            return positions.Sinusoidal(choice.width)
        case "learned":
            return positions.Learned(choice.width, choice.max_positions)
        case "rotary" | "relative" | "none":
            return None  # they act inside the attention, or not at all
        case _:
            assert_never(choice.positions)


def _relative(choice: schema.TransformerStack, both_ways: bool) -> positions.Relative | None:
    """One for all layers of a stack, as in the paper."""
    return positions.Relative(choice.width, choice.heads, both_ways) if choice.positions == "relative" else None


def _self_attention(choice: schema.TransformerStack, relative: positions.Relative | None) -> SelfAttention:
    rotary = positions.Rotary(choice.width // choice.heads) if choice.positions == "rotary" else None
    return SelfAttention(choice.width, choice.heads, choice.key_value_heads, choice.attention_dropout, rotary, relative)


def _feedforward(choice: schema.TransformerStack) -> FeedForward:
    return FeedForward(choice.width, choice.feedforward, choice.activation, choice.activation_dropout)


def _around(choice: schema.TransformerStack) -> Callable[[], SubLayer]:
    return lambda: SubLayer(_norm(choice), choice.dropout, choice.norm)


def _final_norm(choice: schema.TransformerStack) -> nn.Module | None:
    return _norm(choice) if choice.norm == "before" else None


def _first_norm(choice: schema.TransformerStack) -> nn.Module | None:
    return _norm(choice) if choice.embedding_norm else None


def _norm(choice: schema.TransformerStack) -> nn.Module:
    return make_norm(choice.width, choice.rms_norm, choice.norm_epsilon)
