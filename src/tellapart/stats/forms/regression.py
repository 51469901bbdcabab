"""The witness function by ridge regression of the labels on label-free features, out of fold.

Everything that a regression needs are sums over the rows of each fold, G = FᵀF and c = Fᵀy: those of all other folds
give the regression for a fold, and those of all but two tell how well a kind of features and a ridge predict, without
the fold that is to be judged. So the choice too is made from other rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor

from ...data import Points, reindex
from ...engine import Compute
from ...engine.rows import Size, reduce_rows
from .joint import JointFeatures

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Ridges, for features of mean square 1 and for each row.
RIDGES = (1.0, 1e-1, 1e-2, 1e-3)


class Choice(NamedTuple):
    """Kinds of features, as columns of the joint matrix; a ridge; and the mean squared error that they leave."""

    columns: Array
    ridge: float
    residual: float


class Fit(NamedTuple):
    """A regression.

    Attributes
    ----------
    coefficients
        Of all joint features.
    chance
        The variance of its values that is due to chance: to which rows it happened to be learned from.
    """

    coefficients: Tensor
    chance: float


@dataclass(frozen=True, eq=False)
class FoldSums:
    """Of each fold: G = FᵀF, c = Fᵀy, Σy² and the number of rows."""

    G: Tensor
    c: Tensor
    squares: Tensor
    rows: Tensor
    kinds: tuple[Array, ...]
    _fitted: dict[frozenset[int], list[Tensor]] = field(default_factory=dict, repr=False)

    @cached_property
    def _index(self) -> list[Tensor]:
        return [torch.from_numpy(columns) for columns in self.kinds]

    def fit(self, folds: Iterable[int]) -> Fit:
        """The regression learned from some folds; which features and which ridge is found by leaving each out."""
        used = list(folds)
        columns, ridge, residual = self._choose(used)
        G, c, rows = self.G[used].sum(0), self.c[used].sum(0), float(self.rows[used].sum())
        index = torch.from_numpy(columns)
        A = G[index][:, index]
        factor = torch.linalg.cholesky(A + ridge * rows * torch.eye(len(index), dtype=A.dtype))
        coefficients = torch.zeros(self.G.shape[1], dtype=torch.float64)
        coefficients[index] = torch.cholesky_solve(c[index][:, None], factor)[:, 0]
        # Labels of variance σ² around the regression give coefficients β of covariance σ² (A+λ)⁻¹ A (A+λ)⁻¹.
        spread = torch.cholesky_solve(A, factor)
        return Fit(coefficients, residual * float((spread * spread.T).sum()) / rows)

    def _choose(self, folds: Sequence[int]) -> Choice:
        """The features and the ridge with the least squared error in folds that were left out."""
        rows, squares = float(self.rows[folds].sum()), float(self.squares[folds].sum())
        if len(folds) < 2:
            return Choice(self.kinds[-1], RIDGES[1], squares / rows)
        errors = sum(self._errors(frozenset(folds) - {j}, j) for j in folds)
        kind, k = divmod(int(np.argmin(errors)), len(RIDGES))
        return Choice(self.kinds[kind], RIDGES[k], (squares + float(np.min(errors))) / rows)

    def _errors(self, learned: frozenset[int], fold: int) -> Array:
        """Squared errors in a fold, less Σy², of all kinds of features and ridges, learned from some others."""
        if learned not in self._fitted:
            self._fitted[learned] = [self._regressions(index, sorted(learned)) for index in self._index]
        found = np.empty((len(self.kinds), len(RIDGES)))
        for kind, (index, B) in enumerate(zip(self._index, self._fitted[learned], strict=True)):
            G, c = self.G[fold][index][:, index], self.c[fold][index]
            found[kind] = ((B * (G @ B)).sum(0) - 2 * (c @ B)).numpy()
        return found

    def _regressions(self, index: Tensor, folds: list[int]) -> Tensor:
        """The coefficients for all ridges, one a column."""
        A, b = self.G[folds].sum(0)[index][:, index], self.c[folds].sum(0)[index]
        rows, diagonal = float(self.rows[folds].sum()), A.diagonal().clone()
        found = []
        for ridge in RIDGES:
            A.diagonal().copy_(diagonal + ridge * rows)
            found.append(torch.cholesky_solve(b[:, None], torch.linalg.cholesky(A))[:, 0])
        return torch.stack(found, 1)


def sum_folds(
    features: JointFeatures, points: Points, targets: Array, folds: Array, count: int, compute: Compute
) -> FoldSums:
    """The sums of each of ``count`` folds; rows of fold -1 are not used."""
    found = []
    size = Size(8 * features.width * (features.width + 2), 12 * features.width, 2.0 * features.width**2)
    for fold in range(count):
        order = np.flatnonzero(folds == fold)
        reduction = RegressionSums(features, targets[order])
        found.append(reduce_rows(reduction, reindex([points], order), size, compute))
    G, c, squares, rows = (torch.stack(parts) for parts in zip(*found, strict=True))
    return FoldSums(G, c, squares, rows, _kinds(features))


def _kinds(features: JointFeatures) -> tuple[Array, ...]:
    """Kinds of features that are tried: each kernel, columns, columns with pairs, and all."""
    every = {name: np.arange(block.start, block.stop) for name, block in features.blocks.items()}
    found = [columns for name, columns in every.items() if name != "pairs"]
    if "columns" in every and "pairs" in every:
        found.append(np.concatenate([every["columns"], every["pairs"]]))
    if len(every) > 1:
        found.append(np.concatenate(list(every.values())))
    return tuple(found)


class Sums(NamedTuple):
    """G, c, Σy² and the number of rows."""

    G: Tensor
    c: Tensor
    squares: Tensor
    rows: Tensor


@dataclass(frozen=True, eq=False)
class RegressionSums:
    """The sums of a regression over some rows, a `RowReduction`."""

    features: JointFeatures
    targets: Array

    def start(self) -> Sums | None:
        """None: there are no rows yet."""

    def add(self, sums: Sums | None, rows: slice, block: Tensor) -> Sums:
        """The sums with those of a block."""
        F, y = self.features(block), torch.from_numpy(self.targets[rows])
        c = F.T.double() @ y
        new = Sums((F.T @ F).double(), c, (y @ y), torch.tensor(float(len(y)), dtype=torch.float64))
        return new if sums is None else self.join(sums, new)

    def join(self, left: Sums, right: Sums) -> Sums:
        """One by one."""
        return Sums(*(a + b for a, b in zip(left, right, strict=True)))


def predict(features: JointFeatures, points: Points, coefficients: Tensor, compute: Compute) -> Array:
    """The values of several regressions (columns of ``coefficients``) at all rows: (rows, regressions)."""
    found = np.empty((len(points), coefficients.shape[1]))
    used = coefficients.float()
    size = Size(8, 12 * features.width, 2.0 * features.width * (coefficients.shape[1] + 200))
    # Blocks write to different rows: a reduction that sums nothing, on the threads of this process.
    reduce_rows(_Writer(features, used, found), points, size, compute.here())
    return found


@dataclass(frozen=True, eq=False)
class _Writer:
    features: JointFeatures
    coefficients: Tensor
    found: Array

    def start(self) -> None:
        """Nothing is summed."""

    def add(self, sums: None, rows: slice, block: Tensor) -> None:
        """Write the values at some rows."""
        self.found[rows] = (self.features(block) @ self.coefficients).double().numpy()

    def join(self, left: None, right: None) -> None:
        """Nothing is summed."""
