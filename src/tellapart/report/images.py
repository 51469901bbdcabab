"""Which pixels differ: a map with the guarantee of a table of columns, and the mean image of each sample."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from .._util.numbers import percent, signed
from .._util.view import PixelMap, Row
from ..criticism import Comparison, Weights
from ..data import Sample
from ..data.arrays import Array
from ..engine.rows import as_matrix
from ..twosample.auto_result import AutoResult
from ..twosample.views import distinct_names
from . import pictures
from .blocks import PictureBlock

#: Pixels that are listed, and pixels up to which each can be read off the map.
_LISTED, _READ_OFF = 20, 10_000


@dataclass(frozen=True, kw_only=True)
class PixelBlock(PictureBlock):
    """A map of pixels, mean images and weights, effects (in hundredths) and p-values to be read off, and a list."""

    image: str
    sharp: bool
    height: int
    width: int
    named: int
    largest: str
    effects: str
    pvalues: str
    means: tuple[str, str] | None
    weights: str
    rows: tuple[Row, ...]


def pixels_block(result: Comparison | AutoResult, alpha: float) -> PixelBlock | None:
    """The section "Which pixels differ?"; None if the columns are not pixels. A comparison adds images of its rows."""
    pixels, listed = result.pixel_map(alpha), result.columns_table(alpha)
    if pixels is None or listed is None:
        return None
    height, width = pixels.named.shape
    few = height * width <= _READ_OFF
    shown = np.where(pixels.named, pixels.effects, 0.0)
    means, weights = None, ""
    if isinstance(result, Comparison):
        means, weights = _means(result.x, result.y), "" if result.weights is None else _heat(result.weights)
    return PixelBlock(
        section="Which pixels differ?",
        lead=_lead(pixels, result.reject(alpha), result.column_alpha(alpha), distinct_names(result.names), alpha),
        template="pixels.html",
        anchor="pixels",
        link="Pixels",
        count=f"{int(pixels.named.sum()):,} of {pixels.named.size:,}",
        image=pictures.signed_map(shown),
        sharp=pictures.is_sharp((height, width)),
        height=height,
        width=width,
        named=int(pixels.named.sum()),
        largest=signed(float(np.abs(shown).max())).lstrip("+"),
        effects=_join(f"{round(100 * e)}" for e in pixels.effects.ravel().tolist()) if few else "",
        pvalues=_join(f"{p:.2g}" for p in pixels.pvalues.ravel().tolist()) if few else "",
        means=means,
        weights=weights,
        rows=tuple(row for row in listed.rows[:_LISTED] if row.strong),
    )


def _lead(pixels: PixelMap, reject: bool, level: float, names: Sequence[str], alpha: float) -> str:
    if not reject:
        return "Since the test as a whole does not reject, no pixel is named, and the map is empty."
    if not pixels.named.any():
        return (
            f"No pixel is shown to differ by itself (adjusted p ≤ {level:.3g}): the samples may differ in the "
            "dependence between pixels, or in several pixels whose individual evidence is too weak."
        )
    return (
        f"{int(pixels.named.sum()):,} of {pixels.named.size:,} pixels differ by themselves, and only these are "
        f"colored: blue where {names[0]} is brighter or varies more, orange where {names[1]} does. The "
        f"probability that any pixel is colored that does not differ is at most {percent(alpha)}."
    )


def _join(texts: Iterable[str]) -> str:
    return " ".join(texts)


def _heat(weights: Weights) -> str:
    unit = pictures.pixel_weights(weights)
    return "" if unit is None else pictures.heat_map(unit)


def _means(x: Sample, y: Sample) -> tuple[str, str] | None:
    """The mean image of each sample, in the same shades."""
    shape = x.image_shape
    if shape is None:
        return None
    means = [as_matrix(sample.values).astype(np.float64).mean(0).reshape(shape) for sample in (x, y)]
    low, high = min(m.min() for m in means), max(m.max() for m in means)
    span = high - low or 1.0
    drawn = [pictures.thumbnail(_bytes((m - low) / span)) for m in means]
    return drawn[0], drawn[1]


def _bytes(unit: Array) -> Array:
    pixels = np.rint(255 * unit).astype(np.uint8)
    return np.asarray(pixels[..., 0] if pixels.ndim == 3 and pixels.shape[-1] == 1 else pixels)
