"""Bins of rows: with many rows, random bins are permuted instead of single rows, and features are summed by bin.

Bins have the same number of rows, each is of one sample (and stratum), and rows are put into them at random. Exchanging
whole bins is a subgroup of all permutations of rows, so a test that permutes bins is exact too. Features are summed by
bin once, and their products with permuted labels then take the same time for any number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ..engine import Compute
from ..stats.design import Design
from .ranks import COSINES

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Rows from which on bins are permuted, about how many bins are made, and the minimum number of bins of a sample.
MANY_ROWS, BINS, MIN_BINS = 20_000, 4_096, 512
#: Bins may have this many times as many rows if fewer rows are then left over; how many numbers of rows are tried; and
#: the maximum number of bins and rows that are left over, relative to `BINS`.
_LARGER, _TRIED, _MOST = 1.25, 256, 4
#: The minimum information about differences within strata that bins keep, relative to that of single rows.
_KEPT = 0.95
#: Bytes for each number of sums over bins, and the maximum number of features that are summed together, except for rank
#: cosines.
_BYTES, _FEATURES = 16, 2_000


@dataclass(frozen=True, eq=False)
class Bins:
    """Rows in bins of equal size. A row that is left over is a bin by itself, exchanged with other such rows only.

    Attributes
    ----------
    rows : int
        Rows of a bin.
    members : ndarray of int
        The rows of bin 0, those of bin 1, …; then the rows that are left over: (number of rows,).
    labels : ndarray of int
        The sample of each bin.
    design : Design
        Which bins may be exchanged.
    """

    rows: int
    members: Array
    labels: Array
    design: Design

    @property
    def whole(self) -> int:
        """Number of bins with more than one row."""
        return (len(self.members) - len(self.labels)) // (self.rows - 1)

    def have_room(self, width: int, compute: Compute) -> bool:
        """Whether the user allows enough memory for sums of features over the bins, for rows of this width."""
        need = _BYTES * len(self.labels) * max(COSINES * width, _FEATURES)
        return compute.automatic or compute.max_memory >= need

    def take(self, order: Array) -> Array:
        """The rows of bins in another order, in which whole bins come first."""
        whole = order[: self.whole]
        inside = self.members[: self.whole * self.rows].reshape(-1, self.rows)[whole].reshape(-1)
        found: Array = np.concatenate([inside, self.members[order[self.whole :] + self.whole * (self.rows - 1)]])
        return found


def draw_bins(labels: Array, design: Design, rng: np.random.Generator) -> Bins | None:
    """Put rows into bins at random; None if there are few rows, or if bins do not go with the design.

    Parameters
    ----------
    labels : ndarray of int
        The sample of each row.
    design : Design
        Which rows may be exchanged. Pairs are put into bins as pairs, and groups are not put into bins.
    rng : numpy.random.Generator
        Draws the bins.

    Examples
    --------
    >>> bins = draw_bins(np.repeat([0, 1], [20_001, 40_000]), Design(), np.random.default_rng(0))
    >>> bins.rows, np.bincount(bins.labels), len(bins.members)
    (16, array([1251, 2500]), 60001)
    """
    design = design.effective
    if len(labels) < MANY_ROWS or (design.groups is not None and not design.paired):
        return None
    # A cell has rows that may be in the same bin. Of pairs, it has those of the first sample.
    cells = labels.astype(np.int64)
    if design.paired:
        cells = np.zeros(len(labels) // 2, np.int64)
    elif design.strata is not None:
        cells += np.unique(design.strata, return_inverse=True)[1].reshape(-1) * (int(labels.max()) + 1)
    count = np.bincount(cells)
    rows = _choose_rows(count, int(labels.max()) + 1, len(cells))
    if rows is None:
        return None
    order = rng.permutation(len(cells))
    order = order[np.argsort(cells[order], kind="stable")]
    place = np.arange(len(cells)) - np.repeat(np.cumsum(count) - count, count)
    inside = place < np.repeat(count // rows * rows, count)
    if design.paired:
        return _bins_of_pairs(order[inside], order[~inside], rows)
    members = np.concatenate([order[inside], order[~inside]])
    first = np.concatenate([order[inside][::rows], order[~inside]])
    left = np.arange(len(first)) >= inside.sum() // rows
    strata = None if design.strata is None else design.strata[first]
    if left.any():
        strata = 2 * strata + left if strata is not None else left.astype(np.int64)
    return Bins(rows, members, labels[first], Design(strata=strata))


def _choose_rows(count: Array, samples: int, total: int) -> int | None:
    """Rows of a bin, such that there are about `BINS` bins and few rows are left over; None if no number is suitable.

    >>> _choose_rows(np.array([50_000, 50_000]), 2, 100_000)
    25
    >>> _choose_rows(np.array([99_000, 500]), 2, 99_500)

    Bins of two rows, and what is left over, could not be exchanged with anything in strata of two rows and one:

    >>> _choose_rows(np.tile([2, 1, 1, 2], 3_500), 2, 21_000)
    """
    if np.count_nonzero(count) > _MOST * BINS:  # each of these cells has a bin, or a row that is left over
        return None
    count = np.pad(count, (0, -len(count) % samples)).reshape(-1, samples)
    count = count[count.any(1)]
    most = max(int(_LARGER * total / BINS), 2)
    tried = np.unique(np.linspace(2, most, _TRIED).astype(int))
    bins = np.stack([(count // rows).sum(0) for rows in tried])
    left = total - bins.sum(1) * tried
    kept = np.array([rows * _information(count // rows) + _information(count % rows) for rows in tried])
    suitable = (bins[:, count.any(0)].min(1) >= MIN_BINS) & (bins.sum(1) + left <= _MOST * BINS)
    suitable &= kept >= _KEPT * _information(count)
    if not suitable.any():
        return None
    best = int(np.argmin(np.where(suitable, left + np.maximum(bins.sum(1) - BINS, 0), total)))
    return int(tried[best])


def _information(count: Array) -> float:
    """That of units about differences within strata, from their number in each stratum and sample: Σ n - Σ_k n_k² / n.

    >>> _information(np.array([[50, 50], [50, 0]]))
    50.0
    """
    units = count.sum(1)
    return float(units.sum() - ((count.astype(float) ** 2).sum(1) / np.maximum(units, 1)).sum())


def _bins_of_pairs(inside: Array, left: Array, rows: int) -> Bins:
    """Bins of the first rows of some pairs and of their second rows, which change places with each other only."""
    pairs, bins = len(inside) + len(left), len(inside) // rows
    members = np.concatenate([inside, inside + pairs, left, left + pairs])
    number = np.concatenate([np.tile(np.arange(bins), 2), bins + np.tile(np.arange(len(left)), 2)])
    labels = np.concatenate([np.repeat([0, 1], bins), np.repeat([0, 1], len(left))])
    return Bins(rows, members, labels, Design(strata=number, paired=True))
