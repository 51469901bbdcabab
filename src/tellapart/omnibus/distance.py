"""How far apart two samples are: MMD with the median bandwidth in landmark features, and its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.special import gammainc, gammaincc

from ..data import Points
from ..engine import Compute
from ..engine.rows import Size, add_at, as_matrix, sum_rows, take_matrix
from .landmarks import GaussianFeatures, inverse_root, lower_median, squared_distances
from .plan import FeaturePlan

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Landmarks, and rows between which distances are measured.
_LANDMARKS, _MEASURED = 256, 500
#: Probability of each tail outside of an interval.
_TAIL = 0.025
#: The largest distance of two points in the features of a kernel with k(x, x) = 1, and so the largest MMD.
FARTHEST = math.sqrt(2)
#: The logarithm of the smallest probability that is given.
_LEAST = -690.0
#: Squared distances below this share of the squares of both rows are rounding: the rows are equal.
_EQUAL = 1e-13
_BLOCK = 1_024


class Tail(NamedTuple):
    """The distribution of the unbiased estimate of |Δ|²: a gamma distribution with its first three cumulants.

    The cumulants are estimated from the samples, which may lack rows that make the difference, such as a value that is
    rare in one of them. So if |Δ| is assumed to be larger than its estimate, the missing part is attributed to rows at
    the largest possible distance, √2, from the others: a share q = missing/√2 of the rows, with variance 2q(1 - q)/n
    along Δ. And the probability of a smaller estimate is at least that of drawing none of these n rows, (1 - |Δ|/√2)ⁿ.

    Attributes
    ----------
    squared
        The unbiased estimate of |Δ|².
    along
        The variance of Δ̂ along Δ.
    traces
        tr S, tr S² and tr S³, with S the covariance of Δ̂.
    rows
        Independent rows (or groups of rows) of the smaller sample, n.
    """

    squared: float
    along: float
    traces: tuple[float, float, float]
    rows: float

    def __call__(self, value: float) -> float:
        """The probability of an estimate at least as large as this one, if |Δ|² is ``value``."""
        return self._share(value, upper=True)

    def lower(self, value: float) -> float:
        """The probability of a smaller estimate than this one, accurate also below 1e-16."""
        unseen = self.rows * math.log1p(-min(math.sqrt(value) / FARTHEST, 1 - 1e-15))
        return max(self._share(value, upper=False), math.exp(max(unseen, _LEAST)))

    def _share(self, value: float, upper: bool) -> float:
        """The probability on one side of the estimate, if |Δ|² is ``value``."""
        missing = max(math.sqrt(value) - math.sqrt(max(self.squared, 0.0)), 0.0)
        along = self.along + FARTHEST * missing * max(1 - missing / FARTHEST, 0.0) / self.rows
        variance = 2 * self.traces[1] + 4 * along * value
        if variance <= 0:
            return float((self.squared <= value) == upper)
        skewness = (8 * self.traces[2] + 24 * along**2 * value) / variance**1.5
        shape = 4 / max(skewness, 1e-9) ** 2
        y = shape + (self.squared - value) * math.sqrt(shape / variance)
        if y <= 0:
            return float(upper)
        # A gamma distribution with a large shape is normal.
        if shape > 1e6:
            z = (y - shape) / math.sqrt(2 * shape)
            return 0.5 * math.erfc(z if upper else -z)
        return float(gammaincc(shape, y) if upper else gammainc(shape, y))


class Distance(NamedTuple):
    """The MMD of two samples, 0 if the unbiased estimate of its square is negative, and its interval."""

    value: float
    interval: tuple[float, float]
    bandwidth: float
    tail: Tail

    def below(self, margin: float) -> float:
        """The p-value of "the distance is less than ``margin``": the probability of an estimate as small as this."""
        return self.tail.lower(margin**2)


@dataclass(frozen=True, eq=False)
class MeanFeatures:
    """Features whose means are compared: Gaussian similarities to landmarks, whitened, at the median distance."""

    plan: FeaturePlan
    kernel: GaussianFeatures
    root: Array

    @classmethod
    def fit(cls, plan: FeaturePlan, sketch: Array, bandwidth: float | None = None) -> MeanFeatures:
        """Choose landmarks and the bandwidth from a sketch, scaled as by the plan."""
        Z = plan.scaled(sketch[: max(_LANDMARKS, _MEASURED)])
        if bandwidth is None:
            some = Z[:_MEASURED].astype(np.float64)
            norms, pairs = np.square(some).sum(1), np.triu_indices(len(some), 1)
            squared = squared_distances(some, some)[pairs]
            apart = squared[squared > _EQUAL * (norms[:, None] + norms)[pairs]]
            bandwidth = math.sqrt(lower_median(apart)) if len(apart) else 1.0
        landmarks = Z[:_LANDMARKS].copy()
        kernel = GaussianFeatures(landmarks, (bandwidth,), (np.zeros(len(landmarks), np.float32),))
        return cls(plan, kernel, inverse_root(kernel.whitening(0)))

    def __call__(self, block: Array) -> Array:
        """The features of some rows."""
        (found,) = self.kernel.features(self.plan.scaled(block), [0])
        return found @ self.root


def measure_distance(
    plan: FeaturePlan,
    points: Points,
    labels: Array,
    units: Array | None,
    rng: np.random.Generator,
    compute: Compute,
    bandwidth: float | None = None,
) -> Distance:
    """The MMD of two samples in the scale of features that are fitted already."""
    some = np.sort(rng.permutation(len(points))[: max(_LANDMARKS, _MEASURED)])
    sketch = take_matrix(points, some[rng.permutation(len(some))])
    return find_distance(MeanFeatures.fit(plan, sketch, bandwidth), points, labels, units, compute)


def find_distance(
    features: MeanFeatures, points: Points, labels: Array, units: Array | None, compute: Compute
) -> Distance:
    """The MMD of the rows labelled 0 and 1, and its interval; ``units`` are not independent within.

    With Δ the difference of mean features and S the covariance of its estimate, the unbiased estimate of |Δ|² is
    |Δ̂|² - tr S. It is compared with the gamma distribution with the same first three cumulants, |Δ|², 2 tr S² + 4 ΔᵀSΔ
    and 8 tr S³ + 24 ΔᵀS²Δ; the interval has the values of |Δ| for which the estimate is in neither tail. Values of |Δ|
    above its estimate have a larger variance, since rare rows may not have been drawn: see `Tail`.
    """
    width = len(features.root)
    size = Size(16 * (width + 1) ** 2, 16 * width, 2.0 * width**2)

    def sum_block(where: slice, block: Array) -> Array:
        F = features(block)
        F = np.concatenate([F, np.ones((len(F), 1), np.float32)], 1)
        parts = [F[labels[where] == k] for k in (0, 1)]
        return np.stack([(part.T @ part).astype(np.float64) for part in parts])

    sums = sum_rows(sum_block, points, size, compute)
    rows = sums[:, -1, -1]
    means = sums[:, :-1, -1] / rows[:, None]
    if units is None:
        spread = [
            (sums[k, :-1, :-1] / rows[k] - np.outer(means[k], means[k])) / max(float(rows[k]) - 1, 1.0) for k in (0, 1)
        ]
        S = spread[0] + spread[1]
    else:
        S = _by_unit(features, points, labels, units, means, rows)
    delta = means[1] - means[0]
    eigenvalues = np.maximum(np.linalg.eigvalsh((S + S.T) / 2), 0)
    traces = (float(eigenvalues.sum()), float((eigenvalues**2).sum()), float((eigenvalues**3).sum()))
    squared = float(delta @ delta) - traces[0]
    along = _along(squared, float(delta @ S @ delta) - traces[1], traces, float(eigenvalues[-1]))
    tail = Tail(squared, along, traces, _count_independent(labels, units))
    low, high = _interval(tail)
    value = math.sqrt(max(squared, 0.0))
    bounds = min(math.sqrt(low), value), max(math.sqrt(high), value)
    return Distance(value, bounds, features.kernel.bandwidths[0], tail)


def _count_independent(labels: Array, units: Array | None) -> float:
    """Number of rows of the smaller sample, or the effective number of units (that of equal units)."""
    found = []
    for k in (0, 1):
        mine = labels == k
        sizes = np.bincount(np.unique(units[mine], return_inverse=True)[1].reshape(-1)) if units is not None else None
        found.append(float(mine.sum()) if sizes is None else float(sizes.sum() ** 2 / (sizes**2).sum()))
    return max(min(found), 1.0)


def _along(squared: float, product: float, traces: tuple[float, float, float], largest: float) -> float:
    """ΔᵀSΔ / |Δ|², the variance along the difference; a typical variance if that is not known."""
    typical = traces[1] / traces[0] if traces[0] > 0 else 0.0
    if squared <= 2 * math.sqrt(2 * traces[1]):
        return typical
    return min(max(product / squared, 0.0), largest)


def _interval(tail: Tail) -> tuple[float, float]:
    """The values of |Δ|² for which the estimate is in neither tail.

    A negative estimate is treated as 0; otherwise the interval could shrink to a point by chance.
    """
    known = max(tail.squared, 0.0)
    most = FARTHEST**2
    return _root(tail, _TAIL, most), _root(tail._replace(squared=known), 1 - _TAIL, most)


def _root(tail: Tail, target: float, most: float) -> float:
    """The smallest |Δ|² from 0 up at which a probability, which increases with |Δ|², reaches its target."""
    low, high = 0.0, most
    if tail(0.0) >= target:
        return 0.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle) < target else (low, middle)
    return high


def _by_unit(features: MeanFeatures, points: Points, labels: Array, units: Array, means: Array, rows: Array) -> Array:
    """The covariance of the difference of means from sums over units."""
    numbers = np.unique(units, return_inverse=True)[1].reshape(-1)
    count = int(numbers.max()) + 1
    totals = np.zeros((count, means.shape[1]), np.float32)
    scale = np.array([-1 / rows[0], 1 / rows[1]])
    for start in range(0, len(points), _BLOCK):
        some = slice(start, min(start + _BLOCK, len(points)))
        label = labels[some]
        F = features(as_matrix(points[some]))
        weighted = (F - means[label].astype(np.float32)) * scale[label][:, None]
        add_at(totals, numbers[some], weighted.astype(np.float32))
    totals = totals.astype(np.float64)
    return np.asarray(totals.T @ totals * (count / max(count - 1, 1)))
