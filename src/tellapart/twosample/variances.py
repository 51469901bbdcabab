"""Variances of effects and correlations: sums of squared influences of rows, or of groups of rows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from ..engine import Compute
from ..engine.rows import Size, add_at, as_matrix, sum_rows
from .moments import LabelledRows, Moments, PairIndex, centred

Array: TypeAlias = "np.ndarray[Any, Any]"

#: With fewer degrees of freedom, the variance of a sample is unknown.
_KNOWN = 0.1
#: Maximum number of sums over groups in memory, and number of rows that are read together.
_TOGETHER, _BLOCK = 2**23, 1_024


class Spread(NamedTuple):
    """Variances of estimates, and their degrees of freedom.

    Attributes
    ----------
    variance
        Of each estimate.
    parts
        Contributions of the first and of the second sample: (2, estimates). If rows of both belong together, their sum
        is not the variance.
    free
        Degrees of freedom of each variance: the smaller of those by the sizes of samples and groups (Welch 1947), and
        3 V² / Σ T⁴ for V = Σ T², which is small if few rows or groups make up most of the variance. 0 if a sample has
        one row or group only.
    sizes
        Effective number of rows or groups of each sample: (2, estimates).
    """

    variance: Array
    parts: Array
    free: Array
    sizes: Array

    def some(self, columns: slice) -> Spread:
        """The same for some of the estimates."""
        return Spread(*(part[..., columns] for part in self))


class Variances(NamedTuple):
    """Shifts in pooled standard deviations and variances of effects, for two samples.

    Attributes
    ----------
    shift
        The difference of means of each column in pooled standard deviations.
    location, scale, correlation
        Variances of that, of the log ratio of deviations, and of the difference of correlations.
    design_effect
        The variance of a difference of means, relative to that of independent rows.
    of_shift, of_ratio, of_means, of_correlation
        The same with degrees of freedom, for intervals.
    """

    shift: Array
    location: Array
    scale: Array
    correlation: Array
    design_effect: Array
    of_shift: Spread
    of_ratio: Spread
    of_means: Spread
    of_correlation: Spread


def sum_variances(rows: LabelledRows, places: PairIndex, moments: Moments, compute: Compute) -> Variances:
    """Variances of the effects of two samples: sums of squared influences of rows or units."""
    deviations, counts = moments.deviations, moments.counts
    within = np.sqrt((counts * deviations**2).sum(0) / counts.sum(0))
    difference = moments.means[1] - moments.means[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = np.where(within > 0, difference / within, np.copysign(np.inf, difference))
    finite = np.where(np.isfinite(shift), shift, 0.0)
    influence = Influence(places, moments, np.where(within > 0, within, np.inf), finite, rows.weights)
    width, pairs = len(within), len(places.first)
    alone = sum_squares(influence, rows._replace(units=None, strata=None), compute)
    found = alone
    if rows.units is not None or rows.strata is not None:
        found = sum_squares(influence, rows, compute)
    mean_squares = alone.variance[2 * width : 3 * width]
    if rows.weights is not None:  # relative to rows of equal weights
        mean_squares = mean_squares / np.mean(rows.weights**2)
    n = np.concatenate(
        [moments.counts, moments.counts, np.repeat(moments.rows[:, None], width, 1), moments.pairs[0]], 1
    )
    spread = _find_spread(found, n)
    ends = np.cumsum([0, width, width, width, pairs])
    of = [spread.some(slice(start, end)) for start, end in pairwise(ends.tolist())]
    design_effect = of[2].variance / np.maximum(mean_squares, 1e-300)
    design_effect = np.where(of[2].variance > 0, design_effect, 1.0)
    return Variances(shift, of[0].variance, of[1].variance, of[3].variance, design_effect, *of)


class RowInfluence(Protocol):
    """The influence of rows on estimates: (rows, estimates)."""

    @property
    def width(self) -> int:
        """Number of estimates."""

    def __call__(self, block: Array, labels: Array, rows: slice) -> Array:
        """Influences of a block of rows at these positions."""


@dataclass(frozen=True, eq=False)
class Influence:
    """The influence of rows on effects: the first-order term of the delta method or of the jackknife."""

    places: PairIndex
    moments: Moments
    within: Array
    shift: Array
    weights: Array | None = None

    @property
    def width(self) -> int:
        """Three estimates for each column, and one for each pair."""
        return 3 * len(self.within) + len(self.places.first)

    def __call__(self, block: Array, labels: Array, rows: slice) -> Array:
        """Influences on shifts, log ratios of deviations, means and correlations."""
        found = np.zeros((len(block), self.width))
        for k, sign in ((0, -1.0), (1, 1.0)):
            of_sample = labels[rows] == k
            found[of_sample] = self._of_sample(block[of_sample].astype(np.float64), k, sign)
        return found if self.weights is None else found * self.weights[rows][:, None]

    def _of_sample(self, raw: Array, k: int, sign: float) -> Array:
        m = self.moments
        Z, there = centred(raw, m.centre[k], self.places.missing_indicators)
        counts, offsets, deviations = m.counts[k], m.offsets[k], m.deviations[k]
        within, shift, total = self.within, self.shift, m.counts.sum(0)
        larger = np.sqrt(counts / np.maximum(counts - 1, 1))
        mask = 1.0 if there is None else there
        off = (Z - offsets) * mask
        squares = (off**2 - deviations**2) * mask
        location = (sign * off / (counts * within) - shift * squares / (2 * within**2 * total)) * larger
        # The change of the log deviation without the row (jackknife): outliers have a larger influence than by the
        # delta method, whose intervals would be too short.
        others = np.maximum(counts - 1, 1)
        lever = (off / np.maximum(deviations, 1e-300)) ** 2 / others
        left = np.log1p(-np.minimum(lever, 1 - 0.5 / counts)) + np.log(counts / others)
        scale = -sign / 2 * left * mask / larger
        mean = sign * (raw - m.plain_means[k]) / float(m.rows[k])
        correlations = sign * _of_correlations(Z, there, k, self.moments, self.places)
        return np.concatenate([location, scale, mean, correlations], 1)


@dataclass(frozen=True, eq=False)
class CorrelationInfluence:
    """The influence of rows on the correlations of their own sample: (rows, samples · pairs)."""

    places: PairIndex
    moments: Moments
    weights: Array | None = None

    @property
    def width(self) -> int:
        """One estimate for each pair of each sample."""
        return int(self.moments.correlations.size)

    def __call__(self, block: Array, labels: Array, rows: slice) -> Array:
        """Influences of a block of rows, which are 0 on correlations of other samples."""
        samples, pairs = self.moments.correlations.shape
        found = np.zeros((len(block), samples, pairs))
        for k in range(samples):
            of_sample = labels[rows] == k
            raw = block[of_sample].astype(np.float64)
            Z, there = centred(raw, self.moments.centre[k], self.places.missing_indicators)
            found[of_sample, k] = _of_correlations(Z, there, k, self.moments, self.places)
        joined = as_matrix(found)
        return joined if self.weights is None else joined * self.weights[rows][:, None]


def _of_correlations(Z: Array, there: Array | None, k: int, moments: Moments, places: PairIndex) -> Array:
    """The influence of rows of sample k on its correlations."""
    n, means, deviations = moments.pairs
    rho = moments.correlations[k]
    u = (Z[:, places.first] - means[0, k]) / deviations[0, k]
    v = (Z[:, places.second] - means[1, k]) / deviations[1, k]
    both = 1.0 if there is None else there[:, places.first] * there[:, places.second]
    larger = np.sqrt(n[k] / np.maximum(n[k] - 1, 1))
    influence: Array = (u * v - rho * (u**2 + v**2) / 2) * both / n[k] * larger
    return influence


def sum_correlation_variances(rows: LabelledRows, places: PairIndex, moments: Moments, compute: Compute) -> Array:
    """The variance of the correlation of each pair in each sample: (samples, pairs)."""
    squares = sum_squares(CorrelationInfluence(places, moments, rows.weights), rows, compute)
    found: Array = squares.variance.reshape(moments.correlations.shape)
    return found


class SquareSums(NamedTuple):
    """Sums over rows, or over units of rows, of their squared influence on estimates.

    Attributes
    ----------
    variance
        The sum of squares.
    parts
        The sums of squares of the first and of the second sample: (2, estimates).
    fourth
        The sum of fourth powers.
    free
        Degrees of freedom of each sample.
    joint
        Whether a unit has rows of several samples.
    """

    variance: Array
    parts: Array
    fourth: Array
    free: Array
    joint: bool = False


def _find_spread(squares: SquareSums, counts: Array) -> Spread:
    """Variances with their degrees of freedom; ``counts`` are numbers of observed values: (2, estimates)."""
    variance, parts, fourth = squares.variance, squares.parts, squares.fourth
    free = np.maximum(np.minimum(squares.free[:, None], counts - 1), 1e-9)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        by_size = free.min(0) if squares.joint else parts.sum(0) ** 2 / (parts**2 / free).sum(0)
        found = np.fmin(by_size, 3 * variance**2 / fourth)
    found = np.where(np.isnan(found), free.min(0), found)
    return Spread(variance, parts, np.where(free.min(0) < _KNOWN, 0.0, found), free + 1)


def sum_squares(influence: RowInfluence, rows: LabelledRows, compute: Compute) -> SquareSums:
    """Sums of squared influences of rows or units, about the means of strata if there are any."""
    if rows.units is not None:
        return _by_unit(influence, rows, rows.units)
    if rows.strata is not None:
        return _within_strata(influence, rows, rows.strata, compute)
    variance, second, fourth = _by_row(influence, rows, compute)
    free = np.maximum(np.bincount(rows.labels, minlength=rows.samples) - 1.0, 0.0)
    with np.errstate(invalid="ignore"):  # a spread may not have a finite variance
        first = variance - second
    return SquareSums(variance, np.stack([first, second]), fourth, free)


def _by_row(influence: RowInfluence, rows: LabelledRows, compute: Compute, scale: Array | None = None) -> Array:
    """Sums of squares over all rows and over those of the second sample, and of fourth powers: (3, estimates)."""

    def sum_block(where: slice, block: Array) -> Array:
        squares = influence(block, rows.labels, where) ** 2
        if scale is not None:
            squares = squares * scale[where, None]
        second = squares[rows.labels[where] == 1]
        return np.stack([squares.sum(0), second.sum(0), (squares**2).sum(0)])

    size = Size(24 * influence.width, 60 * influence.width, 20.0 * influence.width)
    sums: Array = sum_rows(sum_block, rows.points, size, compute)
    return sums


def _by_unit(influence: RowInfluence, rows: LabelledRows, units: Array) -> SquareSums:
    """Sums of squared influences of units."""
    numbers = np.unique(units, return_inverse=True)[1].reshape(-1)
    shares = _shares(rows, numbers)
    variance, fourth, parts = _sum_totals(influence, rows, numbers, _leave_out(rows, numbers, shares))
    return SquareSums(variance, parts, fourth, (shares > 0).sum(0) - 1.0, bool(((shares > 0).sum(1) > 1).any()))


def _shares(rows: LabelledRows, numbers: Array) -> Array:
    """The share of each unit in the weights of each sample: (units, samples)."""
    found = np.zeros((int(numbers.max()) + 1, rows.samples))
    np.add.at(found, (numbers, rows.labels), 1.0 if rows.weights is None else rows.weights)
    return np.asarray(found / np.maximum(found.sum(0), 1e-300))


def _leave_out(rows: LabelledRows, numbers: Array, shares: Array) -> Array:
    """Factors of the influence of rows for a jackknife that leaves out units.

    A large unit pulls the mean of its sample towards itself. The factor √(n / (n - 1)) of single rows is removed.
    """
    units = (shares > 0).sum(0)
    n = np.bincount(rows.labels, minlength=rows.samples)
    one = np.sqrt((units - 1) / np.maximum(units, 1) * (n - 1) / n)
    found: Array = one[rows.labels] / np.maximum(1 - shares[numbers, rows.labels], 1e-9)
    return found


def _within_strata(influence: RowInfluence, rows: LabelledRows, strata: Array, compute: Compute) -> SquareSums:
    """Sums of squares about the means of strata, whose differences do not contribute to the variance of effects.

    A stratum with a single row of a sample has no variance of its own. If there are several such strata, each counts as
    a unit, as pairs do.
    """
    samples, labels = rows.samples, rows.labels
    cells = strata.astype(np.int64) * samples + labels
    count = np.bincount(cells, minlength=samples * (int(strata.max()) + 1))
    table = count.reshape(-1, samples)
    alone = np.repeat((table == 1).any(1) & (table > 0).all(1), samples)
    if int(alone.sum()) // samples < 2:
        alone[:] = False
    whole = alone[cells]
    larger = np.where(count > 1, count / np.maximum(count - 1, 1), 1.0)
    less = np.where((count > 1) & ~alone, larger / np.maximum(count, 1), 0.0)
    # Rows of strata that count as a unit share a number, and every other row has its own.
    numbers = np.where(whole, cells - labels, len(count) + np.arange(len(cells)))
    numbers = np.unique(numbers, return_inverse=True)[1].reshape(-1)
    shares = _shares(rows, numbers)
    counted = np.ones(len(cells)) if rows.weights is None else rows.weights
    kept = (np.bincount(cells, counted, len(count)) > 0) & ~alone
    lost = kept.reshape(-1, samples).sum(0) + float(alone.any())
    variance, second, fourth = _by_row(influence, rows, compute, np.where(alone, 0.0, larger)[cells])
    parts = np.stack([variance - second, second])
    of_means = _sum_totals(influence, rows, cells, np.sqrt(less)[cells])[0]
    # Fourth powers are about the means of samples, and so are the squares that they are compared with.
    within = (variance - of_means) / np.maximum(variance, 1e-300)
    free = np.maximum((shares > 0).sum(0) - lost, 0.0)
    left = max(free.sum(), 1.0) / max((shares > 0).sum(), 1.0)
    found = [variance - of_means, fourth * within**2 / left, parts * within]
    if alone.any():
        totals = _sum_totals(influence, rows, numbers, np.where(whole, _leave_out(rows, numbers, shares), 0.0))
        found = [a + b for a, b in zip(found, totals, strict=True)]
    return SquareSums(found[0], found[2], found[1], free, bool(alone.any()))


def _sum_totals(
    influence: RowInfluence, rows: LabelledRows, numbers: Array, factor: Array
) -> tuple[Array, Array, Array]:
    """SquareSums, fourth powers, and squares by sample, of the weighted totals of each unit."""
    width, samples = influence.width, rows.samples
    count = (int(numbers.max()) + 1) * samples
    places, factors = numbers * samples + rows.labels, factor[:, None]
    step = max(1, min(width, _TOGETHER // count))
    squares, fourth = np.zeros((2, width))
    parts = np.zeros((samples, width))
    with np.errstate(all="ignore"):
        for start in range(0, width, step):
            some = slice(start, min(start + step, width))
            totals = np.zeros((count, some.stop - some.start))
            for row in range(0, len(rows.points), _BLOCK):
                here = slice(row, min(row + _BLOCK, len(rows.points)))
                block = as_matrix(rows.points[here])
                add_at(totals, places[here], factors[here] * influence(block, rows.labels, here)[:, some])
            by_sample = totals.reshape(-1, samples, some.stop - some.start)
            whole = by_sample.sum(1) ** 2
            squares[some], fourth[some], parts[:, some] = whole.sum(0), (whole**2).sum(0), (by_sample**2).sum(0)
    return squares, fourth, parts[:2]
