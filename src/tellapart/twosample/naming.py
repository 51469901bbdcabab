"""Adjusted p-values of columns that are valid whatever the dependence between columns is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from ..data import Points
from ..data.samples import Samples, Variable
from ..engine.rows import as_matrix
from ..omnibus import ColumnScore, Pooled
from ..omnibus.single import single_pvalues
from ..stats.design import Design
from ..stats.pvalues import holm

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Columns with a larger step-down maxT p-value are not tested by themselves: they are not significant at usual levels.
ADJUSTED = 0.25
#: The number of permutations of a column is such that Holm's smallest p-value is below that of the whole test, but at
#: most this number, or this number for each column.
_ENOUGH, _PER_COLUMN = 5_000, 200
#: Maximum number of values of columns in memory.
_TOGETHER = 2**25
_BLOCK = 2**16


def adjust_columns(
    parts: Sequence[ColumnScore], samples: Samples, pooled: Pooled, design: Design, permutations: int, seed: int
) -> tuple[ColumnScore, ...]:
    """Replace adjusted p-values by the larger of step-down maxT's and Holm's over exact single-column p-values.

    A single-column p-value is valid if the observed values of that column have the same distribution in all samples
    (see `single_pvalues`), so Holm's adjustment is valid for every set of such columns, whatever their dependence. MaxT
    keeps the result consistent with the test of all columns; it also detects differences in missing values.
    """
    unit_of = {place: unit for unit in samples.variables for place in unit.coordinates}
    units = [unit_of[part.columns[0]] for part in parts]
    if len(parts) == 1 and units[0].gap is None:
        return tuple(parts)
    tested = [
        k
        for k, (part, unit) in enumerate(zip(parts, units, strict=True))
        if (part.pvalue if unit.gap is None else part.pvalue_unadjusted) <= ADJUSTED
    ]
    labels = np.repeat(np.arange(len(samples.points)), [len(part) for part in samples.points])[pooled.order]
    ordered = design.effective.take(pooled.order)
    draws = 1 + min(len(parts) * (permutations + 1) * 101 // 100, max(_ENOUGH, _PER_COLUMN * len(parts)))
    rng = np.random.default_rng([seed, len(parts)])
    single = np.ones(len(parts))
    for some, columns, present in _read(tested, parts, units, pooled.points):
        single[some] = single_pvalues(columns, present, labels, draws, rng, ordered)
    adjusted = holm(single.tolist())
    found = list(parts)
    for k in tested:
        # The unadjusted p-value of a column with missing values is that of the observed values.
        alone = parts[k].pvalue_unadjusted if units[k].gap is None else float(single[k])
        found[k] = replace(parts[k], pvalue=max(parts[k].pvalue, adjusted[k]), pvalue_unadjusted=alone)
    return tuple(found)


def _read(
    tested: Sequence[int], parts: Sequence[ColumnScore], units: Sequence[Variable], points: Points
) -> Iterator[tuple[list[int], list[Array], Array | None]]:
    """Columns that can be tested together, their values, and the rows where they are observed (None for all)."""
    kinds = (
        [[k] for k in tested if units[k].gap is not None],
        _chunks([k for k in tested if units[k].gap is None and parts[k].kind != "share"], 1, len(points)),
        _chunks([k for k in tested if units[k].gap is None and parts[k].kind == "share"], 8, len(points)),
    )
    for some in (chunk for kind in kinds for chunk in kind):
        gap = units[some[0]].gap
        places = [place for k in some for place in parts[k].columns]
        values = _take(points, places if gap is None else [*places, gap])
        columns, at = [], 0
        for k in some:
            width = len(parts[k].columns)
            columns.append(values[:, at : at + width] if parts[k].kind == "share" else values[:, at])
            at += width
        yield some, columns, None if gap is None else values[:, -1] < 0.5


def _chunks(columns: list[int], width: int, rows: int) -> list[list[int]]:
    size = max(1, _TOGETHER // (width * rows))
    return [columns[start : start + size] for start in range(0, len(columns), size)]


def _take(points: Points, places: list[int]) -> Array:
    """Some columns of all rows."""
    step = max(1, min(_BLOCK, _TOGETHER // max(1, int(np.prod(points.shape[1:])))))
    parts = (as_matrix(points[start : start + step])[:, places] for start in range(0, len(points), step))
    return np.concatenate([part.astype(np.float64) for part in parts])
