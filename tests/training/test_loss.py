"""Cross-entropy and R-Drop in chunks are what torch finds on whole logits, in value and gradient.

P places · E what the head reads · V words
"""

import pytest
import torch
from torch.nn import functional as F

from antiphon.training import loss as module
from antiphon.training.loss import cross_entropy, r_drop

P, E, V = 53, 7, 11


def parts():
    torch.manual_seed(3)
    tensors = torch.randn(P, E), torch.randn(V, E), torch.randn(V)
    return [tensor.double().requires_grad_() for tensor in tensors], torch.randint(V, (P,))


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])
@pytest.mark.parametrize("chunk", [16, 20, 1000])
def test_it_is_torchs(smoothing, chunk, monkeypatch):
    monkeypatch.setattr(module, "_at_once", lambda places, *_: min(places, chunk))
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


def two_passes():
    (x_PE, weight_VE, bias_V), words_P = parts()
    y_PE = (x_PE + 0.3 * torch.randn(P, E)).detach().requires_grad_()
    return (x_PE, y_PE, weight_VE, bias_V), words_P


@pytest.mark.parametrize("alpha", [0.5, 5.0])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("chunk", [8, 20, 1000])
def test_r_drop_is_that_of_whole_logits(alpha, smoothing, chunk, monkeypatch):
    monkeypatch.setattr(module, "_at_once", lambda places, *_: min(places, chunk))
    tensors, words_P = two_passes()
    ours = r_drop(*tensors, words_P, smoothing, alpha)
    found = torch.autograd.grad(3.0 * ours, tensors)
    x_PE, y_PE, weight_VE, bias_V = tensors
    p_PV, q_PV = (F.linear(states_PE, weight_VE, bias_V).log_softmax(dim=1) for states_PE in (x_PE, y_PE))
    nll = sum(F.cross_entropy(each_PV, words_P, reduction="sum", label_smoothing=smoothing) for each_PV in (p_PV, q_PV))
    apart = sum(F.kl_div(a, b, reduction="sum", log_target=True) for a, b in ((p_PV, q_PV), (q_PV, p_PV)))
    theirs = (nll + alpha * apart / 2) / 2
    torch.testing.assert_close(ours, theirs)
    for mine, other in zip(found, torch.autograd.grad(3.0 * theirs, tensors), strict=True):
        torch.testing.assert_close(mine, other)


def test_r_drop_in_single_precision():
    tensors, words_P = two_passes()
    singles = [tensor.detach().float().requires_grad_() for tensor in tensors]
    ours, exact = r_drop(*singles, words_P, 0.1, 5.0), r_drop(*tensors, words_P, 0.1, 5.0)
    torch.testing.assert_close(ours.double(), exact, rtol=1e-5, atol=1e-5)
    pairs = zip(torch.autograd.grad(ours, singles), torch.autograd.grad(exact, tensors), strict=True)
    for mine, other in pairs:
        torch.testing.assert_close(mine.double(), other, rtol=1e-5, atol=1e-5)


def test_equal_passes_are_not_apart():
    (x_PE, weight_VE, bias_V), words_P = parts()
    once = cross_entropy(x_PE, weight_VE, bias_V, words_P, 0.1)
    torch.testing.assert_close(r_drop(x_PE, x_PE, weight_VE, bias_V, words_P, 0.1, 5.0), once)


def test_far_passes_stay_finite():
    (x_PE, y_PE, weight_VE, bias_V), words_P = two_passes()
    loss = r_drop(1e4 * x_PE, -1e4 * y_PE, weight_VE, bias_V, words_P, 0.1, 5.0)
    loss.backward()
    assert loss.isfinite()
    assert x_PE.grad.isfinite().all()
