"""What Transformer layers are made of besides attention.

D width
"""

from collections.abc import Callable
from typing import Literal

from torch import Tensor, nn

from antiphon.layers.dropout import Dropout

NormPlace = Literal["before", "after"]


class SubLayer(nn.Module):
    """x + dropout(f(norm(x))), or norm(x + dropout(f(x))) as in the original Transformer."""

    def __init__(self, width: int, dropout: float, norm: NormPlace) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.dropout = Dropout(dropout)
        self.first = norm == "before"

    def forward(self, x: Tensor, work: Callable[[Tensor], Tensor]) -> Tensor:
        if self.first:
            return x + self.dropout(work(self.norm(x)))
        return self.norm(x + self.dropout(work(x)))


class FeedForward(nn.Module):
    """W2 f(W1 x), the same at every place."""

    def __init__(self, width: int, inner_width: int, activation: Literal["relu", "gelu"], dropout: float) -> None:
        super().__init__()
        self.inner = nn.Linear(width, inner_width)
        self.activation = nn.ReLU(inplace=True) if activation == "relu" else nn.GELU()
        self.dropout = Dropout(dropout)
        self.out = nn.Linear(inner_width, width)
        for linear in (self.inner, self.out):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.dropout(self.activation(self.inner(x))))
