"""Features of single columns and of pairs of them, by their ranks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor

from .constants import COSINES, MAX_PAIRS

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Products of scores that are averaged at the most.
_PRODUCTS = 2**25
#: A cosine is dropped if those before it leave less than this variance of it, or less than this share of its own.
_LEAST, _LEAST_SHARE = 1e-5, 1e-4
#: Cosines of a column are orthonormalized before they are summed if those before one of them leave less than this
#: variance of it: sums of float32 are good to about 1e-6 of their terms, so what is left has errors of at most 1e-4.
_INDEPENDENT = 1e-2
#: If no value is that of more rows than this share, all cosines are nearly orthonormal already.
_TIED = 0.02


class TiedColumns(NamedTuple):
    """Functions of the ranks of columns with heavy ties: combinations of cosines, orthonormal over the sketch.

    Attributes
    ----------
    columns
        Which columns.
    means, mixing
        (columns, 6) and (columns, 6, 6): what is subtracted from the cosines, and what they are multiplied by.
    lowest, highest
        (columns, 6): the range over the sketch, to which other ranks are clipped.
    """

    columns: Array
    means: Tensor
    mixing: Tensor
    lowest: Tensor
    highest: Tensor

    def __call__(self, cosines: Tensor) -> Tensor:
        """The functions of some rows, from the cosines of these columns: (rows, columns, 6)."""
        centred = cosines - self.means
        found = torch.zeros_like(centred)
        # One number at a time: a matrix product may round a row differently in blocks of another size.
        for k in range(COSINES):
            for j in range(k + 1):
                found[..., k] += self.mixing[:, k, j] * centred[..., j]
        return found.clamp_(self.lowest, self.highest)


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

    def cosines(self, U: Array) -> Tensor:
        """The cosines of mid-ranks, orthonormal over the sketch: (rows, d, 6).

        Without ties they are orthonormal as they are. If many rows share a value they are nearly dependent on each
        other, so that their Gram matrix in single precision does not tell what one adds to those before it.
        """
        found = rank_cosines(U)
        if len(self.tied.columns):
            found[:, self.tied.columns] = self.tied(found[:, self.tied.columns])
        return found

    @cached_property
    def tied(self) -> TiedColumns:
        """The columns with ties so heavy that cosines have to be orthonormalized."""
        found = {c: made for c, below in enumerate(self.below) if (made := _orthonormalize(below)) is not None}
        parts = [torch.from_numpy(np.stack(part)).float() for part in zip(*found.values(), strict=True)]
        return TiedColumns(np.array(list(found), int), *(parts or [torch.empty(0)] * 4))


def rank_cosines(U: Array) -> Tensor:
    """√2 cos(πku), k = 1 … 6, by Chebyshev's recursion: (rows, d, 6)."""
    first = torch.cos(torch.from_numpy(U).float().mul_(math.pi))
    found = torch.empty(*U.shape, COSINES)
    before, now = torch.ones_like(first), first
    for k in range(COSINES):
        found[..., k] = now
        before, now = now, (2 * first).mul_(now).sub_(before)
    return found.mul_(math.sqrt(2))


def _orthonormalize(below: Array) -> tuple[Array, Array, Array, Array] | None:
    """Means, mixing, lowest and highest values (see `TiedColumns`) of a column with so many rows below its values.

    None if the cosines are far from dependent on each other.
    """
    shares = np.diff(below)
    if shares.max() <= _TIED:
        return None
    cosines = math.sqrt(2) * np.cos(math.pi * np.outer((below[1:] + below[:-1]) / 2, np.arange(1, COSINES + 1)))
    means = shares @ cosines
    A = (cosines - means) * np.sqrt(shares)[:, None]
    Q, mixing, least = np.zeros_like(A), np.zeros((COSINES, COSINES)), 1.0
    for k in range(COSINES):
        rest, row = A[:, k], np.eye(COSINES)[k]
        for _ in range(2):  # Gram–Schmidt, and once more against rounding
            explained = Q.T @ rest
            rest, row = rest - Q @ explained, row - explained @ mixing
        left = float(rest @ rest)
        least = min(least, left)
        if left > max(_LEAST, _LEAST_SHARE * float(A[:, k] @ A[:, k])):
            Q[:, k], mixing[k] = rest / math.sqrt(left), row / math.sqrt(left)
    if least >= _INDEPENDENT:
        return None
    values = Q / np.sqrt(shares)[:, None]
    return means, mixing, values.min(0), values.max(0)


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
        used[:, i] = left > np.maximum(_LEAST * rows, _LEAST_SHARE * G[:, i, i])
        factor[:, i, i] = np.sqrt(np.where(used[:, i], left, 1.0))
        rest = C[:, i] - np.einsum("dj,djb->db", factor[:, i, :i], P[:, :i])
        P[:, i] = np.where(used[:, i, None], rest / factor[:, i, i, None], 0.0)
        below = G[:, i + 1 :, i] - np.einsum("dlj,dj->dl", factor[:, i + 1 :, :i], factor[:, i, :i])
        factor[:, i + 1 :, i] = np.where(used[:, i, None], below / factor[:, i, i, None], 0.0)
    return P, used
