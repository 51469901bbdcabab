"""Quantiles of Student's t distribution."""

from __future__ import annotations

import math

from .pvalues import normal_quantile

#: Degrees of freedom from which the distribution is taken to be normal.
_NORMAL = 1e7


def student_quantile(tail: float, free: float) -> float:
    """What a variable of Student's t distribution exceeds with probability ``tail`` (Hill 1970, algorithm 396).

    Parameters
    ----------
    tail : float
        At most 0.1.
    free : float
        Degrees of freedom, which may be fractional; less than 1 counts as 1. The relative error is below 2e-4 from 2
        degrees of freedom on; below that the quantile is up to 10 % too large.

    >>> [round(student_quantile(0.025, free), 3) for free in (3, 14, 1e9)]
    [3.182, 2.145, 1.96]
    """
    if free > _NORMAL:
        return normal_quantile(tail)
    n, both = max(free, 1.0), 2 * tail
    a = 1 / (n - 0.5)
    b = 48 / a**2
    c = ((20700 * a / b - 98) * a - 16) * a + 96.36
    d = ((94.5 / (b + c) - 3) / b + 1) * math.sqrt(a * math.pi / 2) * n
    y = (d * both) ** (2 / n)
    if y > 0.05 + a:
        x = normal_quantile(tail)
        c += 0.3 * (n - 4.5) * (x + 0.6) if n < 5 else 0.0
        c += (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b
        y = math.expm1(a * ((((((0.4 * x**2 + 6.3) * x**2 + 36) * x**2 + 94.5) / c - x**2 - 3) / b + 1) * x) ** 2)
    else:
        y = ((1 / (((n + 6) / (n * y) - 0.089 * d - 0.822) * (n + 2) * 3) + 0.5 / (n + 4)) * y - 1) * (n + 1) / (
            n + 2
        ) + 1 / y
    return math.sqrt(n * y)
