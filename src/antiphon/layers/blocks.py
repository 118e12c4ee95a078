"""What Transformer layers are made of besides attention.

D width
"""

from collections.abc import Callable, Sequence
from typing import Literal, assert_never

import torch
from torch import Tensor, nn

from antiphon.layers.draws import generator
from antiphon.layers.dropout import Dropout
from antiphon.layers.norms import RMSNorm

NormPlace = Literal["before", "after"]
Activation = Literal["relu", "gelu", "gelu_tanh", "geglu", "swiglu"]


class SubLayer(nn.Module):
    """x + dropout(f(norm(x))), or norm(x + dropout(f(x))) as in the original Transformer."""

    def __init__(self, norm: nn.Module, dropout: float, place: NormPlace) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = Dropout(dropout)
        self.first = place == "before"

    def forward(self, x: Tensor, work: Callable[[Tensor], Tensor]) -> Tensor:
        if self.first:
            return x + self.dropout(work(self.norm(x)))
        return self.norm(x + self.dropout(work(x)))


class FeedForward(nn.Module):
    """W2 f(W1 x), or W2 (f(W1 x) * W3 x) with a gate, the same at every place."""

    def __init__(self, width: int, inner_width: int, activation: Activation, dropout: float) -> None:
        super().__init__()
        self.activation = _activation(activation)
        beside = 2 if isinstance(self.activation, Gated) else 1
        self.inner = nn.Linear(width, beside * inner_width)  # W1, or W1 and W3 in one product
        self.dropout = Dropout(dropout)
        self.out = nn.Linear(inner_width, width)
        for weight in (*self.inner.weight.detach().chunk(beside), self.out.weight):
            nn.init.xavier_uniform_(weight)
        nn.init.zeros_(self.inner.bias)
        nn.init.zeros_(self.out.bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.dropout(self.activation(self.inner(x))))


class Gated(nn.Module):
    """f(a) * b, where a and b lie side by side (Shazeer, 2020)."""

    def __init__(self, activation: nn.Module) -> None:
        super().__init__()
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        gate, value = x.chunk(2, dim=-1)
        return self.activation(gate) * value


def make_norm(width: int, rms: bool, epsilon: float) -> nn.Module:
    """(x - mean) / sqrt(variance + epsilon) * g + b (Ba et al., 2016), or without mean and bias."""
    return RMSNorm(width, epsilon) if rms else nn.LayerNorm(width, epsilon)


def _activation(name: Activation) -> nn.Module:
    match name:
        case "relu":
            return nn.ReLU(inplace=True)
        case "gelu":
            return nn.GELU()
        case "gelu_tanh":
            return nn.GELU(approximate="tanh")  # as GPT-2 computes it (Hendrycks & Gimpel, 2016)
        case "geglu":
            return Gated(nn.GELU())
        case "swiglu":
            return Gated(nn.SiLU())
        case _:
            assert_never(name)


def scale_by_depth(layers: Sequence[nn.Module]) -> None:
    """Before training, divide the matrices of layer n by sqrt(n), so that deep stacks learn (Zhang et al., 2019)."""
    with torch.no_grad():
        for number, layer in enumerate(layers, start=1):
            for part in layer.modules():
                if isinstance(part, nn.Linear):
                    part.weight.mul_(number**-0.5)


class LayerDrop(nn.Module):
    """In training, says of each layer whether this batch skips it (Fan et al., 2020).

    The stochastic depth of Huang et al. (2016) with one rate for all layers, and nothing to rescale in answering.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self) -> bool:
        return self.training and self.rate > 0 and torch.rand((), generator=generator()).item() < self.rate
