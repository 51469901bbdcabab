"""How much each coordinate carries of a difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .._util.view import BlockColumn, Cell, Row, ShareBar, TableBlock, View
from ..data.arrays import Array
from ..twosample.result import Displayed

#: Weights that a table lists.
_LISTED = 500


@dataclass(frozen=True, eq=False)
class Weights(Displayed):
    """How much each coordinate carries of the difference; all together 1.

    Attributes
    ----------
    names
        Of the coordinates: columns of a table, pixels of an image.
    values
        The weights.
    low, high
        The least and the greatest weight over repetitions with other rows and seeds, where there were any.
    meaning
        ``"scales"``: what a kernel learned that weighs coordinates, such as `ARD`. ``"slopes"``: the mean slope of the
        witness function along each coordinate, times the coordinate's standard deviation.
    image_shape
        For pixels: the shape of the image that ``values`` make.
    """

    names: tuple[str, ...]
    values: Array
    low: Array | None
    high: Array | None
    meaning: Literal["scales", "slopes"]
    image_shape: tuple[int, ...] | None = None

    def leading(self, count: int = 5) -> list[tuple[str, float]]:
        """The largest weights with their names."""
        order = np.argsort(-self.values, kind="stable")[:count]
        return [(self.names[i], float(self.values[i])) for i in order]

    def view(self, alpha: float | None = None) -> View:
        """The largest weights as a table."""
        return View.of(self.table())

    def table(self, **others: Any) -> TableBlock:
        """The weights as a table, the largest first."""
        order = np.argsort(-self.values, kind="stable")[:_LISTED].tolist()
        rows = tuple(Row.of(self.names[k], Cell(f"{self.values[k]:.3f}", shares=(self._share(k),))) for k in order)
        columns = (BlockColumn("column", "name"), BlockColumn("weight", "number"))
        return TableBlock(title="Largest weights", columns=columns, rows=rows, total=len(self.values), **others)

    def _share(self, k: int) -> ShareBar:
        if self.low is None or self.high is None:
            return ShareBar(float(self.values[k]))
        return ShareBar(float(self.values[k]), float(self.low[k]), float(self.high[k]))

    @property
    def pixels(self) -> Array | None:
        """The weight of each pixel, summed over its colors, as an array (height, width); None without images."""
        if self.image_shape is None:
            return None
        height, width = self.image_shape[:2]
        return np.asarray(np.reshape(self.values, (height, width, -1)).sum(-1), float)

    def to_dict(self) -> dict[str, Any]:
        """Names, values, their ranges and what they mean, as plain Python values."""
        return {
            "names": list(self.names),
            "values": self.values.tolist(),
            "low": None if self.low is None else self.low.tolist(),
            "high": None if self.high is None else self.high.tolist(),
            "meaning": self.meaning,
        }
