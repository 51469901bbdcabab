"""How separable two samples are by a function of their rows."""

from __future__ import annotations

import math

import numpy as np

from ..data.arrays import Array

#: What an AUC below a limit is called.
GRADES = ((0.55, "hardly"), (0.65, "weakly"), (0.8, "fairly"), (0.9, "well"), (math.inf, "almost fully"))


def separability(of_x: Array, of_y: Array) -> float:
    """The AUC: how often a row of X has the larger witness value than a row of Y, ties counted half.

    >>> separability(np.array([2.0, 3.0]), np.array([1.0, 2.0]))
    0.875
    """
    pooled = np.concatenate([of_x, of_y])
    _, inverse, counts = np.unique(pooled, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    m, n = len(of_x), len(of_y)
    return float((ranks[:m].sum() - m * (m + 1) / 2) / (m * n))


def separability_grade(auc: float) -> str:
    """An AUC in a word.

    >>> separability_grade(0.7)
    'fairly'
    """
    return next(word for limit, word in GRADES if auc < limit)
