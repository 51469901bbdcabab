"""Moments of the columns and pairs of each sample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..data import Points
from ..engine import Compute
from ..engine.rows import Size, as_matrix, sum_rows

Array: TypeAlias = "np.ndarray[Any, Any]"

_BLOCK = 1_024
#: A variance below this share of the mean square is rounding.
_ROUNDING = 1e-14


class PairIndex(NamedTuple):
    """Pairs of columns, and for columns with missing values the column that indicates them."""

    first: Array
    second: Array
    missing_indicators: Mapping[int, int]


class LabelledRows(NamedTuple):
    """Rows of several samples with their labels.

    Attributes
    ----------
    points, labels, samples
        The rows, the number of the sample of each row, and the number of samples.
    weights
        Weights of rows; None for equal weights.
    units, strata
        The group or pair, and the stratum of each row, if there are any.
    """

    points: Points
    labels: Array
    samples: int
    weights: Array | None = None
    units: Array | None = None
    strata: Array | None = None

    def __reduce__(self) -> Any:
        # Functions of blocks, which have labels here, may travel to other processes: rows come to these otherwise.
        return LabelledRows, (None, *self[1:])


class MomentSums(NamedTuple):
    """For each sample: number of rows, sums and squares of centred columns, and six sums for each pair.

    Missing values do not contribute.
    """

    rows: Array
    there: Array
    plain: Array
    sums: Array
    squares: Array
    pairs: Array


def centred(raw: Array, centre: Array, missing_indicators: Mapping[int, int]) -> tuple[Array, Array | None]:
    """Centred rows, with 0 for missing values, and indicators of observed values (None if none is missing)."""
    Z = raw - centre
    if not missing_indicators:
        return Z, None
    there = np.ones_like(Z)
    for column, indicator in missing_indicators.items():
        there[:, column] = 1 - np.clip(raw[:, indicator], 0, 1)
    return Z * there, there


def pair_terms(Z: Array, there: Array | None, places: PairIndex) -> list[Array]:
    """1, x, y, x², y² and xy of each pair of columns, 0 unless both values are observed."""
    x, y = Z[:, places.first], Z[:, places.second]
    both = np.ones_like(x) if there is None else there[:, places.first] * there[:, places.second]
    return [both, x * both, y * both, x**2 * both, y**2 * both, x * y]


@dataclass(frozen=True, eq=False)
class Moments:
    """Means, deviations and correlations of each sample."""

    found: MomentSums
    centre: Array

    @cached_property
    def rows(self) -> Array:
        """Rows of each sample."""
        return np.asarray(self.found.rows[:, 0])

    @cached_property
    def counts(self) -> Array:
        """Number of observed values of each sample and column."""
        return np.asarray(np.maximum(self.found.there, 1e-9))

    @cached_property
    def offsets(self) -> Array:
        """Means of observed values, less the centre of the sample."""
        return np.asarray(self.found.sums / self.counts)

    @cached_property
    def means(self) -> Array:
        """Means of observed values."""
        return np.asarray(self.offsets + self.centre)

    @cached_property
    def plain_means(self) -> Array:
        """Means over all rows, which are shares for indicators."""
        return np.asarray(self.found.plain / self.rows[:, None] + self.centre)

    @cached_property
    def deviations(self) -> Array:
        """Standard deviations of observed values; 0 if the variance is rounding."""
        squares = self.found.squares / self.counts
        variance = squares - self.offsets**2
        return np.asarray(np.sqrt(np.where(variance > _ROUNDING * squares, variance, 0.0)))

    @cached_property
    def pairs(self) -> tuple[Array, Array, Array]:
        """For each sample and pair: number of rows with both values; their means (2) and standard deviations (2)."""
        n, x, y, xx, yy, _ = self.found.pairs.transpose(1, 0, 2)
        n = np.maximum(n, 1e-9)
        means = np.stack([x / n, y / n])
        return n, means, np.sqrt(np.maximum(np.stack([xx / n, yy / n]) - means**2, 1e-300))

    @cached_property
    def correlations(self) -> Array:
        """Correlation of each sample and pair, over rows with both values."""
        n, means, deviations = self.pairs
        covariance = self.found.pairs[:, 5] / n - means[0] * means[1]
        return np.asarray(np.clip(covariance / (deviations[0] * deviations[1]), -1, 1))


def stratum_weights(labels: Array, strata: Array, samples: int) -> Array | None:
    """Weights of rows that give every stratum the same weight in all samples; None if it has that already.

    The weight of a stratum is 1 / Σ_k 1/m_k for m_k rows of sample k, its precision: 0 if a sample has no rows. The
    weights of a sample sum to its number of rows.

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


def sum_moments(rows: LabelledRows, places: PairIndex, compute: Compute) -> Moments:
    """The moments of each sample, in one pass."""
    centre = _find_centres(rows.points, rows.labels, rows.samples)
    width, pairs = centre.shape[1], len(places.first)
    size = Size(8 * rows.samples * (4 * width + 6 * pairs), 40 * (width + 2 * pairs), 10.0 * (width + 2 * pairs))

    def sum_block(where: slice, block: Array) -> MomentSums:
        parts = [_sum_sample(rows, where, block, k, centre[k], places) for k in range(rows.samples)]
        return MomentSums(*(np.stack(part) for part in zip(*parts, strict=True)))

    return Moments(sum_rows(sum_block, rows.points, size, compute), centre)


def _sum_sample(
    rows: LabelledRows, where: slice, block: Array, k: int, centre: Array, places: PairIndex
) -> tuple[Array, ...]:
    """The terms of `MomentSums` of the rows of sample k in a block; each row counts by its weight, if there are any."""
    of_sample = rows.labels[where] == k
    raw = block[of_sample].astype(np.float64)
    Z, there = centred(raw, centre, places.missing_indicators)
    w: Any = 1.0 if rows.weights is None else rows.weights[where][of_sample, None]
    total = np.array([float(len(Z) if rows.weights is None else w.sum())])
    return (
        total,
        np.broadcast_to(total, len(centre)) if there is None else (w * there).sum(0),
        (w * (raw - centre)).sum(0),
        (w * Z).sum(0),
        (w * Z**2).sum(0),
        np.stack([(w * part).sum(0) for part in pair_terms(Z, there, places)]),
    )


def _find_centres(points: Points, labels: Array, samples: int) -> Array:
    """A row near the mean of each sample, so that squares are small: the mean of its rows in the first block."""
    block = as_matrix(points[:_BLOCK]).astype(np.float64)
    found = np.tile(block.mean(0), (samples, 1))
    for k in range(samples):
        of_sample = labels[: len(block)] == k
        if of_sample.any():
            found[k] = block[of_sample].mean(0)
    return found
