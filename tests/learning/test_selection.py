"""Choosing a bandwidth: the table against single kernels and definitions, and what the choices are good for."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import tellapart as ta
from tellapart.kernels import Gaussian, Laplacian, Matern
from tellapart.learning import default_bandwidths

pytestmark = pytest.mark.usefixtures("one_thread")


def normal(n, seed, d=2, shift=0.0):
    return torch.randn(n, d, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)) + shift


@pytest.mark.parametrize("family", [Gaussian, Laplacian, Matern])
def test_the_table_is_that_of_single_kernels(family):
    X, Y = normal(60, 0), normal(45, 1, shift=0.5)
    grid = [0.1, 0.7, 3.0, 200.0]
    found = ta.select_bandwidth(X, Y, grid, family=family)
    for k, bandwidth in enumerate(grid):
        alone = ta.estimate(X, Y, family(bandwidth).requires_grad_(False))
        row = {name: column[k] for name, column in found.table.items()}
        assert row["bandwidth"] == pytest.approx(bandwidth)
        assert row["mmd2"] == pytest.approx(alone.mmd2.item(), rel=1e-8)
        assert row["variance"] == pytest.approx(alone.positive_variance.item(), rel=1e-7)
        assert row["t"] == pytest.approx(alone.t.item(), rel=1e-7)
        assert row["replaced"] == alone.replaced
    assert found.bandwidth == grid[int(found.table["t"].argmax())] == pytest.approx(found.kernel.bandwidth)


@pytest.mark.parametrize(
    ("criterion", "column"), [("mmd", "mmd2"), ("power", "power"), ("cv", "cv"), ("streaming", "ratio")]
)
def test_each_criterion_maximises_its_column(criterion, column):
    X, Y = normal(80, 0), normal(80, 1) * 1.5
    found = ta.select_bandwidth(X, Y, [0.3, 1.0, 5.0], criterion)
    assert found.criterion == criterion
    assert found.bandwidth == pytest.approx(found.table["bandwidth"][found.table[column].argmax()])


def test_one_bandwidth_is_a_grid_too():
    for criterion in ("t", "power", "cv", "streaming", "median", "mmd"):
        assert ta.select_bandwidth(normal(20, 0), normal(20, 1), [2.0], criterion).bandwidth == pytest.approx(2.0)


def test_power_is_its_definition():
    X, Y = normal(40, 0), normal(30, 1, shift=0.4)
    found = ta.select_bandwidth(X, Y, [0.5, 2.0], "power", alpha=0.1, permutations=99, rng=3)
    for k, bandwidth in enumerate((0.5, 2.0)):
        kernel = Gaussian(bandwidth).requires_grad_(False)
        threshold = ta.mmd_test(X, Y, kernel, permutations=99, rng=3).threshold(0.1)
        e = ta.estimate(X, Y, kernel)
        expected = (e.mmd2 - threshold) / e.positive_variance.sqrt()
        assert found.table["power"][k] == pytest.approx(expected.item(), rel=1e-3)


def test_cross_validation_is_its_definition():
    X, Y = normal(23, 0), normal(31, 1, shift=0.3)
    found = ta.select_bandwidth(X, Y, [0.5, 2.0], "cv", folds=4, rng=5)
    rng = np.random.default_rng(5)
    X, Y = (Z[torch.from_numpy(rng.permutation(len(Z)))] for Z in (X, Y))
    fold_x, fold_y = (torch.arange(len(Z)) * 4 // len(Z) for Z in (X, Y))
    for k, bandwidth in enumerate((0.5, 2.0)):
        kernel = Gaussian(bandwidth).requires_grad_(False)
        scores = []
        for fold in range(4):

            def witness(Z, fold=fold, kernel=kernel):
                return kernel(Z, X[fold_x != fold]).mean(1) - kernel(Z, Y[fold_y != fold]).mean(1)

            scores.append(witness(X[fold_x == fold]).mean() - witness(Y[fold_y == fold]).mean())
        assert found.table["cv"][k] == pytest.approx(torch.stack(scores).mean().item(), rel=1e-9)


def test_the_default_grid_reaches_from_neighbours_to_the_whole():
    X, Y = ta.datasets.blobs(500, rng=0)
    grid = default_bandwidths(X, Y)
    assert grid.min() < 0.5
    assert grid.max() > 40
    assert torch.allclose(grid.log().diff(), grid.log().diff().mean())
    assert len(default_bandwidths(torch.ones(5, 2), torch.ones(5, 2))) == 1


def test_t_finds_what_the_median_heuristic_cannot_see():
    rejected = {"t": 0, "median": 0}
    for r in range(12):
        train, test = (ta.datasets.blobs(500, ratio=8, rng=10 * r + half) for half in (0, 1))
        for criterion in rejected:
            kernel = ta.select_bandwidth(*train, criterion=criterion, rng=r).kernel
            rejected[criterion] += ta.mmd_test(*test, kernel, permutations=199, rng=r).reject(0.05)
    assert rejected["t"] >= 9
    assert rejected["median"] <= 4


def test_blobs_have_their_covariance():
    _, Y = ta.datasets.blobs(20_000, ratio=6, grid=1, rng=0)
    eigenvalues = np.linalg.eigvalsh(np.cov(Y.T))
    assert eigenvalues[1] / eigenvalues[0] == pytest.approx(6, rel=0.1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"criterion": "best"}, "criterion='best' is not known. Choose 'median', 'mmd'"),
        ({"bandwidths": [1.0, -1.0]}, "`bandwidths` must be positive"),
        ({"bandwidths": []}, "`bandwidths` must be a non-empty list of numbers"),
        ({"criterion": "cv", "folds": 1}, "`folds` must be between 2 and"),
    ],
)
def test_errors(options, message):
    with pytest.raises(ValueError, match=message):
        ta.select_bandwidth(normal(10, 0), normal(10, 1), **options)
