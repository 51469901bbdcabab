"""The witness function with the best signal-to-noise ratio, in closed form.

A function h tells two samples apart by the difference of its means, and the test's power grows with that difference
divided by h's standard deviation. In the space of a kernel κ the best h is Fisher's discriminant, which is the ridge
regression of the labels on the points (Kübler et al. 2022): h(x) = Σ_i a_i κ(x, z_i) with (K + ridge) a = y - b and
Σ_i a_i = 0, where b is the intercept. What has to be chosen, bandwidth and ridge, is chosen by the ratio on held-out
rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .._util import workers
from ..kernels import Gaussian, Kernel, Witness, probe_rows
from .bandwidths import default_bandwidths

#: Bandwidths of the grid, and ridges: one choice for all problems.
BANDWIDTHS = 8
RIDGES = (0.1, 1.0, 10.0, 100.0)
FOLDS = 2
#: Rows at the most from which bandwidth and ridge are chosen, and from which h is learned: time grows with the cube.
CHOICE_ROWS, ROWS = 4000, 6000


def fit_witness(
    X: Tensor,
    Y: Tensor,
    rng: np.random.Generator,
    report: Callable[[int, int], None] | None = None,
) -> tuple[Witness, dict[str, np.ndarray[Any, Any]]]:
    """Learn h from two samples; also the signal-to-noise ratio on held-out rows for every bandwidth and ridge."""
    points, labels = _thinned(torch.cat([X, Y]), len(X), CHOICE_ROWS, rng)
    bandwidths = default_bandwidths(points[labels == 1], points[labels == 0], BANDWIDTHS, rng=rng).tolist()
    folds = np.empty(len(points), dtype=np.int64)
    for label in (0, 1):
        rows = rng.permutation(np.flatnonzero(labels.numpy() == label))
        folds[rows] = np.arange(len(rows)) % FOLDS
    tasks = list(product(bandwidths, range(FOLDS)))

    @torch.no_grad()  # of each thread: torch's switch is not that of the process
    def ratios(task: tuple[float, int]) -> Tensor:
        bandwidth, fold = task
        K = _matrix(Gaussian(bandwidth), points)
        held_out, rest = (torch.from_numpy(np.flatnonzero(rows)) for rows in (folds == fold, folds != fold))
        h = K[held_out][:, rest] @ _coefficients(K[rest][:, rest], labels[rest], RIDGES)
        return signal_to_noise(h, labels[held_out])

    total = len(tasks) + FOLDS
    found = []
    with workers.pool() as pool:
        for done, ratio in enumerate(pool.map(ratios, tasks), 1):
            found.append(ratio)
            if report is not None:
                report(done, total)
        table = torch.stack(found).reshape(len(bandwidths), FOLDS, len(RIDGES)).mean(1).double().numpy()
        which, ridge = np.unravel_index(np.argmax(np.nan_to_num(table, nan=-np.inf)), table.shape)
        kernel = Gaussian(bandwidths[which])
        points, labels = _thinned(torch.cat([X, Y]), len(X), ROWS, rng)

        @torch.no_grad()
        def solve(rows: Tensor) -> Tensor:
            return _coefficients(_matrix(kernel, rows), labels, [RIDGES[ridge]])[:, 0]

        (weights,) = pool.map(solve, [points])
    if report is not None:
        report(total, total)
    grid = np.repeat(bandwidths, len(RIDGES)), np.tile(RIDGES, len(bandwidths))
    return Witness(kernel, points, weights), {"bandwidth": grid[0], "ridge": grid[1], "ratio": table.ravel()}


def signal_to_noise(h: Tensor, labels: Tensor) -> Tensor:
    """The difference of the means of each column of ``h``, over its standard error."""
    a, b = h[labels == 1], h[labels == 0]
    deviation = (a.var(0) / len(a) + b.var(0) / len(b)).sqrt()
    return (a.mean(0) - b.mean(0)) / deviation.clamp_min(torch.finfo(h.dtype).tiny)


def _thinned(pooled: Tensor, m: int, most: int, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """At most so many rows, of both samples in proportion, and their labels."""
    sizes = m, len(pooled) - m
    share = min(1.0, most / len(pooled))
    kept = [np.sort(rng.permutation(size)[: max(round(share * size), min(size, 4))]) for size in sizes]
    rows = torch.from_numpy(np.concatenate([kept[0], m + kept[1]]))
    points = pooled[rows.to(pooled.device)].flatten(1).cpu()
    return points, (rows < m).float()


def _matrix(kernel: Kernel, points: Tensor) -> Tensor:
    plan = kernel.plan(probe_rows(points), dtype=torch.float32)
    features = kernel.features(points, plan)
    return kernel.tile(features, features, plan)


def _coefficients(K: Tensor, labels: Tensor, ridges: Sequence[float]) -> Tensor:
    """The weights of h for each ridge: a = (K + ridge)⁻¹ (y - b), with the b for which they sum to 0. Changes K."""
    sides = torch.stack([labels, torch.ones_like(labels)], 1)
    columns, diagonal = [], K.diagonal().clone()
    for ridge in ridges:
        K.diagonal().copy_(diagonal + ridge)
        factor = torch.linalg.cholesky(K)
        of_labels, of_ones = torch.cholesky_solve(sides, factor).T
        columns.append(of_labels - of_labels.sum() / of_ones.sum() * of_ones)
    return torch.stack(columns, 1)
