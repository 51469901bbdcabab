"""Kinds of rows: nodes of a tree of clusters, and balls of nearest neighbors, of the pooled rows.

If a class or a cluster of rows is rarer in one sample, distances and columns may differ little, but the share of
rows in some cell does. Cells are fixed on the pooled rows without labels, and overlap:
a row is in many of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np
from scipy.cluster.hierarchy import ward

from ..._util.numbers import percent
from ..landmarks import squared_distances
from ..rows import RowBlock, RowTransform
from ..scores import calibrate_tail, harmonic_mean, rank_pvalue, square_tail, step_down
from ..scoring import CellScores, FamilyScore, FamilyScorer, StrongestStatistic
from ..sketch import Sketch
from .base import BlockSums, Family, FeatureBlock

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Rows of a sketch that cells are fitted on: a quarter of all rows, but at least and at most these numbers.
_LEAST_FITTED, _MOST_FITTED = 1_024, 2_048
#: Maximum number of leaves of a tree, and minimum number of rows of the sketch in a cell and outside of it.
_LEAVES, _FEWEST = 128, 6
#: Rows of the sketch in balls; at most half of them.
NEIGHBORS = (8, 32, 128, 512)
#: Scaled rows are rounded to about this fraction of a standard deviation, and scales to so many bits. Distances are
#: then whole numbers without rounding errors, and cells the same on all processors.
_STEPS, _BITS = 2.0**8, 10
#: Cells with larger adjusted p-values are not named at any level.
ADJUSTED = 0.25
#: Features that vary less than this, for each row, are constant.
_VARIES = 1e-5


@dataclass(frozen=True, eq=False)
class Cells:
    """Nodes of a tree of clusters (Ward 1963), and balls around the centers of its leaves.

    A row is in the leaf with the nearest center, and in all nodes above it. It is in a ball if it is near to its
    center.

    Attributes
    ----------
    shift, scale : ndarray
        Distances are those of (values - shift) * scale, rounded to whole numbers.
    centers : ndarray
        The mean row of each leaf, scaled and rounded: (leaves, columns).
    nodes : ndarray of int
        The first leaf of each node, and the one after its last: (nodes, 2).
    radii : ndarray
        The squared radii of balls: (sizes, leaves).
    shares : ndarray
        The share of the rows of the sketch that are in each node, and in each ball.
    """

    shift: Array
    scale: Array
    centers: Array
    nodes: Array
    radii: Array
    shares: Array

    @classmethod
    def fit(cls, sketch: Array, shift: Array, scale: Array) -> Cells | None:
        """Cluster the rows of a sketch; None if they are too few, or all equal."""
        variance = ((sketch - shift) * scale).var(0)
        n, largest = len(sketch), float(variance.max())
        if n < 2 * _FEWEST or not 0 < largest < math.inf:
            return None
        # Constant columns change nothing.
        deviation = math.sqrt(float(variance[variance > 1e-12 * largest].mean()))
        scale = _round_bits(scale) * 2.0 ** math.ceil(math.log2(_STEPS / deviation))
        bare = cls(shift, scale, *(np.empty((0, 0)),) * 4)
        rows = bare._scaled(sketch)
        merges = ward(np.sqrt(squared_distances(rows, rows)[np.triu_indices(n, 1)]))
        centers, nodes = _cut(merges, rows)
        bare = replace(bare, centers=centers)
        squared = bare._squared(sketch)
        sizes = [size for size in NEIGHBORS if 2 * size <= n]
        near = np.sort(squared, axis=0)
        # Radii are between two distances.
        radii = (
            np.stack([(near[size - 1] + near[size]) / 2 for size in sizes]) if sizes else np.empty((0, len(centers)))
        )
        bare = replace(bare, nodes=nodes, radii=radii)
        shares = bare(sketch).mean(0)
        kept = np.abs(shares[: len(nodes)] - 0.5) <= 0.5 - _FEWEST / n
        return replace(
            bare, nodes=nodes[kept], shares=np.concatenate([shares[: len(nodes)][kept], shares[len(nodes) :]])
        )

    @property
    def width(self) -> int:
        """The number of cells."""
        return len(self.nodes) + self.radii.size

    def __call__(self, values: Array) -> Array:
        """Which rows are in which nodes, and in which balls: 1 or 0 in float32."""
        squared = self._squared(values)
        found = np.empty((len(values), self.width), np.float32)
        found[:, : len(self.nodes)] = self._table[squared.argmin(1)]
        start = len(self.nodes)
        for radii in self.radii:
            np.less_equal(squared, radii, out=found[:, start : start + len(radii)])
            start += len(radii)
        return found

    @cached_property
    def _table(self) -> Array:
        """Which leaves are in which nodes: (leaves, nodes)."""
        leaf = np.arange(len(self.centers))[:, None]
        return ((leaf >= self.nodes[:, 0]) & (leaf < self.nodes[:, 1])).astype(np.float32)

    def distances(self, values: Array, cell: int) -> Array:
        """How far rows are from the middle of a cell, squared."""
        inside = (
            self._table[:, cell] > 0 if cell < len(self.nodes) else np.arange(len(self.centers)) == self._ball(cell)
        )
        middle = np.rint(self.centers[inside].mean(0, keepdims=True))
        return np.asarray(squared_distances(self._scaled(values), middle)[:, 0])

    def _ball(self, cell: int) -> int:
        return (cell - len(self.nodes)) % len(self.centers)

    def _scaled(self, values: Array) -> Array:
        """Whole numbers, so small that sums of their squares are exact in double precision."""
        scaled: Array = (values - self.shift) * self.scale
        limit = 2.0 ** ((51 - math.ceil(math.log2(len(self.shift)))) // 2)
        return np.rint(np.clip(scaled, -limit, limit, out=scaled), out=scaled)

    def _squared(self, values: Array) -> Array:
        return squared_distances(self._scaled(values), self.centers)

    def is_consistent(self, columns: int) -> bool:
        """Whether shapes agree, and nodes have leaves."""
        return (
            self.shift.shape == self.scale.shape == (columns,)
            and self.centers.ndim == self.nodes.ndim == self.radii.ndim == 2
            and self.centers.shape[1] == columns
            and self.radii.shape[1] == len(self.centers) > 0
            and self.nodes.shape[1] == 2
            and self.nodes.dtype.kind == "i"
            and bool(((self.nodes >= 0) & (self.nodes <= len(self.centers))).all())
            and self.shares.shape == (self.width,)
        )


def _cut(merges: Array, rows: Array) -> tuple[Array, Array]:
    """The mean rows of the leaves of a tree that is cut at `_LEAVES` leaves, and its nodes as ranges of leaves."""
    n = len(rows)
    left, right = merges[:, 0].astype(int), merges[:, 1].astype(int)
    size = np.concatenate([np.ones(n, int), merges[:, 3].astype(int)])
    # From the root down: where the rows of each node begin, if those of a node are adjacent.
    start = np.zeros(2 * n - 1, int)
    for k in range(n - 2, -1, -1):
        start[left[k]] = start[n + k]
        start[right[k]] = start[n + k] + size[left[k]]
    order = np.argsort(start[:n])
    count = min(n, _LEAVES)
    inner = np.arange(2 * n - count, 2 * n - 1)
    below = np.concatenate([left[inner - n], right[inner - n]])
    leaves = np.sort(below[below < inner[0]])
    leaves = leaves[np.argsort(start[leaves])]
    centers = np.add.reduceat(rows[order], start[leaves]) / size[leaves, None]
    nodes = np.concatenate([leaves, inner[:-1]])
    first = np.searchsorted(start[leaves], start[nodes])
    last = np.searchsorted(start[leaves], start[nodes] + size[nodes])
    return np.rint(centers), np.stack([first, last], 1)


def _round_bits(values: Array) -> Array:
    """Numbers with `_BITS` significant bits, nearly the same in all roundings of what they are computed from.

    >>> _round_bits(np.array([1.0, 0.1]))
    array([1.        , 0.09997559])
    """
    fraction, exponent = np.frexp(values)
    rounded: Array = np.ldexp(np.rint(np.ldexp(fraction, _BITS)), exponent - _BITS)
    return rounded


@dataclass(frozen=True, eq=False)
class CellFamily(Family):
    """Whether a row is in each of many cells.

    Attributes
    ----------
    cells : tuple of Cells
        The cells of standardized rows; none for regressions.
    """

    cells: tuple[Cells, ...]

    name: ClassVar[str] = "cells"
    description: ClassVar[str] = "kinds of rows"
    parts: ClassVar[tuple[type, ...]] = (Cells,)

    @classmethod
    def fit(cls, sketch: Sketch) -> CellFamily | None:
        """Cluster the rows of the sketch; None if they are too few, or all equal."""
        if not sketch.width:
            return None
        rows = sketch.values[: min(_MOST_FITTED, max(_LEAST_FITTED, sketch.rows // 4))]
        transform = sketch.block.transform
        cells = Cells.fit(rows, transform.centre, 1 / transform.divisor)
        return None if cells is None else cls((cells,))

    @property
    def blocks(self) -> list[FeatureBlock]:
        """One, of which only squares are summed."""
        return [FeatureBlock(self.name, k, cells.width, "diagonal", self.name) for k, cells in enumerate(self.cells)]

    def features(self, rows: RowBlock, wanted: Sequence[int]) -> Iterator[Array]:
        """1 for each cell that a row is in, 0 for the others."""
        for k in wanted:
            yield self.cells[k](rows.values)

    def score(self, scorer: FamilyScorer, sums: Mapping[int, BlockSums]) -> FamilyScore | None:
        """The harmonic mean of p-values of nodes, and of balls; and then of both."""
        (cells,), (variance, C) = self.cells, sums[0]
        scores, strongest, highest = [], "", -math.inf
        squares: list[Array] = []
        inflation: list[Array] = []
        places: list[Array] = []
        for part in (slice(0, len(cells.nodes)), slice(len(cells.nodes), cells.width)):
            used = np.flatnonzero(variance[part] > _VARIES * scorer.rows) + part.start
            if not len(used):
                continue
            squared, spread = scorer.contrasts.squares(C[used] / np.sqrt(variance[used, None])), np.ones(len(used))
            if scorer.permutations.restricted:
                others = squared.sum(1) - squared[:, scorer.observed]
                spread = others / max(scorer.permutations.count - 1, 1) / scorer.degrees
                squared = scorer.normalize_squares(squared)
                varies = squared.any(1)
                used, squared, spread = used[varies], squared[varies], spread[varies]
            if not len(used):
                continue
            normalized = squared.astype(np.float32)
            scores.append(calibrate_tail(harmonic_mean(square_tail(normalized, scorer.degrees))))
            if scores[-1][scorer.observed] > highest:
                highest = scores[-1][scorer.observed]
                share = float(cells.shares[used[np.argmax(normalized[:, scorer.observed])]])
                strongest = f"a kind of row: {percent(share)} of all rows"
            squares.append(normalized)
            inflation.append(spread)
            places.append(used)
        if not scores:
            return None
        named = self._name(np.concatenate(squares), np.concatenate(inflation), np.concatenate(places), scorer)
        return FamilyScore(harmonic_mean(np.stack(scores)), StrongestStatistic(strongest), cells=named)

    def _name(self, squares: Array, inflation: Array, places: Array, scorer: FamilyScorer) -> CellScores | None:
        """The cells that may differ, by step-down maxT over all cells; None if there are none."""
        largest = squares.max(0)
        # The smallest adjusted p-value is that of the largest square: most often there is nothing else to compute.
        if rank_pvalue(largest, scorer.observed) > ADJUSTED:
            return None
        pvalues = step_down(squares, scorer.observed)
        kept = np.flatnonzero(pvalues <= ADJUSTED)
        kept = kept[np.argsort(-squares[kept, scorer.observed], kind="stable")]
        largest = np.delete(largest, scorer.observed)
        return CellScores(self.cells[0], places[kept], pvalues[kept], inflation[kept], largest)

    def reduced(self, rows: int) -> Family:
        """None: a regression sees rows by kernels."""
        return replace(self, cells=())

    def is_consistent(self, transform: RowTransform) -> bool:
        """Whether the cells are of rows of this width."""
        return all(one.is_consistent(transform.layout.width) for one in self.cells)
