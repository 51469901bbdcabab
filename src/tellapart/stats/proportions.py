"""The interval of a ratio of two proportions, by its score test."""

from __future__ import annotations

import math
from collections.abc import Callable

#: The largest |log ratio| that is looked at.
_FARTHEST = 40.0


def ratio_interval(counts: tuple[float, float], rows: tuple[float, float], reach: float) -> tuple[float, float]:
    """All ratios of the second proportion to the first that a score test does not reject.

    The statistic of Miettinen and Nurminen (1985) estimates the variance under each ratio, and so is defined for counts
    of 0; for the ratio 1 it is that of the permutation test of the labels.

    Parameters
    ----------
    counts, rows : tuple of float
        Number of rows of each sample in the set, and of all its rows.
    reach : float
        The largest |z| that is not rejected.

    Returns
    -------
    tuple of float
        The smallest ratio, 0 if the second count is 0; and the largest, infinite if the first count is 0.

    Examples
    --------
    >>> low, high = ratio_interval((10, 20), (100, 100), 1.96)
    >>> round(low, 2), round(high, 2)
    (1.01, 4.03)
    >>> ratio_interval((10, 0), (100, 100), 1.96)[0]
    0.0
    """
    if not any(counts):
        return 0.0, math.inf
    estimate = math.log(max(counts[1], 0.5) / rows[1]) - math.log(max(counts[0], 0.5) / rows[0])
    low = 0.0 if not counts[1] else math.exp(_bisect(lambda log: ratio_score(counts, rows, log) <= reach, -1, estimate))
    if not counts[0]:
        return low, math.inf
    return low, math.exp(_bisect(lambda log: ratio_score(counts, rows, log) >= -reach, 1, estimate))


def ratio_score(counts: tuple[float, float], rows: tuple[float, float], log_ratio: float) -> float:
    """The score statistic z of the hypothesis that the second proportion is exp(log_ratio) times the first.

    >>> abs(ratio_score((10, 20), (100, 200), 0.0)) < 1e-9
    True
    """
    (x, y), (m, n), ratio = counts, rows, math.exp(log_ratio)
    # The larger root of this equation would be a proportion above 1.
    a, b, c = (m + n) * ratio, -(n * ratio + y + m + x * ratio), x + y
    p = (-b - math.sqrt(max(b * b - 4 * a * c, 0.0))) / (2 * a)
    q = min(ratio * p, 1.0)
    variance = (q * (1 - q) / n + ratio**2 * p * (1 - p) / m) * (m + n) / (m + n - 1)
    gap = y / n - ratio * x / m
    return gap / math.sqrt(variance) if variance > 0 else math.copysign(math.inf, gap) if gap else 0.0


def _bisect(inside: Callable[[float], bool], side: int, start: float) -> float:
    """The end of an interval on one side of a value in it."""
    step = 1.0
    while inside(start + side * step) and step < _FARTHEST:
        step *= 2
    low, high = start, start + side * step
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if inside(middle) else (low, middle)
    return low
