"""How sure an AUC is."""

from __future__ import annotations

import math

import numpy as np

from ..data.arrays import Array
from .separability import separability

#: The normal quantile of 95 % confidence.
_Z = 1.959964


def auc_interval(auc: float, variance: float, smaller: int) -> tuple[float, float]:
    """The interval of an AUC with this variance, on the logit scale; ``smaller`` is the size of the smaller sample.

    Where the samples are separated altogether there is no variance: then all of ``smaller`` disjoint pairs of rows are
    in order, which has probability at most AUC^smaller. Where all rows are tied, there is nothing that could vary.
    """
    if auc in (0.0, 1.0):
        reach = 0.025 ** (1 / smaller)
        return (reach, 1.0) if auc > 0.5 else (0.0, 1 - reach)
    if variance <= 0:
        return auc, auc
    logit = math.log(auc / (1 - auc))
    width = _Z * math.sqrt(variance) / (auc * (1 - auc))
    low, high = (1 / (1 + math.exp(-min(max(logit + side, -700), 700))) for side in (-width, width))
    return low, high


def placements(of_x: Array, of_y: Array) -> tuple[Array, Array]:
    """For each row of X the share of Y that lies below it, and for each of Y the share of X above; ties count half.

    >>> placements(np.array([2.0, 3.0]), np.array([1.0, 2.0]))
    (array([0.75, 1.  ]), array([1.  , 0.75]))
    """
    x, y = np.sort(of_x), np.sort(of_y)
    below = (np.searchsorted(y, of_x) + np.searchsorted(y, of_x, side="right")) / (2 * len(y))
    above = 1 - (np.searchsorted(x, of_y) + np.searchsorted(x, of_y, side="right")) / (2 * len(x))
    return below, above


def auc_of_samples(of_x: Array, of_y: Array) -> tuple[float, tuple[float, float]]:
    """The AUC of a function that was learned from other rows, and its interval (DeLong et al. 1988).

    >>> rng = np.random.default_rng(0)
    >>> auc, (low, high) = auc_of_samples(rng.normal(size=50) + 1, rng.normal(size=40))
    >>> round(auc, 2), round(low, 2), round(high, 2)
    (0.77, 0.65, 0.85)
    """
    below, above = placements(of_x, of_y)
    auc = separability(of_x, of_y)
    variance = sum(float(part.var(ddof=1)) / len(part) if len(part) > 1 else 0.0 for part in (below, above))
    return auc, auc_interval(auc, variance, min(len(of_x), len(of_y)))
