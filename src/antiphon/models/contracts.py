"""What a model asks of its halves.

B batch · N rows = batch x beam · S, T source and target places · D width of a word · E output
"""

from typing import Any, Protocol

from torch import Tensor

from antiphon.attend.looks import Looks
from antiphon.attend.memory import Memory


class Encoder(Protocol):
    def __call__(self, words_BSD: Tensor, mask_BS: Tensor, look: list[Tensor] | None = None) -> Memory: ...


class Decoder(Protocol):
    """`forward` for all words at once and `step` for one give the same numbers."""

    width: int  # E

    def start(self, memory: Memory) -> Any: ...

    def __call__(
        self, words_BTD: Tensor, state: Any, mask_BT: Tensor, looks: Looks | None = None
    ) -> tuple[Tensor, Any]: ...

    def step(self, word_ND: Tensor, state: Any, look: list[Tensor] | None = None) -> tuple[Tensor, Any]: ...
