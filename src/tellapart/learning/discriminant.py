"""The witness function with the best signal-to-noise ratio, in closed form.

A function h tells two samples apart by the difference of its means, and the test's power grows with that difference
divided by h's standard deviation. In the space of a kernel κ the best h is Fisher's discriminant, which is the ridge
regression of the labels on the points (Kübler et al. 2022): h(x) = Σ_i a_i κ(x, z_i) with (K + ridge) a = y - b and
Σ_i a_i = 0, where b is the intercept. What has to be chosen, bandwidth and ridge, is chosen by the ratio on held-out
rows.

Only this module and the spectral null store a kernel matrix: of at most 6,000 rows, 290 MB with its
factor. Where the user gives a ``max_memory`` below about 1.2 GB, fewer rows are drawn: 1,200 of them in 60 MB.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .._util import workers
from ..engine import Compute
from ..kernels import Gaussian, Kernel, Witness, probe_rows
from .bandwidths import bandwidth_grid

#: Bandwidths of the grid, and ridges: one choice for all problems.
BANDWIDTHS = 8
RIDGES = (0.1, 1.0, 10.0, 100.0)
FOLDS = 2
#: Maximum number of rows to choose bandwidth and ridge, and to learn h: run time grows with the cube.
CHOICE_ROWS, ROWS = 4000, 6000
#: Rows up to which one thread does all.
FEW = 500
#: Numbers of four bytes for each pair of rows that a choice takes (the matrix, parts of it, a factor, and what the
#: allocator loses between them), and the end.
_CHOICE_NUMBERS, _NUMBERS = 8, 8
#: Bytes for each row of h during evaluation, at 1,024 points at a time in double precision.
_BYTES_PER_ROW = 6 * 8 * 1024


def fit_witness(
    X: Tensor, Y: Tensor, rng: np.random.Generator, compute: Compute
) -> tuple[Witness, dict[str, np.ndarray[Any, Any]]]:
    """Learn h from two samples; also the signal-to-noise ratio on held-out rows for every bandwidth and ridge."""
    points, labels = _thin(X, Y, _fitting_rows(CHOICE_ROWS, _CHOICE_NUMBERS, compute), rng)
    bandwidths = bandwidth_grid([points[labels == 1], points[labels == 0]], BANDWIDTHS, rng).tolist()
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
    each = 4 * _CHOICE_NUMBERS * len(points) ** 2
    # Few rows are not worth a thread.
    threads = min(compute.threads, max(1, int(compute.max_memory / each))) if len(points) > FEW else 1
    with workers.pool(threads) as pool:
        for done, ratio in enumerate(pool.map(ratios, tasks), 1):
            found.append(ratio)
            if compute.progress is not None:
                compute.progress(done, total)
        table = torch.stack(found).reshape(len(bandwidths), FOLDS, len(RIDGES)).mean(1).double().numpy()
        which, ridge = np.unravel_index(np.argmax(np.nan_to_num(table, nan=-np.inf)), table.shape)
        kernel = Gaussian(bandwidths[which])
        points, labels = _thin(X, Y, _fitting_rows(ROWS, _NUMBERS, compute), rng)

        @torch.no_grad()
        def solve(rows: Tensor) -> Tensor:
            return _coefficients(_matrix(kernel, rows), labels, [RIDGES[ridge]])[:, 0]

        (weights,) = pool.map(solve, [points])
    if compute.progress is not None:
        compute.progress(total, total)
    grid = np.repeat(bandwidths, len(RIDGES)), np.tile(RIDGES, len(bandwidths))
    return Witness(kernel, points, weights), {"bandwidth": grid[0], "ridge": grid[1], "ratio": table.ravel()}


def signal_to_noise(h: Tensor, labels: Tensor) -> Tensor:
    """Difference of the means of each column of ``h``, divided by its standard error."""
    a, b = h[labels == 1], h[labels == 0]
    deviation = (a.var(0) / len(a) + b.var(0) / len(b)).sqrt()
    return (a.mean(0) - b.mean(0)) / deviation.clamp_min(torch.finfo(h.dtype).tiny)


def _fitting_rows(most: int, numbers: float, compute: Compute) -> int:
    """Number of rows whose matrices fit into the memory limit of the user. Free memory has no influence."""
    if compute.automatic:
        return most
    fitting = min(math.isqrt(int(compute.max_memory / (4 * numbers))), compute.max_memory // _BYTES_PER_ROW)
    return min(most, max(16, fitting))


def _thin(X: Tensor, Y: Tensor, most: int, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """Return a limited number of rows, of both samples in proportion, and their labels."""
    share = min(1.0, most / (len(X) + len(Y)))
    kept = [np.sort(rng.permutation(len(Z))[: max(round(share * len(Z)), min(len(Z), 4))]) for Z in (X, Y)]
    points = [Z[torch.from_numpy(rows).to(Z.device)].flatten(1).cpu() for Z, rows in zip((X, Y), kept, strict=True)]
    return torch.cat(points), torch.cat([torch.ones(len(kept[0])), torch.zeros(len(kept[1]))])


def _matrix(kernel: Kernel, points: Tensor) -> Tensor:
    plan = kernel.plan(probe_rows(points), dtype=torch.float32)
    features = kernel.features(points, plan)
    return kernel.tile(features, features, plan)


def _coefficients(K: Tensor, labels: Tensor, ridges: Sequence[float]) -> Tensor:
    """Weights of h for each ridge, a = (K + ridge)⁻¹ (y - b), with b such that they sum to 0. Overwrites K."""
    sides = torch.stack([labels, torch.ones_like(labels)], 1)
    columns, diagonal = [], K.diagonal().clone()
    for ridge in ridges:
        K.diagonal().copy_(diagonal + ridge)
        factor = torch.linalg.cholesky(K)
        of_labels, of_ones = torch.cholesky_solve(sides, factor).T
        columns.append(of_labels - of_labels.sum() / of_ones.sum() * of_ones)
    return torch.stack(columns, 1)
