"""Sums over the rows of each sample that effects and their variances are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import torch
from torch import Tensor

from ..data import Points
from ..engine import Compute
from ..engine.rows import Size, reduce_rows

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Sums over groups that are held together.
_TOGETHER = 2**23
_BLOCK = 1_024
#: Share of mean squares below which a variance is rounding.
_ROUNDING = 1e-14


class Places(NamedTuple):
    """Pairs of columns, and for columns with missing values the column that says where."""

    first: Array
    second: Array
    gaps: Mapping[int, int]


class MomentSums(NamedTuple):
    """Of each sample: rows, sums and squares of all columns less its centre, and for each pair its own six sums.

    A value that is missing counts for nothing.
    """

    rows: Tensor
    there: Tensor
    plain: Tensor
    sums: Tensor
    squares: Tensor
    pairs: Tensor


@dataclass(frozen=True, eq=False)
class MomentReduction:
    """Sums over the rows of each sample, a `RowReduction`; each row counts by its weight, if there are any."""

    labels: Array
    samples: int
    centre: Tensor
    places: Places
    weights: Array | None = None

    def start(self) -> MomentSums:
        """Zeros."""
        d, p, k = self.centre.shape[1], len(self.places.first), self.samples
        shapes: tuple[tuple[int, ...], ...] = ((k, 1), (k, d), (k, d), (k, d), (k, d), (k, 6, p))
        return MomentSums(*(torch.zeros(shape, dtype=torch.float64) for shape in shapes))

    def add(self, sums: MomentSums, rows: slice, block: Tensor) -> MomentSums:
        """The sums with those of a block."""
        for k in range(self.samples):
            of_sample = torch.from_numpy(self.labels[rows] == k)
            raw = block[of_sample].double()
            Z, there = centred(raw, self.centre[k], self.places.gaps)
            w: Any = 1.0 if self.weights is None else torch.from_numpy(self.weights[rows])[of_sample, None]
            total = float(len(Z) if self.weights is None else w.sum())
            sums.rows[k] += total
            sums.there[k] += total if there is None else (w * there).sum(0)
            sums.plain[k] += (w * (raw - self.centre[k])).sum(0)
            sums.sums[k] += (w * Z).sum(0)
            sums.squares[k] += (w * Z**2).sum(0)
            sums.pairs[k] += torch.stack([(w * part).sum(0) for part in pair_terms(Z, there, self.places)])
        return sums

    def join(self, left: MomentSums, right: MomentSums) -> MomentSums:
        """Sample by sample."""
        return MomentSums(*(a + b for a, b in zip(left, right, strict=True)))


def centred(raw: Tensor, centre: Tensor, gaps: Mapping[int, int]) -> tuple[Tensor, Tensor | None]:
    """Rows less a centre, 0 where a value is missing, and which are there; None where all are."""
    Z = raw - centre
    if not gaps:
        return Z, None
    there = torch.ones_like(Z)
    for column, gap in gaps.items():
        there[:, column] = 1 - raw[:, gap].clamp(0, 1)
    return Z * there, there


def pair_terms(Z: Tensor, there: Tensor | None, places: Places) -> list[Tensor]:
    """1, x, y, x², y² and xy of each pair of columns, where both are there."""
    x, y = Z[:, places.first], Z[:, places.second]
    both = torch.ones_like(x) if there is None else there[:, places.first] * there[:, places.second]
    return [both, x * both, y * both, x**2 * both, y**2 * both, x * y]


@dataclass(frozen=True, eq=False)
class Moments:
    """Means, deviations and correlations of each sample."""

    found: MomentSums
    centre: Tensor

    @cached_property
    def rows(self) -> Array:
        """Rows of each sample."""
        return np.asarray(self.found.rows.numpy()[:, 0])

    @cached_property
    def counts(self) -> Array:
        """Values that are there, of each sample and column."""
        return np.asarray(np.maximum(self.found.there.numpy(), 1e-9))

    @cached_property
    def offsets(self) -> Array:
        """Means less the sample's centre, over what is there."""
        return np.asarray(self.found.sums.numpy() / self.counts)

    @cached_property
    def means(self) -> Array:
        """Means over what is there."""
        return np.asarray(self.offsets + self.centre.numpy())

    @cached_property
    def plain_means(self) -> Array:
        """Means over all rows: of indicators, shares."""
        return np.asarray(self.found.plain.numpy() / self.rows[:, None] + self.centre.numpy())

    @cached_property
    def deviations(self) -> Array:
        """Standard deviations over what is there; 0 where a difference of squares leaves but rounding."""
        squares = self.found.squares.numpy() / self.counts
        variance = squares - self.offsets**2
        return np.asarray(np.sqrt(np.where(variance > _ROUNDING * squares, variance, 0.0)))

    @cached_property
    def pairs(self) -> tuple[Array, Array, Array]:
        """Of each sample and pair: rows with both values; their means (2); their deviations (2)."""
        n, x, y, xx, yy, _ = self.found.pairs.numpy().transpose(1, 0, 2)
        n = np.maximum(n, 1e-9)
        means = np.stack([x / n, y / n])
        return n, means, np.sqrt(np.maximum(np.stack([xx / n, yy / n]) - means**2, 1e-300))

    @cached_property
    def correlations(self) -> Array:
        """Of each sample and pair, over rows with both values."""
        n, means, deviations = self.pairs
        covariance = self.found.pairs.numpy()[:, 5] / n - means[0] * means[1]
        return np.asarray(np.clip(covariance / (deviations[0] * deviations[1]), -1, 1))


class Variances(NamedTuple):
    """Of two samples: shifts in pooled deviations, and variances of effects.

    Attributes
    ----------
    shift
        The difference of means of each column in pooled standard deviations.
    location, scale, correlation
        Variances of that, of the log ratio of deviations, and of the difference of correlations.
    crowding
        How many times as large as for independent rows the variance of a difference of means is (the design effect).
    """

    shift: Array
    location: Array
    scale: Array
    correlation: Array
    crowding: Array


def stratum_weights(labels: Array, strata: Array, samples: int) -> Array | None:
    """Weights of rows by which every stratum counts alike in all samples; None where they do so already.

    A stratum counts as what it tells of a difference, 1 / Σ_k 1/m_k for m_k rows of sample k: nothing where a sample
    has none. The weights of a sample sum to its rows.

    >>> stratum_weights(np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 0, 1]), 2)
    array([0.85714286, 0.85714286, 1.28571429, 1.14285714, 0.85714286])
    """
    counts = np.zeros((samples, int(strata.max()) + 1))
    np.add.at(counts, (labels, strata), 1.0)
    with np.errstate(divide="ignore"):
        told = 1 / (1 / counts).sum(0)
    if not told.any():
        return None
    found = told / np.maximum(counts, 1) * (counts.sum(1, keepdims=True) / told.sum())
    weights: Array = found[labels, strata]
    return None if np.allclose(weights, 1.0) else weights


def sum_moments(
    points: Points, labels: Array, samples: int, places: Places, compute: Compute, weights: Array | None = None
) -> Moments:
    """The moments of each sample, in one pass."""
    centre = _find_centres(points, labels, samples)
    width, pairs = centre.shape[1], len(places.first)
    size = Size(8 * samples * (4 * width + 6 * pairs), 40 * (width + 2 * pairs), 10.0 * (width + 2 * pairs))
    return Moments(
        reduce_rows(MomentReduction(labels, samples, centre, places, weights), points, size, compute), centre
    )


def _find_centres(points: Points, labels: Array, samples: int) -> Tensor:
    """For each sample a row near its mean, so that squares are small: the mean of its first rows, or of all first."""
    block = points[:_BLOCK].detach().cpu().flatten(1).double()
    found = block.mean(0).repeat(samples, 1)
    for k in range(samples):
        of_sample = torch.from_numpy(labels[: len(block)] == k)
        if of_sample.any():
            found[k] = block[of_sample].mean(0)
    return found


def sum_variances(
    points: Points,
    labels: Array,
    places: Places,
    moments: Moments,
    units: Array | None,
    compute: Compute,
    weights: Array | None = None,
    strata: Array | None = None,
) -> Variances:
    """Variances of the effects of two samples: sums of squares of what each row, or each unit, adds to an effect."""
    deviations, counts = moments.deviations, moments.counts
    within = np.sqrt((counts * deviations**2).sum(0) / counts.sum(0))
    difference = moments.means[1] - moments.means[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = np.where(within > 0, difference / within, np.copysign(np.inf, difference))
    finite = np.where(np.isfinite(shift), shift, 0.0)
    influence = Influence(places, moments, np.where(within > 0, within, np.inf), finite, weights)
    width, pairs = len(within), len(places.first)
    alone = sum_squares(influence, points, labels, None, None, compute)
    found = alone
    if units is not None or strata is not None:
        found = sum_squares(influence, points, labels, units, strata, compute)
    if weights is not None:  # beside rows that count alike
        alone = alone / np.mean(weights**2)
    location, scale, plain, correlation = (part.numpy() for part in found.split([width, width, width, pairs]))
    crowding = plain / np.maximum(alone[2 * width : 3 * width].numpy(), 1e-300)
    return Variances(shift, location, scale, correlation, np.where(plain > 0, crowding, 1.0))


class RowInfluence(Protocol):
    """What a row adds to some estimates: (rows, estimates)."""

    @property
    def width(self) -> int:
        """How many estimates there are."""

    def __call__(self, block: Tensor, labels: Array, rows: slice) -> Tensor:
        """Of some rows, whose labels are those of ``rows``."""


@dataclass(frozen=True, eq=False)
class Influence:
    """What a row adds to the effects: (rows, effects), the first-order term of the delta method or of the jackknife."""

    places: Places
    moments: Moments
    within: Array
    shift: Array
    weights: Array | None = None

    @property
    def width(self) -> int:
        """Three for each column, and one for each pair."""
        return 3 * len(self.within) + len(self.places.first)

    def __call__(self, block: Tensor, labels: Array, rows: slice) -> Tensor:
        """Of some rows: shifts, log ratios of deviations, means, correlations."""
        found = torch.zeros(len(block), self.width, dtype=torch.float64)
        for k, sign in ((0, -1.0), (1, 1.0)):
            of_sample = torch.from_numpy(labels[rows] == k)
            found[of_sample] = self._of_sample(block[of_sample].double(), k, sign)
        return found if self.weights is None else found * torch.from_numpy(self.weights[rows])[:, None]

    def _of_sample(self, raw: Tensor, k: int, sign: float) -> Tensor:
        m = self.moments
        Z, there = centred(raw, m.centre[k], self.places.gaps)
        counts, offsets, deviations = (torch.from_numpy(part[k]) for part in (m.counts, m.offsets, m.deviations))
        within, shift = torch.from_numpy(self.within), torch.from_numpy(self.shift)
        total = torch.from_numpy(m.counts.sum(0))
        larger = (counts / (counts - 1).clamp(min=1)).sqrt()
        mask = 1.0 if there is None else there
        off = (Z - offsets) * mask
        squares = (off**2 - deviations**2) * mask
        location = (sign * off / (counts * within) - shift * squares / (2 * within**2 * total)) * larger
        # What the log of the deviation loses without the row (the jackknife): few rows far out count more than by the
        # delta method, whose intervals would be too short.
        others = (counts - 1).clamp(min=1)
        lever = (off / deviations.clamp(min=1e-300)) ** 2 / others
        scale = -sign / 2 * (torch.log1p(-lever.clamp(max=1 - 0.5 / counts)) + (counts / others).log()) * mask / larger
        mean = sign * (raw - torch.from_numpy(m.plain_means[k])) / float(m.rows[k])
        return torch.cat([location, scale, mean, sign * _of_correlations(Z, there, k, self.moments, self.places)], 1)


@dataclass(frozen=True, eq=False)
class CorrelationInfluence:
    """What a row adds to the correlations of its own sample, of any number of them: (rows, samples · pairs)."""

    places: Places
    moments: Moments
    weights: Array | None = None

    @property
    def width(self) -> int:
        """One for each pair of each sample."""
        return int(self.moments.correlations.size)

    def __call__(self, block: Tensor, labels: Array, rows: slice) -> Tensor:
        """Of some rows: nothing in the correlations of other samples."""
        samples, pairs = self.moments.correlations.shape
        found = torch.zeros(len(block), samples, pairs, dtype=torch.float64)
        for k in range(samples):
            of_sample = torch.from_numpy(labels[rows] == k)
            Z, there = centred(block[of_sample].double(), self.moments.centre[k], self.places.gaps)
            found[of_sample, k] = _of_correlations(Z, there, k, self.moments, self.places)
        joined = found.flatten(1)
        return joined if self.weights is None else joined * torch.from_numpy(self.weights[rows])[:, None]


def _of_correlations(Z: Tensor, there: Tensor | None, k: int, moments: Moments, places: Places) -> Tensor:
    """What rows of sample k add to its correlations."""
    n, means, deviations = (torch.from_numpy(part) for part in moments.pairs)
    rho = torch.from_numpy(moments.correlations[k])
    u = (Z[:, places.first] - means[0, k]) / deviations[0, k]
    v = (Z[:, places.second] - means[1, k]) / deviations[1, k]
    both = 1.0 if there is None else there[:, places.first] * there[:, places.second]
    larger = (n[k] / (n[k] - 1).clamp(min=1)).sqrt()
    return (u * v - rho * (u**2 + v**2) / 2) * both / n[k] * larger


def sum_correlation_variances(
    points: Points,
    labels: Array,
    places: Places,
    moments: Moments,
    units: Array | None,
    compute: Compute,
    weights: Array | None = None,
    strata: Array | None = None,
) -> Array:
    """The variance of the correlation of each pair in each sample: (samples, pairs)."""
    influence = CorrelationInfluence(places, moments, weights)
    squares = sum_squares(influence, points, labels, units, strata, compute)
    found: Array = squares.numpy().reshape(moments.correlations.shape)
    return found


def sum_squares(
    influence: RowInfluence, points: Points, labels: Array, units: Array | None, strata: Array | None, compute: Compute
) -> Tensor:
    """Sums of squares of what each row, or each unit, adds to an estimate; about the means of strata, if there are."""
    if units is not None:
        return _by_unit(influence, points, labels, units)
    size = Size(8 * influence.width, 60 * influence.width, 20.0 * influence.width)
    if strata is not None:
        return _within_strata(influence, points, labels, strata, size, compute)
    found: Tensor = reduce_rows(SquaredInfluence(influence, labels), points, size, compute)
    return found


@dataclass(frozen=True, eq=False)
class SquaredInfluence:
    """Sums of squares over rows, a `RowReduction`."""

    influence: RowInfluence
    labels: Array
    scale: Tensor | None = None

    def start(self) -> Tensor:
        """Zeros."""
        return torch.zeros(self.influence.width, dtype=torch.float64)

    def add(self, sums: Tensor, rows: slice, block: Tensor) -> Tensor:
        """The sums with those of a block."""
        squares = self.influence(block, self.labels, rows) ** 2
        return sums + (squares if self.scale is None else squares * self.scale[rows, None]).sum(0)

    def join(self, left: Tensor, right: Tensor) -> Tensor:
        """The sum of both."""
        return left + right


def _by_unit(influence: RowInfluence, points: Points, labels: Array, units: Array) -> Tensor:
    """Sums of squares over units of what their rows add together."""
    numbers = np.unique(units, return_inverse=True)[1].reshape(-1)
    count = int(numbers.max()) + 1
    return _sums_of_squares(influence, points, labels, numbers, np.ones(count)) * count / max(count - 1, 1)


def _within_strata(
    influence: RowInfluence, points: Points, labels: Array, strata: Array, size: Size, compute: Compute
) -> Tensor:
    """Sums of squares about the means of strata: that these differ adds nothing to the variance of effects in them.

    A row that is alone of its sample in a stratum says nothing of the variance there: its square counts in full, which
    is too much rather than too little.
    """
    cells = np.unique((labels.max() + 1) * strata.astype(np.int64) + labels, return_inverse=True)[1].reshape(-1)
    count = np.bincount(cells)
    larger = np.where(count > 1, count / np.maximum(count - 1, 1), 1.0)
    scaled = SquaredInfluence(influence, labels, torch.from_numpy(larger[cells]))
    squares: Tensor = reduce_rows(scaled, points, size, compute)
    return squares - _sums_of_squares(influence, points, labels, cells, np.where(count > 1, larger / count, 0.0))


def _sums_of_squares(influence: RowInfluence, points: Points, labels: Array, numbers: Array, scale: Array) -> Tensor:
    """Σ of scale times the squared total of the rows with each number."""
    places, count = torch.from_numpy(numbers), len(scale)
    width = influence.width
    step = max(1, min(width, _TOGETHER // count))
    found = torch.zeros(width, dtype=torch.float64)
    for start in range(0, width, step):
        some = slice(start, min(start + step, width))
        totals = torch.zeros(count, some.stop - some.start, dtype=torch.float64)
        for row in range(0, len(points), _BLOCK):
            rows = slice(row, min(row + _BLOCK, len(points)))
            block = points[rows].detach().cpu().flatten(1)
            totals.index_add_(0, places[rows], influence(block, labels, rows)[:, some])
        found[some] = (totals**2 * torch.from_numpy(scale)[:, None]).sum(0)
    return found
