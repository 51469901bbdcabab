"""How sure an AUC is."""

from __future__ import annotations

import math

from ..stats.student import student_quantile


def auc_interval(auc: float, variance: float, smaller: int, free: float) -> tuple[float, float]:
    """The interval of an AUC with this variance, on the logit scale, by Student's t.

    ``smaller`` is the number of independent rows, or groups, of the smaller sample, ``free`` the degrees of freedom of
    the variance.

    Where the samples are separated altogether there is no variance: then all of ``smaller`` disjoint pairs of them are
    in order, which has probability at most AUC^smaller. Nor is there any where nothing can vary: all values are equal,
    or each row has its copy in the other sample.

    >>> auc_interval(0.5, 0.0, 40, 39)
    (0.5, 0.5)
    """
    if auc in (0.0, 1.0):
        reach = 0.025 ** (1 / smaller)
        return (reach, 1.0) if auc > 0.5 else (0.0, 1 - reach)
    if variance <= 0:
        return auc, auc
    logit = math.log(auc / (1 - auc))
    width = student_quantile(0.025, free) * math.sqrt(variance) / (auc * (1 - auc))
    low, high = (1 / (1 + math.exp(-min(max(logit + side, -700), 700))) for side in (-width, width))
    return low, high
