"""Pooling: one vector for the whole input.

B batch · S places · M width of the memory · K queries · E width of what is pooled
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from antiphon.attend.memory import Memory
from antiphon.attend.weights import softmax

Pool = Callable[[Tensor, Tensor], Tensor]
Summing = Callable[[Memory, list[Tensor] | None], Tensor]  # B x E of a memory; attention keeps its weights in the list


def mean(states_BSM: Tensor, mask_BS: Tensor) -> Tensor:
    """The average of the real places."""
    real_BS1 = mask_BS.unsqueeze(2)
    return (states_BSM * real_BS1).sum(1) / real_BS1.sum(1)


def maximum(states_BSM: Tensor, mask_BS: Tensor) -> Tensor:
    """The highest value of each number over the real places."""
    return states_BSM.masked_fill(~mask_BS.unsqueeze(2), float("-inf")).amax(1)


class LearnedQuery(nn.Module):
    """sum alpha_s m_s, alpha = softmax(q . tanh(W m)), with a query q that is a parameter (Yang et al., 2016)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.key = nn.Linear(width, width)
        self.query_M = nn.Parameter(torch.empty(width).normal_(std=width**-0.5))

    def forward(self, states_BSM: Tensor, mask_BS: Tensor, look: list[Tensor] | None = None) -> Tensor:
        scores_BS = torch.tanh(self.key(states_BSM)) @ self.query_M
        weights_B1S = softmax(scores_BS, mask_BS).unsqueeze(1)
        if look is not None:
            look.append(weights_B1S)
        return (weights_B1S @ states_BSM).squeeze(1)


class Queries(nn.Module):
    """What learned queries read, side by side: each is an attention by itself (after Lin et al., 2017)."""

    def __init__(self, width: int, queries: int) -> None:
        super().__init__()
        self.queries = nn.ModuleList(LearnedQuery(width) for _ in range(queries))

    def forward(self, memory: Memory, look: list[Tensor] | None) -> Tensor:
        looked: list[Tensor] = []
        read_BE = torch.cat([query(memory.states_BSM, memory.mask_BS, looked) for query in self.queries], dim=-1)
        if look is not None:
            look.append(torch.stack(looked, dim=1))  # B x K x 1 x S: a query is a head, and all ask for one answer
        return read_BE


def last_state(memory: Memory, look: list[Tensor] | None) -> Tensor:
    """The state at the end of the reading: an acceptor."""
    return memory.summary_BM


def first_place(memory: Memory, look: list[Tensor] | None) -> Tensor:
    """The place that was put before the text (Devlin et al., 2019)."""
    return memory.states_BSM[:, 0]


def mean_place(memory: Memory, look: list[Tensor] | None) -> Tensor:
    return mean(memory.states_BSM, memory.mask_BS)


def highest_place(memory: Memory, look: list[Tensor] | None) -> Tensor:
    return maximum(memory.states_BSM, memory.mask_BS)
