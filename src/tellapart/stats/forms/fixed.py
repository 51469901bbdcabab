"""The forms of a reference: features, bandwidths and directions fixed on one part of it, labels exchanged on another.

What is fixed knows neither the rows that are compared nor their labels, so the rank of the observed labelling stays
exact. A test then needs no eigendecompositions and no Gram matrices of kernels: only sums of features over rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor

from ..._util import workers
from ...data import Points
from ...engine import Compute
from ...engine.rows import Size, StratifiedSums, reduce_rows
from ...kernels import Kernel
from .components import ComponentFeatures
from .contrasts import Contrasts
from .families import Answer, Judge
from .features import FeaturePlan, Layout
from .landmarks import GaussianFeatures
from .members import Member
from .patches import PatchFeatures
from .ranks import PairFeatures, Ranks
from .spectral import SpectralForms, spectral_forms
from .verdict import Pooled, Verdict, conclude, needs_leverages

Array: TypeAlias = "np.ndarray[Any, Any]"
#: C of kernels (and of leverages), and the sums of everything else.
_Totals: TypeAlias = tuple[list[Tensor], list[StratifiedSums]]


class Directions(NamedTuple):
    """The forms of one kernel: features times ``directions`` have unit covariance, and ``filters`` weight them."""

    directions: Tensor
    filters: Tensor
    skewness: Array
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class FixedForms:
    """Features and forms that were fixed on rows which are not compared.

    Attributes
    ----------
    plan
        The features.
    kernels
        For each kernel, in the order of ``plan.members``, its forms.
    """

    plan: FeaturePlan
    kernels: tuple[Directions, ...]

    @classmethod
    def fit(cls, sketch: Tensor, layout: Layout, rng: np.random.Generator, compute: Compute) -> FixedForms:
        """Those of a sketch: rows in random order."""
        with torch.no_grad():
            plan = FeaturePlan.fit(sketch, len(sketch), layout, (), rng)
            members = [member for member in plan.members if member.family in plan.similarities]
            size = Size(
                8 * sum(member.width**2 for member in members),
                24 * max((member.width for member in members), default=1),
                2.0 * sum(member.width**2 for member in members),
            )
            grams: list[StratifiedSums] = (
                reduce_rows(_GramSums(plan, members), sketch, size, replace(compute, progress=None)) if members else []
            )

            def forms(task: tuple[Member, StratifiedSums]) -> Directions | None:
                member, sums = task
                G, C = sums.close("full")
                made = spectral_forms(G, C, plan.rows, _ONE, plan.whitening(member))
                if made is None:
                    return None
                # Half the size in files; as good as any other directions nearby, once they are fixed.
                return Directions(made.directions.float(), made.filters, made.skewness, tuple(made.names))

            with workers.pool(compute.threads) as pool:
                found = list(pool.map(forms, list(zip(members, grams, strict=True))))
        # A kernel without forms has no directions.
        empty = Directions(torch.empty(0, 0), torch.empty(0, 0), np.empty(0), ())
        return cls(plan, tuple(one if one is not None else empty for one in found))

    @property
    def members(self) -> dict[Member, Directions]:
        """The kernels that have forms."""
        similar = [member for member in self.plan.members if member.family in self.plan.similarities]
        return {m: found for m, found in zip(similar, self.kernels, strict=True) if len(found.names)}

    def leverages(self, points: Points, compute: Compute) -> Array:
        """Σ_j g_j U_ij² of each row and form: (rows, forms) in float32."""
        members = self.members
        count = sum(len(found.names) for found in members.values())
        found = np.empty((len(points), count), np.float32)
        width = max((member.width for member in members), default=1)
        size = Size(64, 24 * width + 8 * count, 2.0 * sum(member.width**2 for member in members))
        if count:
            reduce_rows(_Leverages(self.plan, members, found), points, size, replace(compute, progress=None))
        return found

    def judge(self, pooled: Pooled, leverages: Array | None, compute: Compute) -> Verdict:
        """The test of pooled rows; ``leverages`` are theirs, in their order."""
        contrasts = Contrasts(pooled.labellings)
        plan = replace(self.plan, rows=len(pooled.points))
        members = self.members
        others = [member for member in plan.members if member.family not in plan.similarities]
        columns = contrasts.labellings.count * contrasts.columns
        sizes = [member.size(columns) for member in (*members, *others)]
        size = Size(
            sum(one.sums for one in sizes) - 8 * sum(member.width**2 for member in members),
            max((one.row for one in sizes), default=0) + 8 * columns,
            sum(one.operations for one in sizes),
        )
        with torch.no_grad():
            reduction = _FixedSums(plan, contrasts, list(members), others, leverages)
            products, sums = reduce_rows(reduction, pooled.points, size, compute)
            correct = {} if leverages is None else self._corrections(contrasts, products.pop().numpy())
            forms = self._forms(members, products, contrasts, compute)
            judge = Judge(plan, contrasts, {m: s.close(m.gram) for m, s in zip(others, sums, strict=True)})
            answers: dict[str, Answer | None] = {}
            for family in plan.similarities:
                some = {member: found for member, found in forms.items() if member.family == family}
                answers[family] = judge.kernels(some, correct)
            return conclude(judge, answers)

    def needs_leverages(self, pooled: Pooled) -> bool:
        """Whether samples are so unequal, and so small, that the bias of forms matters."""
        return needs_leverages(Contrasts(pooled.labellings))

    @staticmethod
    def _forms(
        members: dict[Member, Directions], products: Sequence[Tensor], contrasts: Contrasts, compute: Compute
    ) -> dict[Member, SpectralForms]:
        def form(task: tuple[Directions, Tensor]) -> SpectralForms:
            found, C = task
            values = (found.filters @ contrasts.squares(found.directions.double().T @ C)).numpy()
            return SpectralForms(values, found.skewness, list(found.names), found.filters, torch.empty(0))

        with workers.pool(compute.threads) as pool:
            made = list(pool.map(form, list(zip(members.values(), products, strict=True))))
        return dict(zip(members, made, strict=True))

    def _corrections(self, contrasts: Contrasts, products: Array) -> dict[Member, Array]:
        """Σ_i (w_i² - mean) A_ii from Σ_i w_i A_ii: what turns biased forms into unbiased ones.

        With two samples w takes two values, so w² - mean = scale (1 - 2 share) w.
        """
        sizes = contrasts.labellings.sizes
        rows = sizes.sum(1)
        scale = np.sqrt((rows - 1) * rows / sizes.prod(1))
        total = products * (scale * (1 - 2 * sizes[:, 1] / rows))
        found, place = {}, 0
        for member, directions in self.members.items():
            found[member] = total[place : place + len(directions.names)]
            place += len(directions.names)
        return found


class _OneContrast:
    """Contrasts for those who want only the directions of forms."""

    degrees = 1

    def squares(self, products: Tensor) -> Tensor:
        return products.double() ** 2


_ONE = _OneContrast()


@dataclass(frozen=True, eq=False)
class _GramSums:
    """G of kernels, a `RowReduction`."""

    plan: FeaturePlan
    members: list[Member]

    def start(self) -> None:
        """There are no rows yet."""

    def add(self, sums: list[StratifiedSums] | None, rows: slice, block: Tensor) -> list[StratifiedSums]:
        """The sums with those of a block."""
        W = torch.zeros(len(block), 1)
        new = [StratifiedSums.of(F, W, None, "full") for _, F in self.plan.features(block, self.members)]
        return new if sums is None else self.join(sums, new)

    def join(self, left: list[StratifiedSums], right: list[StratifiedSums]) -> list[StratifiedSums]:
        """Member by member."""
        return [a.join(b, "full") for a, b in zip(left, right, strict=True)]


@dataclass(frozen=True, eq=False)
class _FixedSums:
    """C = FᵀW of kernels (and last, of leverages), and G too of everything else, a `RowReduction`."""

    plan: FeaturePlan
    contrasts: Contrasts
    kernels: list[Member]
    others: list[Member]
    leverages: Array | None = None

    def start(self) -> None:
        """There are no rows yet."""

    def add(self, sums: _Totals | None, rows: slice, block: Tensor) -> _Totals:
        """The sums with those of a block."""
        W = self.contrasts(rows)
        strata = self.contrasts.labellings.strata
        cells = None if strata is None else torch.from_numpy(strata[rows])
        made = [F for _, F in self.plan.features(block, self.kernels)]
        if self.leverages is not None:
            made.append(torch.from_numpy(self.leverages[rows]))
        products = [F.T @ W for F in made]
        others = [StratifiedSums.of(F, W, cells, m.gram) for m, F in self.plan.features(block, self.others)]
        if sums is None:
            return [part.double() for part in products], others
        for total, part in zip(sums[0], products, strict=True):
            total += part
        return sums[0], [a.join(b, m.gram) for a, b, m in zip(sums[1], others, self.others, strict=True)]

    def join(self, left: _Totals, right: _Totals) -> _Totals:
        """Member by member."""
        products = [a + b for a, b in zip(left[0], right[0], strict=True)]
        return products, [a.join(b, m.gram) for a, b, m in zip(left[1], right[1], self.others, strict=True)]


@dataclass(frozen=True, eq=False)
class _Leverages:
    """Leverages of single rows, written where they belong: a `RowReduction` without sums."""

    plan: FeaturePlan
    members: dict[Member, Directions]
    out: Array

    def start(self) -> None:
        """Nothing is summed."""

    def add(self, sums: None, rows: slice, block: Tensor) -> None:
        """Write those of a block."""
        place = 0
        for member, F in self.plan.features(block, list(self.members)):
            found = self.members[member]
            values = (F @ found.directions) ** 2 @ found.filters.T.float()
            self.out[rows, place : place + values.shape[1]] = values.numpy()
            place += values.shape[1]

    def join(self, left: None, right: None) -> None:
        """Nothing is summed."""


#: What forms are made of, for files.
PARTS = [
    FixedForms,
    Directions,
    FeaturePlan,
    Layout,
    GaussianFeatures,
    PatchFeatures,
    Ranks,
    PairFeatures,
    ComponentFeatures,
]


def judge_with(forms: FixedForms, leverages: Array | None) -> Callable[..., Verdict]:
    """`judge_rows` with forms that are fixed already."""

    def judge(
        pooled: Pooled, layout: Layout, kernels: Sequence[Kernel], rng: np.random.Generator, compute: Compute
    ) -> Verdict:
        ordered = leverages[pooled.order] if leverages is not None and forms.needs_leverages(pooled) else None
        return forms.judge(pooled, ordered, compute)

    return judge
