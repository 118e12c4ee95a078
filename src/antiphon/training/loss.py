"""What is minimised: cross-entropy over the vocabulary, without ever holding the logits of a whole batch.

P real target places, C of them at a time · E what the head reads · V words
"""

from typing import Any

import torch
from torch import Tensor

# At once at the least: with fewer places than W is wide, reading W takes longer than the logits; many leave the cache.
_PLACES, _WIDEST, _LOGITS = 128, 512, 1 << 18


def cross_entropy(states_PE: Tensor, weight_VE: Tensor, bias_V: Tensor, words_P: Tensor, smoothing: float) -> Tensor:
    """Summed -log softmax(W x + b)[word]; `smoothing` of the weight goes to all words alike (Szegedy et al., 2016).

    Equal to torch's on whole logits, in value and gradient.
    """
    return _LinearCrossEntropy.apply(states_PE, weight_VE, bias_V, words_P, smoothing, torch.is_grad_enabled())  # type: ignore[no-untyped-call]


class _LinearCrossEntropy(torch.autograd.Function):
    """The gradient is found together with the loss, chunk by chunk, while the probabilities are at hand.

    The smoothed part, (1/V) sum_v log p_v, is linear in the logits but for their normaliser, so its gradient needs
    only the sum of the rows of W: smoothing costs no pass over the logits.
    """

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, words: Tensor, smoothing: float, learning: bool
    ) -> Tensor:
        places, size = len(x), len(weight)
        chunk = _at_once(places, x.shape[1], size)
        memory, sums = x.new_empty(chunk, size), (weight.sum(0), bias.sum())
        loss = x.new_zeros(())
        grad_x, grad_weight, grad_bias = (torch.zeros_like(part) if learning else None for part in (x, weight, bias))
        for start in range(0, places, chunk):
            x_CE, words_C1 = x[start : start + chunk], words[start : start + chunk].unsqueeze(1)
            logs_CV = memory[: len(x_CE)]
            loss += _speak(x_CE, weight, bias, words_C1, smoothing, sums, logs_CV)
            if grad_x is None or grad_weight is None or grad_bias is None:
                continue
            by_CV = logs_CV.exp_()
            by_CV.scatter_add_(1, words_C1, by_CV.new_full(words_C1.shape, smoothing - 1))
            torch.addmm(sums[0], by_CV, weight, beta=-smoothing / size, out=grad_x[start : start + chunk])
            grad_weight.addmm_(by_CV.t(), x_CE)
            grad_bias += by_CV.sum(0)
        if grad_weight is not None and grad_bias is not None:
            grad_weight -= x.sum(0) * (smoothing / size)
            grad_bias -= places * smoothing / size
            ctx.save_for_backward(grad_x, grad_weight, grad_bias)
        return loss

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None, None]:
        grad_x, grad_weight, grad_bias = ctx.saved_tensors
        return grad_x * grad, grad_weight * grad, grad_bias * grad, None, None, None


def _at_once(places: int, width: int, size: int) -> int:
    return min(places, max(_PLACES, min(width, _WIDEST), _LOGITS // size))


def _speak(
    x_CE: Tensor,
    weight_VE: Tensor,
    bias_V: Tensor,
    words_C1: Tensor,
    smoothing: float,
    sums: tuple[Tensor, Tensor],
    logs_CV: Tensor,
) -> Tensor:
    """Write the logarithms of all probabilities where they belong; gives the loss. `sums` are of W's rows and of b."""
    torch.addmm(bias_V, x_CE, weight_VE.t(), out=logs_CV)
    logit_C1 = logs_CV.gather(1, words_C1)
    torch.ops.aten._log_softmax.out(logs_CV, 1, False, out=logs_CV)
    right_C1 = logs_CV.gather(1, words_C1)
    normaliser_C1 = logit_C1 - right_C1
    smooth = (x_CE @ sums[0] + sums[1]).sum() / len(weight_VE) - normaliser_C1.sum()
    return -(1 - smoothing) * right_C1.sum() - smoothing * smooth


def r_drop(
    first_PE: Tensor,
    second_PE: Tensor,
    weight_VE: Tensor,
    bias_V: Tensor,
    words_P: Tensor,
    smoothing: float,
    alpha: float,
) -> Tensor:
    """R-Drop (Liang et al., 2021): two passes over the same words, and how far apart they are in what they say.

    (CE(p) + CE(q) + alpha (KL(p | q) + KL(q | p)) / 2) / 2, summed: the paper's loss for one pass, so that it can be
    compared with the loss of a run without it.
    """
    return _Agreement.apply(first_PE, second_PE, weight_VE, bias_V, words_P, smoothing, alpha)  # type: ignore[no-untyped-call]


class _Agreement(torch.autograd.Function):
    """Loss and gradient together again, while the probabilities p and q of both passes are at hand.

    With d = log p - log q, the gradient of KL(p | q) by the logits of p is p (d - KL(p | q)), and that of KL(q | p) is
    p - q. By the logits of q they are the same with p and q exchanged, and with them the sign of d.
    """

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, y: Tensor, weight: Tensor, bias: Tensor, words: Tensor, smoothing: float, alpha: float
    ) -> Tensor:
        places, size, half = len(x), len(weight), alpha / 2
        chunk = _at_once(places, x.shape[1], size)
        memory, sums = x.new_empty(4, chunk, size), (weight.sum(0), bias.sum())
        loss = x.new_zeros(())
        grad_x, grad_y, grad_weight, grad_bias = (torch.zeros_like(part) for part in (x, y, weight, bias))
        for start in range(0, places, chunk):
            here = slice(start, start + chunk)
            words_C1 = words[here].unsqueeze(1)
            p_CV, q_CV, d_CV, other_CV = memory[:, : len(words_C1)]
            loss += _speak(x[here], weight, bias, words_C1, smoothing, sums, d_CV)
            loss += _speak(y[here], weight, bias, words_C1, smoothing, sums, other_CV)
            torch.exp(d_CV, out=p_CV)
            torch.exp(other_CV, out=q_CV)
            d_CV.sub_(other_CV)
            kl_pq_C1, kl_qp_C1 = _means(p_CV, d_CV), -_means(q_CV, d_CV)
            loss += half * (kl_pq_C1 + kl_qp_C1).sum()
            by_p_CV = torch.add(1 + half - half * kl_pq_C1, d_CV, alpha=half, out=other_CV).mul_(p_CV)
            by_q_CV = torch.sub(1 + half - half * kl_qp_C1, d_CV, alpha=half, out=d_CV).mul_(q_CV)
            by_p_CV.sub_(q_CV, alpha=half)
            by_q_CV.sub_(p_CV, alpha=half)
            for by_CV, states, grad in ((by_p_CV, x[here], grad_x[here]), (by_q_CV, y[here], grad_y[here])):
                by_CV.scatter_add_(1, words_C1, by_CV.new_full(words_C1.shape, smoothing - 1))
                torch.addmm(sums[0], by_CV, weight, beta=-smoothing / size, out=grad)
                grad_weight.addmm_(by_CV.t(), states)
                grad_bias += by_CV.sum(0)
        grad_weight -= (x.sum(0) + y.sum(0)) * (smoothing / size)
        grad_bias -= 2 * places * smoothing / size
        ctx.save_for_backward(grad_x, grad_y, grad_weight, grad_bias)
        return loss / 2

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, None, None, None]:
        grad_x, grad_y, grad_weight, grad_bias = (part * (grad / 2) for part in ctx.saved_tensors)
        return grad_x, grad_y, grad_weight, grad_bias, None, None, None


def _means(shares_CV: Tensor, values_CV: Tensor) -> Tensor:
    """The mean value of each row under its probabilities, C x 1."""
    return torch.linalg.vecdot(shares_CV, values_CV).unsqueeze(1)  # a batched product takes four times as long
