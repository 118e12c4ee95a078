"""Products with 8-bit weights: integer arithmetic instead of float32.

N rows · D width of the input · G of the output
"""

import torch
from torch import Tensor, nn

from antiphon.errors import AntiphonError

_MOST = 127  # of a weight's digit
# Digits of the input. Where a processor adds two products of 8 bits in 16, 2 x (64 + 64) x 127 still has room.
_MIDDLE, _BASE = 64, 128


class Int8Linear(nn.Module):
    """W x + b with W in 8 bits, a scale for each of its rows, and x in two digits, a scale for each of its rows.

    An integer product has no rounding and so no order of sums: a row gives the same in every batch. With one digit x
    would be so coarse that float32's last digits, which do depend on the batch, were seen in the answers.
    """

    digits_GD: Tensor
    scale_G: Tensor
    bias_G: Tensor | None

    def __init__(self, weight_GD: Tensor, bias_G: Tensor | None) -> None:
        super().__init__()
        self.out_features, self.in_features = weight_GD.shape
        weight_GD = weight_GD.detach()
        scale_G = _scale(weight_GD, _MOST).squeeze(1)
        self.register_buffer("scale_G", scale_G)
        self.register_buffer("digits_GD", (weight_GD / scale_G.unsqueeze(1)).round_().to(torch.int8))
        self.register_buffer("bias_G", None if bias_G is None else bias_G.detach().clone())
        self.product = _product(self.digits_GD, scale_G)

    @property
    def weight(self) -> Tensor:
        """The matrix that the digits stand for."""
        return self.digits_GD * self.scale_G.unsqueeze(1)

    def forward(self, x: Tensor) -> Tensor:
        x_ND = x.reshape(-1, self.in_features)
        to = x.new_zeros(()) if self.bias_G is None else self.bias_G
        return self._add(to.expand(len(x_ND), self.out_features), x_ND).view(*x.shape[:-1], self.out_features)

    def onto(self, gates_NG: Tensor, x_ND: Tensor) -> Tensor:
        assert self.bias_G is None
        return self._add(gates_NG, x_ND)

    def _add(self, gates_NG: Tensor, x_ND: Tensor) -> Tensor:
        digits, scale_N1 = _digits(x_ND)
        first_NG, second_NG = self.product(digits).chunk(2)
        # Not addcmul: with scales of two shapes it takes one number at a time.
        return second_NG.add_(first_NG, alpha=_BASE).mul_(scale_N1).add_(gates_NG)


class Packed:
    """Each row of digits with each row of W, times W's scales; W is laid out once, for the kernel."""

    def __init__(self, digits_GD: Tensor, scale_G: Tensor) -> None:
        self.scale_G, self.zeros_G = scale_G, torch.zeros(len(scale_G), dtype=torch.int64)
        self.packed = torch.ops.onednn.qlinear_prepack(digits_GD.contiguous(), None)  # a turned one is misread

    def __call__(self, digits_ND: Tensor) -> Tensor:
        """The kernel takes no digits below zero, but any that stands for it; 64 + 64 wraps, and is read as 128."""
        x = (digits_ND + _MIDDLE).view(torch.uint8), 1.0, _MIDDLE
        w = self.packed, self.scale_G, self.zeros_G, None
        return torch.ops.onednn.qlinear_pointwise(*x, *w, 1.0, 0, torch.float32, "none", [], "")


class Plain:
    """The same, for processors on which `Packed` may not be called."""

    def __init__(self, digits_GD: Tensor, scale_G: Tensor) -> None:
        self.digits_GD, self.scale_G = digits_GD, scale_G

    def __call__(self, digits_ND: Tensor) -> Tensor:
        return torch._int_mm(digits_ND, self.digits_GD.t()).to(self.scale_G.dtype).mul_(self.scale_G)


def _product(digits_GD: Tensor, scale_G: Tensor) -> Packed | Plain:
    return (Packed if may_pack() else Plain)(digits_GD, scale_G)


def may_pack() -> bool:
    """Not where a processor lists AMX: if its host does not allow that, the packed product ends the process."""
    return not torch.cpu.get_capabilities().get("amx_tile", False)


def _digits(x_ND: Tensor) -> tuple[Tensor, Tensor]:
    """First the first digit of every row, then the second of every row; and what a unit is worth in each row."""
    scale_N1 = _scale(x_ND, _MIDDLE * _BASE)
    whole_ND = (x_ND / scale_N1).round_()
    first_ND = (whole_ND / _BASE).round_()
    second_ND = whole_ND.sub_(first_ND, alpha=_BASE)
    return torch.cat([first_ND.to(torch.int8), second_ND.to(torch.int8)]), scale_N1


def _scale(rows: Tensor, most: int) -> Tensor:
    """What a unit is worth when the largest number of each row becomes `most`; a row of zeros may have any."""
    return rows.abs().amax(dim=1, keepdim=True).div_(most).clamp_(min=torch.finfo(rows.dtype).tiny)


def refuse_inexact() -> None:
    """Some processors cut the sums of 8-bit products at 16 bits; better no answer than a wrong one."""
    a, b = torch.full((17, 64), _MIDDLE, dtype=torch.int8), torch.full((33, 64), _MOST, dtype=torch.int8)
    a[::2], b[::3] = -_MIDDLE, -_MOST
    try:
        found = _product(b, torch.ones(len(b)))(a)
    except (AttributeError, RuntimeError) as error:
        raise AntiphonError(f"int8: {_REFUSED} {str(error).partition(chr(10))[0]}. {_INSTEAD}") from error
    if not torch.equal(found.double(), a.double() @ b.double().t()):
        raise AntiphonError(f"int8: {_REFUSED} its sums are wrong. {_INSTEAD}")


_REFUSED = "this processor, or this version of torch, cannot multiply 8-bit numbers:"
_INSTEAD = "Leave int8 out."
