"""The omnibus test against a reference: features and directions fixed on one part of it, labels permuted on another.

What is fixed depends neither on the rows that are compared nor on their labels, so the rank of the observed labels
stays exact. A test then needs no eigendecompositions and no Gram matrices of kernels, only sums of features over rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .._util import workers
from ..data import Points
from ..engine import Compute
from ..engine.rows import Size, StratifiedSums, sum_rows
from .combination import OmnibusResult, combine_families
from .contrasts import Contrasts
from .families import FAMILIES, FeatureBlock, SpectralFamily
from .plan import FeaturePlan
from .ranks import Ranks
from .rows import Layout, RowTransform
from .scoring import FamilyScorer
from .spectral import SpectralForms, spectral_forms
from .sums import needs_leverages
from .test import Pooled, by_index

Array: TypeAlias = "np.ndarray[Any, Any]"


class Directions(NamedTuple):
    """The forms of one kernel: features times ``directions`` have unit covariance, and ``filters`` weight them."""

    directions: Array
    filters: Array
    skewness: Array
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class FixedTest:
    """Features and directions that were fixed on rows which are not compared.

    Attributes
    ----------
    plan : FeaturePlan
        The features.
    kernels : tuple of Directions
        For each spectral block of ``plan``, its directions; empty if its features were constant.
    """

    plan: FeaturePlan
    kernels: tuple[Directions, ...]

    @classmethod
    def fit(cls, sketch: Array, layout: Layout, rng: np.random.Generator, compute: Compute) -> FixedTest:
        """Fit on a sketch: rows in random order."""
        plan = FeaturePlan.fit(sketch, len(sketch), layout, (), rng)
        blocks = list(plan.spectral)

        def sum_block(rows: slice, block: Array) -> list[StratifiedSums]:
            W = np.zeros((len(block), 1), np.float32)
            return [StratifiedSums.of(F, W, None, "full") for _, F in plan.features(block, blocks)]

        size = Size(
            8 * sum(block.width**2 for block in blocks),
            24 * max((block.width for block in blocks), default=1),
            2.0 * sum(block.width**2 for block in blocks),
        )
        sums: list[StratifiedSums] = (
            sum_rows(sum_block, sketch, size, replace(compute, progress=None)) if blocks else []
        )

        def find_directions(task: tuple[FeatureBlock, StratifiedSums]) -> Directions:
            block, part = task
            whitening = plan.spectral[block].similarities.whitening(block.index)
            form = spectral_forms(*part.close(), plan.rows, _ONE, whitening)
            if form is None:
                return Directions(np.empty((0, 0)), np.empty((0, 0)), np.empty(0), ())
            # Single precision halves the file. Once they are fixed, nearby directions serve as well.
            return Directions(form.directions.astype(np.float32), form.filters, form.skewness, tuple(form.names))

        with workers.pool(compute.threads) as pool:
            directions = list(pool.map(find_directions, list(zip(blocks, sums, strict=True))))
        return cls(plan, tuple(directions))

    def in_single(self, columns: Sequence[int]) -> FixedTest:
        """The test of rows of which some columns are rounded to single precision."""
        plan = replace(self.plan, transform=self.plan.transform.in_single(columns))
        return replace(self, plan=plan) if columns else self

    @property
    def directions(self) -> dict[FeatureBlock, Directions]:
        """The directions of the blocks that have any."""
        blocks = zip(self.plan.spectral, self.kernels, strict=True)
        return {block: directions for block, directions in blocks if len(directions.names)}

    def leverages(self, points: Points | Array, compute: Compute) -> Array:
        """Σ_j g_j U_ij² of each row and form: (rows, forms) in float32."""
        known = self.directions
        blocks = list(known)
        count = sum(len(directions.names) for directions in known.values())
        leverages = np.empty((len(points), count), np.float32)
        if not count:
            return leverages

        def write_block(rows: slice, block: Array) -> None:
            place = 0
            for one, F in self.plan.features(block, blocks):
                values = (F @ known[one].directions) ** 2 @ known[one].filters.T.astype(np.float32)
                leverages[rows, place : place + values.shape[1]] = values
                place += values.shape[1]

        width = max(block.width for block in blocks)
        size = Size(64, 24 * width + 8 * count, 2.0 * sum(block.width**2 for block in blocks))
        sum_rows(write_block, points, size, replace(compute, progress=None))
        return leverages

    def test(self, pooled: Pooled, leverages: Array | None, compute: Compute) -> OmnibusResult:
        """Test pooled rows.

        Parameters
        ----------
        pooled : Pooled
            The rows with their permuted labels.
        leverages : ndarray, optional
            `leverages` of all rows in the order of the samples, which correct the bias of forms if sizes are unequal.
        compute : Compute
            Memory, threads and executor.
        """
        contrasts = Contrasts(pooled.permutations)
        ordered = leverages[pooled.order] if leverages is not None and needs_leverages(contrasts) else None
        scorer = FamilyScorer(contrasts, len(pooled.points), self.plan.transform)
        known = self.directions
        products, sums = self._sum(pooled.points, contrasts, ordered, compute)
        bias = {} if ordered is None else self._find_bias(contrasts, products.pop())
        forms = _make_forms(known, products, contrasts, compute)
        scored = []
        for family in self.plan.families:
            if isinstance(family, SpectralFamily):
                own = {block: forms[block] for block in family.blocks if block in forms}
                score = family.score_forms(scorer, by_index(own), by_index({b: bias[b] for b in own if b in bias}))
            else:
                score = family.score(scorer, {block.index: sums[block].close() for block in family.blocks})
            scored.append((family, score))
        return combine_families(scored, scorer)

    def _sum(
        self, points: Points, contrasts: Contrasts, leverages: Array | None, compute: Compute
    ) -> tuple[list[Array], dict[FeatureBlock, StratifiedSums]]:
        """C = FᵀW of kernels (and last, of leverages), and G and C of all other blocks."""
        plan, kernels = self.plan, list(self.directions)
        others = [block for block in plan.blocks if block not in plan.spectral]

        def sum_block(rows: slice, block: Array) -> tuple[list[Array], list[StratifiedSums]]:
            W, strata = contrasts(rows), contrasts.strata(rows)
            features = [F for _, F in plan.features(block, kernels)]
            if leverages is not None:
                features.append(leverages[rows])
            products = [(F.T @ W).astype(np.float64) for F in features]
            return products, [StratifiedSums.of(F, W, strata, one.gram) for one, F in plan.features(block, others)]

        columns = contrasts.width
        sizes = [block.size(columns) for block in (*kernels, *others)]
        size = Size(
            sum(one.sums for one in sizes) - 8 * sum(block.width**2 for block in kernels),
            max((one.row for one in sizes), default=0) + 8 * columns,
            sum(one.operations for one in sizes),
        )
        products, sums = sum_rows(sum_block, points, size, compute)
        return products, dict(zip(others, sums, strict=True))

    def _find_bias(self, contrasts: Contrasts, products: Array) -> dict[FeatureBlock, Array]:
        """Σ_i (w_i² - mean) A_ii from Σ_i w_i A_ii.

        With two samples w takes two values, so w² - mean = scale (1 - 2 share) w.
        """
        sizes = contrasts.permutations.sizes
        rows = sizes.sum(1)
        scale = np.sqrt((rows - 1) * rows / sizes.prod(1))
        total = products * (scale * (1 - 2 * sizes[:, 1] / rows))
        bias, place = {}, 0
        for block, directions in self.directions.items():
            bias[block] = total[place : place + len(directions.names)]
            place += len(directions.names)
        return bias

    def is_consistent(self) -> bool:
        """Whether all parts fit together: those of a file may be anything."""
        return self.plan.is_consistent() and all(
            part.directions.shape == (block.width, part.filters.shape[1])
            and len(part.filters) == len(part.skewness) == len(part.names)
            for block, part in self.directions.items()
        )


def _make_forms(
    known: Mapping[FeatureBlock, Directions], products: Sequence[Array], contrasts: Contrasts, compute: Compute
) -> dict[FeatureBlock, SpectralForms]:
    """The forms of kernels from the products of their features with contrasts."""

    def make(task: tuple[Directions, Array]) -> SpectralForms:
        part, C = task
        values = part.filters @ contrasts.squares(part.directions.astype(np.float64).T @ C)
        return SpectralForms(values, part.skewness, list(part.names), part.filters, np.empty((0, 0)))

    with workers.pool(compute.threads) as pool:
        made = list(pool.map(make, list(zip(known.values(), products, strict=True))))
    return dict(zip(known, made, strict=True))


class _OneContrast:
    """Contrasts for forms of which only the directions are needed."""

    degrees = 1

    def squares(self, products: Array) -> Array:
        return products**2


_ONE = _OneContrast()

#: Classes of the objects in a `FixedTest`, for files.
PARTS: list[type] = list(
    dict.fromkeys(
        [
            FixedTest,
            Directions,
            FeaturePlan,
            RowTransform,
            Layout,
            Ranks,
            *FAMILIES,
            *(part for family in FAMILIES for part in family.parts),
        ]
    )
)
