"""Figures, and the bins that two samples share."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..criticism import Array
from .svg import Axis, Markup, Plot, number


@dataclass(frozen=True)
class Figure:
    """A plot, its title, the names of what is drawn (with the style of each), and a sentence below."""

    title: str
    plot: Markup
    legend: tuple[tuple[str, str], ...] = ()
    caption: str = ""


def paired_histograms(
    of_x: Array, of_y: Array, edges: Array, x: Axis, names: tuple[str, str], width: int, height: int
) -> Plot:
    """Two histograms over the same bins, as shares of each sample in per cent."""
    shares = [100 * np.histogram(np.clip(v, edges[0], edges[-1]), edges)[0] / max(1, len(v)) for v in (of_x, of_y)]
    top = max(float(share.max()) for share in shares) * 1.05
    plot = Plot(x, Axis(0, top, form=lambda value: f"{value:g} %"), width, height)
    for share, style in zip(shares, ("x", "y"), strict=True):
        plot.histogram(edges, share, style)
    form = x.form or number
    titles = (
        f"{form(a)} to {form(b)}\n{names[0]}: {p:.1f} %\n{names[1]}: {q:.1f} %"
        for a, b, p, q in zip(edges[:-1], edges[1:], *shares, strict=True)
    )
    plot.hover(edges, titles)
    return plot


def shared_edges(of_x: Array, of_y: Array) -> Array:
    """Bins for both; they leave out far values, which are counted at the ends."""
    pooled = np.concatenate([of_x, of_y])
    low, high = float(pooled.min()), float(pooled.max())
    inner = np.quantile(pooled, [0.005, 0.995])
    if high - low > 10 * (inner[1] - inner[0]) > 0:
        low, high = (float(value) for value in inner)
    if not high - low > 1e-12 * max(abs(low), abs(high)):
        reach = max(abs(low), 1.0) / 2
        low, high = low - reach, high + reach
    edges = bin_edges(np.clip(pooled, low, high))
    gap = _spacing(pooled)
    if gap is None:
        return edges
    # Bins with as many possible values in each: others would show a comb.
    cells = round((high - low) / gap) + 1
    width = gap * math.ceil(cells / (len(edges) - 1))
    return low - gap / 2 + width * np.arange(math.ceil(cells * gap / width - 1e-6) + 1)


def _spacing(values: Array) -> float | None:
    """The distance between possible values, where they are evenly spaced, such as whole numbers or shades of grey."""
    distinct = np.unique(values)
    if len(distinct) < 2 or len(distinct) > 2000:
        return None
    gap = float(np.diff(distinct).min())
    places = (distinct - distinct[0]) / gap
    return gap if places[-1] < 1e5 and np.abs(places - np.rint(places)).max() < 0.01 else None


def bin_edges(values: Array) -> Array:
    """Edges of 12 to 40 bins, more of them for more values."""
    count = int(np.clip(3 * len(values) ** (1 / 3), 12, 40))
    low, high = widen_range(float(values.min()), float(values.max()), 0.0)
    return np.linspace(low, high, count + 1)


def widen_range(low: float, high: float, share: float = 0.04) -> tuple[float, float]:
    """A range with some room at both ends, which is never empty."""
    if not high > low:
        reach = abs(low) / 2 or 1.0
        return low - reach, high + reach
    return low - share * (high - low), high + share * (high - low)


def range_from_zero(values: list[float]) -> tuple[float, float]:
    """A range with 0 in it, and room where there are values."""
    low, high = min([0.0, *values]), max([0.0, *values])
    return (1.06 * low, 1.06 * high) if high > low else (0.0, 1.0)
