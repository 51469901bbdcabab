"""The rows at the extremes of the witness function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from ..data import Sample
from ..data.arrays import Array

Level: TypeAlias = Literal["more of X", "more of Y", "no difference"]

#: Rows whose witness values are nearer to the neutral one than this, in standard deviations, say nothing.
_NEAR = 0.25


@dataclass(frozen=True)
class Exemplar:
    """A row at a level of the witness function.

    Attributes
    ----------
    sample
        ``"X"`` or ``"Y"``.
    row
        Its number in the user's data, counted from 0.
    where
        What the user calls it: ``"row 17"``, or the file of an image.
    item
        What was given for it with ``items=``, or None.
    value
        The witness function there.
    level
        Whether it lies where X has more, where Y has more, or where there is no difference.
    position
        Where it stands in ``x`` or ``y`` of the comparison.
    """

    sample: Literal["X", "Y"]
    row: int
    where: str
    item: str | None
    value: float
    level: Level
    position: int

    def to_dict(self) -> dict[str, Any]:
        """What it is to the user, as plain Python values."""
        return {name: value for name, value in vars(self).items() if name != "position"}


def exemplars(
    x: Sample, y: Sample, of_x: Array, of_y: Array, count: int = 8, items: tuple[Array, Array] | None = None
) -> list[Exemplar]:
    """Up to ``count`` rows of each sample with the largest, the smallest and the most neutral witness values.

    (Lloyd & Ghahramani 2015.) Where the witness is largest, rows of X are what Y lacks, and rows of Y, if there are
    any, what it still has of them. A row is neutral within a quarter of a standard deviation of all values, and else
    of the side that it lies on: where samples are told apart well, a level may have no rows of one of them, or of both.
    """
    pooled = np.concatenate([of_x, of_y])
    neutral = (of_x.mean() + of_y.mean()) / 2 if pooled.min() > 0 or pooled.max() < 0 else 0.0
    near = _NEAR * float(pooled.std())
    known = items or (None, None)
    return [
        *_of_sample("X", x, of_x, (neutral, near), count, known[0]),
        *_of_sample("Y", y, of_y, (neutral, near), count, known[1]),
    ]


def _of_sample(
    name: Literal["X", "Y"],
    sample: Sample,
    values: Array,
    middle: tuple[float, float],
    count: int,
    items: Array | None,
) -> list[Exemplar]:
    """Those of one sample; ``middle`` is the neutral value, and how far from it values are neutral too."""
    neutral, near = middle
    offsets = values - neutral
    order = np.argsort(values, kind="stable")
    nearest = np.argsort(np.abs(offsets), kind="stable")
    levels: dict[Level, Array] = {
        "more of X": order[::-1][offsets[order[::-1]] > near][:count],
        "no difference": nearest[np.abs(offsets[nearest]) <= near][:count],
        "more of Y": order[offsets[order] < -near][:count],
    }
    numbers = row_numbers(sample)

    def exemplar(i: int, level: Level) -> Exemplar:
        item = None if items is None else str(items[i])
        return Exemplar(name, int(numbers[i]), where(sample, i), item, float(values[i]), level, i)

    return [exemplar(i, level) for level, rows in levels.items() for i in rows.tolist()]


def where(sample: Sample, position: int) -> str:
    """What the user calls a row: ``"row 17"``, or the file of an image."""
    return f"row {position}" if sample.shown is None else sample.shown.where(position)


def row_numbers(sample: Sample) -> Array:
    """The number of each row in the user's data."""
    found = getattr(sample.shown, "numbers", None)
    return np.arange(len(sample)) if found is None else np.asarray(found)
