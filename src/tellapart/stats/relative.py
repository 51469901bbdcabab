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
        The larger of it and its second-order part, which never is.
    z
        difference / √positive_variance, and 0 where that is 0: normal for large samples if A and B are equally far.
    """

    difference: Any
    covariance: Any
    variance: Any
    positive_variance: Any
    z: Any


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


def relative_from(a: Sums, b: Sums) -> Relative:
    """Everything from the sums of (X, A) and of (X, B), of the same kernel; with a `Grid`, one for each bandwidth."""
    difference = mmd2_from(a) - mmd2_from(b)
    covariance = covariance_from(a, b)
    variance = variance_from(a) + variance_from(b) - 2 * covariance
    # What X has to itself is in both, and not in their difference.
    shared = second_order_within(a.sxx, a.rxx, a.fxx, a.m)
    second = second_order_from(a) + second_order_from(b) - 2 * shared
    positive = torch.maximum(variance, second)
    size = (a.fxx + a.fyy + a.fxy + b.fyy + b.fxy) / (a.m + a.n + b.n) ** 4
    nothing = positive <= 64 * torch.finfo(torch.float64).eps * size
    root = torch.where(nothing, torch.ones_like(positive), positive).sqrt()
    z = torch.where(nothing, torch.zeros_like(difference), difference / root)
    return Relative(difference, covariance, variance, positive, z)
