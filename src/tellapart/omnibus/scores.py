"""Scores of statistics: -log p by gamma distributions, means of scores, and their calibration over permutations.

Every function treats all permutations (columns) in the same way.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from scipy.special import gammaincc, gammaln, log_ndtr

from .constants import STEEPEST, TAILS, TIE

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Number of grid points of a distribution; more than `_MANY` times as many values of its tail are interpolated.
_GRID, _MANY = 1_500, 2


def gamma_tail(shape: Any, y: Array) -> Array:
    """-log P(Γ(shape) ≥ y), also if that probability is smaller than the smallest number of double precision."""
    a, x = np.broadcast_arrays(np.asarray(shape, float), y)
    p = gammaincc(a, x)
    with np.errstate(divide="ignore", invalid="ignore"):
        far = x - (a - 1) * np.log(x) + gammaln(a)
        tail: Array = np.where(p > 1e-280, -np.log(np.maximum(p, 1e-300)), far)
    return tail


def upper_tail(q: Array, mean: Any, variance: Any, skewness: Any) -> Array:
    """-log P(Q ≥ q) of the shifted gamma distribution with these moments."""
    shape = np.asarray(4 / np.asarray(skewness) ** 2)
    y = np.maximum(shape + (q - mean) * np.sqrt(shape / variance), 1e-300)
    if y.size > _MANY * _GRID * len(shapes := np.unique(shape)):
        tails = np.empty(y.shape)
        for one in shapes:
            where = np.broadcast_to(shape == one, y.shape)
            grid = np.geomspace(1e-4, max(float(y[where].max()), 1.0), _GRID)
            tails[where] = np.interp(y[where], grid, gamma_tail(one, grid))
        return tails
    return gamma_tail(np.broadcast_to(shape, y.shape), y)


def chi2_tail(q: Array, degrees: float) -> Array:
    """-log P(χ² ≥ q).

    >>> chi2_tail(np.array([3.841459, 6.634897]), 1).round(3)
    array([2.996, 4.605])
    """
    if degrees == 1:
        tail: Array = -log_ndtr(-np.sqrt(q)) - math.log(2)
        return tail
    return upper_tail(q, degrees, 2 * degrees, math.sqrt(8 / degrees))


def square_tail(q: Array, degrees: float) -> Array:
    """`chi2_tail`, of 1 degree of freedom only about, but several times as fast, for very many statistics.

    >>> square_tail(np.array([0.0, 3.841459, 30.0]), 1).round(2)
    array([ 0.  ,  2.9 , 16.94])
    """
    if degrees != 1:
        return chi2_tail(q, degrees)
    tail: Array = q * (math.pi / 2)
    np.log1p(tail, out=tail)
    tail += q
    tail /= 2
    return tail


def column_scores(q: Array, skewness: Any = None) -> tuple[Array, Array]:
    """-log p of statistics (statistics, permutations) by a gamma distribution with their mean and variance.

    The skewness is that of Σ g_j χ² (label-free), or of a scaled χ² with this mean and variance. The second result is
    which statistics vary by more than rounding; the others must be ignored.
    """
    mean, variance = q.mean(1, keepdims=True), q.var(1, keepdims=True)
    varies = variance[:, 0] > (1e-4 * np.abs(mean[:, 0])) ** 2 + 1e-20
    variance = np.where(varies[:, None], variance, 1.0)
    skewness = 2 * np.sqrt(variance) / np.maximum(mean, 1e-300) if skewness is None else np.asarray(skewness)[:, None]
    scores = upper_tail(q, mean, variance, np.clip(skewness, 1e-3, 2 * math.sqrt(2)))
    return np.where(varies[:, None], scores, 0.0), varies


def harmonic_mean(scores: Array) -> Array:
    """-log of the harmonic mean of p-values over the first axis: scores are -log p.

    A p-value that is far smaller than the others decides; of p-values that are all small, each counts.

    >>> harmonic_mean(np.array([[2.0], [2.0]]))
    array([2.])
    """
    top = scores.max(0)
    mean: Array = top + np.log(np.exp(scores - top).mean(0))
    return mean


def calibrate_tail(score: Array) -> Array:
    """Shift and stretch a score so that it equals -log p at two upper quantiles over the permutations.

    The maximum of n statistics with n_eff independent ones among them has P(T ≥ t) ≈ n_eff e^-t: the shift is
    log n_eff, so that a family pays for its effective number of statistics and not for their count. If the tail is
    heavier than that of the distribution that scores assume (a pixel that is set in few images), the family would
    dominate the others: hence the stretch.

    >>> draws = np.random.default_rng(0).exponential(size=100_000)
    >>> bool(np.abs(calibrate_tail(3 * draws + 5) - draws).max() < 0.3)
    True
    """
    low, high = np.quantile(score, [1 - tail for tail in TAILS])
    expected = math.log(TAILS[0] / TAILS[1])
    stretch = min(expected / (high - low), STEEPEST) if high - low > TIE else 1.0
    calibrated: Array = (score - low) * stretch - math.log(TAILS[0])
    return calibrated


def tie_adjusted_threshold(score: float) -> float:
    """The largest observed score that ties with this score of a permutation.

    >>> tie_adjusted_threshold(0.5), tie_adjusted_threshold(-3.0) < -2.9996, tie_adjusted_threshold(float("inf"))
    (0.5001, True, inf)
    """
    near = score + TIE
    return near if -1 <= near <= 1 else score / (1 - math.copysign(TIE, near))


def rank_pvalue(scores: Array, observed: int) -> Array:
    """The share of permutations with at least the observed score, along the last axis; ties within rounding count."""
    own = scores[..., [observed]]
    return np.asarray((scores >= own - TIE * np.maximum(1.0, np.abs(own))).mean(-1))


def step_down(scores: Array, observed: int) -> Array:
    """Westfall–Young adjusted p-values (step-down maxT) of the rows of ``scores`` (columns, permutations).

    Controls the family-wise error rate over columns whose *joint* distribution is the same in all samples. Columns with
    equal distributions but different dependence may be rejected more often than at α if sizes are unequal.
    `twosample.naming` therefore uses the larger of these and Holm's p-values.
    """
    order = np.argsort(-scores[:, observed], kind="stable")
    largest = np.maximum.accumulate(scores[order][::-1], axis=0)[::-1]
    # In this order, the largest observed score of the remaining columns is the next one.
    adjusted = np.empty(len(order))
    adjusted[order] = np.maximum.accumulate(rank_pvalue(largest, observed))
    return adjusted
