"""Selection of a bandwidth from a grid, in one pass over the distances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from .. import engine
from .._util.errors import InputError
from .._util.progress import ProgressLike
from .._util.rng import RNG, seed_of
from ..data import TensorPoints, as_pair, as_points, reindex
from ..engine import Compute, MemoryLike, computing
from ..kernels import Gaussian, Grid, Stationary
from ..stats import nulls
from ..stats.formulas import block_estimate_from, estimate_from, ratio
from ..stats.pvalues import attainable_level, check_level, critical_value

#: Number of rows for the median: it is accurate enough from a hundred thousand distances.
_ROWS = 500
#: Rows whose nearest neighbours are looked for, and the bytes that this may take at a time.
_NEIGHBOURS_OF, _NEIGHBOURS_BYTES = 200, 2**24

Criterion = Literal["median", "mmd", "t", "power", "cv", "streaming"]


def median_bandwidth(X: Any, Y: Any, *, rng: RNG = None) -> float:
    """Median distance between two different points of the pooled sample.

    Parameters
    ----------
    X, Y
        The samples.
    rng
        Of more than 500 rows, that many are drawn with it. The draw does not look at labels, so a permutation
        test with this bandwidth stays exact.

    Examples
    --------
    >>> round(median_bandwidth([0.0, 3.0], [4.0]), 6)
    3.0
    """
    return median_distance(as_points(X, Y), rng)


def median_distance(samples: Sequence[TensorPoints], rng: RNG) -> float:
    """`median_bandwidth` without validation of the samples."""
    points = _some_rows(samples, rng)
    unit = float(np.abs(points).max()) or 1.0
    points = points / unit
    # Centred on the bulk of the points, so that an outlier spoils no distances but its own.
    points = points - np.median(points, axis=0)
    norms = (points**2).sum(1)
    sizes = norms[:, None] + norms
    squares = sizes - 2 * points @ points.T
    # Equal rows are at distance 0, up to rounding, and do not count.
    counted = np.tri(len(points), k=-1, dtype=bool) & (squares > 1e-13 * sizes)
    return unit * math.sqrt(float(np.median(squares[counted]))) if counted.any() else 1.0


def default_bandwidths(X: Any, Y: Any, count: int = 30, *, rng: RNG = None) -> Tensor:
    """A geometric grid from the scale of nearest neighbours to twice the largest distances.

    It starts at half the median distance to the fifth neighbour: differences within clusters are much smaller than
    almost all distances, and a grid that starts at a quantile of those misses them. Rows beyond 500 are drawn by
    ``rng``.

    Examples
    --------
    >>> len(default_bandwidths(torch.rand(50, 2), torch.rand(60, 2)))
    30
    """
    x, y = as_pair(X, Y)
    return bandwidth_grid([x.values, y.values], count, rng)


def bandwidth_grid(samples: Sequence[TensorPoints], count: int, rng: RNG) -> Tensor:
    """The grid of `default_bandwidths` for samples that are checked already."""
    points = _some_rows(samples, rng)
    centre = points.mean(0)
    some, fifth = points[:_NEIGHBOURS_OF] - centre, min(5, sum(map(len, samples)) - 1)
    nearest = np.empty((len(some), 0))
    pooled = reindex(samples, np.arange(sum(map(len, samples))))
    rows = max(_NEIGHBOURS_BYTES // (32 * math.prod(pooled.shape[1:]) + 24 * len(some)), 256)
    for start in range(0, len(pooled), rows):
        others = pooled[start : start + rows].detach().flatten(1).cpu().double().numpy()
        nearest = np.concatenate([nearest, _square_distances(some, others - centre)], axis=1)
        nearest = np.partition(nearest, fifth, axis=1)[:, : fifth + 1] if nearest.shape[1] > fifth else nearest
    squares = _square_distances(points, points)
    high = 2 * math.sqrt(float(np.quantile(squares, 0.95)))
    low = math.sqrt(max(float(np.median(nearest[:, fifth])), 0.0)) / 2
    if high == 0:
        return torch.ones(1, dtype=torch.float64)
    return torch.from_numpy(np.geomspace(max(low, high / 1e5), high, count))


@dataclass(frozen=True)
class Selection:
    """The chosen bandwidth, the kernel with it, and the scores of all bandwidths.

    `table` has an array for each of ``bandwidth``, ``mmd2``, ``variance`` (V+), ``t``, ``replaced`` (whether V was
    below V2) and, for the criteria that compute it, ``power``, ``cv`` or ``ratio``.
    """

    bandwidth: float
    kernel: Stationary
    criterion: str
    table: dict[str, np.ndarray[Any, Any]]


def select_bandwidth(
    X: Any,
    Y: Any,
    bandwidths: Sequence[float] | Tensor | None = None,
    criterion: Criterion = "t",
    *,
    family: type[Stationary] = Gaussian,
    alpha: float = 0.05,
    permutations: int = 199,
    folds: int = 5,
    rng: RNG = None,
    max_memory: MemoryLike = None,
    threads: int | None = None,
    progress: ProgressLike = None,
) -> Selection:
    """Select a bandwidth from a grid. Use other data to test.

    Parameters
    ----------
    X, Y : array-like
        The samples, with at least 4 rows each.
    bandwidths : sequence of float, optional
        The grid. By default `default_bandwidths`.
    criterion : {"t", "power", "mmd", "cv", "streaming", "median"}
        ``"t"``: MMD²/√V+, which gives the most powerful test for large samples. ``"power"``: (MMD² - c)/√V+ with the
        permutation threshold c at level ``alpha``. ``"mmd"``: MMD². ``"cv"``: MMD² between each of the ``folds`` and
        the others. ``"streaming"``: the ratio of the linear-time estimator of Gretton et al. 2012. ``"median"``: the
        bandwidth of the grid nearest to the median distance.
    family : type of Stationary
        Class of the kernel.
    alpha : float
        Level for ``"power"``.
    permutations : int
        Number of permutations that determine the threshold for ``"power"``.
    folds : int
        Number of folds for ``"cv"``.
    rng : int, torch.Generator, numpy.random.Generator or None
        Random numbers for rows, permutations and folds.
    max_memory, threads
        As for `estimate`. Samples in memory are copied once in addition.
    progress : bool, callable or None
        True, False, None (a bar if standard error is a terminal), or a function of the work done and the total work.

    Returns
    -------
    Selection

    Notes
    -----
    Takes N²/2 distances and as many kernel evaluations for each bandwidth. ``"power"`` takes a second pass with a
    matrix product for each bandwidth.

    Examples
    --------
    >>> g = torch.Generator().manual_seed(0)
    >>> X, Y = torch.randn(300, 1, generator=g), torch.randn(300, 1, generator=g) * 1.5
    >>> choice = select_bandwidth(X, Y)
    >>> 0.1 < choice.bandwidth < 10
    True
    """
    if criterion not in ("median", "mmd", "t", "power", "cv", "streaming"):
        known = "'median', 'mmd', 't', 'power', 'cv' or 'streaming'"
        raise InputError("unknown-choice", f"criterion={criterion!r} is not known. Choose {known}.")
    check_level(alpha)
    x, y = (sample.values for sample in as_pair(X, Y, at_least=4))
    seed = seed_of(rng)
    with computing(max_memory, progress=progress, threads=threads, title="select_bandwidth") as compute:
        return choose_bandwidth(
            x,
            y,
            bandwidths,
            criterion,
            family=family,
            alpha=alpha,
            permutations=permutations,
            folds=folds,
            seed=seed,
            compute=compute,
        )


def choose_bandwidth(
    X: Tensor,
    Y: Tensor,
    bandwidths: Sequence[float] | Tensor | None,
    criterion: Criterion,
    *,
    family: type[Stationary] = Gaussian,
    alpha: float = 0.05,
    permutations: int = 199,
    folds: int = 5,
    seed: int,
    compute: Compute,
) -> Selection:
    """`select_bandwidth` for samples that are checked already."""
    grid = Grid(bandwidth_grid([X, Y], 30, seed) if bandwidths is None else bandwidths, family)
    with torch.no_grad():
        s = engine.sums(grid, X, Y, compute=compute)
        found = estimate_from(s)
        columns = {
            "bandwidth": grid.bandwidths,
            "mmd2": found.mmd2,
            "variance": found.positive_variance,
            "t": found.t,
            "replaced": torch.as_tensor(found.replaced),
        }
        if criterion == "power":
            problem = nulls.Problem(grid, X, Y, np.random.default_rng(seed), compute)
            draws = nulls.Permutation().draw(problem, permutations).distribution.reshape(grid.members, -1)
            threshold = critical_value(draws, attainable_level(alpha, permutations))
            columns["power"] = ratio(found.mmd2 - threshold, found.positive_variance, s)
        elif criterion == "cv":
            columns["cv"] = _across_folds(grid, X, Y, folds, np.random.default_rng(seed), compute)
        elif criterion == "streaming":
            blocks = (engine.block_sums(family(float(b)), X, Y, 2) for b in grid.bandwidths)
            each = [float(block_estimate_from(*totals, 2).ratio) for totals in blocks]
            columns["ratio"] = torch.tensor(each, dtype=torch.float64)
    table = {name: column.reshape(-1).numpy() for name, column in columns.items()}
    if criterion == "median":
        score = -np.abs(np.log(table["bandwidth"] / median_distance([X, Y], seed)))
    else:
        score = table["ratio" if criterion == "streaming" else "mmd2" if criterion == "mmd" else criterion]
    bandwidth = float(table["bandwidth"][int(np.argmax(score))])
    return Selection(bandwidth, family(bandwidth), criterion, table)


def _across_folds(grid: Grid, X: Tensor, Y: Tensor, folds: int, rng: np.random.Generator, compute: Compute) -> Tensor:
    """MMD² between the witness of all other folds and each fold, on average, from one matrix of sums over bins."""
    m, n = len(X), len(Y)
    if not 2 <= folds <= min(m, n):
        raise InputError(
            "out-of-range", f"`folds` must be between 2 and the size of the smaller sample, {min(m, n)}, got {folds}."
        )
    of_x, of_y = (np.arange(size) * folds // size for size in (m, n))
    order = [torch.from_numpy(rng.permutation(size)) for size in (m, n)]
    bins = torch.from_numpy(np.concatenate([of_x, folds + of_y]))
    sums = engine.bin_sums(grid, [X[order[0]], Y[order[1]]], bins, 2 * folds, compute=compute)
    sums = sums.reshape(grid.members, 2, folds, 2, folds)
    counts = torch.stack([torch.bincount(torch.from_numpy(of), minlength=folds) for of in (of_x, of_y)]).double()
    signs = torch.tensor([1.0, -1.0], dtype=torch.float64)
    here = signs[:, None] / counts
    there = signs[:, None, None] / (counts.sum(1)[:, None, None] - counts[:, None, :]) * (1 - torch.eye(folds))
    return torch.einsum("gifjk,if,jkf->g", sums, here, there) / folds


def _some_rows(parts: Sequence[TensorPoints], rng: RNG) -> np.ndarray[Any, Any]:
    """Up to `_ROWS` rows of samples taken together, drawn without regard to labels, in float64."""
    total = sum(map(len, parts))
    chosen = np.arange(total)
    if total > _ROWS:
        chosen = np.random.default_rng(seed_of(rng)).permutation(total)[:_ROWS]
    return np.asarray(reindex(parts, chosen)[:].detach().flatten(1).cpu().double().numpy())


def _square_distances(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    centre = a.mean(0)
    a, b = a - centre, b - centre
    squares = (a**2).sum(1)[:, None] + (b**2).sum(1) - 2 * a @ b.T
    return np.asarray(np.maximum(squares, 0))
