"""The whole test: label-free features, two sums over rows, forms, scores, and the rank of the observed labelling."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from ..._util.errors import InputMemoryError
from ...data import Points, reindex
from ...engine import Compute
from ...engine.rows import Size, StratifiedSums, fitting, reduce_rows
from ...kernels import Kernel
from ..labellings import Labellings
from .constants import FLAT, HALF_WEIGHT, IMAGE_WEIGHTS, MANY, UNEVEN, WEIGHTS
from .contrasts import Contrasts
from .families import Answer, Judge, Part
from .features import FeaturePlan, Layout, draw_sketch
from .members import Member
from .scores import align, power_mean, rank_pvalue
from .spectral import SpectralForms, spectral_forms

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Bytes that an eigendecomposition and what comes of it take for each number of a matrix.
_EIGENDECOMPOSITION = 80
#: How many times as much as their sums scores of columns take.
_JUDGEMENT = 10


@dataclass(frozen=True, eq=False)
class FamilyVerdict:
    """A family: its own exact p-value, and the form that carried it."""

    pvalue: float
    strongest_statistic: str


@dataclass(frozen=True, eq=False)
class Verdict:
    """What the forms came to.

    Attributes
    ----------
    statistic, pvalue, null_distribution
        The combined score of the observed labelling, its rank, and the scores of the others.
    families
        Each family by itself, the one that says most first.
    columns, pairs
        Columns and pairs of columns, with adjusted p-values.
    left_out
        Columns that were too many to be looked at one by one.
    """

    statistic: float
    pvalue: float
    null_distribution: Array
    families: dict[str, FamilyVerdict] = field(default_factory=dict)
    columns: tuple[Part, ...] = ()
    pairs: tuple[Part, ...] = ()
    left_out: int = 0


@dataclass(frozen=True, eq=False)
class Pooled:
    """The pooled rows in the order in which they are read, and their labellings in the same order."""

    points: Points
    labellings: Labellings
    order: Array


def pool_rows(samples: Sequence[Points], labellings: Labellings, rng: np.random.Generator) -> Pooled:
    """Rows in random order, those of a stratum together: where a row came from is not to be seen in its place."""
    order = rng.permutation(sum(map(len, samples)))
    if labellings.strata is not None:
        place = rng.permutation(int(labellings.strata.max()) + 1)
        order = order[np.argsort(place[labellings.strata[order]], kind="stable")]
    return Pooled(reindex(samples, order), labellings.take(order), order)


def judge_rows(
    pooled: Pooled, layout: Layout, kernels: Sequence[Kernel], rng: np.random.Generator, compute: Compute
) -> Verdict:
    """The test of pooled rows: whether those of different samples come from one law."""
    contrasts = Contrasts(pooled.labellings)
    with torch.no_grad():
        plan = FeaturePlan.fit(draw_sketch(pooled.points, rng, compute), len(pooled.points), layout, kernels, rng)
        sums: dict[Member, tuple[Tensor, Tensor]] = {}
        forms: dict[Member, SpectralForms] = {}
        correct = needs_leverages(contrasts)
        for member, found in sum_features(plan, contrasts, pooled.points, compute):
            if member.family not in plan.similarities:
                sums[member] = found
                continue
            # Large sums are not kept longer than they are needed.
            made = spectral_forms(*found, plan.rows, contrasts, plan.whitening(member), directions=correct)
            if made is not None:
                forms[member] = made
        judge = Judge(plan, contrasts, sums)
        answers: dict[str, Answer | None] = {}
        for family in plan.similarities:
            some = {member: found for member, found in forms.items() if member.family == family}
            leverages = sum_leverages(plan, contrasts, some, pooled.points, compute) if correct else {}
            answers[family] = judge.kernels(some, leverages)
        return conclude(judge, answers)


def conclude(judge: Judge, answers: dict[str, Answer | None]) -> Verdict:
    """What everything comes to: the answers of kernel families, and those of columns, pairs and components."""
    others = {"columns": judge.columns(), "pairs": judge.pairs(), "components": judge.components()}
    known = {family: answer for family, answer in (answers | others).items() if answer is not None}
    labellings, left_out = judge.contrasts.labellings, judge.plan.left_out
    if not known:
        return Verdict(0.0, 1.0, np.zeros(labellings.count - 1), left_out=left_out)
    weights, observed = _weights(known), labellings.observed
    aligned = {family: align(answer.score) for family, answer in known.items()}
    total = power_mean(np.stack(list(aligned.values())), FLAT, [weights[family] for family in known])
    families = {
        family: FamilyVerdict(float(rank_pvalue(known[family].score, observed)), known[family].strongest_statistic)
        for family in sorted(known, key=lambda family: -aligned[family][observed])
    }
    return Verdict(
        statistic=float(total[observed]),
        pvalue=float(rank_pvalue(total, observed)),
        null_distribution=np.delete(total, observed),
        families=families,
        columns=known["columns"].parts if "columns" in known else (),
        pairs=known["pairs"].parts if "pairs" in known else (),
        left_out=left_out,
    )


def _weights(answers: dict[str, Answer]) -> dict[str, float]:
    """What the families weigh against each other."""
    weights = dict(IMAGE_WEIGHTS if "patches" in answers else WEIGHTS)
    for family, answer in answers.items():
        if answer.parts:
            weights[family] *= len(answer.parts) / (len(answer.parts) + HALF_WEIGHT)
    if "columns" in answers and len(answers["columns"].parts) == 1:
        weights["columns"] = weights["kernel"]
    return weights


def sum_features(
    plan: FeaturePlan, contrasts: Contrasts, points: Points, compute: Compute
) -> Iterator[tuple[Member, tuple[Tensor, Tensor]]]:
    """G and C of all members: in one pass over the rows, or in as many as keep within the memory."""
    members = plan.members
    columns = contrasts.labellings.count * contrasts.columns
    sizes = [member.size(columns) for member in members]
    matrices = [_EIGENDECOMPOSITION * member.width**2 for member in members if member.gram == "full"]
    need = max([*matrices, *(_JUDGEMENT * one.sums for one in sizes)], default=0)
    if need > compute.max_memory and not compute.automatic:
        raise InputMemoryError(
            "not-enough-memory",
            f"The test takes at least {need:,} bytes, but {compute.max_memory:,} are allowed.",
            "Allow more with {max_memory}.",
            max_memory=...,
        )
    groups = fitting(sizes, compute)
    for number, group in enumerate(groups):
        reduction = FeatureSums(plan, contrasts, [members[k] for k in group])
        size = Size(
            sum(sizes[k].sums for k in group),
            max(one.row for one in sizes) + 8 * columns,  # of all, so that blocks are the same in every pass
            sum(sizes[k].operations for k in group),
        )
        parts = reduce_rows(reduction, points, size, compute.phase(number, len(groups)))
        for k in group:
            yield members[k], parts.pop(0).close(members[k].gram)


@dataclass(frozen=True, eq=False)
class FeatureSums:
    """G = FᵀF and C = FᵀW of some members, a `RowReduction`."""

    plan: FeaturePlan
    contrasts: Contrasts
    members: list[Member]

    def start(self) -> list[StratifiedSums] | None:
        """None: there are no rows yet."""

    def add(self, sums: list[StratifiedSums] | None, rows: slice, block: Tensor) -> list[StratifiedSums]:
        """The sums with those of a block."""
        W = self.contrasts(rows)
        strata = self.contrasts.labellings.strata
        cells = None if strata is None else torch.from_numpy(strata[rows])
        found: dict[Member, StratifiedSums] = {}
        for k, (member, F) in enumerate(self.plan.features(block, self.members)):
            new = StratifiedSums.of(F, W, cells, member.gram)
            found[member] = new if sums is None else sums[k].join(new, member.gram)
        return list(found.values())

    def join(self, left: list[StratifiedSums], right: list[StratifiedSums]) -> list[StratifiedSums]:
        """Member by member."""
        return [a.join(b, m.gram) for a, b, m in zip(left, right, self.members, strict=True)]


def needs_leverages(contrasts: Contrasts) -> bool:
    """Whether samples are so unequal, and so small, that the bias of forms matters."""
    sizes = contrasts.labellings.sizes
    uneven = (sizes.max(1) - sizes.min(1)).max() > UNEVEN * sizes[0].sum()
    return bool(uneven and sizes.min() <= MANY and contrasts.labellings.strata is None)


def sum_leverages(
    plan: FeaturePlan, contrasts: Contrasts, forms: dict[Member, SpectralForms], points: Points, compute: Compute
) -> dict[Member, Array]:
    """Σ_i (w_i² - mean) A_ii: what turns biased forms into unbiased ones. It matters for small unequal samples."""
    if not forms:
        return {}
    reduction = LeverageSums(plan, contrasts, forms)
    columns, width = contrasts.labellings.count * contrasts.columns, max(member.width for member in forms)
    numbers = sum(found.values.size for found in forms.values())
    size = Size(8 * numbers, 24 * width + 16 * columns, 2.0 * width**2 * len(forms))
    found = reduce_rows(reduction, points, size, replace(compute, progress=None))
    return {member: part.numpy() for member, part in zip(forms, found, strict=True)}


@dataclass(frozen=True, eq=False)
class LeverageSums:
    """Σ_i (w_i² - mean) A_ii of the forms of some members, a `RowReduction`."""

    plan: FeaturePlan
    contrasts: Contrasts
    forms: dict[Member, SpectralForms]

    def start(self) -> list[Tensor]:
        """Zeros."""
        return [torch.zeros(found.values.shape, dtype=torch.float64) for found in self.forms.values()]

    def add(self, sums: list[Tensor], rows: slice, block: Tensor) -> list[Tensor]:
        """The sums with those of a block."""
        mean = self.contrasts.degrees * (self.plan.rows - 1) / self.plan.rows
        weights = (self.contrasts.squares(self.contrasts(rows)) - mean).float()
        for total, (member, F) in zip(sums, self.plan.features(block, list(self.forms)), strict=True):
            found = self.forms[member]
            leverages = (F @ found.directions.float()) ** 2 @ found.filters.T.float()
            total += (leverages.T @ weights).double()
        return sums

    def join(self, left: list[Tensor], right: list[Tensor]) -> list[Tensor]:
        """Form by form."""
        return [a + b for a, b in zip(left, right, strict=True)]
