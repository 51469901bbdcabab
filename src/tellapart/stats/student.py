"""Quantiles of Student's t distribution."""

from __future__ import annotations

from scipy.special import stdtrit

from .pvalues import normal_quantile

#: Degrees of freedom from which the distribution is taken to be normal.
_NORMAL = 1e7


def student_quantile(tail: float, free: float) -> float:
    """What a variable of Student's t distribution exceeds with probability ``tail``.

    Parameters
    ----------
    tail : float
        Less than 0.5.
    free : float
        Degrees of freedom, which may be fractional; less than 1 counts as 1.

    >>> [round(student_quantile(0.025, free), 3) for free in (3, 14, 1e9)]
    [3.182, 2.145, 1.96]
    """
    return normal_quantile(tail) if free > _NORMAL else -float(stdtrit(max(free, 1.0), tail))
