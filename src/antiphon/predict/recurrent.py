"""Recurrent decoders: write word by word, looking at the memory.

B batch · N rows = batch x beam · K hypotheses · S, T source and target places · widths: D of a word, E of the state
and the output, M of the memory, G of all gates
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor, nn

from antiphon.attend.attention import Attention
from antiphon.attend.memory import Keyed, Memory
from antiphon.layers.cells import Cell, CellState
from antiphon.layers.dropout import Dropout
from antiphon.predict.bridge import Bridge


@dataclass(frozen=True)
class RecurrentState:
    """Cells a row a hypothesis, the keyed memory a row a sentence."""

    cells: tuple[CellState, ...]
    context_NM: Tensor | None  # what was read last
    keyed: Keyed | None
    summary_BM: Tensor | None  # where it is part of every input

    def select(self, rows_N: Tensor) -> "RecurrentState":
        cells = tuple(tuple(part.index_select(0, rows_N) for part in cell) for cell in self.cells)
        context_NM = None if self.context_NM is None else self.context_NM.index_select(0, rows_N)
        return replace(self, cells=cells, context_NM=context_NM)

    def keep(self, sentences_B: Tensor) -> "RecurrentState":
        keyed = None if self.keyed is None else self.keyed.keep(sentences_B)
        summary_BM = None if self.summary_BM is None else self.summary_BM.index_select(0, sentences_B)
        return replace(self, keyed=keyed, summary_BM=summary_BM)


class Recurrent(nn.Module):
    """s = R(s', [word; a']), a = attend(s or s'), out = tanh(W [s; a]) (Bahdanau et al., 2015; Luong et al., 2015).

    Where what was read does not enter the next input (`feeding` off), all places are computed at once in fused
    kernels; otherwise the words' share of the gates is still one product, and only the rest goes step by step.
    """

    def __init__(
        self,
        cells: Sequence[Cell],
        bridge: Bridge,
        attention: Attention | None,
        query: Literal["current", "previous"],
        feeding: bool,
        every_step: bool,
        dropout: float,
    ) -> None:
        super().__init__()
        self.cells = nn.ModuleList(cells)  # type: ignore[arg-type]
        self.bridge, self.attention, self.previous = bridge, attention, query == "previous"
        self.width = width = cells[-1].width
        read = 0 if attention is None else attention.width
        self.feed = nn.Linear(read, cells[0].gates, bias=False) if feeding and read else None
        self.readout = nn.Linear(width + read, width)
        self.every_step = every_step  # the summary of the input is part of every input (Cho et al., 2014)
        self.dropout = Dropout(dropout)

    def start(self, memory: Memory) -> RecurrentState:
        keyed = None if self.attention is None else self.attention.prepare(memory)
        context = None if self.feed is None else memory.summary_BM.new_zeros(len(memory.mask_BS), self.feed.in_features)
        return RecurrentState(self.bridge(memory), context, keyed, memory.summary_BM if self.every_step else None)

    def forward(
        self, words_BTD: Tensor, state: RecurrentState, mask_BT: Tensor, look: list[Tensor] | None = None
    ) -> tuple[Tensor, RecurrentState]:
        """All places at once; with padding behind the words, the state returned is that at the padded end."""
        inputs = self.dropout(self._with_summary(words_BTD, state))
        if self.feed is not None:
            h_BTE, context_BTM, state = self._one_by_one(inputs, state, look)
        else:
            h_BTE, context_BTM, state = self._at_once(inputs, state, look)
        return self._read_out(h_BTE, context_BTM), state

    def step(self, word_ND: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        inputs = self.dropout(self._with_summary(word_ND.unsqueeze(1), state)).squeeze(1)
        gates_NG = self.cells[0].project(inputs)  # type: ignore[operator]
        h_NE, context_NM, state = self._advance(gates_NG, state, None)
        return self._read_out(h_NE, context_NM), state

    def _advance(
        self, gates_NG: Tensor, state: RecurrentState, look: list[Tensor] | None
    ) -> tuple[Tensor, Tensor | None, RecurrentState]:
        """One place on, from the word's share of the first layer's gates."""
        context_NM = state.context_NM
        if self.previous:
            context_NM = self._attend(state.cells[-1][0], state, look)
        if self.feed is not None:
            gates_NG = gates_NG + self.feed(context_NM)
        cells: list[CellState] = []
        for layer, cell in enumerate(self.cells):
            gates_NG = cell.project(self.dropout(cells[-1][0])) if layer else gates_NG  # type: ignore[operator]
            cells.append(cell.step(gates_NG, state.cells[layer]))  # type: ignore[operator]
        h_NE = cells[-1][0]
        if not self.previous:
            context_NM = self._attend(h_NE, state, look)
        kept_NM = context_NM if self.feed is not None else None
        return h_NE, context_NM, replace(state, cells=tuple(cells), context_NM=kept_NM)

    def _one_by_one(
        self, inputs: Tensor, state: RecurrentState, look: list[Tensor] | None
    ) -> tuple[Tensor, Tensor | None, RecurrentState]:
        hs, contexts = [], []
        looks: list[Tensor] | None = None if look is None else []
        for gates_BG in self.cells[0].project(inputs).unbind(1):  # type: ignore[operator]
            h_BE, context_BM, state = self._advance(gates_BG, state, looks)
            hs.append(h_BE)
            contexts.append(context_BM)
        if look is not None and looks:
            look.append(torch.cat(looks, dim=2))
        return torch.stack(hs, dim=1), torch.stack([c for c in contexts if c is not None], dim=1), state

    def _at_once(
        self, inputs: Tensor, state: RecurrentState, look: list[Tensor] | None
    ) -> tuple[Tensor, Tensor | None, RecurrentState]:
        x, cells = inputs, []
        for layer, cell in enumerate(self.cells):
            x, last = cell(self.dropout(x) if layer else x, state.cells[layer])
            cells.append(last)
        h_BTE, after = x, replace(state, cells=tuple(cells))
        if self.attention is None:
            return h_BTE, None, after
        query_BTE = h_BTE
        if self.previous:
            query_BTE = torch.cat([state.cells[-1][0].unsqueeze(1), h_BTE[:, :-1]], dim=1)
        context_BTM, weights_BTS = self.attention(query_BTE, state.keyed)
        if look is not None:
            look.append(weights_BTS.unsqueeze(1))
        return h_BTE, context_BTM, after

    def _attend(self, query_NE: Tensor, state: RecurrentState, look: list[Tensor] | None) -> Tensor | None:
        """The K hypotheses of a sentence are K queries over its one memory."""
        if self.attention is None or state.keyed is None:
            return None
        sentences = len(state.keyed.mask_BS)
        context_BKM, weights_BKS = self.attention(query_NE.unflatten(0, (sentences, -1)), state.keyed)
        if look is not None:
            look.append(weights_BKS.unsqueeze(1))
        return context_BKM.flatten(0, 1)

    def _with_summary(self, words_NTD: Tensor, state: RecurrentState) -> Tensor:
        if state.summary_BM is None:
            return words_NTD
        rows, places, _ = words_NTD.shape
        summary_NM = state.summary_BM.repeat_interleave(rows // len(state.summary_BM), dim=0)
        return torch.cat([words_NTD, summary_NM.unsqueeze(1).expand(-1, places, -1)], dim=2)

    def _read_out(self, h: Tensor, context: Tensor | None) -> Tensor:
        joined = h if context is None else torch.cat([h, context], dim=-1)
        return self.dropout(torch.tanh(self.readout(self.dropout(joined))))
