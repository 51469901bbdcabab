"""Bandwidths, precision, combinations, derivatives, errors. What every kernel must do is in `test_conformance`."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch
from kernel_cases import SCALES, D, M, N, draw, engine_mmd2, full_mmd2, in_space, mlp
from torch import Tensor, nn

import tellapart as ta
from tellapart import engine, kernels
from tellapart.engine import tiles
from tellapart.kernels import Gaussian, Laplacian, Matern, RationalQuadratic


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each sample makes two blocks, so that whatever passes the engine passes its seams."""
    monkeypatch.setattr(tiles, "TILE_OF_FEW", (16, 16))


# --- Bandwidths


def test_the_convention_for_bandwidths() -> None:
    """|x - y| = 5 and bandwidth 2: exp(-25 / 8)."""
    points = torch.tensor([[0.0, 0.0], [3.0, 4.0]], dtype=torch.float64)
    assert Gaussian(2.0)(points)[0, 1].item() == pytest.approx(0.04393693362340742, rel=1e-15)
    assert ta.mmd2([0.0, 0.0], [2.0, 2.0], Gaussian(2.0)) == pytest.approx(2 - 2 * 0.6065306597126334, rel=1e-15)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "family",
    [Gaussian, Laplacian, Matern, partial(Matern, nu=0.5), RationalQuadratic],
    ids=["Gaussian", "Laplacian", "Matern", "Matern12", "RQ"],
)
@pytest.mark.parametrize("bandwidths", [[0.5, 1.0, 3.0], [1e-3, 0.7, 100.0], [2.0]])
def test_grid_is_each_bandwidth_alone(
    bandwidths: list[float], family: Callable[[float], kernels.Stationary], dtype: torch.dtype
) -> None:
    x, y = (sample.to(dtype) for sample in in_space())
    rtol = 1e-4 if dtype == torch.float32 else 1e-11
    with torch.no_grad():
        together = engine.sums(kernels.Grid(bandwidths, family), x, y)
        for k, bandwidth in enumerate(bandwidths):
            alone = engine.sums(family(bandwidth), x, y)
            for name in ("rx", "ry", "rho", "kap", "fxx", "fyy", "fxy", "trace_x", "trace_y"):
                found, expected = getattr(together, name), getattr(alone, name)
                found = found if len(bandwidths) == 1 else found[k]
                # Where a kernel is nearly constant, sums are of k - 1, and 0 on the diagonal but for rounding.
                size = (alone.rx if name.startswith("trace") else expected).abs().max().item()
                torch.testing.assert_close(found, expected, rtol=rtol, atol=rtol * size)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "family",
    [
        Gaussian,
        Laplacian,
        partial(Matern, nu=0.5),
        Matern,
        partial(Matern, nu=2.5),
        RationalQuadratic,
        partial(RationalQuadratic, alpha=30.0),
        lambda bandwidth: kernels.Mixture([bandwidth, 3 * bandwidth]),
        lambda bandwidth: kernels.ARD(1, bandwidth),
    ],
    ids=["Gaussian", "Laplacian", "Mat12", "Mat32", "Mat52", "RQ", "RQ-30", "Mixture", "ARD"],
)
def test_no_denormal_numbers(family: Callable[[float], kernels.Kernel], dtype: torch.dtype) -> None:
    """They make a processor slow. Distances from 0.1 to 3000 bandwidths, densely."""
    x = torch.cat([torch.zeros(1, dtype=dtype), torch.logspace(-1, 3.5, 150, dtype=dtype)])[:, None]
    tiny = torch.finfo(dtype).tiny
    for bandwidth in (1e-6, 1.0):
        kernel = family(bandwidth)
        with torch.no_grad():
            K = kernel(x * bandwidth)
        for tile in (K, kernel(x * bandwidth).detach()):
            assert torch.isfinite(tile).all()
            denormal = (tile != 0) & (tile.abs() < tiny)
            assert not denormal.any(), f"{int(denormal.sum())} of {tile.numel()}"


def test_data_far_from_the_origin() -> None:
    """float32 has 7 digits, and none may be lost to the distance from 0."""
    x, y = (sample.float() + 4096 for sample in in_space())
    expected = Gaussian(1.3)(x.double(), y.double())
    torch.testing.assert_close(Gaussian(1.3)(x, y), expected.float(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "make",
    [lambda: kernels.Polynomial(2) + Gaussian(1.3), lambda: kernels.Polynomial(2) * Gaussian(1.3)],
    ids=["sum", "product"],
)
def test_parts_with_plans_of_different_types(make: Callable[[], kernels.Kernel]) -> None:
    """Far from 0, Polynomial asks for float64 where Gaussian does not."""
    x, y = (sample.float() + 64 for sample in in_space())
    expected = full_mmd2(make()(torch.cat([x, y]).double()).detach(), M, N)
    assert engine_mmd2(make(), x, y) == pytest.approx([expected] * 3, rel=1e-4)
    weights = draw(N, 2, seed=3)
    found = engine.product(make(), x, y, weights)
    torch.testing.assert_close(found, (make()(x.double(), y.double()) @ weights).detach(), rtol=1e-4, atol=1e-2)


def test_a_far_cluster_that_no_plan_has_seen() -> None:
    """Plans look at some rows only; distances between the others must be right too."""
    x = draw(1000, 2, seed=7).float()
    x[1:6] += 3000
    weights = torch.zeros(1000, 1, dtype=torch.float64)
    weights[1:6] = 1
    found, expected = (engine.product(Gaussian(1.0), points, points, weights) for points in (x, x.double()))
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("make", [Gaussian, partial(kernels.ARD, D), Laplacian, Matern, RationalQuadratic])
def test_gradient_of_a_wide_bandwidth_keeps_its_precision(make: Callable[[float], kernels.Kernel]) -> None:
    """float32 tiles of k - 1 know the slope as well as the value (MATHS §2)."""

    def slope(dtype: torch.dtype) -> float:
        kernel = make(1000.0)
        x, y = (sample.to(dtype) for sample in in_space())
        ta.mmd2(x, y, kernel).backward()
        return kernel.log_bandwidth.grad.item()

    assert slope(torch.float32) == pytest.approx(slope(torch.float64), rel=1e-4)


# --- Combining


def test_combinations_keep_parts_and_weights() -> None:
    x, y = in_space()
    k, q = Gaussian(1.0), Laplacian(2.0)
    torch.testing.assert_close((3 * k + q * 2)(x, y), 3 * k(x, y) + 2 * q(x, y))
    torch.testing.assert_close((k * q * 0.5)(x, y), 0.5 * k(x, y) * q(x, y))


def test_networks_see_images_as_images() -> None:
    network = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten())
    images = draw(5, 64, seed=4).float().view(5, 1, 8, 8)
    assert kernels.Deep(network)(images).shape == (5, 5)


def test_batch_normalisation_is_fine_in_evaluation_mode() -> None:
    network = nn.Sequential(nn.Linear(D, 4), nn.BatchNorm1d(4)).double()
    x, y = in_space()
    kernel = kernels.Deep(network.eval(), Gaussian(1.0))
    torch.testing.assert_close(kernel(x, y)[:2, :2], kernel(x[:2], y[:2]), rtol=1e-12, atol=0)


# --- Second derivatives


@pytest.mark.parametrize("kernel", [Gaussian(1.3), kernels.ARD(D, 1.2, SCALES), Laplacian(2.1)], ids=repr)
def test_second_derivatives_are_right_or_refused(kernel: kernels.Kernel) -> None:
    """A gradient penalty differentiates a gradient with respect to points by the parameters."""
    x, y = draw(3, D, seed=5).requires_grad_(), draw(4, D, seed=6)

    def penalty() -> Tensor:
        (slope,) = torch.autograd.grad(kernel(x, y).sum(), x, create_graph=True)
        return slope.square().sum()

    try:
        assert torch.autograd.gradcheck(lambda *_: penalty(), [x, *kernel.parameters()])
    except RuntimeError as refusal:
        if "once_differentiable" not in str(refusal) and "not implemented" not in str(refusal):
            raise


# --- Errors say what is wrong


X, Y = in_space()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Gaussian(0.0), ValueError, r"`bandwidth` must be positive and finite, got 0\.0"),
        (lambda: Laplacian(-1.0), ValueError, r"`bandwidth` must be positive and finite, got -1\.0"),
        (lambda: Matern(math.nan), ValueError, "`bandwidth` must be positive and finite, got nan"),
        (lambda: RationalQuadratic(math.inf), ValueError, "`bandwidth` must be positive and finite, got inf"),
        (lambda: RationalQuadratic(1.0, alpha=0.0), ValueError, r"`alpha` must be positive and finite, got 0\.0"),
        (lambda: Gaussian([1.0, 2.0]), ValueError, "`bandwidth` must be a number.* ARD.* Mixture"),
        (lambda: Matern(1.0, nu=2.0), ValueError, r"`nu` must be 0\.5, 1\.5 or 2\.5, got 2\.0"),
        (lambda: kernels.Mixture([]), ValueError, "`bandwidths` must be a non-empty list of numbers"),
        (lambda: kernels.Mixture([1.0, -2.0]), ValueError, r"`bandwidths` must be positive.* \[1\.0, -2\.0\]"),
        (lambda: kernels.Mixture(2.0), ValueError, "`bandwidths` must be a non-empty list of numbers"),
        (lambda: kernels.Grid([]), ValueError, "`bandwidths` must be a non-empty list of numbers"),
        (lambda: kernels.Grid([0.0, 1.0]), ValueError, r"`bandwidths` must be positive.* \[0\.0, 1\.0\]"),
        (lambda: kernels.ARD(0), ValueError, "`d` must be a positive integer, got 0"),
        (
            lambda: kernels.ARD(3, scales=[1.0, 2.0]),
            ValueError,
            r"`scales` must be a number or have shape \(3,\).*\(2,\)",
        ),
        (lambda: kernels.ARD(3, scales=[1.0, 2.0, 0.0]), ValueError, "`scales` must be positive and finite"),
        (lambda: kernels.ARD(2)(X), ValueError, r"ARD\(2\) got data with 3 coordinates"),
        (lambda: ta.mmd2(X, Y, kernels.ARD(4)), ValueError, r"ARD\(4\) got data with 3 coordinates"),
        (lambda: kernels.Polynomial(0), ValueError, "`degree` must be a positive integer, got 0"),
        (lambda: kernels.Polynomial(1.5), ValueError, r"`degree` must be a positive integer, got 1\.5"),
        (lambda: kernels.Polynomial(2, gamma=-1.0), ValueError, r"`gamma` must be positive, got -1\.0"),
        (lambda: kernels.Polynomial(2, gamma=math.nan), ValueError, "`gamma` must be positive, got nan"),
        (lambda: kernels.Polynomial(2, coef0=-1.0), ValueError, r"`coef0` must be non-negative.* -1\.0"),
        (lambda: 0 * Gaussian(1.0), ValueError, r"`weights` must be positive and finite, got \[0\.0\]"),
        (lambda: -1.5 * Gaussian(1.0), ValueError, r"`weights` must be positive and finite, got \[-1\.5\]"),
        (lambda: Gaussian(1.0) + 1, TypeError, "unsupported operand"),
        (lambda: kernels.Sum([]), ValueError, "Sum needs at least one kernel"),
        (lambda: kernels.Sum([Gaussian(1.0), Gaussian(2.0)], [3.0]), ValueError, "weights"),
        (lambda: kernels.Product([]), ValueError, "Product needs at least one kernel"),
        (lambda: kernels.MLP([3]), ValueError, r"`widths` must contain at least the input and the output.* \[3\]"),
        (lambda: kernels.Deep(torch.sin), TypeError, "`network` must be a torch nn.Module, got builtin"),
        (lambda: kernels.Deep(mlp(), epsilon=1.0), ValueError, r"epsilon must be between 0 and 1, but is 1\.0"),
        (
            lambda: kernels.Deep(nn.Sequential(nn.Linear(D, 4), nn.BatchNorm1d(4)))(X),
            ValueError,
            r"batch normalisation in training mode.* LayerNorm.*\.eval\(\)",
        ),
        (lambda: kernels.Precomputed([[1.0, 2.0]]), ValueError, r"`matrix` must be square, got shape \(1, 2\)"),
        (lambda: kernels.Precomputed([[1.0, 0.5], [0.4, 1.0]]), ValueError, r"must be symmetric.*K \+ K\.T"),
        (lambda: kernels.Precomputed([[1.0, math.nan], [0.4, 1.0]]), ValueError, "matrix has 1 NaN"),
        (lambda: kernels.Precomputed(np.eye(3))(torch.tensor([[3]])), ValueError, "row numbers.* from 0 to 2"),
        (lambda: ta.mmd2([0, 1.5], [0, 1], kernels.Precomputed(np.eye(3))), ValueError, "row numbers"),
        (lambda: ta.mmd2([0, -1], [0, 1], kernels.Precomputed(np.eye(3))), ValueError, "row numbers"),
        (lambda: kernels.FromFunction(3), TypeError, "`function` must be callable with two blocks.* int"),
        (lambda: ta.mmd2(X, Y, lambda x, y: x @ (y + 1).T), ValueError, r"not symmetric: k\(x, y\) must equal"),
        (lambda: ta.mmd2(X, Y, lambda x, y: (x @ y.T)[:, :1]), ValueError, r"must return a 35 × 18 .*\(35, 1\)"),
        (lambda: ta.mmd2(X, Y, lambda x, y: (x * x).sum(1)), ValueError, r"must return a 35 × 18 .*\(35,\)"),
        (lambda: ta.mmd2(X, Y, lambda x, y: x @ y.T * math.nan), ValueError, "NaN"),
        (lambda: ta.mmd2(X, Y, Gaussian), TypeError, r"kernel object, got the class Gaussian: write Gaussian\("),
        (lambda: ta.mmd2(X, Y, "rbf"), TypeError, "`kernel` must be a kernel such as .* got str"),
        (lambda: kernels.save(kernels.Grid([1.0]), "never.safetensors"), TypeError, "Grid kernel cannot be saved"),
        (
            lambda: ta.mmd2(X.clone().requires_grad_(), Y, kernels.Grid([1.0, 2.0])),
            TypeError,
            "Expected a single kernel, got a Grid of 2",
        ),
    ],
)
def test_errors(make: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()
