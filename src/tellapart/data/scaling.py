"""How single columns become coordinates: numbers by shift and factor, text by one coordinate for each level."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from .._util.text import shorten
from .arrays import Array
from .columns import TableColumn

#: Characters of a text that are part of the name of its coordinate.
LONGEST_NAME = 100
#: Texts of a column that get a coordinate of their own; the rarer ones share one.
MOST_LEVELS = 20


@dataclass(frozen=True, eq=False)
class Numbers:
    """(value - shift) · factor for each coordinate, ``fill`` for what is missing, and which ones get an indicator."""

    shift: Array
    factor: Array
    fill: Array
    gaps: Array

    @classmethod
    def fit(cls, blocks: Callable[[], Iterator[Array]], gaps: Array, standardise: bool) -> Numbers:
        """Mean 0 and standard deviation 1 over the rows given, or no change."""
        mean, deviation = moments(blocks)
        if not standardise:
            return cls(np.zeros_like(mean), np.ones_like(mean), mean, gaps)
        # Denormal numbers count as 0, as they do where these are computed with.
        factor = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > np.finfo(float).tiny)
        return cls(mean, factor, np.zeros_like(mean), gaps)

    @property
    def width(self) -> int:
        """How many coordinates it makes."""
        return len(self.shift) + len(self.gaps)

    def write(self, block: Array, out: Array) -> None:
        """Encode some rows."""
        # Half of each, so that the difference of two huge numbers is finite.
        values = (block.astype(np.float64) * 0.5 - self.shift * 0.5) * (self.factor * 2)
        missing = np.isnan(block) if block.dtype.kind == "f" else np.zeros_like(block, bool)
        width = len(self.shift)
        out[:, :width] = np.where(missing, self.fill, values) if missing.any() else values
        out[:, width:] = missing[:, self.gaps]


@dataclass(frozen=True, eq=False)
class Levels:
    """One coordinate for each text in ``levels``, then one for all others, then one for what is missing."""

    levels: tuple[str, ...]
    other: bool
    missing: bool
    factor: float

    @classmethod
    def fit(cls, columns: tuple[TableColumn, TableColumn], rows: tuple[Array, Array], standardise: bool) -> Levels:
        """The most common texts of the rows given; together they have variance 1, as a column of numbers has.

        Whether there are others, or values that are missing, is asked of all rows, for these need a coordinate too.
        """
        counts: Counter[str] = Counter()
        everything: set[str] = set()
        absent = 0
        for column, index in zip(columns, rows, strict=True):
            counts.update(column.used_levels(index))
            everything.update(column.used_levels())
            absent += int(column.missing[index].sum())
        common = sorted(counts, key=lambda level: (-counts[level], level))[:MOST_LEVELS]
        levels = tuple(sorted(common))
        rest = sum(counts.values()) - sum(counts[level] for level in levels)
        shares = np.array([*(counts[level] for level in levels), rest, absent], float)
        shares /= max(1.0, shares.sum())
        variance = 1 - float(shares @ shares)
        factor = 1.0 if not standardise else variance**-0.5 if variance > 1e-12 else 0.0
        return cls(levels, len(everything) > len(levels), any(c.missing.any() for c in columns), factor)

    @property
    def width(self) -> int:
        """How many coordinates it makes."""
        return len(self.levels) + self.other + self.missing

    def names(self, column: str) -> list[str]:
        """A name for each coordinate."""
        names = [f"{column}={shorten(level, LONGEST_NAME)}" for level in self.levels]
        return names + [f"{column}=other"] * self.other + [f"{column} is missing"] * self.missing

    def lookup(self, column: TableColumn) -> Array:
        """For each level of a column, and last for what is missing, the coordinate that is set (-1: none)."""
        place = {level: k for k, level in enumerate(self.levels)}
        other = len(self.levels) if self.other else -1
        last = len(self.levels) + self.other if self.missing else -1
        return np.array([place.get(level, other) for level in column.levels] + [last])

    def write(self, coordinates: Array, out: Array) -> None:
        """Encode some rows, whose coordinates `lookup` gave."""
        out[:] = 0
        known = np.flatnonzero(coordinates >= 0)
        out[known, coordinates[known]] = self.factor


def moments(blocks: Callable[[], Iterator[Array]]) -> tuple[Array, Array]:
    """Mean and standard deviation of each column, over what is not missing; 0 for a column without values.

    Two passes over the rows, and values scaled by the largest, so that neither size nor offset costs precision.

    >>> mean, deviation = moments(lambda: iter([np.array([[1.0], [np.nan]]), np.array([[3.0]])]))
    >>> mean, deviation
    (array([2.]), array([1.]))
    """
    low = high = np.array(np.nan)
    for block in blocks():
        low, high = np.fmin(low, _extreme(np.fmin, block)), np.fmax(high, _extreme(np.fmax, block))
    low, high = np.nan_to_num(low), np.nan_to_num(high)
    scale = np.maximum(np.abs(low), np.abs(high))
    scale = np.where(scale > 0, scale, 1.0)
    count, total, squares = np.zeros_like(low), np.zeros_like(low), np.zeros_like(low)
    for block in blocks():
        unit = block.astype(np.float64) / scale - low / scale
        there = ~np.isnan(unit)
        unit = np.where(there, unit, 0.0)
        count += there.sum(axis=0)
        total += unit.sum(axis=0)
        squares += (unit * unit).sum(axis=0)
    count = np.maximum(count, 1)
    mean = total / count
    deviation = np.sqrt(np.maximum(squares / count - mean * mean, 0.0)) * scale
    # Rounding would give a constant column a tiny deviation, and blow it up.
    constant = low == high
    return np.where(constant, low, (mean + low / scale) * scale), np.where(constant, 0.0, deviation)


def _extreme(which: np.ufunc, block: Array) -> Array:
    found: Array = which.reduce(block.astype(np.float64), axis=0)
    return found


def split_rows(rows: Array, size: int) -> Iterable[Array]:
    """Positions, some at a time."""
    return (rows[start : start + size] for start in range(0, len(rows), size))
