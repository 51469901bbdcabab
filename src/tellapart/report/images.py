"""Which pixels differ: a map with the guarantee of a table of columns, and the mean image of each sample."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from .._util.numbers import percent, signed
from .._util.view import Row
from ..criticism import Comparison, Weights
from ..data import Sample
from ..data.arrays import Array
from ..twosample.auto_result import AutoResult
from ..twosample.findings import Findings
from ..twosample.views import distinct_names, findings_table
from . import pictures
from .blocks import PictureBlock
from .pixels import PixelMap, pixel_map

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


def comparison_pixels(c: Comparison, names: tuple[str, str]) -> PixelBlock | None:
    """The section "Which pixels differ?" of a comparison; None if its columns are not pixels."""
    heat = "" if c.weights is None else _heat(c.weights)
    shape = c.x.image_shape
    return _block(c.columns, c.column_alpha(), c.reject(), shape, names, c.alpha, c.min_pvalue, _means(c.x, c.y), heat)


def two_sample_pixels(result: AutoResult, alpha: float) -> PixelBlock | None:
    """The same of a test of two samples, which keeps no rows to show."""
    names, shape = distinct_names(result.names), result.image_shape
    level, reject = result.column_alpha(alpha), result.reject(alpha)
    return _block(result.columns, level, reject, shape, names, alpha, result.min_pvalue, None, "")


def _block(
    columns: Findings,
    level: float,
    reject: bool,
    shape: tuple[int, ...] | None,
    names: tuple[str, str],
    alpha: float,
    smallest: float,
    means: tuple[str, str] | None,
    weights: str,
) -> PixelBlock | None:
    found = pixel_map(columns, level, reject, shape)
    if found is None:
        return None
    height, width = found.shape
    few = height * width <= _READ_OFF
    shown = np.where(found.named, found.effects, 0.0)
    listed = findings_table(columns[:_LISTED], alpha=level, reject=reject, smallest=smallest)
    return PixelBlock(
        section="Which pixels differ?",
        lead=_lead(found, reject, level, names, alpha),
        template="pixels.html",
        anchor="pixels",
        link="Pixels",
        count=f"{int(found.named.sum()):,} of {found.named.size:,}",
        image=pictures.signed_map(shown),
        sharp=pictures.is_sharp(found.shape),
        height=height,
        width=width,
        named=int(found.named.sum()),
        largest=signed(float(np.abs(shown).max())).lstrip("+"),
        effects=_join(f"{round(100 * e)}" for e in found.effects.ravel().tolist()) if few else "",
        pvalues=_join(f"{p:.2g}" for p in found.pvalues.ravel().tolist()) if few else "",
        means=means,
        weights=weights,
        rows=() if listed is None else tuple(row for row in listed.rows if row.strong),
    )


def _lead(found: PixelMap, reject: bool, level: float, names: Sequence[str], alpha: float) -> str:
    if not reject:
        return "Since the test as a whole does not reject, no pixel is named, and the map is empty."
    if not found.named.any():
        return (
            f"No pixel is shown to differ by itself (adjusted p ≤ {level:.3g}): the samples may differ in the "
            "dependence between pixels, or in several pixels whose individual evidence is too weak."
        )
    return (
        f"{int(found.named.sum()):,} of {found.named.size:,} pixels differ by themselves, and only these are colored: "
        f"blue where {names[0]} is brighter or varies more, orange where {names[1]} does. The probability that any "
        f"pixel is colored that does not differ is at most {percent(alpha)}."
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
    means = [sample.values.flatten(1).double().mean(0).cpu().numpy().reshape(shape) for sample in (x, y)]
    low, high = min(m.min() for m in means), max(m.max() for m in means)
    span = high - low or 1.0
    drawn = [pictures.thumbnail(_bytes((m - low) / span)) for m in means]
    return drawn[0], drawn[1]


def _bytes(unit: Array) -> Array:
    found = np.rint(255 * unit).astype(np.uint8)
    return np.asarray(found[..., 0] if found.ndim == 3 and found.shape[-1] == 1 else found)
