"""Multi-head attention over real places only, on torch's fused kernel.

B batch · T queries · S places · P real places of the batch · H heads · C width of one head · D width · N rows
G heads of keys and values, each for H / G heads of queries · U = H / G x T queries · M width of a summary
A width of queries and keys side by side · E of values
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from antiphon.attend.memory import Keyed, Memory
from antiphon.layers.dropout import Dropout
from antiphon.layers.packing import Packing
from antiphon.layers.positions import Relative, Rotary
from antiphon.layers.products import by_onednn

_SHORT = 256 * 256  # meetings of a query and a place: up to here torch's fused kernel is slower beside oneDNN
Past = tuple[Tensor, Tensor]  # keys and values of the places before, N x G x t x C


class ScaledDot(nn.Module):
    """softmax(Q K^T / sqrt(C) + bias) V (Vaswani et al., 2017), with dropout on the weights."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)

    def forward(
        self,
        q_BHTC: Tensor,
        keys_BGSC: Tensor,
        values_BGSC: Tensor,
        mask: Tensor | None,
        bias_HTS: Tensor | None,
        causal: bool,
        look: list[Tensor] | None,
    ) -> Tensor:
        """`mask` is True where a query may read; `causal` hides every place after the query's own."""
        heads, shared = q_BHTC.shape[1], q_BHTC.shape[1] // keys_BGSC.shape[1]
        fused = look is None and bias_HTS is None and not (self.training and self.dropout.rate)
        queries, places = q_BHTC.shape[2], keys_BGSC.shape[2]
        fused = fused and not (by_onednn() and queries > 1 and queries * places <= _SHORT)
        if fused and shared == 1:
            return F.scaled_dot_product_attention(q_BHTC, keys_BGSC, values_BGSC, attn_mask=mask, is_causal=causal)
        if causal:
            mask = torch.ones(queries, places, dtype=torch.bool, device=q_BHTC.device).tril()
        q_BGUC = _join_heads(q_BHTC, shared)
        if fused:
            # One row a query, where queries may read different places.
            rows = mask.repeat(shared, 1) if mask is not None and mask.dim() == 2 else mask
            read_BGUC = F.scaled_dot_product_attention(q_BGUC, keys_BGSC, values_BGSC, attn_mask=rows)
            return _part_heads(read_BGUC, heads)
        scores_BHTS = _part_heads((q_BGUC * q_BGUC.shape[-1] ** -0.5) @ keys_BGSC.transpose(2, 3), heads)
        if bias_HTS is not None:
            scores_BHTS = scores_BHTS + bias_HTS
        if mask is not None:
            scores_BHTS = scores_BHTS.masked_fill(~mask, float("-inf"))
        weights_BHTS = scores_BHTS.softmax(dim=-1)
        if look is not None:
            look.append(weights_BHTS)
        return _part_heads(_join_heads(self.dropout(weights_BHTS), shared) @ values_BGSC, heads)


class SelfAttention(nn.Module):
    """Every place asks every place, or in a decoder every place before it and itself."""

    def __init__(
        self, width: int, heads: int, kv_heads: int, dropout: float, rotary: Rotary | None, relative: Relative | None
    ) -> None:
        super().__init__()
        self.parts, self.head_width = [heads, kv_heads, kv_heads], width // heads
        shared = self.head_width * kv_heads
        self.projection = nn.Linear(width, width + 2 * shared)  # queries, keys and values in one product
        self.out = nn.Linear(width, width)
        self.attend = ScaledDot(dropout)
        self.rotary, self.relative = rotary, relative
        _start_evenly(self.projection.weight.detach().split([width, shared, shared]), self.out)
        nn.init.zeros_(self.projection.bias)

    def no_past(self, summary_BM: Tensor) -> Past:
        """Before the first place of each row."""
        nothing = summary_BM.new_zeros(len(summary_BM), self.parts[1], 0, self.head_width)
        return nothing, nothing

    def forward(
        self, x_PD: Tensor, packing: Packing, mask_BS: Tensor | None, past: Past | None, look: list[Tensor] | None
    ) -> tuple[Tensor, Past]:
        """With `past` (of no places at first) it is causal; without, `mask_BS` tells the real places."""
        first = 0 if past is None else past[0].shape[2]
        *asking, shared = self.parts
        asking_BTA, values_BTE = packing.unpack(self.projection(x_PD)).split(
            [sum(asking) * self.head_width, shared * self.head_width], dim=2
        )
        if self.rotary is not None:
            asking_BTA = self.rotary(asking_BTA, first)
        (q, k), (v,) = _split(asking_BTA, asking), _split(values_BTE, [shared])
        if past is not None and first:
            k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
        mask = None if mask_BS is None else mask_BS[:, None, None, :]
        if first and q.shape[2] > 1:
            mask = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=q.device).tril(first)
        bias = None if self.relative is None else self.relative(q.shape[2], k.shape[2])
        read = self.attend(q, k, v, mask, bias, past is not None and not first, look)
        return self.out(packing.pack(read.transpose(1, 2).flatten(2))), (k, v)


class CrossAttention(nn.Module):
    """Every target place asks every source place."""

    def __init__(self, width: int, memory_width: int, heads: int, kv_heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.kv_heads = heads, kv_heads
        self.query = nn.Linear(width, width)
        self.memory = nn.Linear(memory_width, 2 * (width // heads * kv_heads))  # keys and values in one product
        self.out = nn.Linear(width, width)
        self.attend = ScaledDot(dropout)
        _start_evenly([self.query.weight, *self.memory.weight.detach().chunk(2)], self.out)
        nn.init.zeros_(self.query.bias)
        nn.init.zeros_(self.memory.bias)

    def prepare(self, memory: Memory, packing: Packing) -> Keyed:
        """Keys and values for every head, once a sentence."""
        packed = self.memory(packing.pack(memory.states_BSM))
        keys, values = _split(packing.unpack(packed), [self.kv_heads] * 2)
        return Keyed(keys, values, memory.mask_BS)

    def forward(self, x_PD: Tensor, packing: Packing, keyed: Keyed, look: list[Tensor] | None) -> Tensor:
        (q,) = _split(packing.unpack(self.query(x_PD)), [self.heads])
        read = self.attend(q, keyed.keys, keyed.values, keyed.mask_BS[:, None, None, :], None, False, look)
        return self.out(packing.pack(read.transpose(1, 2).flatten(2)))


def _split(x_BTD: Tensor, parts: list[int]) -> tuple[Tensor, ...]:
    """Tensors of so many heads, B x H x T x C, out of one whose last axis holds them all side by side."""
    return x_BTD.unflatten(2, (sum(parts), -1)).transpose(1, 2).split(parts, dim=1)


def _join_heads(x_BHTC: Tensor, shared: int) -> Tensor:
    """Heads that share keys ask as one, a head after the other: keys are never copied (Ainslie et al., 2023)."""
    return x_BHTC.unflatten(1, (-1, shared)).flatten(2, 3)


def _part_heads(x_BGUC: Tensor, heads: int) -> Tensor:
    """The inverse."""
    return x_BGUC.unflatten(2, (heads // x_BGUC.shape[1], -1)).flatten(1, 2)


def _start_evenly(projections: Sequence[Tensor], out: nn.Linear) -> None:
    """Glorot's start for each projection by itself, as though they were not stored side by side."""
    with torch.no_grad():
        for weight in (*projections, out.weight):
            nn.init.xavier_uniform_(weight)
        nn.init.zeros_(out.bias)
