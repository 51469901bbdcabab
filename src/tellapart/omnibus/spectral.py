"""Quadratic forms of one feature map: MMD² itself, and ridge regressions of the labels on the features."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import torch
from torch import Tensor

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

    def squares(self, products: Tensor) -> Tensor:
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
    filters : Tensor
        g(Λ): (forms, components).
    directions : Tensor
        Features times these have unit covariance; empty if not requested.
    """

    values: Array
    skewness: Array
    names: list[str]
    filters: Tensor
    directions: Tensor


def ridge_filters(eigenvalues: Array, rows: int) -> tuple[Array, list[str]]:
    """g(Λ) = Λ (MMD²), and Λ/(Λ + λ) with Σ g = 4, 16, 64, 256 degrees of freedom.

    >>> filters, names = ridge_filters(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), 100)
    >>> names, filters.sum(1).round(3)
    (['mmd', '4 degrees of freedom'], array([3.5, 4. ]))
    """
    filters, names = [eigenvalues / eigenvalues.max()], ["mmd"]
    for degrees in DEGREES:
        if degrees > min(0.9 * len(eigenvalues), LARGEST_SHARE * rows):
            break
        low, high = math.log(eigenvalues.min()) - 14, math.log(eigenvalues.sum()) + 3
        for _ in range(50):
            middle = (low + high) / 2
            more = (eigenvalues / (eigenvalues + math.exp(middle))).sum() > degrees
            low, high = (middle, high) if more else (low, middle)
        filters.append(eigenvalues / (eigenvalues + math.exp(low)))
        names.append(f"{degrees} degrees of freedom")
    return np.stack(filters), names


def spectral_forms(
    G: Tensor, C: Tensor, rows: int, contrasts: Squares, whitening: Tensor | None = None, *, directions: bool = True
) -> SpectralForms | None:
    """The forms of features with Gram matrix G and products C = FᵀW; None if the features are constant.

    Parameters
    ----------
    G, C : Tensor
        Of centred features (within strata), in float64.
    rows : int
        Number of rows that they are sums over.
    contrasts : Squares
        The contrasts W.
    whitening : Tensor, optional
        A triangular R: the forms are those of the features F R^-ᵀ.
    directions : bool
        Whether to return directions.
    """
    if whitening is not None:
        G = torch.linalg.solve_triangular(whitening, G, upper=False)
        G = torch.linalg.solve_triangular(whitening, G.T, upper=False)
        C = torch.linalg.solve_triangular(whitening, C, upper=False)
    eigenvalues, V = torch.linalg.eigh((G + G.T) / 2)
    if not eigenvalues[-1] > 1e-9 * rows:
        return None
    kept = eigenvalues > _ROUNDING * eigenvalues[-1]
    eigenvalues, V = eigenvalues[kept], V[:, kept] * eigenvalues[kept] ** -0.5
    squares = contrasts.squares(V.T @ C)
    weights, names = ridge_filters(eigenvalues.numpy(), rows)
    skewness = math.sqrt(8 / contrasts.degrees) * (weights**3).sum(1) / (weights**2).sum(1) ** 1.5
    if not directions:
        V = torch.empty(0)
    elif whitening is not None:
        V = torch.linalg.solve_triangular(whitening.T, V, upper=True)
    filters = torch.from_numpy(weights)
    values = (filters @ squares).numpy()
    values[values.mean(1) <= _NOTHING * contrasts.degrees * weights.sum(1)] = 0.0
    return SpectralForms(values, skewness, names, filters, V)
