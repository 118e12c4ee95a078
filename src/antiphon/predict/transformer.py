"""The Transformer decoder: every word looks at the words before it and at the memory.

B batch · N rows = batch x beam · T, S target and source places · P real places of the batch
D width · G heads of keys and values, of width C
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from torch import Tensor, nn

from antiphon.attend.looks import Looks
from antiphon.attend.memory import Keyed, Memory
from antiphon.attend.multihead import CrossAttention, Past, SelfAttention
from antiphon.layers.blocks import FeedForward, LayerDrop, SubLayer
from antiphon.layers.dropout import Dropout
from antiphon.layers.packing import Packing
from antiphon.layers.positions import Positions


@dataclass(frozen=True)
class TransformerState:
    """Keys and values of the words so far, a row a hypothesis; those of the memory, a row a sentence."""

    past: tuple[Past, ...]  # a layer
    keyed: tuple[Keyed | None, ...]  # a layer; None where there is no memory
    place: int  # of the next word

    def select(self, rows_N: Tensor) -> "TransformerState":
        return replace(self, past=tuple((k.index_select(0, rows_N), v.index_select(0, rows_N)) for k, v in self.past))

    def keep(self, sentences_B: Tensor) -> "TransformerState":
        return replace(self, keyed=tuple(keyed and keyed.keep(sentences_B) for keyed in self.keyed))


class DecoderLayer(nn.Module):
    """Causal self-attention, attention to the memory if there is one, a feed-forward network; residuals and norms."""

    def __init__(
        self,
        attention: SelfAttention,
        memory_attention: CrossAttention | None,
        feedforward: FeedForward,
        around: Callable[[], SubLayer],
    ) -> None:
        super().__init__()
        self.attention, self.memory_attention, self.feedforward = attention, memory_attention, feedforward
        self.around_attention = around()
        self.around_memory_attention = None if memory_attention is None else around()
        self.around_feedforward = around()

    def prepare(self, memory: Memory, packing: Packing) -> Keyed | None:
        """Its keys and values of the memory, once a sentence."""
        return None if self.memory_attention is None else self.memory_attention.prepare(memory, packing)

    def forward(
        self, x_PD: Tensor, rows: Packing, queries: Packing, past: Past, keyed: Keyed | None, looks: Looks | None
    ) -> tuple[Tensor, Past]:
        """`rows` lays the words out a row a hypothesis, `queries` a row a sentence."""
        grown: list[Past] = []
        back, across = (None, None) if looks is None else (looks.decoder, looks.cross)

        def look_back(y_PD: Tensor) -> Tensor:
            read_PD, after = self.attention(y_PD, rows, None, past, back)
            grown.append(after)
            return read_PD

        x_PD = self.around_attention(x_PD, look_back)
        attend, around = self.memory_attention, self.around_memory_attention
        if attend is not None and around is not None:
            x_PD = around(x_PD, lambda y: attend(y, queries, keyed, across))
        return self.around_feedforward(x_PD, self.feedforward), grown[0]


class Transformer(nn.Module):
    """Words and positions through layers that look back and at the memory (Vaswani et al., 2017)."""

    def __init__(
        self,
        layers: Sequence[DecoderLayer],
        width: int,
        positions: Positions | None,
        first_norm: nn.Module | None,
        dropout: float,
        layer_drop: float,
        final_norm: nn.Module | None,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.width = width
        self.positions = positions
        self.first_norm = first_norm  # on the sum of words and positions
        self.dropout = Dropout(dropout)
        self.skips = LayerDrop(layer_drop)
        self.final_norm = final_norm  # where norms stand before the sub-layers, nothing else bounds the last sum

    def start(self, memory: Memory) -> TransformerState:
        packing = Packing.of(memory.mask_BS)
        keyed = tuple(layer.prepare(memory, packing) for layer in self.layers)  # type: ignore[operator]
        past = tuple(layer.attention.no_past(memory.summary_BM) for layer in self.layers)  # type: ignore[union-attr, operator]
        return TransformerState(past, keyed, 0)

    def forward(
        self, words_BTD: Tensor, state: TransformerState, mask_BT: Tensor, looks: Looks | None = None
    ) -> tuple[Tensor, TransformerState]:
        packing = Packing.of(mask_BT)
        x_PD, state = self._through(
            packing.pack(words_BTD), packing, packing, packing.places(words_BTD.device), state, looks
        )
        return packing.unpack(x_PD), state

    def step(
        self, word_ND: Tensor, state: TransformerState, look: list[Tensor] | None = None
    ) -> tuple[Tensor, TransformerState]:
        keyed, rows = state.keyed[0], len(word_ND)
        sentences = rows if keyed is None else len(keyed.mask_BS)
        # The K hypotheses of a sentence are K queries over its one memory.
        a_row_each, a_row_a_sentence = Packing(rows, 1, None, None), Packing(sentences, rows // sentences, None, None)
        looks = None if look is None else Looks(cross=look)
        return self._through(word_ND, a_row_each, a_row_a_sentence, a_row_each.places(word_ND.device), state, looks)

    def _through(
        self,
        x_PD: Tensor,
        rows: Packing,
        queries: Packing,
        places_P: Tensor,
        state: TransformerState,
        looks: Looks | None,
    ) -> tuple[Tensor, TransformerState]:
        after = state.place + rows.length
        if self.positions is not None:
            x_PD = x_PD + self.positions(after, x_PD.device).index_select(0, places_P + state.place)
        if self.first_norm is not None:
            x_PD = self.first_norm(x_PD)
        x_PD = self.dropout(x_PD)
        grown = []
        for layer, past, keyed in zip(self.layers, state.past, state.keyed, strict=True):
            if not self.skips():
                x_PD, past = layer(x_PD, rows, queries, past, keyed, looks)
            grown.append(past)
        if self.final_norm is not None:
            x_PD = self.final_norm(x_PD)
        return x_PD, replace(state, past=tuple(grown), place=after)
