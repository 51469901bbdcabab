"""How sure an AUC is."""

from __future__ import annotations

import math

from ..data.arrays import Array
from ..stats.auc import auc_and_error
from ..stats.pvalues import Z_95


def auc_interval(auc: float, variance: float, smaller: int) -> tuple[float, float]:
    """The interval of an AUC with this variance, on the logit scale; ``smaller`` is the size of the smaller sample.

    Where the samples are separated altogether there is no variance: then all of ``smaller`` disjoint pairs of rows are
    in order, which has probability at most AUC^smaller. Nor is there any where nothing can vary: all values are equal,
    or each row has its copy in the other sample.

    >>> auc_interval(0.5, 0.0, 40)
    (0.5, 0.5)
    """
    if auc in (0.0, 1.0):
        reach = 0.025 ** (1 / smaller)
        return (reach, 1.0) if auc > 0.5 else (0.0, 1 - reach)
    if variance <= 0:
        return auc, auc
    logit = math.log(auc / (1 - auc))
    width = Z_95 * math.sqrt(variance) / (auc * (1 - auc))
    low, high = (1 / (1 + math.exp(-min(max(logit + side, -700), 700))) for side in (-width, width))
    return low, high


def auc_of_samples(of_x: Array, of_y: Array) -> tuple[float, tuple[float, float]]:
    """The AUC of a function that was learned from other rows, and its interval (DeLong et al. 1988).

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> auc, (low, high) = auc_of_samples(rng.normal(size=50) + 1, rng.normal(size=40))
    >>> round(auc, 2), round(low, 2), round(high, 2)
    (0.77, 0.65, 0.85)
    """
    auc, error = auc_and_error(of_x, of_y)
    return auc, auc_interval(auc, error**2, min(len(of_x), len(of_y)))
