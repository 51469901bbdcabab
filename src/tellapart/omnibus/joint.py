"""Features of all families in one matrix, for regressions: label-free, whitened, each group with mean square 1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .families import FeatureBlock
from .landmarks import inverse_root
from .plan import FeaturePlan
from .rows import Layout

if TYPE_CHECKING:
    from ..kernels import Kernel

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Maximum number of principal components that are kept of a kernel, each with more than this share of its variance.
_COMPONENTS, _SHARE = 80, 1e-3
#: Rows of the sketch that the features are scaled on.
_SCALED = 2_000


@dataclass(frozen=True, eq=False)
class JointFeatures:
    """Features of rows in one matrix.

    Attributes
    ----------
    plan : FeaturePlan
        Computes the features.
    blocks : tuple of FeatureBlock
        The blocks that are used.
    whitening : dict
        For each kernel the matrix that whitens its features and keeps their leading principal components.
    groups : dict of str to slice
        Groups of features that a regression uses together, and their columns.
    means, scale : ndarray
        Subtracted from the features, and then multiplied with them.
    """

    plan: FeaturePlan
    blocks: tuple[FeatureBlock, ...]
    whitening: dict[FeatureBlock, Array]
    groups: dict[str, slice]
    means: Array
    scale: Array

    @classmethod
    def fit(
        cls, sketch: Array, rows: int, layout: Layout, kernels: Sequence[Kernel], rng: np.random.Generator
    ) -> JointFeatures:
        """Fit on a sketch: rows of the pooled samples in random order."""
        plan = FeaturePlan.fit(sketch, rows, layout, kernels, rng)
        plan = replace(plan, families=tuple(family.reduced(rows) for family in plan.families))
        blocks = tuple(block for block in plan.blocks if not block.cosines or block.regression_cosines)
        some = sketch[:_SCALED]
        roots = {b: inverse_root(family.similarities.whitening(b.index)) for b, family in plan.spectral.items()}
        whitening = {block: _leading(F, roots[block]) for block, F in plan.features(some, list(roots))}
        bare = cls(plan, blocks, whitening, {}, np.zeros(1), np.ones(1))
        parts = bare._parts(some)
        groups, start = {}, 0
        scales = []
        for group, F in parts.items():
            groups[group] = slice(start, start + F.shape[1])
            start += F.shape[1]
            size = math.sqrt(float(np.square(F - F.mean(0)).sum(1).mean()))
            scales.append(np.full(F.shape[1], 1 / size if size > 1e-12 else 0.0, np.float32))
        joined = np.concatenate(list(parts.values()), 1)
        return replace(bare, groups=groups, means=joined.mean(0), scale=np.concatenate(scales))

    @property
    def width(self) -> int:
        """Number of features."""
        return len(self.scale)

    def __call__(self, block: Array) -> Array:
        """The features of some rows."""
        F = np.concatenate(list(self._parts(block).values()), 1)
        F -= self.means
        F *= self.scale
        return F

    def candidates(self) -> tuple[Array, ...]:
        """Sets of features that a regression chooses from: each group, groups with those that extend them, and all.

        A group that extends another one (pairs extend columns) is not a candidate by itself.
        """
        columns = {name: np.arange(block.start, block.stop) for name, block in self.groups.items()}
        extensions = {family.name: family.extends for family in self.plan.families if family.extends is not None}
        found = [part for name, part in columns.items() if name not in extensions]
        for name, other in extensions.items():
            if name in columns and other in columns:
                found.append(np.concatenate([columns[other], columns[name]]))
        if len(columns) > 1:
            found.append(np.concatenate(list(columns.values())))
        return tuple(found)

    def _parts(self, values: Array) -> dict[str, Array]:
        """The features of each group."""
        parts: dict[str, list[Array]] = {}
        for block, F in self.plan.features(values, self.blocks):
            if block in self.whitening:
                F = F @ self.whitening[block]
            elif block.cosines:
                F = block.leading(F, block.regression_cosines)
            parts.setdefault(block.group, []).append(F)
        if not parts:  # rows that are all equal have no features
            return {"nothing": np.zeros((len(values), 1), np.float32)}
        return {group: np.concatenate(some, 1) for group, some in parts.items()}


def _leading(F: Array, root: Array) -> Array:
    """The matrix that whitens features and keeps their leading principal components."""
    X = F @ root
    X -= X.mean(0)
    spectrum, V = np.linalg.eigh((X.T @ X / np.float32(len(X) - 1)).astype(np.float64))
    kept = np.flatnonzero(spectrum > _SHARE * spectrum.sum())[::-1][:_COMPONENTS]
    leading: Array = root @ V[:, kept if len(kept) else [-1]].astype(np.float32)
    return leading
