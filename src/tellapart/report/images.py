"""Which pixels differ: a map with the guarantee of a table of columns, and the mean image of each sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..criticism import Comparison, Weights
from ..data import Sample
from ..data.arrays import Array
from . import pictures
from .findings import Row, rows_of
from .pixels import PixelMap, pixel_map_of
from .words import percent, signed

#: Pixels that are listed, and pixels up to which each can be read off the map.
_LISTED, _READ_OFF = 20, 10_000


@dataclass(frozen=True)
class Pixels:
    """The section: the map, mean images and weights, effects (in hundredths) and p-values to be read off, a list."""

    lead: str
    image: str
    sharp: bool
    height: int
    width: int
    named: int
    total: int
    largest: str
    effects: str
    pvalues: str
    means: tuple[str, str] | None
    weights: str
    rows: list[Row]


def pixels(c: Comparison, names: tuple[str, str]) -> Pixels | None:
    """The section "Which pixels differ?"; None where the findings are not about pixels."""
    found = pixel_map_of(c.columns, c.column_alpha(), c.reject(), c.x.image_shape)
    if found is None:
        return None
    height, width = found.shape
    few = height * width <= _READ_OFF
    return Pixels(
        lead=_lead(c, found, names),
        image=pictures.signed_map(np.where(found.named, found.effects, 0.0)),
        sharp=pictures.is_sharp(found.shape),
        height=height,
        width=width,
        named=int(found.named.sum()),
        total=found.named.size,
        largest=signed(float(np.abs(np.where(found.named, found.effects, 0.0)).max())).lstrip("+"),
        effects=" ".join(f"{round(100 * e)}" for e in found.effects.ravel().tolist()) if few else "",
        pvalues=" ".join(f"{p:.2g}" for p in found.pvalues.ravel().tolist()) if few else "",
        means=_means(c.x, c.y),
        weights="" if c.weights is None else _heat(c.weights),
        rows=rows_of(c.differing_columns()[:_LISTED], c.column_alpha(), True, c.min_pvalue),
    )


def _lead(c: Comparison, found: PixelMap, names: tuple[str, str]) -> str:
    if not c.reject():
        return "Since the test as a whole found nothing, no pixel is named, and the map is empty."
    if not found.named.any():
        return (
            f"No pixel is shown to differ by itself (adjusted p ≤ {c.column_alpha():.3g}): the difference lies in how "
            "pixels go together, or in several of them that are not sure one by one."
        )
    return (
        f"{int(found.named.sum()):,} of {found.named.size:,} pixels differ by themselves, and only these are coloured: "
        f"blue where {names[0]} is brighter or varies more, orange where {names[1]} does. The chance that any pixel is "
        f"coloured that does not differ is at most {percent(c.alpha)}."
    )


def _heat(weights: Weights) -> str:
    unit = pictures.pixel_weights(weights)
    return "" if unit is None else pictures.heat_map(unit)


def _means(x: Sample, y: Sample) -> tuple[str, str] | None:
    """The mean image of each sample, in the same shades."""
    shape = x.image_shape
    if shape is None:
        return None
    means = [sample.values.flatten(1).double().mean(0).cpu().numpy().reshape(shape) for sample in (x, y)]
    low, high = min(m.min() for m in means), max(m.max() for m in means)
    span = high - low or 1.0
    drawn = [pictures.thumbnail(_bytes((m - low) / span)) for m in means]
    return drawn[0], drawn[1]


def _bytes(unit: Array) -> Array:
    found = np.rint(255 * unit).astype(np.uint8)
    return np.asarray(found[..., 0] if found.ndim == 3 and found.shape[-1] == 1 else found)
