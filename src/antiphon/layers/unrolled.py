"""Whole sequences of the cells that torch has no kernel for, with gradients by hand.

Step by step, autograd would keep and add up a gradient of every weight at every step. Here the weights' gradients are
one product over all steps, and the numbers of a step are computed in place.

N rows · T places · E width of the state · G of all gates
"""

from typing import Any

import torch
from torch import Tensor

_through_sigmoid = torch.ops.aten.sigmoid_backward.grad_input
_through_tanh = torch.ops.aten.tanh_backward.grad_input


def unroll_gated(
    x_NTG: Tensor, h_NE: Tensor, c_NE: Tensor, carry_GE: Tensor, peephole: Tensor | None
) -> tuple[Tensor, Tensor]:
    """h and c at every place of an LSTM whose gates are (input,) forget, output, candidate.

    With three gates, what is not forgotten is what is let in. A peephole lets all gates but the candidate see c: a
    weight a unit and gate, or a matrix.
    """
    return _Gated.apply(x_NTG, h_NE, c_NE, carry_GE, peephole)  # type: ignore[no-untyped-call]


def unroll_turned(x_NTE: Tensor, h_NE: Tensor, carry_EE: Tensor, threshold_E: Tensor) -> Tensor:
    """h at every place of h' = sign(z) relu(|z| + threshold), z = x + U h."""
    return _Turned.apply(x_NTE, h_NE, carry_EE, threshold_E)  # type: ignore[no-untyped-call]


class _Gated(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x_NTG: Tensor, h_NE: Tensor, c_NE: Tensor, carry_GE: Tensor, peephole: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        (rows, places, gates), width = x_NTG.shape, h_NE.shape[1]
        opened = x_NTG.new_empty(places, rows, gates)
        hs, cs = (x_NTG.new_empty(places + 1, rows, width) for _ in "hc")
        squashed = x_NTG.new_empty(places, rows, width)  # tanh(c)
        hs[0], cs[0] = h_NE, c_NE
        for t in range(places):
            z_NG = torch.addmm(x_NTG[:, t], hs[t], carry_GE.t(), out=opened[t])
            _see_(z_NG[:, :-width], cs[t], peephole)
            z_NG[:, :-width].sigmoid_()
            z_NG[:, -width:].tanh_()
            let_in, forget, out, candidate = _gates(z_NG, width)
            if let_in is None:
                torch.lerp(candidate, cs[t], forget, out=cs[t + 1])
            else:
                torch.mul(forget, cs[t], out=cs[t + 1]).addcmul_(let_in, candidate)
            torch.tanh(cs[t + 1], out=squashed[t])
            torch.mul(out, squashed[t], out=hs[t + 1])
        ctx.save_for_backward(opened, hs, cs, squashed, carry_GE, peephole)
        ctx.set_materialize_grads(False)
        return hs[1:].transpose(0, 1), cs[1:].transpose(0, 1)

    @staticmethod
    def backward(ctx: Any, grad_h_NTE: Tensor | None, grad_c_NTE: Tensor | None) -> tuple[Tensor | None, ...]:
        opened, hs, cs, squashed, carry_GE, peephole = ctx.saved_tensors
        grads, width = torch.empty_like(opened), hs.shape[2]
        grad_h, grad_c = torch.zeros_like(hs[0]), torch.zeros_like(cs[0])
        for t in reversed(range(len(opened))):
            grad_h = grad_h if grad_h_NTE is None else grad_h + grad_h_NTE[:, t]
            grad_c = grad_c if grad_c_NTE is None else grad_c + grad_c_NTE[:, t]
            let_in, forget, out, candidate = _gates(opened[t], width)
            to_let_in, to_forget, to_out, to_candidate = _gates(grads[t], width)
            grad_c = torch.ops.aten.tanh_backward(grad_h * out, squashed[t]).add_(grad_c)
            _through_sigmoid(grad_h * squashed[t], out, grad_input=to_out)
            if let_in is None:
                _through_sigmoid((cs[t] - candidate).mul_(grad_c), forget, grad_input=to_forget)
                _through_tanh(torch.addcmul(grad_c, grad_c, forget, value=-1), candidate, grad_input=to_candidate)
            else:
                _through_sigmoid(grad_c * candidate, let_in, grad_input=to_let_in)
                _through_sigmoid(grad_c * cs[t], forget, grad_input=to_forget)
                _through_tanh(grad_c * let_in, candidate, grad_input=to_candidate)
            grad_c.mul_(forget)
            if peephole is not None:
                grad_c = grad_c + _seen(grads[t, :, :-width], peephole)
            grad_h = grads[t] @ carry_GE
        grad_carry = grads.flatten(0, 1).t() @ hs[:-1].flatten(0, 1)
        grad_peephole = None if peephole is None else _peephole_gradient(grads[..., :-width], cs[:-1], peephole)
        return grads.transpose(0, 1), grad_h, grad_c, grad_carry, grad_peephole


def _gates(z_NG: Tensor, width: int) -> tuple[Tensor | None, Tensor, Tensor, Tensor]:
    forget, out, candidate = z_NG[:, -3 * width :].chunk(3, dim=1)
    return (z_NG[:, :width] if z_NG.shape[1] == 4 * width else None), forget, out, candidate


def _see_(gates: Tensor, c_NE: Tensor, peephole: Tensor | None) -> None:
    if peephole is None:
        return
    if _diagonal(peephole):
        gates.unflatten(1, peephole.shape).addcmul_(c_NE.unsqueeze(1), peephole)
    else:
        gates.addmm_(c_NE, peephole.t())


def _seen(grads: Tensor, peephole: Tensor) -> Tensor:
    """What the cell hears from the gates that saw it."""
    if _diagonal(peephole):
        return (grads.unflatten(1, peephole.shape) * peephole).sum(1)
    return grads @ peephole


def _peephole_gradient(grads: Tensor, cs: Tensor, peephole: Tensor) -> Tensor:
    if _diagonal(peephole):
        return (grads.unflatten(2, peephole.shape) * cs.unsqueeze(2)).sum((0, 1))
    return grads.flatten(0, 1).t() @ cs.flatten(0, 1)


def _diagonal(peephole: Tensor) -> bool:
    return len(peephole) == 3


class _Turned(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x_NTE: Tensor, h_NE: Tensor, carry_EE: Tensor, threshold_E: Tensor) -> Tensor:
        rows, places, width = x_NTE.shape
        hs = x_NTE.new_empty(places + 1, rows, width)
        hs[0] = h_NE
        for t in range(places):
            z_NE = torch.addmm(x_NTE[:, t], hs[t], carry_EE.t())
            torch.mul(z_NE.abs().add_(threshold_E).relu_(), z_NE.sign_(), out=hs[t + 1])
        ctx.save_for_backward(hs, carry_EE)
        return hs[1:].transpose(0, 1)

    @staticmethod
    def backward(ctx: Any, grad_NTE: Tensor) -> tuple[Tensor, ...]:
        hs, carry_EE = ctx.saved_tensors
        signs = hs[1:].sign()  # 0 where a unit is closed, and nothing passes
        grads, grad_h, open_ = torch.empty_like(signs), torch.zeros_like(hs[0]), signs.abs()
        for t in reversed(range(len(grads))):
            torch.mul(grad_h + grad_NTE[:, t], open_[t], out=grads[t])
            grad_h = grads[t] @ carry_EE
        grad_carry = grads.flatten(0, 1).t() @ hs[:-1].flatten(0, 1)
        return grads.transpose(0, 1), grad_h, grad_carry, (grads * signs).sum((0, 1))
