"""Which of two samples is closer to a reference: MMD²(X, A) - MMD²(X, B), and its variance (MATHS §10).

Both estimates share the reference X, so they are correlated. Their covariance has an unbiased estimate from the same
sums as their variances (Bounliphone et al. 2016 use its leading term, with a bias): tests/stats/test_relative.py
proves it over every possible sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..engine import Sums
from .formulas import mmd2_from, second_order_from, second_order_within, variance_from, variance_within


@dataclass(frozen=True)
class Relative:
    """How much farther A is from the reference than B.

    Attributes
    ----------
    difference
        MMD²(X, A) - MMD²(X, B), unbiased.
    covariance
        The unbiased estimate of the covariance of the two.
    variance
        The unbiased estimate of the variance of the difference, which is negative at times.
    positive_variance
        The largest of it, its second-order part and its first-order part, which never are. (The unbiased estimate is
        at times far too small for few rows; the first-order part by itself, as a jackknife has it, rarely is.)
    z
        difference / √positive_variance, and 0 where that is 0: normal for large samples if A and B are equally far.
    degrees
        Rows of the smallest sample less 1: the degrees of freedom of z for small samples, on the safe side.
    """

    difference: Any
    covariance: Any
    variance: Any
    positive_variance: Any
    z: Any
    degrees: int


def covariance_from(a: Sums, b: Sums) -> Tensor:
    """The unbiased estimate of Cov(MMD²(X, A), MMD²(X, B)) from the sums of (X, A) and of (X, B), at least 4 rows of X.

    With x the rows of X, ρ and ρ' the row sums of Kxa and Kxb, it is made of Var(Ūxx), of Cov(Ūxx, Ūxa) and
    Cov(Ūxx, Ūxb), and of Cov(Ūxa, Ūxb) = Cov(μ_A(x), μ_B(x))/m.
    """
    m, n, k = a.m, a.n, b.n
    within = variance_within(a.sxx, a.rxx, a.fxx, m)
    third = m * (m - 1) * (m - 2)
    to_a = 4 / (n * third) * ((a.rx * a.rho).sum(-1) - a.sxx * a.sxy / m)
    to_b = 4 / (k * third) * ((a.rx * b.rho).sum(-1) - a.sxx * b.sxy / m)
    between = 4 / (m * (m - 1) * n * k) * ((a.rho * b.rho).sum(-1) - a.sxy * b.sxy / m)
    return within - to_a - to_b + between


def first_order_from(a: Sums, b: Sums) -> Tensor:
    """The variance of the difference that single rows make, from the spread of what each row contributes."""
    of_x = (a.rho / a.n - b.rho / b.n).var(-1) / a.m
    of_a, of_b = ((s.ry / (s.n - 1) - s.kap / s.m).var(-1) / s.n for s in (a, b))
    return 4 * (of_x + of_a + of_b)


def relative_from(a: Sums, b: Sums) -> Relative:
    """Everything from the sums of (X, A) and of (X, B), of the same kernel; with a `Grid`, one for each bandwidth."""
    difference = mmd2_from(a) - mmd2_from(b)
    covariance = covariance_from(a, b)
    variance = variance_from(a) + variance_from(b) - 2 * covariance
    # What X has to itself is in both, and not in their difference.
    shared = second_order_within(a.sxx, a.rxx, a.fxx, a.m)
    second = second_order_from(a) + second_order_from(b) - 2 * shared
    positive = torch.maximum(torch.maximum(variance, second), first_order_from(a, b))
    size = (a.fxx + a.fyy + a.fxy + b.fyy + b.fxy) / (a.m + a.n + b.n) ** 4
    nothing = positive <= 64 * torch.finfo(torch.float64).eps * size
    root = torch.where(nothing, torch.ones_like(positive), positive).sqrt()
    z = torch.where(nothing, torch.zeros_like(difference), difference / root)
    return Relative(difference, covariance, variance, positive, z, min(a.m, a.n, b.n) - 1)
