"""Multi-head attention over real places only, on torch's fused kernel.

B batch · T queries · S places · P real places of the batch · H heads · C width of one head · D width · N rows
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from antiphon.attend.memory import Keyed, Memory
from antiphon.layers.dropout import Dropout
from antiphon.layers.packing import Packing
from antiphon.layers.positions import Rotary

Past = tuple[Tensor, Tensor]  # keys and values of the places before, N x H x t x C


class ScaledDot(nn.Module):
    """softmax(Q K^T / sqrt(C)) V (Vaswani et al., 2017), with dropout on the weights."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)

    def forward(
        self,
        q_BHTC: Tensor,
        keys_BHSC: Tensor,
        values_BHSC: Tensor,
        mask: Tensor | None,
        causal: bool,
        look: list[Tensor] | None,
    ) -> Tensor:
        """`mask` is True where a query may read; `causal` hides every place after the query's own."""
        if look is None and not (self.training and self.dropout.rate):
            return F.scaled_dot_product_attention(q_BHTC, keys_BHSC, values_BHSC, attn_mask=mask, is_causal=causal)
        scores = (q_BHTC * q_BHTC.shape[-1] ** -0.5) @ keys_BHSC.transpose(2, 3)
        if causal:
            mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights_BHTS = scores.softmax(dim=-1)
        if look is not None:
            look.append(weights_BHTS)
        return self.dropout(weights_BHTS) @ values_BHSC


class SelfAttention(nn.Module):
    """Every place asks every place, or in a decoder every place before it and itself."""

    def __init__(self, width: int, heads: int, dropout: float, rotary: Rotary | None) -> None:
        super().__init__()
        self.heads = heads
        self.projection = nn.Linear(width, 3 * width)  # queries, keys and values in one product
        self.out = nn.Linear(width, width)
        self.attend = ScaledDot(dropout)
        self.rotary = rotary
        _start_evenly([self.projection.weight[i * width : (i + 1) * width] for i in range(3)], self.out)
        nn.init.zeros_(self.projection.bias)

    def forward(
        self, x_PD: Tensor, packing: Packing, mask_BS: Tensor | None, past: Past | None, look: list[Tensor] | None
    ) -> tuple[Tensor, Past]:
        """With `past` (of no places at first) it is causal; without, `mask_BS` tells the real places."""
        q, k, v = _split(packing.unpack(self.projection(x_PD)), 3, self.heads)
        first = 0 if past is None else past[0].shape[2]
        if self.rotary is not None:
            q, k = self.rotary(q, first), self.rotary(k, first)
        if past is not None and first:
            k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
        mask = None if mask_BS is None else mask_BS[:, None, None, :]
        if first and q.shape[2] > 1:
            mask = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=q.device).tril(first)
        read = self.attend(q, k, v, mask, past is not None and not first, look)
        return self.out(packing.pack(read.transpose(1, 2).flatten(2))), (k, v)


class CrossAttention(nn.Module):
    """Every target place asks every source place."""

    def __init__(self, width: int, memory_width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.memory = nn.Linear(memory_width, 2 * width)  # keys and values in one product
        self.out = nn.Linear(width, width)
        self.attend = ScaledDot(dropout)
        _start_evenly([self.query.weight, self.memory.weight[:width], self.memory.weight[width:]], self.out)
        nn.init.zeros_(self.query.bias)
        nn.init.zeros_(self.memory.bias)

    def prepare(self, memory: Memory, packing: Packing) -> Keyed:
        """Keys and values for every head, once a sentence."""
        packed = self.memory(packing.pack(memory.states_BSM))
        keys, values = _split(packing.unpack(packed), 2, self.heads)
        return Keyed(keys, values, memory.mask_BS)

    def forward(self, x_PD: Tensor, packing: Packing, keyed: Keyed, look: list[Tensor] | None) -> Tensor:
        (q,) = _split(packing.unpack(self.query(x_PD)), 1, self.heads)
        read = self.attend(q, keyed.keys, keyed.values, keyed.mask_BS[:, None, None, :], False, look)
        return self.out(packing.pack(read.transpose(1, 2).flatten(2)))


def _split(x_BTD: Tensor, count: int, heads: int) -> tuple[Tensor, ...]:
    """`count` tensors of B x H x T x C out of one whose last axis holds them side by side."""
    return x_BTD.unflatten(2, (count, heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)


def _start_evenly(projections: Sequence[Tensor], out: nn.Linear) -> None:
    """Glorot's start for each projection by itself, as though they were not stored side by side."""
    with torch.no_grad():
        for weight in (*projections, out.weight):
            nn.init.xavier_uniform_(weight)
        nn.init.zeros_(out.bias)
