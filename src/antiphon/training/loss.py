"""What is minimised: cross-entropy over the vocabulary, without ever holding the logits of a whole batch.

P real target places, C of them at a time · E what the head reads · V words
"""

from typing import Any

import torch
from torch import Tensor

_CHUNK = 1 << 22  # logits in memory at once: 16 MB stay in the cache, and no page of them is faulted in twice


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
        chunk = min(places, max(16, _CHUNK // size))
        logits, shares = x.new_empty(chunk, size), x.new_empty(chunk, size)
        row_sum_E, bias_sum = weight.sum(0), bias.sum()
        loss = x.new_zeros(())
        grad_x, grad_weight, grad_bias = (torch.zeros_like(part) if learning else None for part in (x, weight, bias))
        for start in range(0, places, chunk):
            x_CE, words_C1 = x[start : start + chunk], words[start : start + chunk].unsqueeze(1)
            logits_CV, shares_CV = logits[: len(x_CE)], shares[: len(x_CE)]
            torch.addmm(bias, x_CE, weight.t(), out=logits_CV)
            torch.ops.aten._softmax.out(logits_CV, 1, False, out=shares_CV)
            highest, where = logits_CV.max(dim=1, keepdim=True)
            normaliser = highest - shares_CV.gather(1, where).log()
            smooth = (x_CE @ row_sum_E + bias_sum).sum() * (smoothing / size)
            loss += normaliser.sum() - (1 - smoothing) * logits_CV.gather(1, words_C1).sum() - smooth
            if grad_x is None or grad_weight is None or grad_bias is None:
                continue
            shares_CV.scatter_add_(1, words_C1, shares_CV.new_full(words_C1.shape, smoothing - 1))
            torch.addmm(row_sum_E, shares_CV, weight, beta=-smoothing / size, out=grad_x[start : start + chunk])
            grad_weight.addmm_(shares_CV.t(), x_CE)
            grad_bias += shares_CV.sum(0)
        if grad_weight is not None and grad_bias is not None:
            grad_weight -= x.sum(0) * (smoothing / size)
            grad_bias -= places * smoothing / size
            ctx.save_for_backward(grad_x, grad_weight, grad_bias)
        return loss

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None, None]:
        grad_x, grad_weight, grad_bias = ctx.saved_tensors
        return grad_x * grad, grad_weight * grad, grad_bias * grad, None, None, None
