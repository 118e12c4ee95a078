"""Scores: how well each query matches each place in the memory.

B batch · H heads · T queries · S places · Q, M widths of query and memory · A width they meet in · C of one head
F filters · R rows = batch x queries
"""

from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

_IN_CACHE = 1 << 18  # numbers of meetings that are made before they are summed up


class Scorer(Protocol):
    """A query meets a memory in two steps, because the second half is the same for every query."""

    heads: int
    looks_back: bool  # whether the weights of the query before matter

    def keys(self, memory_BSM: Tensor) -> Tensor:
        """The half that does not depend on the query: computed once a sentence."""
        ...

    def __call__(self, query_BTQ: Tensor, keys: Tensor, last_BTS: Tensor | None) -> Tensor:
        """B x H x T x S: high where the memory answers the query."""
        ...


class Dot(nn.Module):
    """q . m (Luong et al., 2015): both meet as they are, so their widths are equal."""

    heads, looks_back = 1, False

    def keys(self, memory_BSM: Tensor) -> Tensor:
        return memory_BSM

    def forward(self, query_BTQ: Tensor, keys_BSM: Tensor, last_BTS: Tensor | None) -> Tensor:
        return (query_BTQ @ keys_BSM.transpose(1, 2)).unsqueeze(1)


class ScaledDot(nn.Module):
    """(W q) . (U m) / sqrt(C), H times side by side: unscaled, wide vectors push the softmax into its flat ends.

    Vaswani et al. (2017).
    """

    looks_back = False

    def __init__(self, query_width: int, memory_width: int, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(query_width, width, bias=False)
        self.memory = nn.Linear(memory_width, width, bias=False)

    def keys(self, memory_BSM: Tensor) -> Tensor:
        keys_BHSC = self.memory(memory_BSM).unflatten(2, (self.heads, -1)).transpose(1, 2)
        return keys_BHSC * keys_BHSC.shape[-1] ** -0.5

    def forward(self, query_BTQ: Tensor, keys_BHSC: Tensor, last_BTS: Tensor | None) -> Tensor:
        query_BHTC = self.query(query_BTQ).unflatten(2, (self.heads, -1)).transpose(1, 2)
        return query_BHTC @ keys_BHSC.transpose(2, 3)


class Bilinear(nn.Module):
    """q . W m (Luong et al., 2015): the memory comes over to the query's side."""

    heads, looks_back = 1, False

    def __init__(self, query_width: int, memory_width: int) -> None:
        super().__init__()
        self.memory = nn.Linear(memory_width, query_width, bias=False)

    def keys(self, memory_BSM: Tensor) -> Tensor:
        return self.memory(memory_BSM)

    def forward(self, query_BTQ: Tensor, keys_BSQ: Tensor, last_BTS: Tensor | None) -> Tensor:
        return (query_BTQ @ keys_BSQ.transpose(1, 2)).unsqueeze(1)


class Cosine(nn.Module):
    """s cos(W q, U m): only directions meet, and the learned s makes the choice sharp (Graves et al., 2014)."""

    heads, looks_back = 1, False

    def __init__(self, query_width: int, memory_width: int, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_width, width, bias=False)
        self.memory = nn.Linear(memory_width, width, bias=False)
        self.sharpness = nn.Parameter(torch.tensor(5.0))

    def keys(self, memory_BSM: Tensor) -> Tensor:
        return F.normalize(self.memory(memory_BSM), dim=-1)

    def forward(self, query_BTQ: Tensor, keys_BSA: Tensor, last_BTS: Tensor | None) -> Tensor:
        direction_BTA = F.normalize(self.query(query_BTQ), dim=-1)
        return (self.sharpness * direction_BTA @ keys_BSA.transpose(1, 2)).unsqueeze(1)


class Additive(nn.Module):
    """v . tanh(W q + U m): a small network looks at both (Bahdanau et al., 2015)."""

    heads, looks_back = 1, False

    def __init__(self, query_width: int, memory_width: int, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_width, width)
        self.memory = nn.Linear(memory_width, width, bias=False)
        self.out = nn.Linear(width, 1, bias=False)

    def keys(self, memory_BSM: Tensor) -> Tensor:
        return self.memory(memory_BSM)

    def forward(self, query_BTQ: Tensor, keys_BSA: Tensor, last_BTS: Tensor | None) -> Tensor:
        return self.meet(query_BTQ, keys_BSA, ())

    def meet(self, query_BTQ: Tensor, keys_BSA: Tensor, others: tuple[Tensor, ...]) -> Tensor:
        """Every query meets every key, so sums carry a T and an S axis, and so do `others`, which are added to them."""
        query_BTA = self.query(query_BTQ)
        size = max(1, query_BTA.shape[1] * keys_BSA[0].numel())
        # In training all of it is kept for the way back; otherwise a few sentences at a time do not leave the cache.
        rows = len(keys_BSA) if torch.is_grad_enabled() else max(1, _IN_CACHE // size)
        scores = []
        for query, keys, *more in zip(*(part.split(rows) for part in (query_BTA, keys_BSA, *others)), strict=True):
            meeting = query.unsqueeze(2) + keys.unsqueeze(1)
            for other in more:
                meeting += other
            scores.append(self.out(meeting.tanh_()))
        return torch.cat(scores).squeeze(3).unsqueeze(1)


class LocationAware(Additive):
    """v . tanh(W q + U m + L (F * a)): filters F over the last weights a tell where one was.

    Chorowski et al. (2015). Before the first query nothing was looked at, and it is additive.
    """

    looks_back = True

    def __init__(self, query_width: int, memory_width: int, width: int, filters: int, span: int) -> None:
        super().__init__(query_width, memory_width, width)
        self.filters = nn.Conv1d(1, filters, span, padding=span // 2, bias=False)
        self.location = nn.Linear(filters, width, bias=False)

    def forward(self, query_BTQ: Tensor, keys_BSA: Tensor, last_BTS: Tensor | None) -> Tensor:
        assert last_BTS is not None
        seen_RFS = self.filters(last_BTS.flatten(0, 1).unsqueeze(1))
        seen_BTSF = seen_RFS.transpose(1, 2).unflatten(0, last_BTS.shape[:2])
        return self.meet(query_BTQ, keys_BSA, (self.location(seen_BTSF),))
