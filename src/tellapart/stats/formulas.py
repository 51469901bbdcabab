"""MMD², its variance and their ratio, from sums over the kernel (MATHS §1, §2 and §4).

Every statistic is computed here and nowhere else: `mmd2_of_totals`, `variance_from`, `second_order_from`,
`relabelling_variance` and `ratio` are the formulas, `estimate_from` puts them together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from ..engine import Sums

Estimator = Literal["full", "paired", "biased"]


@dataclass(frozen=True)
class Estimate:
    """Everything one pass over the kernel tells: numbers, or for tensors 0-dimensional tensors with a gradient.

    Attributes
    ----------
    mmd2
        The estimate U of MMD².
    variance
        The unbiased estimate V of the variance of U. It is negative in about 30 % of draws when P = Q.
    second_order
        V2, the part of the variance that is a sum of squares and never negative.
    positive_variance
        V+ = max(V, V2).
    t
        U / √V+, and 0 where the kernel does not tell any two points apart.
    replaced
        Whether V was below V2, so that t is U / √V2.
    """

    mmd2: Any
    variance: Any
    second_order: Any
    positive_variance: Any
    t: Any
    replaced: Any


@dataclass(frozen=True)
class BlockEstimate:
    """A mean over independent blocks: ``mmd2``, the ``variance`` of that mean, and their ``ratio`` mmd2/√variance."""

    mmd2: Any
    variance: Any
    ratio: Any
    blocks: int


def block_estimate_from(xx: Tensor, yy: Tensor, xy: Tensor, size: int) -> BlockEstimate:
    """The mean over blocks of ``size`` rows, from the totals of Kxx, Kyy and Kxy without diagonals of each."""
    values = (xx + yy - 2 * xy) / (size * (size - 1))
    mean, variance = values.mean(), values.var() / len(values)
    return BlockEstimate(mean, variance, _safe_ratio(mean, variance, variance <= 0), len(values))


def estimate_from(s: Sums, estimator: Estimator = "full") -> Estimate:
    """Everything from sums; with a `Grid`, tensors with a leading dimension for it (``replaced`` too)."""
    u, v, v2 = mmd2_from(s, estimator), variance_from(s, estimator), second_order_from(s, estimator)
    positive = torch.maximum(v, v2)
    return Estimate(u, v, v2, positive, ratio(u, positive, s), (v < v2).detach())


def mmd2_of_totals(xx: Tensor, yy: Tensor, xy: Tensor, m: int, n: int) -> Tensor:
    """The full MMD² from the totals of Kxx and Kyy without their diagonals, and of Kxy (MATHS §1)."""
    return xx / (m * (m - 1)) + yy / (n * (n - 1)) - 2 * xy / (m * n)


def mmd2_of_labels(forms: Tensor, crosses: Tensor, total: Tensor, m: int, n: int) -> Tensor:
    """The full MMD² of labellings s of the pooled points, from sᵀK̃s, sᵀK̃e and eᵀK̃e (MATHS §4)."""
    return mmd2_of_totals(forms, total - 2 * crosses + forms, crosses - forms, m, n)


def mmd2_of_varying(forms: Tensor, crosses: Tensor, total: Tensor, m: Tensor, n: Tensor) -> Tensor:
    """The same for labellings of m and n rows, which vary. The pairs that one row lacks are those of all rows."""
    mean = total / ((m + n) * (m + n - 1))
    xx = torch.where(m > 1, forms / (m * (m - 1)).clamp_min(1), mean)
    yy = torch.where(n > 1, (total - 2 * crosses + forms) / (n * (n - 1)).clamp_min(1), mean)
    return xx + yy - 2 * (crosses - forms) / (m * n)


def mmd2_from(s: Sums, estimator: Estimator = "full") -> Tensor:
    """MMD² from sums (MATHS §1)."""
    m, n = s.m, s.n
    if estimator == "biased":
        return (s.sxx + s.trace_x) / m**2 + (s.syy + s.trace_y) / n**2 - 2 * s.sxy / (m * n)
    if estimator == "paired":
        assert s.dxy is not None
        return (s.sxx + s.syy - 2 * (s.sxy - s.dxy)) / (m * (m - 1))
    return mmd2_of_totals(s.sxx, s.syy, s.sxy, m, n)


def variance_from(s: Sums, estimator: Estimator = "full") -> Tensor:
    """The unbiased variance V from sums (MATHS §2, not the constants that the paper prints)."""
    m, n = s.m, s.n

    def mixed(product: Tensor, total: Tensor, m: int, n: int) -> Tensor:
        return 8 / (n * _falling(m, 3)) * (product - total * s.sxy / m)

    cross = s.rxy + s.cxy
    if estimator == "paired":
        between = (m * m - m - 1) * cross - m * (m - 2) * s.fxy - (2 * m - 3) * s.sxy**2
        between = 4 / (m**3 * (m - 1) ** 3) * between
    else:
        between = cross - s.fxy - (m + n - 1) * s.sxy**2 / (m * n)
        between = 4 / (_falling(m, 2) * _falling(n, 2)) * between
    return (
        variance_within(s.sxx, s.rxx, s.fxx, m)
        + variance_within(s.syy, s.ryy, s.fyy, n)
        + between
        - mixed(s.tx, s.sxx, m, n)
        - mixed(s.ty, s.syy, n, m)
    )


def variance_within(total: Tensor, rows: Tensor, squares: Tensor, m: int) -> Tensor:
    """The unbiased variance of the mean of K̃xx, from its total, |rx|² and |K̃xx|² (W of MATHS §2)."""
    return 2 / _falling(m, 4) * (2 * rows - squares - (2 * m - 3) / (m * (m - 1)) * total**2)


def second_order_from(s: Sums, estimator: Estimator = "full") -> Tensor:
    """V2, the second-order part of the variance (MATHS §2)."""
    m, n = s.m, s.n
    weight = 4 / (m * (m - 1) ** 3) if estimator == "paired" else 4 / (m * n * (m - 1) * (n - 1))
    between = s.fxy - s.rxy / n - s.cxy / m + s.sxy**2 / (m * n)
    return (
        second_order_within(s.sxx, s.rxx, s.fxx, m)
        + second_order_within(s.syy, s.ryy, s.fyy, n)
        + weight * between.clamp_min(0)
    )


def second_order_within(total: Tensor, rows: Tensor, squares: Tensor, m: int) -> Tensor:
    """The second-order part of `variance_within`."""
    centred = squares - 2 / (m - 2) * rows + total**2 / ((m - 1) * (m - 2))
    return 2 / (_falling(m, 2) * m * (m - 3)) * centred.clamp_min(0)


def permutation_variance_from(s: Sums) -> Tensor:
    """The exact variance of the full MMD² over all relabellings of the pooled sample (MATHS §4)."""
    row_squares, total = s.pooled_rows.unbind(-1)
    return relabelling_variance(s.fxx + s.fyy + 2 * s.fxy, row_squares, total, s.m, s.n)


def relabelling_variance(squares: Tensor, row_squares: Tensor, total: Tensor, m: int, n: int) -> Tensor:
    """The same from |K̃|², |K̃e|² and eᵀK̃e of the pooled matrix without its diagonal."""
    N = m + n
    norm = squares - 2 * row_squares / (N - 2) + total**2 / ((N - 1) * (N - 2))
    scale = 1 / (m * (m - 1)) + 1 / (n * (n - 1)) + 2 / (m * n)
    return 2 * scale**2 * _falling(m, 2) * _falling(n, 2) / _falling(N, 4) * norm


def ratio(numerator: Tensor, variance: Tensor, s: Sums) -> Tensor:
    """numerator / √variance, and 0 where the variance is 0 but for rounding."""
    size = 4 / (s.m * s.n) * (s.fxx + s.fyy + s.fxy).detach() / (s.m + s.n) ** 2
    return _safe_ratio(numerator, variance, variance <= 64 * torch.finfo(torch.float64).eps * size)


def _safe_ratio(numerator: Tensor, variance: Tensor, undefined: Tensor) -> Tensor:
    # The root of a masked value must be finite too, or its gradient is NaN. A NaN that comes in goes out.
    root = torch.where(undefined, torch.ones_like(variance), variance).sqrt()
    return torch.where(undefined, torch.zeros_like(numerator), numerator / root)


def _falling(m: int, r: int) -> int:
    """m (m - 1) … (m - r + 1)."""
    return math.prod(range(m - r + 1, m + 1))
