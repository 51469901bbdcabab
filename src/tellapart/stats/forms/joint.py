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
from .features import FeaturePlan, Layout, Member
from .landmarks import GaussianFeatures, SimilarityFeatures, inverse_root

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
    plan
        What computes them.
    blocks
        Kinds of features, and which columns of the joint matrix they are.
    """

    plan: FeaturePlan
    blocks: dict[str, slice]
    cosines: int
    whitening: tuple[Tensor | None, ...]
    means: Tensor
    scale: Tensor

    @classmethod
    def fit(
        cls, sketch: Tensor, rows: int, layout: Layout, kernels: Sequence[Kernel], rng: np.random.Generator
    ) -> JointFeatures:
        """Those of a sketch: rows of the pooled samples in random order."""
        plan = _reduce(FeaturePlan.fit(sketch, rows, layout, kernels, rng), rows)
        d = len(plan.numeric)
        cosines = 0 if d > _COLUMNS or not d else max(1, min(6, _COSINES // d))
        whitening = tuple(
            inverse_root(plan.similarities[m.family].whitening(m.index)) if m.family in plan.similarities else None
            for m in _members(plan, cosines)
        )
        bare = cls(plan, {}, cosines, whitening, torch.zeros(1), torch.ones(1))
        bare = replace(bare, whitening=bare._leading(sketch[:_SCALED]))
        parts = bare._parts(sketch[:_SCALED])
        blocks, start = {}, 0
        scales = []
        for name, F in parts.items():
            blocks[name] = slice(start, start + F.shape[1])
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

    def _leading(self, sketch: Tensor) -> tuple[Tensor | None, ...]:
        """What whitens each kernel and leaves its leading principal components."""
        members = _members(self.plan, self.cosines)
        found = list(self.whitening)
        for member, F in self.plan.features(sketch, members):
            k = members.index(member)
            root = found[k]
            if root is not None:
                F = F @ root
                spectrum, V = torch.linalg.eigh(torch.cov(F.T).double())
                kept = (spectrum > _SHARE * spectrum.sum()).nonzero()[:, 0].flip(0)[:_COMPONENTS]
                found[k] = root @ V[:, kept if len(kept) else [-1]].float()
        return tuple(found)

    def _parts(self, block: Tensor) -> dict[str, Tensor]:
        """The features of each kind."""
        members = _members(self.plan, self.cosines)
        place = {member: k for k, member in enumerate(members)}
        found: dict[str, list[Tensor]] = {}
        for member, F in self.plan.features(block, members):
            root = self.whitening[place[member]]
            name = f"{member.family} {member.index}" if root is not None else "columns"
            if root is not None:
                F = F @ root
            elif member.family == "pairs":
                name = "pairs"
            elif member.family == "components":
                name, F = "components", F.reshape(len(F), -1, COSINES)[:, :, :_OF_COMPONENTS].flatten(1)
            elif member.family == "coordinates":
                F = F.reshape(len(F), len(self.plan.numeric), -1)[:, :, : self.cosines].flatten(1)
            found.setdefault(name, []).append(F)
        return {name: torch.cat(parts, 1) for name, parts in found.items()}


def _members(plan: FeaturePlan, cosines: int) -> list[Member]:
    return [member for member in plan.members if cosines or member.family != "coordinates"]


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
