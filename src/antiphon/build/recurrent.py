"""From choices to recurrent parts."""

from typing import assert_never

from antiphon.attend import pool
from antiphon.build.attention import build_attention
from antiphon.config import schema
from antiphon.encode import recurrent as recurrent_encoder
from antiphon.layers.cells import GRU, LSTM, Cell, Elman
from antiphon.layers.dropout import Dropout
from antiphon.layers.steps import CoupledLSTM, Orthogonal, PeepholeLSTM
from antiphon.predict import bridge
from antiphon.predict import recurrent as recurrent_decoder


def build_reader(choice: schema.RecurrentEncoder, carry: bool) -> recurrent_encoder.Recurrent:
    dropout = Dropout(choice.dropout, choice.dropout_through_time)
    layers = [_reading_layer(choice, number) for number in range(choice.layers)]
    return recurrent_encoder.Recurrent(layers, _pool(choice), dropout, choice.reverse, carry)


def build_decoder(choice: schema.RecurrentDecoder, memory_width: int) -> recurrent_decoder.Recurrent:
    attention = build_attention(choice, memory_width)
    fed = attention.width if attention and choice.layer_feeding else 0
    first = choice.embedding + (memory_width if choice.summary_every_step else 0)
    read = [first, *(width + fed for width in choice.layer_widths[:-1])]
    cells = [_cell(choice.cell, *widths) for widths in zip(read, choice.layer_widths, strict=True)]
    feeding = recurrent_decoder.Feeding(choice.input_feeding, choice.layer_feeding, choice.readout_feeding)
    return recurrent_decoder.Recurrent(
        cells, _bridge(choice, memory_width, cells), attention, choice.query, feeding, choice.summary_every_step,
        choice.residual, Dropout(choice.dropout, choice.dropout_through_time),
    )  # fmt: skip


def build_writer(choice: schema.RecurrentWriter) -> recurrent_decoder.Recurrent:
    """A decoder that has nothing to look at."""
    read = [choice.embedding, *choice.layer_widths[:-1]]
    cells = [_cell(choice.cell, *widths) for widths in zip(read, choice.layer_widths, strict=True)]
    nowhere = recurrent_decoder.Feeding(next_input=False, layers_above=False, readout=False)
    return recurrent_decoder.Recurrent(
        cells, bridge.Onward(cells), None, "current", nowhere, False, choice.residual,
        Dropout(choice.dropout, choice.dropout_through_time),
    )  # fmt: skip


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
