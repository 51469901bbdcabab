"""Labels as numbers that sum to 0, of a size that does not depend on the labelling."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from ..labellings import Labellings

Array: TypeAlias = "np.ndarray[Any, Any]"

_ROWS = 4_096


class Contrasts:
    """The columns W that features are multiplied by: Σ_c (uᵀW_c)² has mean k - 1 for a centred unit vector u.

    Labels less their share (in the stratum), scaled. Two samples have one column for each labelling, k have k. Rows are
    in the order of the labellings, and those of a stratum follow each other.
    """

    def __init__(self, labellings: Labellings) -> None:
        self.labellings = labellings
        self.columns = 1 if labellings.samples == 2 else labellings.samples
        self.degrees = labellings.samples - 1
        rows = float(labellings.sizes[0].sum())
        if labellings.strata is None:
            self._shares = (labellings.sizes / rows).T[:, None, :]
            norms = np.prod(labellings.sizes, axis=1)[:, None] / rows if self.columns == 1 else labellings.sizes
            free = rows - 1
        else:
            self._shares, norms, free = self._within_strata(labellings, labellings.strata)
        self._shares = self._shares.astype(np.float32)
        self._scale = np.sqrt(free / np.maximum(norms, 1e-300)).astype(np.float32).T

    def _within_strata(self, found: Labellings, strata: Array) -> tuple[Array, Array, float]:
        """Shares (k, strata, labellings or 1) of the samples in each stratum, one for all unless groups move."""
        sizes = np.bincount(strata).astype(float)
        columns = slice(None) if found.by_group else slice(found.observed, found.observed + 1)
        shares = np.zeros((found.samples, len(sizes), found.count if found.by_group else 1))
        for start in range(0, len(strata), _ROWS):
            rows = slice(start, start + _ROWS)
            codes = found.codes(rows)[:, columns]
            for k in range(found.samples):
                np.add.at(shares[k], strata[rows], codes == k)
        shares /= sizes[:, None]
        norms = found.sizes
        if self.columns == 1:
            norms = (shares[1] * (1 - shares[1]) * sizes[:, None]).sum(0)[:, None]
            norms = np.broadcast_to(norms, (found.count, 1))
        return shares, norms, float(len(strata) - len(sizes))

    def __call__(self, rows: slice) -> Tensor:
        """W for some rows: (rows, labellings · columns), labellings varying slowest."""
        codes, strata = self.labellings.codes(rows), self.labellings.strata
        place = np.zeros(1, int) if strata is None else strata[rows]
        kinds = (1,) if self.columns == 1 else range(self.labellings.samples)
        parts = []
        for column, k in enumerate(kinds):
            part = (codes == k).astype(np.float32)
            part -= self._shares[k][place]
            part *= self._scale[column]
            parts.append(part)
        joined = parts[0] if self.columns == 1 else np.stack(parts, axis=2).reshape(len(codes), -1)
        return torch.from_numpy(joined)

    def squares(self, products: Tensor) -> Tensor:
        """Σ_c (·)² over the columns of each labelling, in float64."""
        squared = products.double() ** 2
        return squared.unflatten(-1, (-1, self.columns)).sum(-1) if self.columns > 1 else squared

    def observed(self, products: Tensor) -> Tensor:
        """The products of the observed labelling; of several samples, those of the first."""
        return products[..., self.labellings.observed * self.columns]
