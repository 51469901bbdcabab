"""All features of a problem, fitted on pooled rows without their labels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from ...data import Points
from ...engine import Compute
from ...engine.rows import Gram, Size
from ...kernels import Kernel
from .components import ComponentFeatures
from .constants import (
    COSINES,
    LANDMARKS,
    LANDMARKS_NARROW,
    MAX_ADDITIVE,
    MAX_BANDWIDTHS,
    MAX_COLUMNS,
    NARROW,
    PATCH_BANDWIDTHS,
    RANK_STEP,
    SKETCH,
    SKETCH_LEAST,
    SKETCH_NUMBERS,
    WIDE,
)
from .landmarks import GaussianFeatures, GivenFeatures, SimilarityFeatures
from .patches import PatchFeatures
from .ranks import PairFeatures, Ranks, normal_scores, rank_cosines

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Bytes that fitting takes for each number of a sketch, and the rows that it needs.
_BYTES, _FEWEST = 128, 256
#: Standard deviations beyond which values are alike: the squares of these, and their sums, are numbers of float32.
_FARTHEST = 1e15


@dataclass(frozen=True)
class Layout:
    """What the numbers of a row are.

    Attributes
    ----------
    width
        How many there are.
    categories
        For each column of categories the numbers that are its indicators.
    image_shape
        (h, w), (h, w, 3) or (3, h, w), where they are pixels.
    """

    width: int
    categories: tuple[tuple[int, ...], ...] = ()
    image_shape: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Member:
    """Features that are summed by themselves: one kernel of a family, one column of categories, …"""

    family: str
    index: int
    width: int
    gram: Gram = "full"

    def size(self, contrasts: int) -> Size:
        """What its sums take, with so many columns of contrasts."""
        gram = {"full": self.width**2, "blocks": COSINES * self.width, "diagonal": self.width}[self.gram]
        return Size(8 * (gram + self.width * (contrasts + 1)), 16 * self.width, 2.0 * (gram + self.width * contrasts))


@dataclass(frozen=True, eq=False)
class FeaturePlan:
    """The features of a problem.

    Attributes
    ----------
    rows, layout
        How many rows there are, and what their numbers are.
    centre, divisor
        (Z - centre) / divisor is what distances are measured of.
    similarities
        Kernel features by family: ``"kernel"``, ``"patches"``, ``"given"``.
    patches
        What the features of the family ``"patches"`` are computed of.
    numeric, ranks, pairs
        Columns that are looked at one by one, their ranks, and pairs of them.
    components, component_ranks
        Principal components of these columns, where there are many, and their ranks.
    left_out
        How many columns are not looked at one by one because there are too many.
    """

    rows: int
    layout: Layout
    centre: Array
    divisor: Array
    numeric: Array
    similarities: dict[str, SimilarityFeatures] = field(default_factory=dict)
    patches: PatchFeatures | None = None
    ranks: Ranks | None = None
    pairs: PairFeatures | None = None
    components: ComponentFeatures | None = None
    component_ranks: Ranks | None = None
    left_out: int = 0

    @classmethod
    def fit(
        cls, sketch: Tensor, rows: int, layout: Layout, kernels: Sequence[Kernel], rng: np.random.Generator
    ) -> FeaturePlan:
        """Fit on a sketch: rows of the pooled samples in random order."""
        values = sketch.numpy()
        centre, scale = values.mean(0, dtype=np.float64), values.std(0, dtype=np.float64)
        constant = (values == values[:1]).all(0)
        varies = ~constant & (scale > 1e-9 * np.abs(centre))
        # What is constant but for rounding stays near 0, however large it is.
        scale = np.where(varies, scale, np.maximum(np.abs(centre), 1.0))
        in_category = np.isin(np.arange(layout.width), [c for columns in layout.categories for c in columns])
        numeric = np.flatnonzero(~in_category & ~constant)
        left_out = max(0, len(numeric) - MAX_COLUMNS)
        if left_out:
            numeric = np.sort(numeric[np.argsort(-scale[numeric], kind="stable")[:MAX_COLUMNS]])
        bare = cls(rows, layout, centre, _divisor(scale, varies, layout), numeric, left_out=left_out)
        count = min(len(sketch), LANDMARKS_NARROW if layout.width <= NARROW else LANDMARKS)
        found: dict[str, SimilarityFeatures] = {}
        patches, pairs, ranks, components, component_ranks = None, None, None, None, None
        Z = bare.scaled(values)
        if not constant.all():
            found["kernel"] = GaussianFeatures.fit(Z, rows, count, MAX_BANDWIDTHS)
            if layout.image_shape is not None:
                patches = PatchFeatures.fit(sketch[:2_000].float(), layout.image_shape, rng)
        if patches is not None:
            found["patches"] = GaussianFeatures.fit(patches(sketch[:4_000].float()), rows, count, PATCH_BANDWIDTHS)
        if kernels:
            found["given"] = GivenFeatures.fit(kernels, sketch, count)
        if len(numeric):
            step = 1 if rows <= SKETCH else RANK_STEP
            ranks = Ranks.fit(values[:, numeric], step)
            if len(numeric) > 1 and layout.image_shape is None:
                pairs = PairFeatures.fit(normal_scores(ranks(values[:, numeric]), ranks.rows))
            if len(numeric) >= WIDE and layout.image_shape is None:
                components = ComponentFeatures.fit(Z[:, numeric])
            if components is not None:
                component_ranks = Ranks.fit(components(Z[:, numeric]), step)
        return replace(
            bare,
            similarities=found,
            patches=patches,
            ranks=ranks,
            pairs=pairs,
            components=components,
            component_ranks=component_ranks,
        )

    def scaled(self, block: Array) -> Tensor:
        """Rows in the scale in which distances are measured; what float32 cannot tell is as far as it can."""
        found = np.clip((block - self.centre) / self.divisor, -_FARTHEST, _FARTHEST)
        return torch.from_numpy(found.astype(np.float32))

    @property
    def additive(self) -> bool:
        """Whether all rank cosines together have a Gram matrix."""
        return COSINES * len(self.numeric) <= MAX_ADDITIVE

    @property
    def members(self) -> list[Member]:
        """All features, in the order in which `features` gives them."""
        found = [
            Member(family, j, width)
            for family, similar in self.similarities.items()
            for j, width in enumerate(similar.widths)
        ]
        found += [Member("category", k, len(columns)) for k, columns in enumerate(self.layout.categories)]
        if self.components is not None:
            found.append(Member("components", 0, COSINES * len(self.components.names)))
        if self.ranks is not None:
            found.append(Member("coordinates", 0, COSINES * len(self.numeric), "full" if self.additive else "blocks"))
        if self.pairs is not None:
            found.append(Member("pairs", 0, len(self.pairs.first), "diagonal"))
        return found

    def features(self, block: Tensor, wanted: Sequence[Member]) -> Iterator[tuple[Member, Tensor]]:
        """The features wanted of some rows, one member after the other."""
        values = block.numpy()
        for family, similar in self.similarities.items():
            members = [member for member in wanted if member.family == family]
            if members:
                rows = self.scaled(values) if family == "kernel" else block
                if family == "patches" and self.patches is not None:
                    rows = self.patches(block.float())
                yield from zip(members, similar.features(rows, [m.index for m in members]), strict=True)
        for member in wanted:
            if member.family == "category":
                columns = list(self.layout.categories[member.index])
                yield member, torch.from_numpy(values[:, columns] - self.centre[columns]).float()
        for member in wanted:
            if member.family == "components" and self.components is not None and self.component_ranks is not None:
                U = self.component_ranks(self.components(self.scaled(values)[:, self.numeric]))
                yield member, rank_cosines(U).flatten(1)
        by_rank = [member for member in wanted if member.family in ("coordinates", "pairs")]
        if not by_rank or self.ranks is None:
            return
        U = self.ranks(values[:, self.numeric])
        for member in by_rank:
            if member.family == "coordinates":
                F = rank_cosines(U)
                yield member, F.flatten(1) if self.additive else F
            elif self.pairs is not None:
                yield member, self.pairs(normal_scores(U, self.ranks.rows))


def _divisor(scale: Array, varies: Array, layout: Layout) -> Array:
    """Columns get standard deviation 1, the indicators of a category together; pixels have one scale for all."""
    if layout.image_shape is not None:
        return np.full(layout.width, math.sqrt(float((scale[varies] ** 2).sum()) / layout.width) or 1.0)
    divisor: Array = scale.copy()
    for columns in map(list, layout.categories):
        divisor[columns] = math.sqrt(float((scale[columns] ** 2 * varies[columns]).sum())) or 1.0
    return divisor


def sketch_rows(rows: int, width: int, compute: Compute) -> int:
    """How many rows features are fitted on: fewer where rows are wide, or the user allows little memory."""
    most = min(rows, SKETCH, max(SKETCH_LEAST, SKETCH_NUMBERS // max(width, 1)))
    return most if compute.automatic else min(most, max(_FEWEST, compute.max_memory // (_BYTES * width)))


def draw_sketch(points: Points, rng: np.random.Generator, compute: Compute) -> Tensor:
    """Some of the rows, which are in random order already unless they are in order of strata; or all; shuffled."""
    N = len(points)
    chosen = rng.permutation(N)[: sketch_rows(N, math.prod(points.shape[1:]), compute)]
    found = points[torch.from_numpy(np.sort(chosen))].detach().cpu().flatten(1)
    return found[torch.from_numpy(rng.permutation(len(found)))]
