"""All features side by side, for regressions: label-free, whitened, each kind scaled to mean square 1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from ...kernels import Kernel
from .constants import COSINES
from .features import FeaturePlan, Layout
from .landmarks import GaussianFeatures, SimilarityFeatures, inverse_root
from .members import Member

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Landmarks of each kernel, kernels of a family, rows for each landmark, and components that are kept of a kernel: so
#: many at the most, each with more than this share of its variance.
_LANDMARKS, _KERNELS, _ROWS_PER_LANDMARK, _COMPONENTS, _SHARE = 200, 3, 4, 80, 1e-3
#: Rank cosines of all columns together, columns that may have one each, and pairs of columns.
_COSINES, _COLUMNS, _PAIRS = 400, 800, 200
#: Rank cosines of each principal component: location and scale.
_OF_COMPONENTS = 2
#: Rows of the sketch that the features are scaled on.
_SCALED = 2_000


@dataclass(frozen=True, eq=False)
class JointFeatures:
    """Features of rows, side by side.

    Attributes
    ----------
    plan, members
        What computes them, and which of its members they are.
    cosines
        How many rank cosines are kept, by the kind of a member.
    whitening
        What whitens each kernel and leaves its leading principal components.
    blocks
        Kinds of features, and which columns of the joint matrix they are.
    means, scale
        What is subtracted from each feature, and what it is then multiplied by.
    """

    plan: FeaturePlan
    members: tuple[Member, ...]
    cosines: dict[str, int]
    whitening: dict[Member, Tensor]
    blocks: dict[str, slice]
    means: Tensor
    scale: Tensor

    @classmethod
    def fit(
        cls, sketch: Tensor, rows: int, layout: Layout, kernels: Sequence[Kernel], rng: np.random.Generator
    ) -> JointFeatures:
        """Those of a sketch: rows of the pooled samples in random order."""
        plan = _reduce(FeaturePlan.fit(sketch, rows, layout, kernels, rng), rows)
        cosines = {"columns": _count_cosines(len(plan.numeric)), "components": _OF_COMPONENTS}
        members = tuple(member for member in plan.members if not member.cosines or cosines[member.kind])
        some = sketch[:_SCALED]
        roots = {m: inverse_root(factor) for m in members if (factor := plan.whitening(m)) is not None}
        whitening = {m: _leading(F, roots[m]) for m, F in plan.features(some, list(roots))}
        bare = cls(plan, members, cosines, whitening, {}, torch.zeros(1), torch.ones(1))
        parts = bare._parts(some)
        blocks, start = {}, 0
        scales = []
        for kind, F in parts.items():
            blocks[kind] = slice(start, start + F.shape[1])
            start += F.shape[1]
            size = math.sqrt(float((F - F.mean(0)).square().sum(1).mean()))
            scales.append(torch.full((F.shape[1],), 1 / size if size > 1e-12 else 0.0))
        joined = torch.cat(list(parts.values()), 1)
        return replace(bare, blocks=blocks, means=joined.mean(0), scale=torch.cat(scales))

    @property
    def width(self) -> int:
        """How many features there are."""
        return len(self.scale)

    def __call__(self, block: Tensor) -> Tensor:
        """The features of some rows."""
        return torch.cat(list(self._parts(block).values()), 1).sub_(self.means).mul_(self.scale)

    def _parts(self, block: Tensor) -> dict[str, Tensor]:
        """The features of each kind."""
        found: dict[str, list[Tensor]] = {}
        for member, F in self.plan.features(block, self.members):
            if member in self.whitening:
                F = F @ self.whitening[member]
            elif member.cosines:
                F = member.leading(F, self.cosines[member.kind])
            found.setdefault(member.kind, []).append(F)
        if not found:  # rows that are all the same have no features
            return {"nothing": torch.zeros(len(block), 1)}
        return {kind: torch.cat(parts, 1) for kind, parts in found.items()}


def _count_cosines(columns: int) -> int:
    """Rank cosines of each column: fewer where there are many columns, and none where there are too many."""
    return 0 if columns > _COLUMNS else max(1, min(COSINES, _COSINES // max(columns, 1)))


def _leading(F: Tensor, root: Tensor) -> Tensor:
    """What whitens features, and leaves their leading principal components."""
    spectrum, V = torch.linalg.eigh(torch.cov((F @ root).T).double())
    kept = (spectrum > _SHARE * spectrum.sum()).nonzero()[:, 0].flip(0)[:_COMPONENTS]
    found: Tensor = root @ V[:, kept if len(kept) else [-1]].float()
    return found


def _reduce(plan: FeaturePlan, rows: int) -> FeaturePlan:
    """Fewer landmarks, bandwidths and pairs: a regression sees all of them together."""
    count = max(8, min(_LANDMARKS, rows // _ROWS_PER_LANDMARK))
    similarities: dict[str, SimilarityFeatures] = {}
    for family, similar in plan.similarities.items():
        if isinstance(similar, GaussianFeatures):
            some = np.unique(np.linspace(0, len(similar.bandwidths) - 1, _KERNELS + 1).round().astype(int)[1:])
            similar = GaussianFeatures(
                similar.landmarks[:count],
                tuple(similar.bandwidths[j] for j in some),
                tuple(similar.means[j][:count] for j in some),
            )
        similarities[family] = similar
    pairs = plan.pairs
    if pairs is not None and len(pairs.first) > _PAIRS:
        best = np.sort(torch.topk(pairs.means.abs(), _PAIRS).indices.numpy())
        pairs = replace(pairs, first=pairs.first[best], second=pairs.second[best], means=pairs.means[best])
    return replace(plan, similarities=similarities, pairs=pairs)
