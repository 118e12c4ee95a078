"""Scores: how well each query matches each place in the memory.

B batch · T queries · S places · Q, M widths of query and memory · A width they meet in
"""

from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Scorer(Protocol):
    """A query meets a memory in two steps, because the second half is the same for every query."""

    def keys(self, memory_BSM: Tensor) -> Tensor:
        """The half that does not depend on the query: computed once a sentence."""
        ...

    def __call__(self, query_BTQ: Tensor, keys_BSA: Tensor) -> Tensor:
        """B x T x S: high where the memory answers the query."""
        ...


class Dot(nn.Module):
    """q . m (Luong et al., 2015): both meet as they are, so their widths are equal."""

    def keys(self, memory_BSM: Tensor) -> Tensor:
        return memory_BSM

    def forward(self, query_BTQ: Tensor, keys_BSA: Tensor) -> Tensor:
        return query_BTQ @ keys_BSA.transpose(1, 2)


class ScaledDot(nn.Module):
    """(W q) . (U m) / sqrt(A): unscaled, wide vectors push the softmax into its flat ends (Vaswani et al., 2017)."""

    def __init__(self, query_width: int, memory_width: int, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_width, width, bias=False)
        self.memory = nn.Linear(memory_width, width, bias=False)

    def keys(self, memory_BSM: Tensor) -> Tensor:
        return self.memory(memory_BSM) * self.memory.out_features**-0.5

    def forward(self, query_BTQ: Tensor, keys_BSA: Tensor) -> Tensor:
        return self.query(query_BTQ) @ keys_BSA.transpose(1, 2)


class Bilinear(nn.Module):
    """q . W m (Luong et al., 2015): the memory comes over to the query's side."""

    def __init__(self, query_width: int, memory_width: int) -> None:
        super().__init__()
        self.memory = nn.Linear(memory_width, query_width, bias=False)

    def keys(self, memory_BSM: Tensor) -> Tensor:
        return self.memory(memory_BSM)

    def forward(self, query_BTQ: Tensor, keys_BSA: Tensor) -> Tensor:
        return query_BTQ @ keys_BSA.transpose(1, 2)


class Cosine(nn.Module):
    """s cos(W q, U m): only directions meet, and the learned s makes the choice sharp (Graves et al., 2014)."""

    def __init__(self, query_width: int, memory_width: int, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_width, width, bias=False)
        self.memory = nn.Linear(memory_width, width, bias=False)
        self.sharpness = nn.Parameter(torch.tensor(5.0))

    def keys(self, memory_BSM: Tensor) -> Tensor:
        return F.normalize(self.memory(memory_BSM), dim=-1)

    def forward(self, query_BTQ: Tensor, keys_BSA: Tensor) -> Tensor:
        direction_BTA = F.normalize(self.query(query_BTQ), dim=-1)
        return self.sharpness * direction_BTA @ keys_BSA.transpose(1, 2)


class Additive(nn.Module):
    """v . tanh(W q + U m): a small network looks at both (Bahdanau et al., 2015)."""

    def __init__(self, query_width: int, memory_width: int, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_width, width)
        self.memory = nn.Linear(memory_width, width, bias=False)
        self.out = nn.Linear(width, 1, bias=False)

    def keys(self, memory_BSM: Tensor) -> Tensor:
        return self.memory(memory_BSM)

    def forward(self, query_BTQ: Tensor, keys_BSA: Tensor) -> Tensor:
        query_BTA = self.query(query_BTQ)
        # Every query meets every key, so the sum carries a T and an S axis.
        meeting_BTSA = (query_BTA.unsqueeze(2) + keys_BSA.unsqueeze(1)).tanh_()
        return self.out(meeting_BTSA).squeeze(-1)
