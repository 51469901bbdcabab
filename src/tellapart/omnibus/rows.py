"""Rows as all families see them: their layout, their scale and their ranks, fixed without labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from ..data.samples import Variable
from .constants import MAX_COLUMNS, RANK_STEP, SKETCH
from .ranks import Ranks

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Scaled values are clipped to this number of standard deviations, so that sums of their squares fit into float32.
_FARTHEST = 1e15


@dataclass(frozen=True)
class Layout:
    """The meaning of the numbers in a row.

    Attributes
    ----------
    width : int
        How many numbers a row has.
    categories : tuple of tuple of int
        For each categorical column, the positions of its indicators.
    image_shape : tuple of int, optional
        (h, w), (h, w, 3) or (3, h, w) if the numbers are pixels.
    """

    width: int
    categories: tuple[tuple[int, ...], ...] = ()
    image_shape: tuple[int, ...] | None = None

    @classmethod
    def of(cls, variables: Sequence[Variable], image_shape: tuple[int, ...] | None) -> Layout:
        """The layout of rows whose numbers are these variables."""
        categories = tuple(one.coordinates for one in variables if one.kind in ("text", "missing"))
        return cls(sum(len(one.coordinates) for one in variables), categories, image_shape)


@dataclass(frozen=True, eq=False)
class RowTransform:
    """Scales and ranks of columns, fitted on a sketch of the pooled rows.

    Attributes
    ----------
    layout : Layout
        The meaning of the numbers in a row.
    centre, divisor : ndarray
        Distances are computed from (values - centre) / divisor.
    numeric : ndarray of int
        Positions of the numeric columns that are compared one by one.
    ranks : Ranks or None
        Their ranks; None if there are no such columns.
    left_out : int
        Number of numeric columns that are not compared one by one because there are too many.
    """

    layout: Layout
    centre: Array
    divisor: Array
    numeric: Array
    ranks: Ranks | None = None
    left_out: int = 0

    @classmethod
    def fit(cls, sketch: Array, rows: int, layout: Layout) -> RowTransform:
        """Fit on a sketch of ``rows`` pooled rows."""
        centre, scale = sketch.mean(0, dtype=np.float64), sketch.std(0, dtype=np.float64)
        constant = find_constant(sketch)
        varies = ~constant & (scale > 1e-9 * np.abs(centre))
        # A column that is constant except for rounding is scaled to stay near 0, however large its values are.
        scale = np.where(varies, scale, np.maximum(np.abs(centre), 1.0))
        in_category = np.isin(np.arange(layout.width), [c for columns in layout.categories for c in columns])
        numeric = np.flatnonzero(~in_category & ~constant)
        left_out = max(0, len(numeric) - MAX_COLUMNS)
        if left_out:
            numeric = np.sort(numeric[np.argsort(-scale[numeric], kind="stable")[:MAX_COLUMNS]])
        ranks = Ranks.fit(sketch[:, numeric], 1 if rows <= SKETCH else RANK_STEP) if len(numeric) else None
        return cls(layout, centre, _divisor(scale, varies, layout), numeric, ranks, left_out)

    def in_single(self, columns: Sequence[int]) -> RowTransform:
        """The ranks of rows of which some columns are rounded to single precision."""
        if self.ranks is None:
            return self
        return replace(self, ranks=self.ranks.in_single(np.flatnonzero(np.isin(self.numeric, columns))))

    def is_consistent(self) -> bool:
        """Whether the shapes of all parts agree; a file may hold anything."""
        width = self.layout.width
        return (
            self.centre.shape == self.divisor.shape == (width,)
            and bool(np.isfinite(self.centre).all() and np.isfinite(self.divisor).all() and (self.divisor > 0).all())
            and are_positions(self.numeric, width)
            and (self.ranks is None) == (len(self.numeric) == 0)
            and (self.ranks is None or self.ranks.is_consistent(len(self.numeric)))
        )


class RowBlock:
    """A block of rows with the transforms that several families use, each computed once."""

    def __init__(self, values: Array, transform: RowTransform) -> None:
        self.values, self.transform = values, transform

    @cached_property
    def scaled(self) -> Array:
        """Centred and scaled values in float32."""
        of = self.transform
        scaled: Array = (self.values - of.centre) / of.divisor
        return np.clip(scaled, -_FARTHEST, _FARTHEST, out=scaled).astype(np.float32)

    @cached_property
    def ranks(self) -> Array:
        """Mid-ranks of the numeric columns."""
        of = self.transform
        if of.ranks is None:
            return np.empty((len(self.values), 0))
        return of.ranks(self.values[:, of.numeric])


def find_constant(values: Array) -> Array:
    """Which columns have one value only."""
    constant: Array = (values == values[:1]).all(0)
    return constant


def are_positions(values: Array, count: int) -> bool:
    """Whether an array is a vector of integers from 0 to ``count - 1``."""
    return values.ndim == 1 and values.dtype.kind in "iu" and bool(((values >= 0) & (values < count)).all())


def _divisor(scale: Array, varies: Array, layout: Layout) -> Array:
    """Standard deviations of columns; one for all indicators of a category, and one for all pixels."""
    if layout.image_shape is not None:
        return np.full(layout.width, math.sqrt(float((scale[varies] ** 2).sum()) / layout.width) or 1.0)
    divisor: Array = scale.copy()
    for columns in map(list, layout.categories):
        divisor[columns] = math.sqrt(float((scale[columns] ** 2 * varies[columns]).sum())) or 1.0
    return divisor
