"""How separable two samples are by a score, and how well that is known."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = "np.ndarray[Any, Any]"


def auc_and_error(of_x: Array, of_y: Array) -> tuple[float, float]:
    """How often a row of X has the larger score than a row of Y (ties count half), and its standard error.

    The error is that of DeLong et al. (1988): each row's share of rows of the other sample that it beats varies.

    >>> auc_and_error(np.array([2.0, 3.0]), np.array([1.0, 2.0]))
    (0.875, 0.17677...)
    """
    m, n = len(of_x), len(of_y)
    beats = _shares_below(of_x, of_y)
    beaten = 1 - _shares_below(of_y, of_x)
    variance = (beats.var(ddof=1) / m if m > 1 else 0.0) + (beaten.var(ddof=1) / n if n > 1 else 0.0)
    return float(beats.mean()), float(np.sqrt(variance))


def _shares_below(scores: Array, others: Array) -> Array:
    """For each score the share of others below it, ties counted half."""
    ordered = np.sort(others)
    low, high = (np.searchsorted(ordered, scores, side=side) for side in ("left", "right"))
    found: Array = (low + high) / (2 * len(others))
    return found
