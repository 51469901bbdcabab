"""Scores of families for every permutation, and what families compute them with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from ..stats.permutations import Permutations
from .contrasts import Contrasts
from .rows import RowTransform
from .scores import calibrate_tail, harmonic_mean, rank_pvalue, step_down

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Mean squares below this are rounding errors; with permutations of single rows the mean is 1. Sums of float32 leave
#: about 1e-11, and one row of n that differs between groups leaves 1 / n.
ROUNDING = 1e-8


@dataclass(frozen=True, eq=False)
class ColumnScore:
    """A column, or a pair of columns, with its p-values.

    Attributes
    ----------
    columns : tuple of int
        Positions of its numbers in a row.
    kind : str
        What differs most: ``"location"``, ``"scale"``, ``"shape"``, ``"share"`` (of a category) or ``"dependence"``.
    sign : int
        1 if it is larger in the second sample, -1 if it is smaller, 0 if a sign has no meaning.
    pvalue, pvalue_unadjusted : float
        Adjusted for all columns (or pairs) of the family, and not adjusted.
    """

    columns: tuple[int, ...]
    kind: str
    sign: int
    pvalue: float
    pvalue_unadjusted: float


@dataclass(frozen=True)
class StrongestStatistic:
    """The statistic with the largest observed score: that of certain columns, or one that a text describes.

    Attributes
    ----------
    description : str
        What it is, if it is not that of single columns.
    columns : tuple of int
        Positions of the columns in a row.
    """

    description: str = ""
    columns: tuple[int, ...] = ()


class Membership(Protocol):
    """Cells: sets of rows that are fixed without labels."""

    def __call__(self, values: Array) -> Array:
        """Which rows are in which cells: 1 or 0, (rows, cells)."""

    def distances(self, values: Array, cell: int) -> Array:
        """How far rows are from the middle of a cell, in a unit of this cell."""


@dataclass(frozen=True, eq=False)
class CellScores:
    """Cells whose share may differ between the samples.

    Attributes
    ----------
    members : Membership
        All cells.
    cells : ndarray of int
        The number of each cell among them.
    pvalues : ndarray
        Adjusted for all cells by step-down maxT.
    inflation : ndarray
        The variance of the share over all permutations but the observed one, relative to permutations of single rows.
    largest : ndarray
        The largest square of any cell, in units of its mean, in each permutation but the observed one.
    """

    members: Membership
    cells: Array
    pvalues: Array
    inflation: Array
    largest: Array


class FamilyScore(NamedTuple):
    """The score of a family for every permutation, its strongest statistic, and what it names."""

    scores: Array
    strongest: StrongestStatistic
    columns: tuple[ColumnScore, ...] = ()
    cells: CellScores | None = None


class DescribedColumn(NamedTuple):
    """A column or a pair, the kind of its difference, and its sign: see `ColumnScore`."""

    columns: tuple[int, ...]
    kind: str
    sign: int


@dataclass(frozen=True, eq=False)
class FamilyScorer:
    """What the scores of all families are computed with.

    Attributes
    ----------
    contrasts : Contrasts
        The permuted labels as contrasts.
    rows : int
        Number of rows that sums were computed over.
    transform : RowTransform
        Layout, scales and ranks of columns.
    """

    contrasts: Contrasts
    rows: int
    transform: RowTransform

    @property
    def permutations(self) -> Permutations:
        """The permutations that are scored."""
        return self.contrasts.permutations

    @property
    def observed(self) -> int:
        """The column of the observed labels."""
        return self.permutations.observed

    @property
    def degrees(self) -> int:
        """Degrees of freedom of the square of one feature: the number of samples less 1."""
        return self.contrasts.degrees

    def name_columns(self, scores: Array, described: Sequence[DescribedColumn]) -> tuple[ColumnScore, ...]:
        """P-values of columns or pairs from their scores (columns, permutations)."""
        adjusted, unadjusted = step_down(scores, self.observed), rank_pvalue(scores, self.observed)
        return tuple(
            ColumnScore(*column, float(p), float(q))
            for column, p, q in zip(described, adjusted, unadjusted, strict=True)
        )

    def find_signs(self, products: Array) -> Array:
        """Signs of the observed products with contrasts; 0 with more than two samples."""
        signs: Array = np.sign(self.contrasts.observed(products)).astype(int)
        return signs if self.contrasts.columns == 1 else np.zeros_like(signs)

    def normalize_squares(self, squares: Array) -> Array:
        """Divide squares by their mean over restricted permutations; those that are rounding errors become 0.

        With unrestricted permutations the mean is known and equals the degrees of freedom.
        """
        if not self.permutations.restricted:
            return squares
        mean = squares.mean(-1, keepdims=True)
        varies = mean > ROUNDING * self.degrees
        normalized: Array = np.where(varies, squares / np.where(varies, mean, 1.0) * self.degrees, 0.0)
        return normalized

    def add_total(self, single: FamilyScore, total: FamilyScore | None) -> FamilyScore:
        """Combine the score of single columns or pairs with that of all of them together."""
        if total is None:
            return single
        both = np.stack([calibrate_tail(single.scores), calibrate_tail(total.scores)])
        strongest = single.strongest if both[0, self.observed] >= both[1, self.observed] else total.strongest
        return FamilyScore(harmonic_mean(both), strongest, single.columns)
