"""Recurrent decoders: write word by word, looking at the memory.

B batch · N rows = batch x beam · K hypotheses · S, T source and target places · H heads · widths: D of a word, E of the
output, Q of the state that asks, M of what is read, G of the first layer's gates
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor, nn

from antiphon.attend.attention import Attention
from antiphon.attend.looks import Looks
from antiphon.attend.memory import Keyed, Memory
from antiphon.layers.cells import Cell, CellState
from antiphon.layers.dropout import Dropout
from antiphon.layers.owed import Onto
from antiphon.predict.bridge import Bridge


@dataclass(frozen=True)
class Feeding:
    """Where that which was read goes: any of the three, or all."""

    next_input: bool
    layers_above: bool  # then the first layer's state asks
    readout: bool


@dataclass(frozen=True)
class RecurrentState:
    """Cells a row a hypothesis, the keyed memory a row a sentence."""

    cells: tuple[CellState, ...]
    place: int  # words before this one
    context_NM: Tensor | None  # what was read last, where it is part of the next input
    weights_NS: Tensor | None  # how it was read, where the attention looks back
    keyed: Keyed | None
    summary_BM: Tensor | None  # where it is part of every input

    def select(self, rows_N: Tensor) -> "RecurrentState":
        cells = tuple(tuple(part.index_select(0, rows_N) for part in cell) for cell in self.cells)
        context_NM = None if self.context_NM is None else self.context_NM.index_select(0, rows_N)
        weights_NS = None if self.weights_NS is None else self.weights_NS.index_select(0, rows_N)
        return replace(self, cells=cells, context_NM=context_NM, weights_NS=weights_NS)

    def keep(self, sentences_B: Tensor) -> "RecurrentState":
        keyed = None if self.keyed is None else self.keyed.keep(sentences_B)
        summary_BM = None if self.summary_BM is None else self.summary_BM.index_select(0, sentences_B)
        return replace(self, keyed=keyed, summary_BM=summary_BM)


class Recurrent(nn.Module):
    """s = R(s', [word; a']), a = attend(s or s'), out = tanh(W [s; a]) (Bahdanau et al., 2015; Luong et al., 2015).

    Where no place waits for what the one before it read, all are computed at once in fused kernels; otherwise the
    words' share of the gates is still one product, and only the rest goes step by step.
    """

    def __init__(
        self,
        cells: Sequence[Cell],
        bridge: Bridge,
        attention: Attention | None,
        query: Literal["current", "previous"],
        feeding: Feeding,
        every_step: bool,
        residual: bool,
        dropout: Dropout,
    ) -> None:
        super().__init__()
        self.cells = nn.ModuleList(cells)  # type: ignore[arg-type]
        self.bridge, self.attention, self.previous = bridge, attention, query == "previous"
        self.feeding, self.residual, self.dropout = feeding, residual, dropout
        self.every_step = every_step  # the summary of the input is part of every input (Cho et al., 2014)
        self.asking = 0 if feeding.layers_above else len(cells) - 1  # the layer whose state is the query
        self.width = width = cells[-1].width
        read = 0 if attention is None else attention.width
        self.feed = Onto(read, cells[0].gates) if feeding.next_input and read else None
        self.readout = nn.Linear(width + read if feeding.readout else width, width)
        self.looks_back = attention is not None and attention.scorer.looks_back

    def start(self, memory: Memory) -> RecurrentState:
        keyed = None if self.attention is None else self.attention.prepare(memory)
        empty, (rows, places) = memory.states_BSM.new_zeros, memory.mask_BS.shape
        return RecurrentState(
            self.bridge(memory), 0, None if self.feed is None else empty(rows, self.feed.in_features),
            empty(rows, places) if self.looks_back else None, keyed, memory.summary_BM if self.every_step else None,
        )  # fmt: skip

    def forward(
        self, words_BTD: Tensor, state: RecurrentState, mask_BT: Tensor, looks: Looks | None = None
    ) -> tuple[Tensor, RecurrentState]:
        """All places at once; with padding behind the words, the state returned is that at the padded end."""
        inputs = self.dropout(self._with_summary(words_BTD, state))
        run = self._at_once if self.feed is None and not self.looks_back else self._one_by_one
        x_BTE, context_BTM, state = run(inputs, state, None if looks is None else looks.cross)
        return self._read_out(x_BTE, context_BTM), state

    def step(
        self, word_ND: Tensor, state: RecurrentState, look: list[Tensor] | None = None
    ) -> tuple[Tensor, RecurrentState]:
        inputs = self.dropout(self._with_summary(word_ND.unsqueeze(1), state)).squeeze(1)
        gates_NG = self.cells[0].project(inputs)  # type: ignore[operator]
        x_NE, context_NM, state = self._advance(gates_NG, state, [self.dropout] * len(self.cells), look)
        return self._read_out(x_NE, context_NM), state

    def _advance(
        self,
        gates_NG: Tensor,
        state: RecurrentState,
        drops: Sequence[Callable[[Tensor], Tensor]],
        look: list[Tensor] | None,
    ) -> tuple[Tensor, Tensor | None, RecurrentState]:
        """One place on, from the word's share of the first layer's gates; `drops` stand between the layers."""
        context_NM, weights_NS = state.context_NM, state.weights_NS
        if self.previous:
            context_NM, weights_NS = self._attend(state.cells[self.asking][0], state, look)
        x = gates = gates_NG
        if self.feed is not None:
            assert context_NM is not None
            x = gates = self.feed.onto(gates_NG, context_NM)
        cells: list[CellState] = []
        for layer, (cell, drop) in enumerate(zip(self.cells, drops, strict=True)):
            if layer:
                gates = cell.project(drop(self._going_up(x, context_NM)))  # type: ignore[operator]
            cells.append(cell.step(gates, state.cells[layer]))  # type: ignore[operator]
            h = cells[-1][0]
            x = h + x if self.residual and layer else h
            if layer == self.asking and not self.previous:
                context_NM, weights_NS = self._attend(h, state, look)
        after = replace(
            state, cells=tuple(cells), place=state.place + 1,
            context_NM=None if self.feed is None else context_NM, weights_NS=weights_NS if self.looks_back else None,
        )  # fmt: skip
        return x, context_NM, after

    def _one_by_one(
        self, inputs: Tensor, state: RecurrentState, look: list[Tensor] | None
    ) -> tuple[Tensor, Tensor | None, RecurrentState]:
        outs, contexts = [], []
        looks: list[Tensor] | None = None if look is None else []
        drops = [self.dropout.held() for _ in self.cells]
        for gates_BG in self.cells[0].project(inputs).unbind(1):  # type: ignore[operator]
            x_BE, context_BM, state = self._advance(gates_BG, state, drops, looks)
            outs.append(x_BE)
            contexts.append(context_BM)
        if look is not None and looks:
            look.append(torch.cat(looks, dim=2))
        return torch.stack(outs, dim=1), torch.stack([c for c in contexts if c is not None], dim=1), state

    def _at_once(
        self, inputs: Tensor, state: RecurrentState, look: list[Tensor] | None
    ) -> tuple[Tensor, Tensor | None, RecurrentState]:
        cells: list[CellState] = []
        x, context_BTM = inputs, None
        for layer, cell in enumerate(self.cells):
            read = self.dropout(self._going_up(x, context_BTM)) if layer else x
            h, last = cell(read, state.cells[layer])
            cells.append(last)
            x = h + x if self.residual and layer else h
            if layer == self.asking and self.attention is not None and state.keyed is not None:
                query = torch.cat([state.cells[layer][0].unsqueeze(1), h[:, :-1]], dim=1) if self.previous else h
                places_T = torch.arange(state.place, state.place + inputs.shape[1], device=inputs.device)
                context_BTM, weights_BHTS = self.attention(query, state.keyed, places_T, None)
                if look is not None:
                    look.append(weights_BHTS)
        return x, context_BTM, replace(state, cells=tuple(cells), place=state.place + inputs.shape[1])

    def _attend(
        self, query_NQ: Tensor, state: RecurrentState, look: list[Tensor] | None
    ) -> tuple[Tensor | None, Tensor | None]:
        """What is read and with which weights; the K hypotheses of a sentence are K queries over its one memory."""
        if self.attention is None or state.keyed is None:
            return None, None
        query_BKQ = query_NQ.unflatten(0, (len(state.keyed.mask_BS), -1))
        last_BKS = None if state.weights_NS is None else state.weights_NS.unflatten(0, query_BKQ.shape[:2])
        places_K = torch.full((query_BKQ.shape[1],), state.place, device=query_NQ.device)
        context_BKM, weights_BHKS = self.attention(query_BKQ, state.keyed, places_K, last_BKS)
        if look is not None:
            look.append(weights_BHKS)
        return context_BKM.flatten(0, 1), weights_BHKS[:, 0].flatten(0, 1)

    def _with_summary(self, words_NTD: Tensor, state: RecurrentState) -> Tensor:
        if state.summary_BM is None:
            return words_NTD
        rows, places, _ = words_NTD.shape
        summary_NM = state.summary_BM.repeat_interleave(rows // len(state.summary_BM), dim=0)
        return torch.cat([words_NTD, summary_NM.unsqueeze(1).expand(-1, places, -1)], dim=2)

    def _going_up(self, x: Tensor, context: Tensor | None) -> Tensor:
        return _beside(x, context) if self.feeding.layers_above else x

    def _read_out(self, x: Tensor, context: Tensor | None) -> Tensor:
        joined = _beside(x, context) if self.feeding.readout else x
        return self.dropout(torch.tanh(self.readout(self.dropout(joined))))


def _beside(x: Tensor, context: Tensor | None) -> Tensor:
    return x if context is None else torch.cat([x, context], dim=-1)
