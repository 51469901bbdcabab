"""Bins of histograms, and ranges of axes."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Values that bins are chosen by: more would only take time.
_EXAMINED = 20_000
#: A statistic is drawn as an arrow where its distance from the null distribution is this many times the width of that.
_FAR = 4


def shares_in(values: Array, edges: Array) -> Array:
    """The share of values in each of the bins, all of one width; what is beyond counts at the ends."""
    count = len(edges) - 1
    # Clipped before they are whole numbers: far values would overflow.
    places = np.clip((values - edges[0]) * (count / (edges[-1] - edges[0])), 0, count - 1).astype(np.int64)
    return np.asarray(np.bincount(places, minlength=count) / max(1, len(values)))


def shared_edges(of_x: Array, of_y: Array, bins: int | None = None) -> Array:
    """Bins for both; they leave out far values, which are counted at the ends."""
    low, high = float(min(of_x.min(), of_y.min())), float(max(of_x.max(), of_y.max()))
    pooled = np.concatenate([v[:: max(1, -(-len(v) // _EXAMINED))] for v in (of_x, of_y)])
    inner = np.quantile(pooled, [0.005, 0.995])
    if high - low > 10 * (inner[1] - inner[0]) > 0:
        low, high = (float(value) for value in inner)
    if not high - low > 1e-12 * max(abs(low), abs(high)):
        reach = max(abs(low), 1.0) / 2
        low, high = low - reach, high + reach
    count = bins or bin_count(len(of_x) + len(of_y))
    edges = np.linspace(low, high, count + 1)
    gap = _spacing(pooled)
    if gap is None:
        return edges
    # Bins with as many possible values in each: others would show a comb.
    cells = round((high - low) / gap) + 1
    width = gap * math.ceil(cells / (len(edges) - 1))
    return low - gap / 2 + width * np.arange(math.ceil(cells * gap / width - 1e-6) + 1)


def _spacing(values: Array) -> float | None:
    """The distance between possible values, where they are evenly spaced, such as whole numbers or shades of grey."""
    distinct = np.unique(values)
    if len(distinct) < 2 or len(distinct) > 2000:
        return None
    gap = float(np.diff(distinct).min())
    places = (distinct - distinct[0]) / gap
    return gap if places[-1] < 1e5 and np.abs(places - np.rint(places)).max() < 0.01 else None


def bin_count(values: int) -> int:
    """12 to 40 bins, more of them for more values."""
    return int(np.clip(3 * values ** (1 / 3), 12, 40))


def bin_edges(values: Array) -> Array:
    """Edges of bins that hold all values."""
    low, high = widen_range(float(values.min()), float(values.max()), 0.0)
    return np.linspace(low, high, bin_count(len(values)) + 1)


def widen_range(low: float, high: float, share: float = 0.04) -> tuple[float, float]:
    """A range with some room at both ends, which is never empty."""
    if not high > low:
        reach = abs(low) / 2 or 1.0
        return low - reach, high + reach
    return low - share * (high - low), high + share * (high - low)


def range_of_null(draws: Array, threshold: float, statistic: float) -> tuple[float, float, bool]:
    """A range for a null distribution, its threshold and the statistic, and whether the statistic lies beyond it.

    It does where a range that includes it would hide the rest; there is then room for an arrow.

    >>> draws = np.array([0.0, 1.0])
    >>> [round(float(end), 2) for end in range_of_null(draws, 0.9, 2.0)]
    [-0.08, 2.08, 0.0]
    >>> [round(float(end), 2) for end in range_of_null(draws, 0.9, 1000.0)]
    [-0.04, 1.42, 1.0]
    """
    known = [float(draws.min()), float(draws.max()), *([threshold] if math.isfinite(threshold) else [])]
    low, high = widen_range(min(known), max(known))
    room = high - low
    if statistic > high + _FAR * room:
        return low, high + 0.35 * room, True
    if statistic < low - _FAR * room:
        return low - 0.35 * room, high, True
    return *widen_range(min(*known, statistic), max(*known, statistic)), False


def range_from_zero(values: list[float]) -> tuple[float, float]:
    """A range with 0 in it, and room where there are values."""
    low, high = min([0.0, *values]), max([0.0, *values])
    return (1.06 * low, 1.06 * high) if high > low else (0.0, 1.0)
