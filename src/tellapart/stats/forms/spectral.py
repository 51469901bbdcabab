"""Quadratic forms of one feature map: MMD² itself, and ridge regressions of the labels on the features."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import torch
from torch import Tensor

from .constants import DEGREES, LARGEST_SHARE

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Eigenvalues below this share of the largest are rounding.
_ROUNDING = 1e-6
#: Forms that are on average below this share of what they are if rows are exchanged one by one are rounding. It arises
#: where whole groups with the same rows are exchanged: sums of float32, divided by small eigenvalues, leave up to 1e-6.
_NOTHING = 1e-5


class Squares(Protocol):
    """What forms ask of contrasts."""

    @property
    def degrees(self) -> int:
        """The mean of what `squares` makes of a centred unit vector."""

    def squares(self, products: Tensor) -> Tensor:
        """Sums of squares of products with contrasts, one column for each labelling."""


class SpectralForms(NamedTuple):
    """Quadratic forms q_g = Σ_j g(Λ_j) P_j² of one feature map.

    Attributes
    ----------
    values
        (forms, labellings); 0 for a form that does not vary by more than rounding.
    skewness
        That of Σ_j g(Λ_j) χ², which knows no labels.
    names
        What the filters g are.
    filters
        g(Λ): (forms, components).
    directions
        Features times these have unit covariance; empty where nobody wants them.
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
    """The forms of features with Gram matrix G and products C = FᵀW; None where the features are constant.

    Parameters
    ----------
    G, C
        Of the features centred (within strata), in float64.
    rows
        How many rows they are sums over.
    contrasts
        The contrasts W.
    whitening
        A triangular R: the forms are those of the features F R^-ᵀ.
    directions
        Whether they are wanted.
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
    found, names = ridge_filters(eigenvalues.numpy(), rows)
    skewness = math.sqrt(8 / contrasts.degrees) * (found**3).sum(1) / (found**2).sum(1) ** 1.5
    if not directions:
        V = torch.empty(0)
    elif whitening is not None:
        V = torch.linalg.solve_triangular(whitening.T, V, upper=True)
    filters = torch.from_numpy(found)
    values = (filters @ squares).numpy()
    values[values.mean(1) <= _NOTHING * contrasts.degrees * found.sum(1)] = 0.0
    return SpectralForms(values, skewness, names, filters, V)
