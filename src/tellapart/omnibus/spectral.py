"""Quadratic forms of one feature map: MMD² itself, and ridge regressions of the labels on the features."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dsygst

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Degrees of freedom of the ridge filters, in addition to the kernel itself (MMD²); at most this share of the rows.
DEGREES, LARGEST_SHARE = (4, 16, 64, 256), 0.4
#: Eigenvalues below this share of the largest are rounding.
_ROUNDING = 1e-6
#: Forms are rounding if their mean is below this share of that under permutations of single rows. This happens if
#: groups with the same rows are permuted: sums of float32, divided by small eigenvalues, leave up to 1e-6.
_NOTHING = 1e-5


class Squares(Protocol):
    """What forms require of contrasts."""

    @property
    def degrees(self) -> int:
        """The mean of `squares` for a centred unit vector."""

    def squares(self, products: Array) -> Array:
        """Sums of squares of products with contrasts, one column for each permutation."""


class SpectralForms(NamedTuple):
    """Quadratic forms q_g = Σ_j g(Λ_j) P_j² of one feature map.

    Attributes
    ----------
    values : ndarray
        (forms, permutations); 0 for a form that does not vary by more than rounding.
    skewness : ndarray
        That of Σ_j g(Λ_j) χ², which does not depend on labels.
    names : list of str
        A name for each filter g.
    filters : ndarray
        g(Λ): (forms, components).
    directions : ndarray
        Features times these have unit covariance; empty if not requested.
    """

    values: Array
    skewness: Array
    names: list[str]
    filters: Array
    directions: Array


def ridge_filters(eigenvalues: Array, rows: int) -> tuple[Array, list[str]]:
    """g(Λ) = Λ (MMD²), and Λ/(Λ + λ) with Σ g = 4, 16, 64, 256 degrees of freedom.

    >>> filters, names = ridge_filters(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), 100)
    >>> names, filters.sum(1).round(3)
    (['mmd', '4 degrees of freedom'], array([3.5, 4. ]))
    """
    most = min(0.9 * len(eigenvalues), LARGEST_SHARE * rows)
    degrees = np.array([count for count in DEGREES if count <= most])[:, None]
    low = np.full(degrees.shape, math.log(eigenvalues.min()) - 14)
    high = np.full(degrees.shape, math.log(eigenvalues.sum()) + 3)
    for _ in range(50):
        middle = (low + high) / 2
        more = (eigenvalues / (eigenvalues + np.exp(middle))).sum(1, keepdims=True) > degrees
        low, high = np.where(more, middle, low), np.where(more, high, middle)
    filters = np.concatenate([eigenvalues[None] / eigenvalues.max(), eigenvalues / (eigenvalues + np.exp(low))])
    return filters, ["mmd", *(f"{count} degrees of freedom" for count in degrees.flat)]


def spectral_forms(
    G: Array, C: Array, rows: int, contrasts: Squares, whitening: Array | None = None, *, directions: bool = True
) -> SpectralForms | None:
    """The forms of features with Gram matrix G and products C = FᵀW; None if the features are constant.

    Parameters
    ----------
    G, C : ndarray
        Of centred features (within strata), in float64.
    rows : int
        Number of rows that they are sums over.
    contrasts : Squares
        The contrasts W.
    whitening : ndarray, optional
        A lower triangular R: the forms are those of the features F R^-ᵀ.
    directions : bool
        Whether to return directions.
    """
    if whitening is not None:
        # R⁻¹ G R^-ᵀ. LAPACK stores matrices by columns: their transposes are not copied.
        G, _ = dsygst(G.T, whitening.T, itype=1, lower=0)
    eigenvalues, V = np.linalg.eigh(G, UPLO="U")
    if not eigenvalues[-1] > 1e-9 * rows:
        return None
    kept = eigenvalues > _ROUNDING * eigenvalues[-1]
    eigenvalues, V = eigenvalues[kept], V[:, kept] * eigenvalues[kept] ** -0.5
    if whitening is not None:
        V = dtrsm(1.0, whitening.T, V)
    return _filter(eigenvalues, V.T @ C, rows, contrasts, V if directions else np.empty((0, 0)))


def kernel_forms(K: Array, W: Array, contrasts: Squares, jitter: float) -> SpectralForms | None:
    """The forms of a kernel from its matrix K on all rows, centred (within strata); None if it is constant.

    As `spectral_forms` of similarities to landmarks, if all rows are landmarks: these are the features of the kernel
    K (K + ε)⁻¹ K, with ε the ``jitter`` of its Cholesky factor. The directions are eigenvectors of K: (rows,
    components).
    """
    eigenvalues, U = np.linalg.eigh(K)
    eigenvalues = np.maximum(eigenvalues, 0) ** 2 / (np.maximum(eigenvalues, 0) + jitter)
    if not eigenvalues[-1] > 1e-9 * len(K):
        return None
    kept = eigenvalues > _ROUNDING * eigenvalues[-1]
    U = U[:, kept].astype(np.float32)
    return _filter(eigenvalues[kept], U.T @ W, len(K), contrasts, U)


def _filter(eigenvalues: Array, P: Array, rows: int, contrasts: Squares, directions: Array) -> SpectralForms:
    """The forms Σ_j g(Λ_j) P_j² of products P of orthonormal components with contrasts."""
    filters, names = ridge_filters(eigenvalues, rows)
    skewness = math.sqrt(8 / contrasts.degrees) * (filters**3).sum(1) / (filters**2).sum(1) ** 1.5
    values = filters @ contrasts.squares(P)
    values[values.mean(1) <= _NOTHING * contrasts.degrees * filters.sum(1)] = 0.0
    return SpectralForms(values, skewness, names, filters, directions)
