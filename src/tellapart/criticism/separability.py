"""How separable two samples are by a function of their rows."""

from __future__ import annotations

import math

from ..data.arrays import Array
from ..stats.auc import auc_and_error

#: What an AUC below a limit is called.
GRADES = ((0.55, "hardly"), (0.65, "weakly"), (0.8, "fairly"), (0.9, "well"), (math.inf, "almost fully"))


def separability(of_x: Array, of_y: Array) -> float:
    """The AUC: how often a row of X has the larger witness value than a row of Y, ties counted half.

    >>> import numpy as np
    >>> separability(np.array([2.0, 3.0]), np.array([1.0, 2.0]))
    0.875
    """
    return auc_and_error(of_x, of_y)[0]


def separability_grade(auc: float) -> str:
    """An AUC in a word.

    >>> separability_grade(0.7)
    'fairly'
    """
    return next(word for limit, word in GRADES if auc < limit)
