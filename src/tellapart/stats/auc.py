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
    below, above = placements(of_x, of_y)
    variance = sum(part.var(ddof=1) / len(part) if len(part) > 1 else 0.0 for part in (below, above))
    return float(below.mean()), float(np.sqrt(variance))


def placements(of_x: Array, of_y: Array) -> tuple[Array, Array]:
    """For each row of X the share of Y that lies below it, and for each of Y the share of X above; ties count half.

    >>> placements(np.array([2.0, 3.0]), np.array([1.0, 2.0]))
    (array([0.75, 1.  ]), array([1.  , 0.75]))
    """
    return _shares_below(of_x, of_y), 1 - _shares_below(of_y, of_x)


def _shares_below(scores: Array, others: Array) -> Array:
    """For each score the share of others below it, ties counted half."""
    ordered = np.sort(others)
    low, high = (np.searchsorted(ordered, scores, side=side) for side in ("left", "right"))
    found: Array = (low + high) / (2 * len(others))
    return found
