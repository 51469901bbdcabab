"""The rows at the extremes of the witness function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from ..data import Sample
from ..data.arrays import Array

Level: TypeAlias = Literal["more of X", "more of Y", "no difference"]


@dataclass(frozen=True)
class Exemplar:
    """A row at a level of the witness function.

    ``sample`` is ``"X"`` or ``"Y"``, ``index`` its position among the tested rows of that sample, ``where`` what the
    user calls it, and ``level`` whether it lies where X has more, where Y has more, or where there is no difference.
    """

    sample: Literal["X", "Y"]
    index: int
    where: str
    value: float
    level: Level


def exemplars(x: Sample, y: Sample, of_x: Array, of_y: Array, count: int = 8) -> list[Exemplar]:
    """The ``count`` rows of each sample with the largest, the smallest and the most neutral witness values.

    (Lloyd & Ghahramani 2015.) Where the witness is largest, rows of X are what Y lacks, and rows of Y, if there are
    any, what it still has of them.
    """
    pooled = np.concatenate([of_x, of_y])
    neutral = (of_x.mean() + of_y.mean()) / 2 if pooled.min() > 0 or pooled.max() < 0 else 0.0
    return [*_of_sample("X", x, of_x, neutral, count), *_of_sample("Y", y, of_y, neutral, count)]


def _of_sample(name: Literal["X", "Y"], sample: Sample, values: Array, neutral: float, count: int) -> list[Exemplar]:
    order = np.argsort(values, kind="stable")
    few = min(count, len(values))
    levels: dict[Level, Array] = {
        "more of X": order[::-1][:few],
        "no difference": np.argsort(np.abs(values - neutral), kind="stable")[:few],
        "more of Y": order[:few],
    }

    def exemplar(i: int, level: Level) -> Exemplar:
        where = f"row {i}" if sample.shown is None else sample.shown.where(i)
        return Exemplar(name, i, where, float(values[i]), level)

    return [exemplar(i, level) for level, rows in levels.items() for i in rows.tolist()]
