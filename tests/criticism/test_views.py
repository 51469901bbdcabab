"""The views one by one: witness, separability, exemplars, weights; and that they keep to their memory."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tellapart import criticism
from tellapart.criticism import witness
from tellapart.criticism.learned_weights import find_weights, witness_gradients
from tellapart.data import Sample, as_sample
from tellapart.engine.compute import Compute
from tellapart.kernels import ARD, MLP, Deep, Gaussian, Kernel, Witness


def normal(n, d, seed, shift=0.0, dtype=torch.float64):
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed), dtype=dtype) + shift


def test_the_witness_is_its_formula():
    g = torch.Generator().manual_seed(0)
    X, Y, Z = (torch.randn(n, 3, generator=g, dtype=torch.float64) for n in (20, 30, 7))
    kernel = Gaussian(1.3)
    expected = kernel(Z, X).mean(1) - kernel(Z, Y).mean(1)
    assert np.allclose(witness(kernel, X, Y, at=Z), expected.detach().numpy(), atol=1e-12)


def test_separability_is_the_auc():
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 6, 50) + 1.0, rng.integers(0, 6, 70).astype(float)
    labels = np.repeat([1, 0], [50, 70])
    assert criticism.separability(a, b) == pytest.approx(roc_auc_score(labels, np.concatenate([a, b])))


def test_exemplars_lie_where_they_are_said_to():
    x, y = as_sample(np.zeros((20, 1))), as_sample(np.zeros((30, 1)))
    of_x, of_y = np.linspace(-1, 2, 20), np.linspace(-2, 1, 30)
    found = criticism.exemplars(x, y, of_x, of_y, 4)
    assert len(found) == 2 * 3 * 4 - 1  # three values of X are neutral
    highest = [e for e in found if e.level == "more of X" and e.sample == "X"]
    assert [e.row for e in highest] == [19, 18, 17, 16]
    lowest = [e for e in found if e.level == "more of Y" and e.sample == "Y"]
    assert [e.row for e in lowest] == [0, 1, 2, 3]
    assert all(abs(e.value) < 0.3 for e in found if e.level == "no difference")


def test_exemplars_lie_on_the_side_that_they_are_said_to():
    x, y = as_sample(np.zeros((20, 1))), as_sample(np.zeros((30, 1)))
    apart = np.linspace(1, 2, 20), -np.linspace(1, 2, 30)
    found = criticism.exemplars(x, y, *apart, 4)
    assert {(e.sample, e.level) for e in found} == {("X", "more of X"), ("Y", "more of Y")}
    apart[1][7] = 0.1
    found = criticism.exemplars(x, y, *apart, 4)
    assert [(e.sample, e.row) for e in found if e.level == "no difference"] == [("Y", 7)]
    apart[1][7] = 1.0
    found = criticism.exemplars(x, y, *apart, 4)
    assert [(e.sample, e.row) for e in found if e.level == "more of X"][4:] == [("Y", 7)]


def test_a_learned_witness_is_asked_for_its_own_function():
    points, at = normal(5, 2, 0), normal(7, 2, 1)
    h = Witness(Gaussian(1.0), points, torch.tensor([1.0, -1.0, 2.0, 0.0, -2.0], dtype=torch.float64))
    X, Y = normal(20, 2, 2), normal(30, 2, 3)
    expected = h.values(at) - h.values(torch.cat([X, Y])).mean()
    assert np.allclose(witness(h, X, Y, at=at), expected.numpy(), atol=1e-12)


class Weighing(Kernel):
    """A kernel of a user's own that says how much each coordinate counts."""

    def __init__(self, scales):
        super().__init__()
        self.scales = torch.as_tensor(scales, dtype=torch.float64)

    @property
    def coordinate_scales(self):
        return self.scales

    def tile(self, a, b, plan, out=None):
        return (a * self.scales.to(a)) @ b.T


def named(values, columns):
    return Sample(values, columns, columns=columns)


def weights_of(kernel, X, Y, repetitions=0, max_memory=2**30, relearn=None):
    columns = tuple(f"c{k}" for k in range(X.shape[1]))
    pair = named(X, columns), named(Y, columns)
    rng = np.random.default_rng(0)
    return find_weights(
        kernel, pair, pair, relearn, repetitions=repetitions, rng=rng, compute=Compute(max_memory=max_memory)
    )


def test_any_kernel_that_weighs_coordinates_is_asked_for_its_scales():
    X, Y = normal(30, 3, 0), normal(30, 3, 1)
    X[:, 2] = Y[:, 2] = 0.1  # never varies
    found = weights_of(Weighing([1.0, 3.0, 5.0]), X, Y, 2, relearn=lambda x, y, rng: Weighing([1.0, 1.0, 5.0]))
    assert found.meaning == "scales"
    assert found.values == pytest.approx([0.25, 0.75, 0.0])
    assert found.low == pytest.approx([0.25, 0.5, 0.0])
    assert found.high == pytest.approx([0.5, 0.75, 0.0])
    assert weights_of(Weighing([1.0, 1.0, 1.0]), X, Y).meaning == "slopes"  # nothing has been learned


def test_slopes_are_those_of_finite_differences():
    X, Y, at = normal(40, 3, 0), normal(50, 3, 1, 0.5), normal(4, 3, 2)
    kernel, step = ARD(3, 1.2, [0.5, 1.0, 2.0]), 1e-5
    found = witness_gradients(kernel, X, Y, at, Compute(max_memory=2**30))
    for k in range(3):
        aside = torch.zeros(3, dtype=torch.float64)
        aside[k] = step
        slope = (witness(kernel, X, Y, at=at + aside) - witness(kernel, X, Y, at=at - aside)) / (2 * step)
        assert found[:, k].numpy() == pytest.approx(slope, rel=1e-4, abs=1e-8)


class Largest(TorchDispatchMode):
    """Notes the size of the largest tensor that is made."""

    bytes = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        found = function(*args, **(kwargs or {}))
        for tensor in found if isinstance(found, (tuple, list)) else [found]:
            if isinstance(tensor, torch.Tensor):
                self.bytes = max(self.bytes, tensor.numel() * tensor.element_size())
        return found


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(1.5),
        Deep(MLP([4, 8, 8], rng=0), Gaussian(1.0)),
        Witness(Gaussian(1.5), normal(6000, 4, 5).float(), normal(6000, 1, 6)[:, 0].float()),
    ],
    ids=["Gaussian", "Deep", "Witness"],
)
def test_weights_keep_to_their_memory_and_stay_the_same(kernel):
    X, Y = normal(2400, 4, 0, dtype=torch.float32), normal(2400, 4, 1, 0.3, dtype=torch.float32)
    with Largest() as free:
        expected = weights_of(kernel, X, Y).values
    with Largest() as bound:
        found = weights_of(kernel, X, Y, max_memory=1_500_000).values
    assert found == pytest.approx(expected, rel=1e-3)
    assert free.bytes > 3_000_000
    assert bound.bytes < 1_500_000


@pytest.mark.usefixtures("one_thread")
def test_a_witness_function_keeps_to_16_megabytes():
    h = Witness(Gaussian(1.5), normal(6000, 2, 0).float(), normal(6000, 1, 1)[:, 0].float())
    with Largest() as largest:
        h.values(normal(2000, 2, 2).float())
    assert largest.bytes <= 2**24
