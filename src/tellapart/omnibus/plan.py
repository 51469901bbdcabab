"""All features of the omnibus test, fitted on pooled rows without their labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .families import FAMILIES, Family, FeatureBlock, SpectralFamily
from .rows import Layout, RowBlock, RowTransform
from .sketch import Sketch

if TYPE_CHECKING:
    from ..kernels import Kernel

Array: TypeAlias = "np.ndarray[Any, Any]"


@dataclass(frozen=True, eq=False)
class FeaturePlan:
    """The families that apply to some data, with their features fitted.

    Attributes
    ----------
    rows : int
        Number of rows of all samples.
    transform : RowTransform
        Layout, scales and ranks of columns, which families share.
    families : tuple of Family
        The families that apply, in the order of `FAMILIES`.
    """

    rows: int
    transform: RowTransform
    families: tuple[Family, ...]

    @classmethod
    def fit(
        cls, sketch: Array, rows: int, layout: Layout, kernels: Sequence[Kernel], rng: np.random.Generator
    ) -> FeaturePlan:
        """Fit all families on a sketch: rows of the pooled samples in random order."""
        of = Sketch.of(sketch, rows, layout, kernels, rng)
        fitted = [family.fit(of) for family in FAMILIES]
        return cls(rows, of.block.transform, tuple(family for family in fitted if family is not None))

    @property
    def blocks(self) -> list[FeatureBlock]:
        """The blocks of features of all families."""
        return [block for family in self.families for block in family.blocks]

    @property
    def spectral(self) -> dict[FeatureBlock, SpectralFamily]:
        """Blocks that are compared by quadratic forms, with their families."""
        families = [family for family in self.families if isinstance(family, SpectralFamily)]
        return {block: family for family in families for block in family.blocks}

    def scaled(self, rows: Array) -> Array:
        """Rows as distances are computed from them."""
        return RowBlock(rows, self.transform).scaled

    def features(self, values: Array, wanted: Sequence[FeatureBlock]) -> Iterator[tuple[FeatureBlock, Array]]:
        """Features of some rows, one block after the other, in the order of `blocks`."""
        rows = RowBlock(values, self.transform)
        for family in self.families:
            blocks = [block for block in wanted if block.family == family.name]
            if blocks:
                yield from zip(blocks, family.features(rows, [block.index for block in blocks]), strict=True)

    def is_consistent(self) -> bool:
        """Whether all parts fit together: those of a file may be anything."""
        kinds = [type(family) for family in self.families]
        return (
            self.rows > 0
            and self.transform.is_consistent()
            and kinds == [family for family in FAMILIES if family in kinds]
            and all(family.is_consistent(self.transform) for family in self.families)
        )
