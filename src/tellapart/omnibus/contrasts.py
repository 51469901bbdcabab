"""Labels as numbers that sum to 0, with a norm that does not depend on the permutation."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from ..stats.permutations import Permutations

Array: TypeAlias = "np.ndarray[Any, Any]"

_ROWS = 4_096


class Contrasts:
    """The columns W that features are multiplied with: Σ_c (uᵀW_c)² has mean k - 1 for a centred unit vector u.

    Labels less their share (in the stratum), scaled. Two samples have one column for each permutation, k samples have
    k. Rows are in the order of the permutations, and rows of a stratum are adjacent.
    """

    def __init__(self, permutations: Permutations) -> None:
        self.permutations = permutations
        self.columns = 1 if permutations.samples == 2 else permutations.samples
        self.degrees = permutations.samples - 1
        rows = float(permutations.sizes[0].sum())
        if permutations.strata is None:
            self._shares = (permutations.sizes / rows).T[:, None, :]
            norms = np.prod(permutations.sizes, axis=1)[:, None] / rows if self.columns == 1 else permutations.sizes
            free = rows - 1
        else:
            self._shares, norms, free = self._within_strata(permutations, permutations.strata)
        self._shares = self._shares.astype(np.float32)
        self._scale = np.sqrt(free / np.maximum(norms, 1e-300)).astype(np.float32).T

    def _within_strata(self, of: Permutations, strata: Array) -> tuple[Array, Array, float]:
        """Shares (k, strata, permutations) of the samples in each stratum; one for all unless groups are permuted."""
        sizes = np.bincount(strata).astype(float)
        columns = slice(None) if of.by_group else slice(of.observed, of.observed + 1)
        shares = np.zeros((of.samples, len(sizes), of.count if of.by_group else 1))
        for start in range(0, len(strata), _ROWS):
            rows = slice(start, start + _ROWS)
            codes = of.codes(rows)[:, columns]
            for k in range(of.samples):
                np.add.at(shares[k], strata[rows], codes == k)
        shares /= sizes[:, None]
        norms = of.sizes
        if self.columns == 1:
            norms = (shares[1] * (1 - shares[1]) * sizes[:, None]).sum(0)[:, None]
            norms = np.broadcast_to(norms, (of.count, 1))
        return shares, norms, float(len(strata) - len(sizes))

    def __call__(self, rows: slice) -> Array:
        """W for some rows: (rows, permutations · columns), permutations varying slowest."""
        codes, strata = self.permutations.codes(rows), self.permutations.strata
        place = np.zeros(1, int) if strata is None else strata[rows]
        kinds = (1,) if self.columns == 1 else range(self.permutations.samples)
        parts = []
        for column, k in enumerate(kinds):
            part = (codes == k).astype(np.float32)
            part -= self._shares[k][place]
            part *= self._scale[column]
            parts.append(part)
        return parts[0] if self.columns == 1 else np.stack(parts, axis=2).reshape(len(codes), -1)

    def squares(self, products: Array) -> Array:
        """Σ_c (·)² over the columns of each permutation, in float64."""
        squared: Array = np.square(products, dtype=np.float64)
        return squared.reshape(*squared.shape[:-1], -1, self.columns).sum(-1) if self.columns > 1 else squared

    def observed(self, products: Array) -> Array:
        """The products of the observed labels; of more than two samples, those of the first."""
        found: Array = products[..., self.permutations.observed * self.columns]
        return found

    @property
    def width(self) -> int:
        """The number of columns of W."""
        return self.permutations.count * self.columns

    def strata(self, rows: slice) -> Array | None:
        """The strata of some rows; None without strata."""
        strata = self.permutations.strata
        return None if strata is None else strata[rows]
