"""Kernels of few rows: if every row is a landmark, the forms are those of the kernel matrix of all rows.

Sums of features over the rows, their Cholesky factors and products in double precision are then not necessary.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .._util import workers
from ..data import Points
from ..engine import Compute
from ..engine.rows import as_matrix
from .contrasts import Contrasts
from .families import FeatureBlock
from .families.spectral import GaussianFamily
from .landmarks import JITTER
from .plan import FeaturePlan
from .rows import RowBlock
from .spectral import SpectralForms, kernel_forms
from .sums import weigh_leverages

Array: TypeAlias = "np.ndarray[Any, Any]"


class FormsOfFew(NamedTuple):
    """The forms of a kernel, None if it is constant; and their bias by leverages, None if it is not corrected."""

    forms: SpectralForms | None
    leverages: Array | None = None


def forms_of_few(
    plan: FeaturePlan, contrasts: Contrasts, points: Points, compute: Compute, corrected: bool
) -> dict[FeatureBlock, FormsOfFew]:
    """The forms of Gaussian kernels that have all rows as landmarks; ``corrected`` adds their leverages.

    There are none in strata: where features are centred in each of them, `kernel_forms` are not those of the features.
    """
    spectral = plan.spectral.items()
    blocks = [block for block, of in spectral if isinstance(of, GaussianFamily) and block.width == plan.rows]
    if not blocks or contrasts.permutations.strata is not None:
        return {}
    every = slice(0, plan.rows)
    W = contrasts(every)

    def find_forms(K: Array) -> FormsOfFew:
        forms = kernel_forms(_centre(K.astype(np.float64)), W, contrasts, JITTER * plan.rows)
        if forms is None or not corrected:
            return FormsOfFew(forms)
        return FormsOfFew(forms, weigh_leverages(forms.directions**2 @ forms.filters.T, W, contrasts, plan.rows))

    matrices = _matrices(plan, blocks, RowBlock(as_matrix(points[every]), plan.transform))
    with workers.pool(compute.threads) as pool:
        return dict(zip(blocks, pool.map(find_forms, matrices), strict=True))


def _matrices(plan: FeaturePlan, blocks: list[FeatureBlock], rows: RowBlock) -> Iterator[Array]:
    """The kernel matrices of some blocks, in their order."""
    for family in plan.families:
        wanted = [block.index for block in blocks if block.family == family.name]
        if wanted and isinstance(family, GaussianFamily):
            yield from family.similarities.matrices(family.view(rows), wanted)


def _centre(K: Array) -> Array:
    """A symmetric matrix less the means of its rows and columns."""
    means = K.mean(0)
    centred: Array = K - means - (means - means.mean())[:, None]
    return centred
