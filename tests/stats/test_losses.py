"""Losses: the values of the estimators, and gradients that can be trusted."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import tellapart as ta
from tellapart.kernels import Gaussian, Linear, Mixture

pytestmark = pytest.mark.usefixtures("one_thread")


def batches(m=12, n=9, d=3, shift=0.5, dtype=torch.float64):
    rng = torch.Generator().manual_seed(0)
    X = torch.randn(m, d, generator=rng, dtype=dtype) + shift
    return X.requires_grad_(), torch.randn(n, d, generator=rng, dtype=dtype)


def fixed(kernel):
    return kernel.requires_grad_(False)


KERNEL = fixed(Mixture([0.5, 1, 2, 5, 10, 20]))
LOSSES = {
    "full": ta.losses.MMDLoss(KERNEL),
    "paired": ta.losses.MMDLoss(KERNEL, "paired"),
    "biased": ta.losses.MMDLoss(KERNEL, "biased"),
    "root": ta.losses.MMDLoss(KERNEL, "biased", root=True),
    "t": ta.losses.TStatisticLoss(KERNEL),
    "t paired": ta.losses.TStatisticLoss(KERNEL, "paired"),
    "features": ta.losses.FeatureMatchingMMD(KERNEL, lambda x: [x.sin(), x.square().sum(1)]),
}


@pytest.mark.parametrize("estimator", ["full", "paired", "biased"])
def test_values_are_those_of_the_estimators(estimator):
    X, Y = batches(10, 10)
    assert ta.losses.MMDLoss(KERNEL, estimator)(X, Y) == ta.mmd2(X, Y, KERNEL, estimator=estimator)
    if estimator == "biased":
        root = ta.losses.MMDLoss(KERNEL, "biased", root=True)(X, Y)
        torch.testing.assert_close(root.square(), ta.mmd2(X, Y, KERNEL, estimator="biased"))
    else:
        assert ta.losses.TStatisticLoss(KERNEL, estimator)(X, Y) == ta.t_statistic(X, Y, KERNEL, estimator=estimator)


def test_feature_matching_is_mmd_of_input_and_layers():
    X, Y = batches()
    network = nn.ModuleList([nn.Linear(3, 4, dtype=torch.float64)])

    class Layers(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = network

        def forward(self, x):
            return [self.parts[0](x).sigmoid()]

    layers = Layers()
    loss = ta.losses.FeatureMatchingMMD(KERNEL, layers)(X, Y)
    joined = [torch.cat([x, layers(x)[0]], 1) for x in (X, Y)]
    torch.testing.assert_close(loss, ta.mmd2(*joined, KERNEL))
    loss.backward()
    assert X.grad.abs().sum() > 0
    assert all(p.grad is None for p in layers.parameters())


def test_a_linear_kernel_on_the_top_layer_is_salimans_feature_matching():
    X, Y = batches()
    loss = ta.losses.FeatureMatchingMMD(Linear(), torch.sin, "biased", raw=False)(X, Y)
    torch.testing.assert_close(loss, (X.sin().mean(0) - Y.sin().mean(0)).square().sum())


@pytest.mark.parametrize("name", LOSSES)
def test_gradients(name):
    X, Y = batches(8, 8 if "paired" in name else 6)
    assert torch.autograd.gradcheck(lambda x: LOSSES[name](x, Y), [X], atol=1e-6)


@pytest.mark.parametrize("bandwidths", [[0.5, 1, 4], [50, 100]], ids=["narrow", "anchored"])
def test_a_frozen_mixture_has_the_gradient_of_a_learned_one(bandwidths):
    grads = []
    for kernel in (Mixture(bandwidths), fixed(Mixture(bandwidths))):
        X, Y = batches(70, 300)
        ta.losses.TStatisticLoss(kernel)(X, Y).backward()
        grads.append(X.grad)
    torch.testing.assert_close(*grads)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_identical_batches_have_finite_gradients(name, dtype):
    _, Y = batches(dtype=dtype)
    for X in (Y.clone(), Y[:1].expand_as(Y).clone()):
        other = X.detach().clone()
        X.requires_grad_()
        loss = LOSSES[name](X, other)
        loss.backward()
        assert torch.isfinite(loss)
        assert torch.isfinite(X.grad).all()


@pytest.mark.parametrize("name", [name for name in LOSSES if "paired" not in name])
@pytest.mark.parametrize("sizes", [(4, 50), (50, 4), (33, 7)])
def test_any_sizes(name, sizes):
    X, Y = batches(*sizes, dtype=torch.float32)
    LOSSES[name](X, Y).backward()
    assert torch.isfinite(X.grad).all()
    assert X.grad.abs().sum() > 0


def test_kernel_parameters_learn_if_they_ask():
    X, Y = batches()
    kernel = Gaussian(1.0)
    ta.losses.TStatisticLoss(kernel)(X.detach(), Y).backward()
    assert kernel.log_bandwidth.grad != 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ta.losses.MMDLoss(KERNEL, "best"), "estimator='best'"),
        (lambda: ta.losses.MMDLoss(KERNEL, root=True), "estimator='biased'"),
        (lambda: ta.losses.TStatisticLoss(KERNEL, "biased"), "'full' or 'paired'"),
    ],
)
def test_wrong_arguments_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
