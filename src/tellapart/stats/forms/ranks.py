"""Features of single columns and of pairs of them, by their ranks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from .constants import COSINES, MAX_PAIRS

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Products of scores that are averaged at the most.
_PRODUCTS = 2**25


@dataclass(frozen=True, eq=False)
class Ranks:
    """Mid-ranks from 0 to 1 among the rows of a sketch: exact where the sketch is all rows.

    Attributes
    ----------
    values
        For each column its different values in order.
    below
        For each column how many rows are below each of these values, as shares; and 1.
    rows
        How many rows the sketch has.
    """

    values: tuple[Array, ...]
    below: tuple[Array, ...]
    rows: int

    @classmethod
    def fit(cls, sketch: Array, step: int = 1) -> Ranks:
        """Those of the columns of a sketch, or of every so many of their values in order.

        >>> Ranks.fit(np.array([[1.0], [1.0], [5.0]]))(np.array([[0.0], [1.0], [2.0], [5.0]])).round(3).ravel()
        array([0.   , 0.333, 0.667, 0.833])
        """
        found = [np.unique(np.sort(column)[step // 2 :: step], return_counts=True) for column in sketch.T]
        rows = len(range(step // 2, len(sketch), step))
        below = tuple(np.concatenate([[0], np.cumsum(counts)]) / rows for _, counts in found)
        return cls(tuple(values for values, _ in found), below, rows)

    def __call__(self, Z: Array) -> Array:
        """The mid-ranks of some rows."""
        U = np.empty(Z.shape)
        for c, (values, below) in enumerate(zip(self.values, self.below, strict=True)):
            column = np.ascontiguousarray(Z[:, c])
            place = np.searchsorted(values, column)
            known = values[np.minimum(place, len(values) - 1)] == column
            U[:, c] = (below[place] + below[place + known]) / 2
        return U


def rank_cosines(U: Array) -> Tensor:
    """√2 cos(πku), k = 1 … 6, by Chebyshev's recursion: (rows, d, 6)."""
    first = torch.cos(torch.from_numpy(U).float().mul_(math.pi))
    found = torch.empty(*U.shape, COSINES)
    before, now = torch.ones_like(first), first
    for k in range(COSINES):
        found[..., k] = now
        before, now = now, (2 * first).mul_(now).sub_(before)
    return found.mul_(math.sqrt(2))


def normal_scores(U: Array, rows: int) -> Tensor:
    """Normal quantiles of ranks."""
    found: Tensor = torch.special.ndtri(torch.from_numpy(U).clamp(0.5 / rows, 1 - 0.5 / rows))
    return found.float()


@dataclass(frozen=True, eq=False)
class PairFeatures:
    """Products of the normal scores of two columns, less their mean over the sketch."""

    first: Array
    second: Array
    means: Tensor

    @classmethod
    def fit(cls, scores: Tensor) -> PairFeatures:
        """All pairs of columns of a sketch's normal scores, or those that depend most on each other."""
        d = scores.shape[1]
        if d * (d - 1) // 2 <= MAX_PAIRS:
            i, j = np.triu_indices(d, 1)
        else:
            unit = scores - scores.mean(0)
            unit /= unit.norm(dim=0).clamp(min=1e-30)
            dependence = (unit.T @ unit).abs_().triu_(1).flatten()
            i, j = np.divmod(np.sort(torch.topk(dependence, MAX_PAIRS).indices.numpy()), d)
        some = scores[: max(1, _PRODUCTS // len(i))]
        return cls(i, j, (some[:, i] * some[:, j]).mean(0))

    def __call__(self, scores: Tensor) -> Tensor:
        """The features of some rows, from their normal scores."""
        return scores[:, self.first].mul_(scores[:, self.second]).sub_(self.means)


def in_order(G: Array, C: Array, rows: int) -> tuple[Array, Array]:
    """Orthonormal components in order (location first), by Cholesky; those that ties leave nothing of are dropped.

    Scale is then what location does not explain, and so on.

    Parameters
    ----------
    G, C
        Gram matrices (d, K, K) and products with contrasts (d, K, columns).
    rows
        How many rows they are sums over.
    """
    d, K = G.shape[:2]
    factor, used, P = np.zeros((d, K, K)), np.zeros((d, K), bool), np.zeros_like(C)
    for i in range(K):
        left = G[:, i, i] - (factor[:, i, :i] ** 2).sum(1)
        used[:, i] = left > np.maximum(1e-5 * rows, 1e-4 * G[:, i, i])
        factor[:, i, i] = np.sqrt(np.where(used[:, i], left, 1.0))
        rest = C[:, i] - np.einsum("dj,djb->db", factor[:, i, :i], P[:, :i])
        P[:, i] = np.where(used[:, i, None], rest / factor[:, i, i, None], 0.0)
        below = G[:, i + 1 :, i] - np.einsum("dlj,dj->dl", factor[:, i + 1 :, :i], factor[:, i, :i])
        factor[:, i + 1 :, i] = np.where(used[:, i, None], below / factor[:, i, i, None], 0.0)
    return P, used
