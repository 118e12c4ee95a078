"""The Transformer encoder: every word looks at every word.

B batch · S source places · P real places of the batch · D width · M width of the memory, the same
"""

from collections.abc import Callable, Sequence

from torch import Tensor, nn

from antiphon.attend.memory import Memory
from antiphon.attend.multihead import SelfAttention
from antiphon.attend.pool import mean
from antiphon.layers.blocks import FeedForward, LayerDrop, SubLayer
from antiphon.layers.dropout import Dropout
from antiphon.layers.packing import Packing
from antiphon.layers.positions import Positions


class EncoderLayer(nn.Module):
    """Self-attention, then a feed-forward network, each with its residual and norm."""

    def __init__(self, attention: SelfAttention, feedforward: FeedForward, around: Callable[[], SubLayer]) -> None:
        super().__init__()
        self.attention, self.feedforward = attention, feedforward
        self.around_attention, self.around_feedforward = around(), around()

    def forward(self, x_PD: Tensor, packing: Packing, mask_BS: Tensor | None, look: list[Tensor] | None) -> Tensor:
        x_PD = self.around_attention(x_PD, lambda y: self.attention(y, packing, mask_BS, None, look)[0])
        return self.around_feedforward(x_PD, self.feedforward)


class Transformer(nn.Module):
    """Words and positions through layers of self-attention (Vaswani et al., 2017); padding costs nothing."""

    def __init__(
        self,
        layers: Sequence[EncoderLayer],
        positions: Positions | None,
        first_norm: nn.Module | None,
        dropout: float,
        layer_drop: float,
        final_norm: nn.Module | None,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.positions = positions
        self.first_norm = first_norm  # on the sum of words and positions
        self.dropout = Dropout(dropout)
        self.skips = LayerDrop(layer_drop)
        self.final_norm = final_norm  # where norms stand before the sub-layers, nothing else bounds the last sum

    def forward(self, words_BSD: Tensor, mask_BS: Tensor, look: list[Tensor] | None = None) -> Memory:
        packing = Packing.of(mask_BS)
        x_PD = packing.pack(words_BSD)
        if self.positions is not None:
            x_PD = x_PD + self.positions(packing.length, x_PD.device).index_select(0, packing.places(x_PD.device))
        if self.first_norm is not None:
            x_PD = self.first_norm(x_PD)
        x_PD = self.dropout(x_PD)
        hidden = None if packing.real_P is None else mask_BS
        for layer in self.layers:
            x_PD = x_PD if self.skips() else layer(x_PD, packing, hidden, look)
        if self.final_norm is not None:
            x_PD = self.final_norm(x_PD)
        states_BSM = packing.unpack(x_PD)
        return Memory(states_BSM, mask_BS, mean(states_BSM, mask_BS))
