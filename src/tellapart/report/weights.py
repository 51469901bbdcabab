"""Which coordinates carry the difference: bars, or for pixels a heat map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..criticism import Array, Comparison
from . import pictures
from .svg import number

#: Weights that are shown at once, and those that are in the page at all.
_TOP, _MOST = 20, 500
#: Pixels up to which weights can be read off the heat map.
_READ_OFF = 10_000


@dataclass(frozen=True)
class Weight:
    """A coordinate's weight; positions in per cent of the axis."""

    name: str
    text: str
    length: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Heat:
    """The weights of pixels as an image, and in thousandths of the largest, to be read under the pointer."""

    image: str
    sharp: bool
    height: int
    width: int
    values: str
    largest: str
    quarter: str
    gradient: str
    leading: str


@dataclass(frozen=True)
class WeightsSection:
    """What weights mean, and either bars (``shown`` at once, the others on demand) or a heat map."""

    meaning: str
    bars: list[Weight]
    shown: int
    left_out: int
    ranges: bool
    heat: Heat | None


def weights(c: Comparison) -> WeightsSection:
    """The section "Which coordinates carry the difference?"."""
    unit = pictures.pixel_weights(c.weights)
    return WeightsSection(
        meaning=_meaning(c),
        bars=_rows(c) if unit is None else [],
        shown=_TOP,
        left_out=max(0, len(c.weights.values) - _MOST),
        ranges=c.weights.low is not None,
        heat=None if unit is None else _heat(unit, c),
    )


def _meaning(c: Comparison) -> str:
    if c.weights.meaning == "scales":
        text = (
            "Weights are the scales that the kernel learned for each coordinate: the kernel looks "
            "closely where a weight is large, and hardly at all where it is small."
        )
    else:
        text = (
            "Weights are the mean slope of the witness function along each coordinate, in standard deviations of it: "
            "where a weight is large, changing the coordinate makes a row look more like the other sample."
        )
    text += " Together they sum to 1."
    if not c.reject():
        text += " Since no difference was found, they may show nothing but chance."
    return text


def _rows(c: Comparison) -> list[Weight]:
    """The largest weights as bars."""
    weights = c.weights
    order = np.argsort(-weights.values, kind="stable")[:_MOST]
    ends = weights.values if weights.high is None else weights.high
    full = float(max(ends.max(), weights.values.max())) or 1.0

    def at(values: Any, k: int) -> float | None:
        return None if values is None else 100 * float(values[k]) / full

    return [
        Weight(
            weights.names[k],
            f"{weights.values[k]:.3f}",
            100 * float(weights.values[k]) / full,
            at(weights.low, k),
            at(weights.high, k),
        )
        for k in order.tolist()
    ]


def _heat(unit: Array, c: Comparison) -> Heat:
    height, width = unit.shape
    thousandths = np.rint(unit**2 * 1000).astype(int).ravel().tolist()
    largest = float(c.weights.values.max())
    return Heat(
        image=pictures.heat_map(unit),
        sharp=pictures.is_sharp(unit.shape),
        height=height,
        width=width,
        values=" ".join(map(str, thousandths)) if len(thousandths) <= _READ_OFF else "",
        largest=number(largest),
        quarter=number(largest / 4),
        gradient=pictures.gradient(),
        leading=c.weights.leading(1)[0][0],
    )
