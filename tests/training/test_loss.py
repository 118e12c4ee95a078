"""Cross-entropy in chunks is torch's own on whole logits, in value and gradient.

P places · E what the head reads · V words
"""

import pytest
import torch
from torch.nn import functional as F

from antiphon.training import loss as module
from antiphon.training.loss import cross_entropy

P, E, V = 53, 7, 11


def parts():
    torch.manual_seed(3)
    tensors = torch.randn(P, E), torch.randn(V, E), torch.randn(V)
    return [tensor.double().requires_grad_() for tensor in tensors], torch.randint(V, (P,))


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])
@pytest.mark.parametrize("chunk", [V * 16, V * 20, 1 << 22])
def test_it_is_torchs(smoothing, chunk, monkeypatch):
    monkeypatch.setattr(module, "_CHUNK", chunk)
    (x_PE, weight_VE, bias_V), words_P = parts()
    ours = cross_entropy(x_PE, weight_VE, bias_V, words_P, smoothing)
    found = torch.autograd.grad(3.0 * ours, (x_PE, weight_VE, bias_V))
    logits_PV = x_PE @ weight_VE.t() + bias_V
    theirs = F.cross_entropy(logits_PV, words_P, reduction="sum", label_smoothing=smoothing)
    expected = torch.autograd.grad(3.0 * theirs, (x_PE, weight_VE, bias_V))
    torch.testing.assert_close(ours, theirs)
    for mine, other in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, other)


def test_without_learning_it_is_the_same_value():
    (x_PE, weight_VE, bias_V), words_P = parts()
    learning = cross_entropy(x_PE, weight_VE, bias_V, words_P, 0.1)
    with torch.no_grad():
        torch.testing.assert_close(cross_entropy(x_PE, weight_VE, bias_V, words_P, 0.1), learning.detach())


def test_far_logits_stay_finite():
    (x_PE, weight_VE, bias_V), words_P = parts()
    loss = cross_entropy(1e4 * x_PE, weight_VE, bias_V, words_P, 0.1)
    assert loss.isfinite()
    loss.backward()
    assert x_PE.grad.isfinite().all()


def test_what_is_not_finite_shows():
    (x_PE, weight_VE, bias_V), words_P = parts()
    with torch.no_grad():
        x_PE[5, 2] = float("nan")
    assert not cross_entropy(x_PE, weight_VE, bias_V, words_P, 0.1).isfinite()
