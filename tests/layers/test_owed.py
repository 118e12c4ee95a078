"""Gradients that wait: the same numbers as without, made in one product."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from antiphon.layers.once import once
from antiphon.layers.owed import Onto, add_product

ROWS, PLACES, WIDTH, TO = 3, 4, 5, 2


def parts(shared: bool) -> list[Tensor]:
    """Sums, rows of every place, and W, each with a gradient to come."""
    draw = torch.Generator().manual_seed(1)
    shapes = [(TO,) if shared else (ROWS, TO), (PLACES, ROWS, WIDTH), (TO, WIDTH)]
    return [torch.randn(shape, generator=draw, dtype=torch.float64).requires_grad_() for shape in shapes]


def chained(sums: Tensor, rows: Tensor, weight: Tensor, waiting: bool) -> Tensor:
    """Each place reads what the one before it made, so that the order of the way back matters."""
    total = torch.zeros((), dtype=rows.dtype)
    made, of = torch.zeros(ROWS, WIDTH, dtype=rows.dtype), object()
    for x in rows:
        x = x + made
        out = add_product(sums, x, weight, of) if waiting else F.linear(x, weight) + sums
        made = torch.tanh(out).repeat(1, WIDTH)[:, :WIDTH]
        total = total + out.pow(2).sum()
    return total


@pytest.mark.parametrize("shared", [False, True], ids=["sums of each row", "a bias"])
def test_gradients_that_wait_are_those_of_every_place(shared: bool) -> None:
    plain, waiting = parts(shared), parts(shared)
    expected = chained(*plain, waiting=False)
    expected.backward()
    with once():
        found = chained(*waiting, waiting=True)
    found.backward()
    assert found.item() == pytest.approx(expected.item(), rel=1e-12)
    for each, other in zip(waiting, plain, strict=True):
        assert each.grad is not None
        assert other.grad is not None
        torch.testing.assert_close(each.grad, other.grad, rtol=1e-12, atol=1e-12)


def test_a_second_way_back_pays_again() -> None:
    made = parts(False)
    with once():
        total = chained(*made, waiting=True)
    total.backward(retain_graph=True)
    first = [part.grad.clone() for part in made if part.grad is not None]
    total.backward()
    for part, before in zip(made, first, strict=True):
        assert part.grad is not None
        torch.testing.assert_close(part.grad, 2 * before)


def test_a_way_back_that_ends_before_the_weight_leaves_nothing_to_pay_twice() -> None:
    (sums, rows, weight), plain = parts(False), parts(False)
    with once():
        total = chained(sums, rows, weight, waiting=True)
    torch.autograd.grad(total, rows, retain_graph=True)
    (found,) = torch.autograd.grad(total, weight)
    (expected,) = torch.autograd.grad(chained(*plain, waiting=False), plain[2])
    torch.testing.assert_close(found, expected)


def test_a_gradient_of_a_gradient_is_refused() -> None:
    made = parts(False)
    with once():
        total = chained(*made, waiting=True)
    (first,) = torch.autograd.grad(total, made[2], create_graph=True)
    with pytest.raises(RuntimeError):
        torch.autograd.grad(first.sum(), made[2])


def test_frozen_weights_owe_nothing() -> None:
    sums, rows, weight = parts(False)
    weight.requires_grad_(False)
    with once():
        chained(sums, rows, weight, waiting=True).backward()
    assert weight.grad is None
    assert rows.grad is not None
    assert sums.grad is not None


def test_the_weight_is_paid_in_one_product(monkeypatch: pytest.MonkeyPatch) -> None:
    layer, sums, rows = Onto(WIDTH, TO), torch.zeros(ROWS, TO), torch.ones(PLACES, ROWS, WIDTH)
    joined: list[int] = []
    monkeypatch.setattr(torch, "cat", lambda parts, cat=torch.cat: joined.append(len(parts)) or cat(parts))
    with once():
        sum((layer.onto(sums, x).sum() for x in rows), torch.zeros(())).backward()
    assert joined == [PLACES, PLACES]  # what was read and its gradients, of all places
    assert layer.weight.grad is not None
    torch.testing.assert_close(layer.weight.grad, torch.full((TO, WIDTH), float(PLACES * ROWS)))


def test_outside_of_a_step_nothing_waits() -> None:
    layer, x = Onto(WIDTH, TO), torch.ones(ROWS, WIDTH)
    made = layer.onto(torch.zeros(ROWS, TO), x)
    assert type(made.grad_fn).__name__ == "AddmmBackward0"
    with once(), torch.no_grad():
        assert layer.onto(torch.zeros(ROWS, TO), x).grad_fn is None
