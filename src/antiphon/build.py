"""From choices to parts: the only file that turns a config into objects."""

from collections.abc import Callable
from typing import assert_never

from torch import nn

from antiphon import models
from antiphon.attend import pool, scores, weights, windows
from antiphon.attend.attention import Attention
from antiphon.attend.multihead import CrossAttention, SelfAttention
from antiphon.config import schema
from antiphon.encode import recurrent as recurrent_encoder
from antiphon.encode import transformer as transformer_encoder
from antiphon.encode.tokens import Tokens
from antiphon.layers import positions
from antiphon.layers.blocks import FeedForward, SubLayer, make_norm, scale_by_depth
from antiphon.layers.cells import GRU, LSTM, Cell, Elman
from antiphon.layers.dropout import Dropout
from antiphon.layers.steps import CoupledLSTM, Orthogonal, PeepholeLSTM
from antiphon.predict import bridge
from antiphon.predict import recurrent as recurrent_decoder
from antiphon.predict import transformer as transformer_decoder
from antiphon.predict.heads import Words


def build_model(choice: schema.Seq2Seq, source_size: int, target_size: int) -> models.Seq2Seq:
    source = _tokens(choice.encoder, source_size)
    target = _tokens(choice.decoder, target_size)
    if choice.tie == "all":
        target.weight_VD = source.weight_VD
    carry = isinstance(choice.decoder, schema.RecurrentDecoder) and choice.decoder.bridge == "copy"
    decoder = build_decoder(choice.decoder, schema.memory_width(choice.encoder))
    head = Words(decoder.width, target_size, None if choice.tie == "none" else target.weight_VD)
    return models.Seq2Seq(source, build_encoder(choice.encoder, carry), target, decoder, head)


def build_encoder(choice: schema.RecurrentEncoder | schema.TransformerStack, carry: bool) -> models.Encoder:
    match choice:
        case schema.RecurrentEncoder():
            dropout = Dropout(choice.dropout, choice.dropout_through_time)
            layers = [_reading_layer(choice, number) for number in range(choice.layers)]
            return recurrent_encoder.Recurrent(layers, _pool(choice), dropout, choice.reverse, carry)
        case schema.TransformerStack():
            relative = _relative(choice, both_ways=True)
            blocks = [
                transformer_encoder.EncoderLayer(
                    _self_attention(choice, relative), _feedforward(choice), _around(choice)
                )
                for _ in range(choice.layers)
            ]
            if choice.init == "depth_scaled":
                scale_by_depth(blocks)
            return transformer_encoder.Transformer(
                blocks, _positions(choice), choice.dropout, choice.layer_drop, _final_norm(choice)
            )
        case _:
            assert_never(choice)


def build_decoder(choice: schema.RecurrentDecoder | schema.TransformerStack, memory_width: int) -> models.Decoder:
    match choice:
        case schema.RecurrentDecoder():
            return _writer(choice, memory_width)
        case schema.TransformerStack():
            relative = _relative(choice, both_ways=False)
            blocks = [
                transformer_decoder.DecoderLayer(
                    _self_attention(choice, relative),
                    CrossAttention(
                        choice.width, memory_width, choice.heads, choice.key_value_heads, choice.attention_dropout
                    ),
                    _feedforward(choice), _around(choice),
                )
                for _ in range(choice.layers)
            ]  # fmt: skip
            if choice.init == "depth_scaled":
                scale_by_depth(blocks)
            return transformer_decoder.Transformer(
                blocks, choice.width, _positions(choice), choice.dropout, choice.layer_drop, _final_norm(choice)
            )
        case _:
            assert_never(choice)


def _writer(choice: schema.RecurrentDecoder, memory_width: int) -> recurrent_decoder.Recurrent:
    attention = _attention(choice, memory_width)
    fed = attention.width if attention and choice.layer_feeding else 0
    first = choice.embedding + (memory_width if choice.summary_every_step else 0)
    read = [first, *(width + fed for width in choice.layer_widths[:-1])]
    cells = [_cell(choice.cell, *widths) for widths in zip(read, choice.layer_widths, strict=True)]
    feeding = recurrent_decoder.Feeding(choice.input_feeding, choice.layer_feeding, choice.readout_feeding)
    return recurrent_decoder.Recurrent(
        cells, _bridge(choice, memory_width, cells), attention, choice.query, feeding, choice.summary_every_step,
        choice.residual, Dropout(choice.dropout, choice.dropout_through_time),
    )  # fmt: skip


def _tokens(half: schema.RecurrentEncoder | schema.RecurrentDecoder | schema.TransformerStack, size: int) -> Tokens:
    scaled = isinstance(half, schema.TransformerStack) and half.scale_embedding
    return Tokens(size, schema.embedding_width(half), scaled)


def _reading_layer(choice: schema.RecurrentEncoder, number: int) -> recurrent_encoder.Layer:
    read = choice.joined_widths[number - 1] if number else choice.embedding
    width = choice.layer_widths[number]
    readers = [_cell(choice.cell, read, width) for _ in range(choice.directions)]
    return recurrent_encoder.Layer(readers, _join(choice, width), choice.residual and number > 0)


def _join(choice: schema.RecurrentEncoder, width: int) -> recurrent_encoder.Join:
    match choice.merge:
        case "concat":
            return recurrent_encoder.side_by_side
        case "mean":
            return recurrent_encoder.average
        case "sum":
            return recurrent_encoder.total
        case "project":
            # One direction has nothing to join, and a part that is never used would never learn.
            two = choice.directions == 2
            return recurrent_encoder.Projected(width) if two else recurrent_encoder.side_by_side
        case _:
            assert_never(choice.merge)


def _pool(choice: schema.RecurrentEncoder) -> pool.Pool | None:
    match choice.summary:
        case "last":
            return None
        case "mean":
            return pool.mean
        case "max":
            return pool.maximum
        case "attention":
            return pool.LearnedQuery(schema.memory_width(choice))
        case _:
            assert_never(choice.summary)


def _cell(name: schema.CellName, input_width: int, width: int) -> Cell:
    match name:
        case "elman":
            return Elman(input_width, width)
        case "lstm":
            return LSTM(input_width, width)
        case "gru":
            return GRU(input_width, width)
        case "peephole":
            return PeepholeLSTM(input_width, width, "diagonal")
        case "full_peephole":
            return PeepholeLSTM(input_width, width, "full")
        case "coupled":
            return CoupledLSTM(input_width, width)
        case "orthogonal":
            return Orthogonal(input_width, width)
        case _:
            assert_never(name)


def _bridge(choice: schema.RecurrentDecoder, memory_width: int, cells: list[Cell]) -> bridge.Bridge:
    match choice.bridge:
        case "transform":
            return bridge.Transform(memory_width, cells)
        case "copy":
            return bridge.Copy(cells)
        case "zero":
            return bridge.Zero(cells)
        case _:
            assert_never(choice.bridge)


def _attention(choice: schema.RecurrentDecoder, memory_width: int) -> Attention | None:
    attending = choice.attention
    if isinstance(attending, schema.NoAttention):
        return None
    values = attending.width if isinstance(attending, schema.MultiHeadAttention) else attending.values
    scorer = _scorer(attending, choice.query_width, memory_width)
    return Attention(scorer, _window(attending, choice.query_width), _weigh(attending), memory_width, values)


def _window(choice: schema.Scoring, query_width: int) -> windows.Window:
    match choice.window:
        case "all":
            return windows.everywhere
        case "local_m":
            return windows.Monotonic(choice.reach)
        case "local_p":
            return windows.Predictive(query_width, choice.reach)
        case _:
            assert_never(choice.window)


def _weigh(choice: schema.Scoring) -> weights.Weigh:
    match choice.weights:
        case "softmax":
            return weights.softmax
        case "sparsemax":
            return weights.sparsemax
        case "hard":
            return weights.Hard()
        case _:
            assert_never(choice.weights)


def _scorer(choice: schema.Scoring, query_width: int, memory_width: int) -> scores.Scorer:
    match choice:
        case schema.DotAttention():
            return scores.Dot()
        case schema.ScaledDotAttention(width=width):
            return scores.ScaledDot(query_width, memory_width, width, heads=1)
        case schema.MultiHeadAttention(width=width, heads=heads):
            return scores.ScaledDot(query_width, memory_width, width, heads)
        case schema.BilinearAttention():
            return scores.Bilinear(query_width, memory_width)
        case schema.AdditiveAttention(width=width):
            return scores.Additive(query_width, memory_width, width)
        case schema.CosineAttention(width=width):
            return scores.Cosine(query_width, memory_width, width)
        case schema.LocationAttention(width=width, filters=filters, span=span):
            return scores.LocationAware(query_width, memory_width, width, filters, span)
        case _:
            assert_never(choice)


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
    rotary = positions.Rotary() if choice.positions == "rotary" else None
    return SelfAttention(choice.width, choice.heads, choice.key_value_heads, choice.attention_dropout, rotary, relative)


def _feedforward(choice: schema.TransformerStack) -> FeedForward:
    return FeedForward(choice.width, choice.feedforward, choice.activation, choice.activation_dropout)


def _around(choice: schema.TransformerStack) -> Callable[[], SubLayer]:
    return lambda: SubLayer(choice.width, choice.dropout, choice.norm, choice.rms_norm)


def _final_norm(choice: schema.TransformerStack) -> nn.Module | None:
    return make_norm(choice.width, choice.rms_norm) if choice.norm == "before" else None
