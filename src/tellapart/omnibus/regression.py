"""The witness function by ridge regression of the labels on label-free features, out of fold.

A regression needs only sums over the rows of each fold, G = FᵀF and c = Fᵀy: those of all other folds give the
regression for a fold, and those of all but two folds the prediction error of a set of features and a ridge without the
fold that is predicted. So this choice, too, is made from other rows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from .._util import workers
from ..data import Points, reindex
from ..engine import Compute
from ..engine.rows import Size, sum_rows
from .joint import JointFeatures

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Ridges for each row, for features of mean square 1.
RIDGES = (1.0, 1e-1, 1e-2, 1e-3)


class Choice(NamedTuple):
    """A set of features, as columns of the joint matrix; a ridge; and their mean squared error."""

    columns: Array
    ridge: float
    residual: float


class Fit(NamedTuple):
    """A regression.

    Attributes
    ----------
    coefficients : ndarray
        Of all joint features.
    chance : float
        The variance of its values over training sets.
    """

    coefficients: Array
    chance: float


#: For each candidate, the coefficients for all ridges, one a column.
Regressions: TypeAlias = "list[Array]"


@dataclass(frozen=True, eq=False)
class FoldSums:
    """G = FᵀF, c = Fᵀy, Σy² and the number of rows of each fold; ``candidates`` are sets of features."""

    G: Array
    c: Array
    squares: Array
    rows: Array
    candidates: tuple[Array, ...]

    def fit(self, groups: Sequence[Collection[int]], compute: Compute) -> list[Fit]:
        """Fit to each of some groups of folds; features and ridge are chosen by cross-validation over its folds."""
        learned = list(dict.fromkeys(frozenset(folds) - {j} for folds in groups if len(folds) > 1 for j in folds))
        with workers.pool(compute.threads) as pool:
            fitted = dict(zip(learned, pool.map(self._regress, learned), strict=True))
            return list(pool.map(lambda folds: self._fit(folds, fitted), groups))

    def _fit(self, folds: Collection[int], fitted: Mapping[frozenset[int], Regressions]) -> Fit:
        used = sorted(folds)
        columns, ridge, residual = self._choose(used, fitted)
        G, c, rows = self.G[used].sum(0), self.c[used].sum(0), float(self.rows[used].sum())
        A = G[np.ix_(columns, columns)]
        factor = cho_factor(A + ridge * rows * np.eye(len(A)), overwrite_a=True)
        coefficients = np.zeros(self.G.shape[1])
        coefficients[columns] = cho_solve(factor, c[columns])
        # Labels of variance σ² around the regression give coefficients β of covariance σ² (A+λ)⁻¹ A (A+λ)⁻¹.
        spread = cho_solve(factor, A)
        return Fit(coefficients, residual * float((spread * spread.T).sum()) / rows)

    def _choose(self, folds: list[int], fitted: Mapping[frozenset[int], Regressions]) -> Choice:
        """The features and the ridge with the smallest squared error in cross-validation."""
        rows, squares = float(self.rows[folds].sum()), float(self.squares[folds].sum())
        if len(folds) < 2:
            return Choice(self.candidates[-1], RIDGES[1], squares / rows)
        errors = sum(self._errors(fitted[frozenset(folds) - {j}], j) for j in folds)
        kind, k = divmod(int(np.argmin(errors)), len(RIDGES))
        return Choice(self.candidates[kind], RIDGES[k], (squares + float(np.min(errors))) / rows)

    def _errors(self, regressions: Regressions, fold: int) -> Array:
        """Squared errors in a fold, less Σy², of all candidates and ridges, fitted to some others."""
        errors = np.empty((len(self.candidates), len(RIDGES)))
        for kind, (columns, B) in enumerate(zip(self.candidates, regressions, strict=True)):
            G, c = self.G[fold][np.ix_(columns, columns)], self.c[fold][columns]
            errors[kind] = (B * (G @ B)).sum(0) - 2 * (c @ B)
        return errors

    def _regress(self, folds: Collection[int]) -> Regressions:
        """The regressions of all candidates, fitted to some folds."""
        used = sorted(folds)
        G, c, rows = self.G[used].sum(0), self.c[used].sum(0), float(self.rows[used].sum())
        regressions = []
        for columns in self.candidates:
            A, b = G[np.ix_(columns, columns)], c[columns]
            diagonal, coefficients = A.diagonal().copy(), []
            for ridge in RIDGES:
                np.fill_diagonal(A, diagonal + ridge * rows)
                coefficients.append(cho_solve(cho_factor(A, check_finite=False), b, check_finite=False))
            regressions.append(np.stack(coefficients, 1))
        return regressions


def sum_folds(
    features: JointFeatures, points: Points, targets: Array, folds: Array, count: int, compute: Compute
) -> FoldSums:
    """The sums of each of ``count`` folds; rows of fold -1 are not used."""
    sums = []
    size = Size(8 * features.width * (features.width + 2), 12 * features.width, 2.0 * features.width**2)
    for fold in range(count):
        order = np.flatnonzero(folds == fold)

        def sum_block(rows: slice, block: Array, y: Array = targets[order]) -> tuple[Array, ...]:
            F, t = features(block), y[rows]
            return (F.T @ F).astype(np.float64), F.T.astype(np.float64) @ t, t @ t, np.float64(len(t))

        sums.append(sum_rows(sum_block, reindex([points], order), size, compute))
    G, c, squares, rows = (np.stack(parts) for parts in zip(*sums, strict=True))
    return FoldSums(G, c, squares, rows, features.candidates())


def predict(features: JointFeatures, points: Points, coefficients: Array, compute: Compute) -> Array:
    """The values of several regressions (columns of ``coefficients``) at all rows: (rows, regressions)."""
    values = np.empty((len(points), coefficients.shape[1]))
    used = coefficients.astype(np.float32)

    def write_block(rows: slice, block: Array) -> None:
        values[rows] = features(block) @ used

    size = Size(8, 12 * features.width, 2.0 * features.width * (coefficients.shape[1] + 200))
    # Threads of this process write to different rows of one array.
    sum_rows(write_block, points, size, compute.here())
    return values
