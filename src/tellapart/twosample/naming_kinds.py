"""Name kinds of rows: the cells of the default test whose share differs, less those that others explain."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ..data import Points
from ..data.sample import Display
from ..data.samples import Samples, Variable
from ..engine import Compute
from ..engine.rows import Size, sum_rows, take_matrix
from ..omnibus import CellScores, Pooled
from ..stats.design import Design
from ..stats.proportions import ratio_interval
from .kinds import Kind, TypicalRow
from .moments import stratum_weights
from .rules import Rule, as_condition, describe_members

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Maximum number of kinds, and of cells that are looked at: those that differ most.
_MOST, _LOOKED_AT = 10, 500
#: Kinds with larger p-values are not kept; and the probability outside of an interval.
_LARGEST_P, _MISSED = 0.25, 0.05
#: Rows in which overlaps of cells are counted, and rows that rules are fitted on.
_OVERLAPS, _DESCRIBED = 2**16, 4_096
#: Minimum number of rows of a kind that other kinds do not have.
_FEWEST = 6
#: Columns up to which rules are looked for, with names and without; and rules of at least this quality are given.
_COLUMNS, _NAMELESS, _GOOD = 200, 20, 0.5
#: Typical rows of a kind, and columns up to which their values are given.
_TYPICAL, _VALUES = 5, 50
_BLOCK = 1_024


@dataclass(frozen=True, eq=False)
class _Chosen:
    """A cell that is named: its place among the candidates, and its p-value."""

    place: int
    pvalue: float


def name_kinds(
    cells: CellScores | None, samples: Samples, pooled: Pooled, design: Design, seed: int, compute: Compute
) -> list[Kind]:
    """The kinds of rows that differ, strongest first.

    A cell is named if its adjusted p-value (step-down maxT over all cells) is small, and if it also differs among the
    rows outside of the cells named before it: there, its statistic is compared with the same distribution of the
    largest one. The second condition only removes cells, so the error rate of the first holds.
    """
    if cells is None:
        return []
    sizes = [len(part) for part in samples.points]
    labels = np.repeat(np.arange(len(sizes)), sizes)[pooled.order]
    strata = design.effective.strata
    strata = None if strata is None else np.unique(strata[pooled.order], return_inverse=True)[1].reshape(-1)
    rng = np.random.default_rng([seed, len(labels)])
    some = np.sort(rng.permutation(len(labels))[:_OVERLAPS])
    values = take_matrix(pooled.points, some)
    inside = _find_members(cells, values)
    chosen = _choose(cells, inside, labels[some], None if strata is None else strata[some], len(sizes))
    if not chosen:
        return []
    places = [one.place for one in chosen]
    members, distances = _all_members(cells, places, pooled.points, compute)
    weights = None if strata is None else stratum_weights(labels, strata, len(sizes))
    reach = float(np.quantile(cells.largest, 1 - _MISSED, method="higher")) if len(cells.largest) else math.inf
    described = rng.permutation(len(some))[:_DESCRIBED]
    kinds = []
    for k, one in enumerate(chosen):
        rule = _describe(samples, values[described], inside[described, one.place])
        z = math.sqrt(reach * float(cells.inflation[one.place]))
        kinds.append(_make(one, members[:, k], distances[:, k], labels, weights, z, rule, samples, pooled))
    return kinds


def _find_members(cells: CellScores, values: Array) -> Array:
    """Which rows are in which of the candidates: (rows, candidates)."""
    count = min(len(cells.cells), _LOOKED_AT)
    found = np.zeros((len(values), count), bool)
    for start in range(0, len(values), _BLOCK):
        rows = slice(start, start + _BLOCK)
        found[rows] = cells.members(values[rows])[:, cells.cells[:count]]
    return found


def _choose(cells: CellScores, inside: Array, labels: Array, strata: Array | None, samples: int) -> list[_Chosen]:
    """Cells, strongest first, that differ among the rows outside of those chosen before."""
    chosen = [_Chosen(0, float(cells.pvalues[0]))]
    outside = ~inside[:, 0]
    count = inside.shape[1]
    while len(chosen) < _MOST and outside.sum() >= 2 * _FEWEST:
        rest = inside[outside]
        squares = cell_squares(rest, labels[outside], None if strata is None else strata[outside], samples)
        squares /= cells.inflation[:count]
        squares[(rest.sum(0) < _FEWEST) | ((~rest).sum(0) < _FEWEST)] = 0.0
        # With more samples, squares have a mean of the number of samples less 1, as those that they are compared with.
        reached = (1 + (cells.largest[:, None] >= squares * (1 - 1e-9)).sum(0)) / (1 + len(cells.largest))
        pvalues = np.maximum(reached, cells.pvalues[:count])
        best = int(np.lexsort([-squares, pvalues])[0])
        p = max(float(pvalues[best]), chosen[-1].pvalue)
        if p > _LARGEST_P or not squares[best] > 0:
            break
        chosen.append(_Chosen(best, p))
        outside &= ~inside[:, best]
    return chosen


def cell_squares(inside: Array, labels: Array, strata: Array | None, samples: int) -> Array:
    """The statistic of each cell: of two samples, z² of Mantel and Haenszel (1959); without strata, that of Pearson.

    Of several samples k it is Σ_k z_k² (1 - m_k / n), z_k that of sample k against all others.

    >>> inside, labels = np.repeat([[1], [0], [1], [0]], [3, 7, 8, 2], axis=0), np.repeat([0, 1], 10)
    >>> cell_squares(inside, labels, None, 2).round(3)
    array([4.798])
    """
    place = np.zeros(len(labels), int) if strata is None else np.unique(strata, return_inverse=True)[1].reshape(-1)
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.diff(place[order], prepend=-1))
    F = inside[order] > 0
    rows = np.diff(np.append(starts, len(order)))[:, None].astype(float)
    total = np.add.reduceat(F, starts, axis=0, dtype=float)
    found = np.zeros(inside.shape[1])
    for k in range(samples) if samples > 2 else (1,):
        of_sample = (labels[order] == k)[:, None]
        m = np.add.reduceat(of_sample, starts, axis=0, dtype=float)
        count = np.add.reduceat(F & of_sample, starts, axis=0, dtype=float)
        gap = (count - total * m / rows).sum(0)
        variance = (total * (rows - total) * m * (rows - m) / (rows**2 * np.maximum(rows - 1, 1))).sum(0)
        square = np.divide(gap**2, variance, out=np.zeros_like(gap), where=variance > 0)
        found += square * (1 - m.sum() / len(labels) if samples > 2 else 1.0)
    return found


def _all_members(cells: CellScores, places: Sequence[int], points: Points, compute: Compute) -> tuple[Array, Array]:
    """Which of all rows are in some cells, and how far all rows are from their middles: (rows, cells) each."""

    def find(rows: slice, block: Array) -> list[tuple[Array, Array]]:
        inside, numbers = cells.members(block), cells.cells[list(places)].tolist()
        parts = [(inside[:, number] > 0, cells.members.distances(block, number)) for number in numbers]
        return [(np.stack([part[0] for part in parts], 1), np.stack([part[1] for part in parts], 1))]

    size = Size(16 * len(places), 8_192, 1e4)
    found = sum_rows(find, points, size, compute, operator.add)
    return np.concatenate([part[0] for part in found]), np.concatenate([part[1] for part in found])


def _describe(samples: Samples, values: Array, inside: Array) -> Rule | None:
    """Conditions that describe the rows of a cell; None for images and wide rows, and if no conditions do."""
    nameless = all(unit.name.isdecimal() for unit in samples.variables)
    if samples.image_shape is not None or len(samples.variables) > (_NAMELESS if nameless else _COLUMNS):
        return None
    if not inside.any() or inside.all():
        return None
    rule = describe_members(values.astype(np.float64), inside, samples.variables)
    return rule if rule is not None and rule.quality >= _GOOD else None


def _make(
    one: _Chosen,
    inside: Array,
    distances: Array,
    labels: Array,
    weights: Array | None,
    reach: float,
    rule: Rule | None,
    samples: Samples,
    pooled: Pooled,
) -> Kind:
    """A kind from the rows of a cell."""
    count = len(samples.points)
    ends = np.cumsum([0, *(len(part) for part in samples.points)])
    weight = np.ones(len(labels)) if weights is None else weights
    totals = [float(weight[labels == k].sum()) for k in range(count)]
    within = [float(weight[(labels == k) & inside].sum()) for k in range(count)]
    counts = tuple(int(((labels == k) & inside).sum()) for k in range(count))
    shares = tuple(part / total if total else 0.0 for part, total in zip(within, totals, strict=True))
    low, high = (shares[0], shares[1]) if count == 2 else (min(shares), max(shares))
    ratio = high / low if low > 0 else math.inf if high > 0 else math.nan
    interval = None
    if count == 2:
        interval = ratio_interval((within[0], within[1]), (totals[0], totals[1]), reach)
    order = np.flatnonzero(inside)
    order = order[np.argsort(distances[order], kind="stable")]
    members = tuple(pooled.order[order[labels[order] == k]] - ends[k] for k in range(count))
    typical = tuple(
        _typical_row(samples, int(labels[row]), int(pooled.order[row] - ends[labels[row]])) for row in order[:_TYPICAL]
    )
    unit_of = {place: unit for unit in samples.variables for place in unit.coordinates}
    bounds = [] if rule is None else rule.bounds
    conditions = tuple(as_condition(bound, unit_of[bound.coordinate]) for bound in bounds)
    like = typical[0]
    what = "images" if samples.image_shape is not None else "rows"
    text = " and ".join(map(str, conditions)) or f"{what} like row {like.row} of {samples.names[like.sample]}"
    return Kind(
        text=text,
        conditions=conditions,
        precision=math.nan if rule is None else rule.precision,
        recall=math.nan if rule is None else rule.recall,
        shares=shares,
        counts=counts,
        ratio=ratio,
        interval=interval,
        pvalue=one.pvalue,
        typical=typical,
        members=members,
        names=samples.names,
    )


def _typical_row(samples: Samples, sample: int, position: int) -> TypicalRow:
    """A row with its values as the user knows them."""
    numbers = samples.numbers[sample]
    row = position if numbers is None else int(numbers[position])
    if samples.image_shape is not None or len(samples.variables) > _VALUES:
        return TypicalRow(sample, row)
    shown: Display | None = None
    if len(samples.encoded) == len(samples.points):
        shown = samples.encoded[sample].shown
    elif len(samples.sources) == len(samples.points):
        shown = samples.sources[sample]
    if shown is not None and shown.kind != "images":
        return TypicalRow(sample, row, dict(zip(shown.columns, list(shown.row(position)), strict=True)))
    values = take_matrix(samples.points[sample], np.array([position]))[0]
    return TypicalRow(sample, row, {unit.name: _value(unit, values) for unit in samples.variables})


def _value(unit: Variable, values: Array) -> float | str:
    """The value of a column in a row of numbers."""
    if unit.levels:
        return unit.levels[int(np.argmax(values[list(unit.coordinates)]))]
    return float(values[unit.coordinates[0]])
