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
from ...kernels import Kernel
from .components import ComponentFeatures
from .constants import (
    LANDMARKS,
    LANDMARKS_NARROW,
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
from .members import (
    CategoryFamily,
    ComponentFamily,
    CoordinateFamily,
    Family,
    KernelFamily,
    Member,
    PairFamily,
    Rows,
    View,
)
from .patches import PatchFeatures
from .ranks import PairFeatures, Ranks, normal_scores

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
        # Constant columns change no distance, and nothing that is chosen for so many columns.
        width = int((~constant).sum()) if layout.image_shape is None else layout.width
        count = min(len(sketch), LANDMARKS_NARROW if width <= NARROW else LANDMARKS)
        found: dict[str, SimilarityFeatures] = {}
        patches, pairs, ranks, components, component_ranks = None, None, None, None, None
        Z = bare.scaled(sketch)
        if not constant.all():
            found["kernel"] = GaussianFeatures.fit(Z, rows, count, MAX_BANDWIDTHS, width)
            if layout.image_shape is not None:
                patches = PatchFeatures.fit(sketch[:2_000], layout.image_shape, rng)
        if patches is not None:
            seen = patches(sketch[:4_000])
            found["patches"] = GaussianFeatures.fit(seen, rows, count, PATCH_BANDWIDTHS, seen.shape[1])
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

    def scaled(self, rows: Tensor) -> Tensor:
        """Rows in the scale in which distances are measured; what float32 cannot tell is as far as it can."""
        found = np.clip((rows.numpy() - self.centre) / self.divisor, -_FARTHEST, _FARTHEST)
        return torch.from_numpy(found.astype(np.float32))

    def ranked(self, rows: Tensor) -> Array:
        """The ranks of columns that are looked at one by one."""
        return np.empty((len(rows), 0)) if self.ranks is None else self.ranks(rows.numpy()[:, self.numeric])

    @property
    def families(self) -> list[Family]:
        """All families that there are, in the order in which `features` gives theirs."""
        views: dict[str, View | None] = {"kernel": self.scaled, "patches": self.patches, "given": None}
        found: list[Family] = [KernelFamily(name, similar, views[name]) for name, similar in self.similarities.items()]
        found.append(CategoryFamily(self.layout.categories, self.centre))
        if self.components is not None and self.component_ranks is not None:
            found.append(ComponentFamily(self.components, self.component_ranks, self.numeric, self.scaled))
        if self.ranks is not None:
            found.append(CoordinateFamily(self.ranks))
            if self.pairs is not None:
                found.append(PairFamily(self.pairs, self.ranks.rows))
        return found

    @property
    def members(self) -> list[Member]:
        """The members of all families."""
        return [member for family in self.families for member in family.members]

    def whitening(self, member: Member) -> Tensor | None:
        """What whitens the features of a kernel (see `SimilarityFeatures`); None for those of other families."""
        similar = self.similarities.get(member.family)
        return None if similar is None else similar.whitening(member.index)

    def features(self, block: Tensor, wanted: Sequence[Member]) -> Iterator[tuple[Member, Tensor]]:
        """The features wanted of some rows, one member after the other."""
        rows = Rows(block, self.ranked)
        for family in self.families:
            members = [member for member in wanted if member.family == family.name]
            if members:
                yield from zip(members, family.features(rows, [m.index for m in members]), strict=True)


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
