"""Principal components of wide rows, and how much of a row is in the small ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from ...engine.rows import as_matrix
from ..constants import RANK_STEP, SKETCH
from ..ranks import COSINES, Ranks
from ..rows import RowBlock, RowTransform
from ..scores import harmonic_mean
from ..scoring import FamilyScore, FamilyScorer, StrongestStatistic
from ..sketch import Sketch
from .base import BlockSums, Family, FeatureBlock
from .cosines import score_columns, score_total

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Minimum number of numeric columns. Images have none: patches see the same, and components would cost power for
#: differences of a few pixels.
_WIDE = 64
#: Maximum number of components, and number of rows that they are fitted on.
_MAX_COMPONENTS, _ROWS = 63, 1_024
#: Share of an average column's variance below which a component may be rounding, including that of half precision.
_ROUNDING = 1e-5
#: Features are rounded to this fraction of a standard deviation, so that a row has the same rank in nearly every block.
_STEPS = 2.0**14


@dataclass(frozen=True, eq=False)
class ComponentFeatures:
    """Scores on the leading principal components, the energy of bands of them, and the energy of the others.

    A difference in directions of small variance (more or less noise, a shift across the factors) is hidden from
    distances and from single columns by the few directions of large variance. Here, each component has the same weight.

    Attributes
    ----------
    directions : ndarray
        (d, r): eigenvectors divided by the standard deviations of the scores.
    variances : ndarray
        Variances of the r scores.
    rest : float
        Mean energy of the other components; 0 if that is rounding.
    """

    directions: Array
    variances: Array
    rest: float

    @classmethod
    def fit(cls, sketch: Array) -> ComponentFeatures | None:
        """Fit on a sketch with centred and scaled columns; None if all of it is rounding."""
        Z = sketch[:_ROWS].astype(np.float64)
        rows, d = Z.shape
        if rows >= d:
            variances, V = np.linalg.eigh(Z.T @ Z / rows)
        else:
            variances, U = np.linalg.eigh(Z @ Z.T / rows)
            V = Z.T @ (U / np.sqrt(np.maximum(variances, 1e-300) * rows))
        variances, V = np.maximum(variances[::-1], 0), V[:, ::-1]
        total = float(variances.sum())
        # With few rows, the last components are those of single rows.
        most = d if rows >= 4 * d else min(rows, d) // 2
        count = min(_MAX_COMPONENTS, most, int((variances > _ROUNDING * total / d).sum()))
        if not count or not total > 0:
            return None
        rest = float(variances[count:].sum())
        leading = variances[:count]
        return cls(
            (V[:, :count] * leading**-0.5).astype(np.float32, order="C"),
            leading.astype(np.float32),
            rest if rest > _ROUNDING * total * (d - count) / d else 0.0,
        )

    @property
    def bands(self) -> list[slice]:
        """Components 2 to 3, 4 to 7, and so on."""
        count = len(self.variances)
        return [slice(a - 1, min(2 * a - 1, count)) for a in (2**k for k in range(1, 32)) if a < count]

    @property
    def names(self) -> list[str]:
        """A description of each feature."""
        names = [f"principal component {k + 1}" for k in range(len(self.variances))]
        names += [f"the size of principal components {band.start + 1} to {band.stop}" for band in self.bands]
        return names + ["the size of what principal components leave"] * (self.rest > 0)

    def __call__(self, Z: Array) -> Array:
        """The features of rows that are centred and scaled as the sketch was."""
        scores = Z @ self.directions
        energy = scores**2 * self.variances
        columns = [scores, *(energy[:, band].sum(1, keepdims=True) / self.variances[band].sum() for band in self.bands)]
        if self.rest:
            left = np.square(Z, dtype=np.float64).sum(1) - energy.sum(1, dtype=np.float64)
            columns.append((left[:, None] / self.rest).astype(np.float32))
        features: Array = np.concatenate(columns, 1)
        features *= np.float32(_STEPS)
        return np.rint(features, out=features)


@dataclass(frozen=True, eq=False)
class ComponentFamily(Family):
    """Each principal component by itself, and all together, by their rank cosines."""

    components: ComponentFeatures
    ranks: Ranks

    name: ClassVar[str] = "components"
    description: ClassVar[str] = "principal components"
    bet_columns: ClassVar[int] = 2 * _MAX_COMPONENTS
    parts: ClassVar[tuple[type, ...]] = (ComponentFeatures, Ranks)

    @classmethod
    def fit(cls, sketch: Sketch) -> ComponentFamily | None:
        """Compute components and their ranks; None for images and narrow tables."""
        numeric = sketch.block.transform.numeric
        if len(numeric) < _WIDE or sketch.layout.image_shape is not None:
            return None
        Z = sketch.block.scaled[:, numeric]
        components = ComponentFeatures.fit(Z)
        if components is None:
            return None
        return cls(components, Ranks.fit(components(Z), 1 if sketch.rows <= SKETCH else RANK_STEP))

    @property
    def blocks(self) -> list[FeatureBlock]:
        """One for all components."""
        width = COSINES * len(self.components.names)
        return [FeatureBlock(self.name, 0, width, group=self.name, cosines=True, regression_cosines=2)]

    def features(self, rows: RowBlock, wanted: Sequence[int]) -> Iterator[Array]:
        """Rank cosines."""
        for _ in wanted:
            values = self.components(rows.scaled[:, rows.transform.numeric])
            yield as_matrix(self.ranks.cosines(self.ranks(values)))

    def score(self, scorer: FamilyScorer, sums: Mapping[int, BlockSums]) -> FamilyScore | None:
        """The largest component, and all components together."""
        names = self.components.names
        scores, _, totals = score_columns(scorer, sums[0], range(len(names)))
        best = StrongestStatistic(names[int(np.argmax(scores[:, scorer.observed]))])
        single = FamilyScore(harmonic_mean(scores), best)
        return scorer.add_total(single, score_total(scorer, sums[0], totals, "components"))

    def is_consistent(self, transform: RowTransform) -> bool:
        """Whether these are components of the numeric columns."""
        shape = (len(transform.numeric), len(self.components.variances))
        return self.components.directions.shape == shape and self.ranks.is_consistent(len(self.components.names))
