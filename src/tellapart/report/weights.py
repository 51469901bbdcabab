"""The weights that a kernel learned: bars, or for pixels a heat map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._util.numbers import number
from ..criticism import Comparison, Weights
from ..data.arrays import Array
from . import pictures
from .blocks import ColumnDetail, PictureBlock
from .columns import column_detail

#: Weights that are shown at once, those that are in the page at all, and coordinates with large pictures.
_TOP, _MOST, _CLOSER = 20, 500, 6
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


@dataclass(frozen=True, kw_only=True)
class WeightsBlock(PictureBlock):
    """Weights as bars (``shown`` at once, the others on demand) or as a heat map."""

    bars: list[Weight]
    shown: int
    left_out: int
    ranges: bool
    heat: Heat | None
    closer: list[ColumnDetail]


def weights_block(c: Comparison, names: tuple[str, str]) -> WeightsBlock | None:
    """The section "What did the kernel learn?"; None if the test learned no kernel."""
    found = c.weights
    if found is None or c.learned is None:
        return None
    unit = pictures.pixel_weights(found)
    leading = [(name, weight) for name, weight in found.leading(_CLOSER) if weight > 0]
    closer = [column_detail(c, name, f"weight {weight:.3f}", names) for name, weight in leading]
    return WeightsBlock(
        section="Which columns did the kernel learn to weight?",
        lead=_meaning(found, c.reject()),
        template="weights.html",
        anchor="weights",
        link="Weights",
        bars=_rows(found) if unit is None else [],
        shown=_TOP,
        left_out=max(0, len(found.values) - _MOST),
        ranges=found.low is not None,
        heat=None if unit is None else _heat(unit, found),
        closer=[one for one in closer if one is not None] if not c.columns else [],
    )


def _meaning(weights: Weights, reject: bool) -> str:
    if weights.meaning == "scales":
        text = (
            "Weights are the scales that the kernel learned for each coordinate: it looks closely where a weight is "
            "large, and hardly at all where it is small. They carry no guarantee, as p-values do."
        )
    else:
        text = (
            "Weights are the mean slope of the witness function along each coordinate, in standard deviations of it: "
            "where a weight is large, changing the coordinate makes a row look more like the other sample."
        )
    text += " Together they sum to 1."
    if not reject:
        text += " Since no difference was found, they may show nothing but chance."
    return text


def _rows(weights: Weights) -> list[Weight]:
    """The largest weights as bars."""
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


def _heat(unit: Array, weights: Weights) -> Heat:
    height, width = unit.shape
    thousandths = np.rint(unit**2 * 1000).astype(int).ravel().tolist()
    largest = float(weights.values.max())
    return Heat(
        image=pictures.heat_map(unit),
        sharp=pictures.is_sharp(unit.shape),
        height=height,
        width=width,
        values=" ".join(map(str, thousandths)) if len(thousandths) <= _READ_OFF else "",
        largest=number(largest),
        quarter=number(largest / 4),
        gradient=pictures.gradient(),
        leading=weights.leading(1)[0][0],
    )
