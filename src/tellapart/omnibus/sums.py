"""Sums of features over rows: Gram matrices, products with contrasts, and leverages."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from .._util.errors import InputMemoryError
from ..data import Points
from ..engine import Compute
from ..engine.rows import BLOCK, RUNS, Gram, Size, StratifiedSums, group_into_passes, sum_rows
from .bins import Bins
from .constants import MANY, UNEVEN
from .contrasts import Contrasts
from .families import FeatureBlock
from .families.base import BlockSums
from .plan import FeaturePlan
from .spectral import SpectralForms

Array: TypeAlias = "np.ndarray[Any, Any]"
#: The sums of a block when they are called.
PendingSums: TypeAlias = Callable[[], BlockSums]

#: Bytes that an eigendecomposition and its results take for each element of a matrix.
_EIGENDECOMPOSITION = 80
#: Memory of scores of columns, relative to that of their sums.
_SCORES = 10
#: Maximum number of bytes of sums over bins that are computed in the same pass over the rows.
MANY_SUMS = 2**28


def sum_features(
    plan: FeaturePlan,
    contrasts: Contrasts,
    points: Points,
    compute: Compute,
    bins: Bins | None = None,
    without: Collection[FeatureBlock] = (),
) -> Iterator[tuple[FeatureBlock, PendingSums]]:
    """G = FᵀF and C = FᵀW of all blocks but some: in one pass over the rows, or in as many as the memory requires.

    With bins, F is a sum over the rows of each bin. What remains to be computed of the sums of a block is done when
    they are called, in any thread.
    """
    if bins is not None:
        yield from _sum_bins(plan, contrasts, points, compute, bins)
        return
    blocks = [block for block in plan.blocks if block not in without]
    columns = contrasts.width
    sizes = [block.size(columns) for block in blocks]
    matrices = [_EIGENDECOMPOSITION * block.width**2 for block in blocks if block.gram == "full"]
    need = max([*matrices, *(_SCORES * size.sums for size in sizes)], default=0)
    if need > compute.max_memory and not compute.automatic:
        raise InputMemoryError(
            "not-enough-memory",
            f"The test takes at least {need:,} bytes, but {compute.max_memory:,} are allowed.",
            "Allow more with {max_memory}.",
            max_memory=...,
        )
    groups = group_into_passes(sizes, compute)
    for number, group in enumerate(groups):
        wanted = [blocks[k] for k in group]
        size = Size(
            sum(sizes[k].sums for k in group),
            max(size.row for size in sizes) + 8 * columns,  # of all blocks, so that every pass reads the same rows
            sum(sizes[k].operations for k in group),
        )

        def sum_block(rows: slice, block: Array, wanted: list[FeatureBlock] = wanted) -> list[StratifiedSums]:
            W, strata = contrasts(rows), contrasts.strata(rows)
            return [StratifiedSums.of(F, W, strata, one.gram) for one, F in plan.features(block, wanted)]

        sums = sum_rows(sum_block, points, size, compute.phase(number, len(groups)))
        for block in wanted:
            yield block, sums.pop(0).close


def _sum_bins(
    plan: FeaturePlan, contrasts: Contrasts, points: Points, compute: Compute, bins: Bins
) -> Iterator[tuple[FeatureBlock, PendingSums]]:
    """`sum_features` of bins: features are summed by bin once, whatever the number of permutations."""
    count, each = len(bins.labels), bins.rows  # the members of bins are not for the workers of a cluster
    whole = bins.whole * each
    W, strata = contrasts(slice(0, count)), contrasts.strata(slice(0, count))
    groups = _group_bins(plan.blocks, 4 * count, compute.max_memory // 4)
    for number, wanted in enumerate(groups):
        width = sum(block.width for block in wanted)
        size = Size(4 * count * width // RUNS, 16 * max(block.width for block in wanted), 20.0 * width)

        def sum_block(rows: slice, block: Array, wanted: list[FeatureBlock] = wanted) -> list[list[Array]]:
            return [_sum_by_bin(plan, block, wanted, max(0, whole - rows.start), each)]

        parts = sum_rows(sum_block, points, size, compute.phase(number, len(groups)), operator.add, align=each)
        for k, one in enumerate(wanted):
            F = np.concatenate([part[k] for part in parts])
            for part in parts:
                part[k] = np.empty(0)
            yield one, functools.partial(_sums_of_bins, F, W, strata, one.gram)


def _sums_of_bins(F: Array, W: Array, strata: Array | None, gram: Gram) -> BlockSums:
    """G and C, some bins after the other: products in double precision need copies of what they multiply."""
    parts = (slice(start, start + BLOCK) for start in range(0, len(F), BLOCK))
    sums = (StratifiedSums.of(F[some], W[some], None if strata is None else strata[some], gram) for some in parts)
    return functools.reduce(operator.add, sums).close()


def _group_bins(blocks: Sequence[FeatureBlock], bytes_each: int, most: int) -> list[list[FeatureBlock]]:
    """Blocks of features that are summed in the same pass over the rows."""
    groups: list[list[FeatureBlock]] = []
    taken = math.inf
    for block in blocks:
        taken += bytes_each * block.width
        if taken > min(most, MANY_SUMS):
            groups.append([])
            taken = bytes_each * block.width
        groups[-1].append(block)
    return groups


def _sum_by_bin(plan: FeaturePlan, block: Array, wanted: Sequence[FeatureBlock], whole: int, rows: int) -> list[Array]:
    """Sums of features over the bins of a block of rows, of which the first ``whole`` are in bins of ``rows`` rows."""
    whole = min(whole, len(block))
    found: list[list[Array]] = [[] for _ in wanted]
    for part in _parts(whole, rows, len(block)):
        for sums, (_, F) in zip(found, plan.features(block[part], wanted), strict=True):
            if part.start >= whole:
                sums.append(F)
            elif rows <= BLOCK:
                sums.append(F.reshape(-1, rows, *F.shape[1:]).sum(1))
            elif part.start % rows == 0:
                sums.append(F.sum(0, keepdims=True))
            else:
                sums[-1] += F.sum(0, keepdims=True)
    return [np.concatenate(sums) for sums in found]


def _parts(whole: int, rows: int, stop: int) -> Iterator[slice]:
    """Some whole bins, or parts of a larger one; then rows that are left over.

    Every part begins with a bin, or at a fixed place in one: so sums have the same bits in blocks of any size.
    """
    if rows <= BLOCK:
        starts = [*range(0, whole, BLOCK // rows * rows)]
    else:
        starts = [first + place for first in range(0, whole, rows) for place in range(0, rows, BLOCK)]
    edges = [*starts, *range(whole, stop, BLOCK), stop]
    yield from map(slice, edges, edges[1:])


def needs_leverages(contrasts: Contrasts) -> bool:
    """Whether samples are so unequal, and so small, that the bias of quadratic forms matters."""
    sizes = contrasts.permutations.sizes
    uneven = (sizes.max(1) - sizes.min(1)).max() > UNEVEN * sizes[0].sum()
    return bool(uneven and sizes.min() <= MANY and contrasts.permutations.strata is None)


def sum_leverages(
    plan: FeaturePlan,
    contrasts: Contrasts,
    forms: Mapping[FeatureBlock, SpectralForms],
    points: Points,
    compute: Compute,
) -> dict[FeatureBlock, Array]:
    """Σ_i (w_i² - mean) A_ii, the bias of the forms wᵀAw: it matters for small samples of unequal sizes."""
    if not forms:
        return {}
    blocks = list(forms)

    def sum_block(rows: slice, block: Array) -> list[Array]:
        W = contrasts(rows)
        features = plan.features(block, blocks)
        return [weigh_leverages(find_leverages(F, forms[one]), W, contrasts, plan.rows) for one, F in features]

    columns, width = contrasts.width, max(block.width for block in blocks)
    numbers = sum(form.values.size for form in forms.values())
    size = Size(8 * numbers, 24 * width + 16 * columns, 2.0 * width**2 * len(blocks))
    sums = sum_rows(sum_block, points, size, replace(compute, progress=None))
    return dict(zip(blocks, sums, strict=True))


def find_leverages(F: Array, form: SpectralForms) -> Array:
    """A_ii = Σ_j g_j U_ij² of each row and form, from the features of the rows."""
    found: Array = (F @ form.directions.astype(np.float32)) ** 2 @ form.filters.T.astype(np.float32)
    return found


def weigh_leverages(leverages: Array, W: Array, contrasts: Contrasts, rows: int) -> Array:
    """Σ_i (w_i² - mean) A_ii over some of ``rows`` rows, from A_ii (rows, forms) and their contrasts W."""
    mean = contrasts.degrees * (rows - 1) / rows
    weights = (contrasts.squares(W) - mean).astype(np.float32)
    weighed: Array = (leverages.T.astype(np.float32) @ weights).astype(np.float64)
    return weighed
