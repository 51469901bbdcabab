"""The omnibus test: label-free features, sums over rows, scores of families, and the rank of the observed labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .._util import workers
from ..data import Points, reindex
from ..engine import Compute
from ..stats.permutations import Permutations
from .bins import Bins
from .combination import OmnibusResult, combine_families
from .contrasts import Contrasts
from .families import FeatureBlock, SpectralFamily
from .families.base import BlockSums
from .few import forms_of_few
from .plan import FeaturePlan
from .rows import Layout
from .scoring import FamilyScorer
from .sketch import draw_sketch
from .spectral import SpectralForms
from .sums import PendingSums, needs_leverages, sum_features, sum_leverages

if TYPE_CHECKING:
    from ..kernels import Kernel

Array: TypeAlias = "np.ndarray[Any, Any]"


@dataclass(frozen=True, eq=False)
class Pooled:
    """The pooled rows in the order in which they are read, and permuted labels.

    Attributes
    ----------
    points : Points
        The rows.
    permutations : Permutations
        Permuted labels of the rows, or of bins of rows, in the order in which they are read.
    order : ndarray of int
        The position of each row among the rows of all samples.
    bins : Bins, optional
        The bins, if bins are permuted.
    """

    points: Points
    permutations: Permutations
    order: Array
    bins: Bins | None = None


def pool_rows(
    samples: Sequence[Points], permutations: Permutations, rng: np.random.Generator, bins: Bins | None = None
) -> Pooled:
    """Pool rows in random order, those of a bin and of a stratum together, so that positions do not reveal labels."""
    order = rng.permutation(len(permutations.packed))
    if bins is not None:
        order = np.concatenate([order[order < bins.whole], order[order >= bins.whole]])
    if permutations.strata is not None:
        place = rng.permutation(int(permutations.strata.max()) + 1)
        left = order >= (len(order) if bins is None else bins.whole)
        order = order[np.lexsort([place[permutations.strata[order]], left])]
    rows = order if bins is None else bins.take(order)
    return Pooled(reindex(samples, rows), permutations.take(order), rows, bins)


def omnibus_test(
    pooled: Pooled, layout: Layout, kernels: Sequence[Kernel], rng: np.random.Generator, compute: Compute
) -> OmnibusResult:
    """Test whether all samples come from the same distribution.

    Parameters
    ----------
    pooled : Pooled
        The rows with their permuted labels.
    layout : Layout
        The meaning of the numbers in a row.
    kernels : sequence of Kernel
        Kernels that the user passed.
    rng : numpy.random.Generator
        Draws the sketch.
    compute : Compute
        Memory, threads and executor.
    """
    contrasts = Contrasts(pooled.permutations)
    plan = FeaturePlan.fit(draw_sketch(pooled.points, rng, compute), len(pooled.points), layout, kernels, rng)
    scorer = FamilyScorer(contrasts, plan.rows, plan.transform)
    spectral, corrected = plan.spectral, pooled.bins is None and needs_leverages(contrasts)
    sums: dict[FeatureBlock, BlockSums] = {}
    forms: dict[FeatureBlock, SpectralForms] = {}
    few = forms_of_few(plan, contrasts, pooled.points, compute, corrected) if pooled.bins is None else {}

    def find_forms(task: tuple[FeatureBlock, PendingSums]) -> tuple[FeatureBlock, BlockSums | SpectralForms | None]:
        block, pending = task
        if block not in spectral:
            return block, pending()
        return block, spectral[block].form(block, pending(), plan.rows, contrasts, directions=corrected)

    tasks = sum_features(plan, contrasts, pooled.points, compute, pooled.bins, few)
    with workers.pool(compute.threads if compute.automatic else 1) as pool:  # each thread needs memory of its own
        for block, found in pool.map(find_forms, tasks):
            if isinstance(found, SpectralForms):
                forms[block] = found
            elif found is not None:
                sums[block] = found
    forms |= {block: of.forms for block, of in few.items() if of.forms is not None}
    scored = []
    for family in plan.families:
        if isinstance(family, SpectralFamily):
            own = {block: forms[block] for block in family.blocks if block in forms}
            summed = {block: form for block, form in own.items() if block not in few}
            leverages = sum_leverages(plan, contrasts, summed, pooled.points, compute) if corrected else {}
            of_few = ((block, few[block].leverages) for block in own if block in few)
            leverages |= {block: part for block, part in of_few if part is not None}
            score = family.score_forms(scorer, by_index(own), by_index(leverages))
        else:
            score = family.score(scorer, {block.index: sums[block] for block in family.blocks})
        scored.append((family, score))
    return combine_families(scored, scorer)


def by_index(values: dict[FeatureBlock, Any]) -> dict[int, Any]:
    """The same by the numbers of blocks in their family."""
    return {block.index: value for block, value in values.items()}
