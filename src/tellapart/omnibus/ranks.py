"""Ranks of columns, and functions of ranks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.special import ndtri

from ..data.precision import to_single

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Number of rank cosines of each column.
COSINES = 6
#: A cosine is dropped if those before it leave less than this variance of it, or less than this share of its own.
_LEAST, _LEAST_SHARE = 1e-5, 1e-4
#: Cosines of a column are orthonormalized before they are summed if those before one of them leave less than this
#: variance of it: sums of float32 are good to about 1e-6 of their terms, so what is left has errors of at most 1e-4.
_INDEPENDENT = 1e-2
#: Among more values than these, those that ranks are computed of are sorted first.
_CACHED = 1_000
#: If no value occurs in more than this share of the rows, all cosines are nearly orthonormal already.
_TIED = 0.02


class TiedColumns(NamedTuple):
    """Functions of the ranks of columns with heavy ties: combinations of cosines, orthonormal over the sketch.

    Attributes
    ----------
    columns : ndarray of int
        The columns.
    means, mixing : ndarray
        (columns, 6) and (columns, 6, 6): subtracted from the cosines, and then multiplied with them.
    lowest, highest : ndarray
        (columns, 6): the range over the sketch, to which other values are clipped.
    """

    columns: Array
    means: Array
    mixing: Array
    lowest: Array
    highest: Array

    def __call__(self, cosines: Array) -> Array:
        """The functions of some rows, from the cosines of these columns: (rows, columns, 6)."""
        mixed = _mix(cosines - self.means, self.mixing)
        return np.clip(mixed, self.lowest, self.highest, out=mixed)


@dataclass(frozen=True, eq=False)
class Ranks:
    """Mid-ranks from 0 to 1 among the rows of a sketch; exact if the sketch has all rows.

    Attributes
    ----------
    values : tuple of ndarray
        For each column its distinct values in order.
    below : tuple of ndarray
        For each column the share of rows below each of these values; and 1.
    rows : int
        Number of rows of the sketch.
    """

    values: tuple[Array, ...]
    below: tuple[Array, ...]
    rows: int

    @classmethod
    def fit(cls, sketch: Array, step: int = 1) -> Ranks:
        """Sort the columns of a sketch, and keep every ``step``-th value.

        >>> Ranks.fit(np.array([[1.0], [1.0], [5.0]]))(np.array([[0.0], [1.0], [2.0], [5.0]])).round(3).ravel()
        array([0.   , 0.333, 0.667, 0.833])
        """
        distinct = [np.unique(np.sort(column)[step // 2 :: step], return_counts=True) for column in sketch.T]
        rows = len(range(step // 2, len(sketch), step))
        below = tuple(np.concatenate([[0], np.cumsum(counts)]) / rows for _, counts in distinct)
        return cls(tuple(values for values, _ in distinct), below, rows)

    def __call__(self, Z: Array) -> Array:
        """The mid-ranks of some rows."""
        U = np.empty(Z.shape)
        for c, (values, below) in enumerate(zip(self.values, self.below, strict=True)):
            column = np.ascontiguousarray(Z[:, c])
            # In order, a value finds in cache what the one before it has read.
            order = np.argsort(column) if len(values) > _CACHED else slice(None)
            column = column[order]
            place = np.searchsorted(values, column)
            known = values[np.minimum(place, len(values) - 1)] == column
            U[order, c] = (below[place] + below[place + known]) / 2
        return U

    def in_single(self, columns: Iterable[int]) -> Ranks:
        """The ranks of the same rows, with some columns rounded to single precision.

        >>> Ranks.fit(np.array([[0.1], [0.2]])).in_single([0])(np.array([[0.1], [0.2]], np.float32)).ravel()
        array([0.25, 0.75])
        """
        values, below = list(self.values), list(self.below)
        for c in columns:
            values[c], first = np.unique(to_single(values[c]), return_index=True)
            below[c] = np.append(below[c][first], 1.0)
        return replace(self, values=tuple(values), below=tuple(below))

    def is_consistent(self, columns: int) -> bool:
        """Whether there are values and shares for this number of columns."""
        return (
            len(self.values) == len(self.below) == columns
            and self.rows > 0
            and all(_are_ranks(v, b) for v, b in zip(self.values, self.below, strict=True))
        )

    def cosines(self, U: Array) -> Array:
        """The cosines of mid-ranks, orthonormal over the sketch: (rows, d, 6).

        Without ties, cosines are orthonormal already. If many rows share a value they are nearly linearly dependent, so
        that their Gram matrix in single precision does not show what one adds to those before it.
        """
        cosines = rank_cosines(U)
        if len(self.tied.columns):
            cosines[:, self.tied.columns] = self.tied(cosines[:, self.tied.columns])
        return cosines

    @cached_property
    def tied(self) -> TiedColumns:
        """The columns with ties so heavy that cosines have to be orthonormalized."""
        tied = {c: made for c, below in enumerate(self.below) if (made := _orthonormalize(below)) is not None}
        parts = [np.stack(part) for part in zip(*tied.values(), strict=True)]
        return TiedColumns(np.array(list(tied), int), *(parts or [np.empty(0, np.float32)] * 4))


def _are_ranks(values: Array, below: Array) -> bool:
    """Whether values increase, and the shares of rows below them do so from 0 to 1."""
    return (
        len(below) == len(values) + 1 > 1
        and bool(np.isfinite(values).all() and (np.diff(values) > 0).all())
        and bool(below[0] >= 0 and below[-1] <= 1 + 1e-9 and (np.diff(below) >= 0).all())
    )


def rank_cosines(U: Array) -> Array:
    """√2 cos(πku), k = 1 … 6, by Chebyshev's recursion: (rows, d, 6)."""
    first = U.astype(np.float32)
    first *= np.float32(math.pi)
    np.cos(first, out=first)
    cosines = np.empty((*U.shape, COSINES), np.float32)
    twice, before, now = 2 * first, np.ones_like(first), first
    for k in range(COSINES):
        np.multiply(now, np.float32(math.sqrt(2)), out=cosines[..., k])
        before, now = now, twice * now - before
    return cosines


def _orthonormalize(below: Array) -> tuple[Array, Array, Array, Array] | None:
    """Means, mixing, lowest and highest values (see `TiedColumns`) of a column with these shares below its values.

    None if the cosines are far from linearly dependent.
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
    # The range is that of the values as they are computed for rows: rounding, enlarged, is part of it.
    means, mixing = means.astype(np.float32), mixing.astype(np.float32)
    values = _mix(rank_cosines((below[1:] + below[:-1])[:, None] / 2) - means, mixing[None])[:, 0]
    return means, mixing, values.min(0), values.max(0)


def _mix(centred: Array, mixing: Array) -> Array:
    """Combinations of centred cosines (rows, columns, 6) by the matrix of each column."""
    mixed = np.zeros_like(centred)
    # One number at a time: a matrix product may round a row differently in blocks of another size.
    for k in range(COSINES):
        for j in range(k + 1):
            mixed[..., k] += mixing[:, k, j] * centred[..., j]
    return mixed


def normal_scores(U: Array, rows: int) -> Array:
    """Normal quantiles of ranks."""
    scores: Array = ndtri(np.clip(U, 0.5 / rows, 1 - 0.5 / rows))
    return scores.astype(np.float32)


def orthonormalize_sequentially(G: Array, C: Array, rows: int) -> tuple[Array, Array]:
    """Products with contrasts of orthonormal components, by Gram–Schmidt in order (by Cholesky factors).

    The first component is the location; the second, the scale, is what the location does not explain, and so on.
    Components that ties leave no variance are dropped.

    Parameters
    ----------
    G, C : ndarray
        Gram matrices (d, K, K) and products with contrasts (d, K, columns).
    rows : int
        Number of rows that they are sums over.

    Returns
    -------
    P : ndarray
        Products with contrasts of the components; 0 for those that are dropped.
    used : ndarray of bool
        Which components are kept: (d, K).
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
