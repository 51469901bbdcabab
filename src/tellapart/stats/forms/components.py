"""Features of wide rows: their principal components, and how much of a row lies among the small ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from .constants import COMPONENT_ROWS, MAX_COMPONENTS

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Share of an average column's variance below which a component may be rounding, also that of half precision.
_ROUNDING = 1e-5
#: Parts of a standard deviation that features are rounded to: a row then has the same rank in whatever block it comes.
_STEPS = 2.0**14


@dataclass(frozen=True, eq=False)
class ComponentFeatures:
    """Scores on the leading principal components, the energy of bands of them, and that of all the others.

    What differs where rows vary little (noise that is too large or too small, a shift across the factors) is hidden
    from distances, and from single columns, by the few directions in which rows vary most. A component has the same
    weight whatever its variance.

    Attributes
    ----------
    directions
        (d, r): eigenvectors, divided by the standard deviations of the scores.
    variances
        Of the r scores.
    rest
        The mean energy of what the components leave; 0 where that is nothing, or rounding.
    """

    directions: Tensor
    variances: Tensor
    rest: float

    @classmethod
    def fit(cls, sketch: Tensor) -> ComponentFeatures | None:
        """Those of a sketch whose columns are centred and scaled; None where all of it is rounding."""
        Z = sketch[:COMPONENT_ROWS].double()
        rows, d = Z.shape
        if rows >= d:
            variances, V = torch.linalg.eigh(Z.T @ Z / rows)
        else:
            variances, U = torch.linalg.eigh(Z @ Z.T / rows)
            V = Z.T @ (U / (variances.clamp(min=1e-300) * rows).sqrt())
        variances, V = variances.flip(0).clamp(min=0), V.flip(1)
        total = float(variances.sum())
        # The last components of few rows are what each of them has for itself.
        most = d if rows >= 4 * d else min(rows, d) // 2
        count = min(MAX_COMPONENTS, most, int((variances > _ROUNDING * total / d).sum()))
        if not count or not total > 0:
            return None
        rest = float(variances[count:].sum())
        leading = variances[:count]
        return cls(
            (V[:, :count] * leading**-0.5).float(),
            leading.float(),
            rest if rest > _ROUNDING * total * (d - count) / d else 0.0,
        )

    @property
    def bands(self) -> list[slice]:
        """Components 2 to 3, 4 to 7, and so on."""
        count = len(self.variances)
        return [slice(a - 1, min(2 * a - 1, count)) for a in (2**k for k in range(1, 32)) if a < count]

    @property
    def names(self) -> list[str]:
        """What the features are."""
        found = [f"principal component {k + 1}" for k in range(len(self.variances))]
        found += [f"the size of principal components {band.start + 1} to {band.stop}" for band in self.bands]
        return found + ["the size of what principal components leave"] * (self.rest > 0)

    def __call__(self, Z: Tensor) -> Array:
        """The features of some rows, which are centred and scaled as the sketch was."""
        scores = Z @ self.directions
        energy = scores**2 * self.variances
        columns = [scores, *(energy[:, band].sum(1, True) / self.variances[band].sum() for band in self.bands)]
        if self.rest:
            left = (Z.double() ** 2).sum(1, True) - energy.double().sum(1, True)
            columns.append((left / self.rest).float())
        found: Array = torch.cat(columns, 1).mul_(_STEPS).round_().numpy()
        return found
