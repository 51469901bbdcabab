"""All columns jointly: Gaussian kernels at several bandwidths."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np

from ..landmarks import GaussianFeatures
from ..rows import RowBlock
from ..sketch import Sketch
from .base import Family
from .spectral import GaussianFamily

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Maximum number of bandwidths.
_BANDWIDTHS = 8


@dataclass(frozen=True, eq=False)
class KernelFamily(GaussianFamily):
    """Gaussian similarities of scaled rows to landmarks."""

    similarities: GaussianFeatures

    name: ClassVar[str] = "kernel"
    description: ClassVar[str] = "all columns jointly"
    parts: ClassVar[tuple[type, ...]] = (GaussianFeatures,)

    @classmethod
    def fit(cls, sketch: Sketch) -> KernelFamily | None:
        """Choose landmarks and bandwidths; None if no column varies."""
        if not sketch.width:
            return None
        similarities = GaussianFeatures.fit(
            sketch.block.scaled, sketch.rows, sketch.landmarks, _BANDWIDTHS, sketch.width
        )
        return cls(similarities)

    def view(self, rows: RowBlock) -> Array:
        """Scaled rows."""
        return rows.scaled

    def reduced(self, rows: int) -> Family:
        """Fewer landmarks and bandwidths."""
        return replace(self, similarities=self.reduce_similarities(rows))
