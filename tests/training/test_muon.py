"""Muon: against torch's own, and by what it promises of singular values."""

import pytest
import torch

from antiphon.training.muon import Muon, polar


def learnt(make, weight_RC, gradients):
    weight = torch.nn.Parameter(weight_RC.clone())
    optimizer = make(weight)
    for gradient_RC in gradients:
        weight.grad = gradient_RC.clone()
        optimizer.step()
    return weight.detach()


def ours(weight):
    return Muon([{"params": [weight], "lr": 0.02, "weight_decay": 0.1}])


def of_torch(weight):
    return torch.optim.Muon([weight], lr=0.02, weight_decay=0.1, momentum=0.95, adjust_lr_fn="match_rms_adamw")


@pytest.mark.parametrize("shape", [(7, 7), (5, 11), (11, 5)], ids=["square", "wide", "tall"])
def test_it_moves_a_matrix_as_torchs_own_does_which_rounds_to_bfloat16(shape):
    torch.manual_seed(1)
    weight_RC, gradients = torch.randn(shape), [torch.randn(shape) for _ in range(4)]
    mine, theirs = learnt(ours, weight_RC, gradients), learnt(of_torch, weight_RC, gradients)
    torch.testing.assert_close(mine - weight_RC, theirs - weight_RC, atol=2e-3, rtol=0.05)


def test_singular_values_end_near_one():
    torch.manual_seed(2)
    x_MRC = torch.randn(3, 13, 17) * torch.tensor([1e-6, 1.0, 1e6]).view(3, 1, 1)
    values = torch.linalg.svdvals(polar(x_MRC))
    assert values.min() > 0.6
    assert values.max() < 1.3
    left, _, right = torch.linalg.svd(x_MRC, full_matrices=False)
    assert (torch.linalg.matrix_norm(polar(x_MRC) - left @ right, ord=2) < 0.4).all()


def test_matrices_that_stand_in_one_are_turned_each_by_itself():
    torch.manual_seed(3)
    weight, gradients = torch.randn(15, 5), [torch.randn(15, 5) for _ in range(3)]
    apart = [
        learnt(ours, part, [gradient.split(5)[n] for gradient in gradients]) for n, part in enumerate(weight.split(5))
    ]
    torch.testing.assert_close(learnt(ours, weight, gradients), torch.cat(apart))


def test_no_gradient_means_no_step_and_nothing_stays_nothing():
    weight = torch.nn.Parameter(torch.ones(3, 5))
    optimizer = ours(weight)
    optimizer.step()
    assert torch.equal(weight, torch.ones(3, 5))
    assert not optimizer.state
    weight.grad = torch.zeros(3, 5)
    optimizer.step()
    torch.testing.assert_close(weight.detach(), torch.full((3, 5), 1 - 0.02 * 0.1))
