"""Plots of effects: columns and pairs of columns with their intervals, or a map of pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..._util.errors import InputError
from ..._util.view import PixelMap, TableBlock
from ...twosample.findings import Finding, Findings
from ...twosample.pixels import map_pixels
from .tables import draw_effects, draw_pixels

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def columns(result: Any, *, alpha: float | None = None, count: int = 20, ax: Axes | None = None) -> Axes:
    """Draw the columns that differ most: their effects, with intervals if these are known.

    Filled marks are columns that differ, at level ``alpha`` for all columns and pairs together.

    Parameters
    ----------
    result : TwoSampleResult, KSampleResult, Comparison or Findings
        What to draw.
    alpha : float, optional
        The significance level. By default that of the result, or 0.05. Of findings, the largest adjusted p-value that
        counts as different.
    count : int, default 20
        The number of columns.
    ax : matplotlib.axes.Axes, optional
        Where to draw. By default a new figure is created.
    """
    table = findings_table(result, alpha) if _are_findings(result) else result.columns_table(*_level(alpha))
    return draw_effects(table, count, ax)


def pairs(result: Any, *, alpha: float | None = None, count: int = 20, ax: Axes | None = None) -> Axes:
    """Draw the pairs of columns whose dependence differs most; see `columns`."""
    table = findings_table(result, alpha) if _are_findings(result) else result.pairs_table(*_level(alpha))
    return draw_effects(table, count, ax)


def pixel_map(result: Any, *, alpha: float | None = None, ax: Axes | None = None) -> Axes:
    """Draw the effect of each pixel of images. Pixels that do not differ, at level ``alpha`` together, are faint."""
    pixels = find_pixels(result, alpha)
    if pixels is None:
        raise InputError("not-images", "A map of pixels is of images, but these findings are not about pixels.")
    return draw_pixels(pixels, ax)


def find_pixels(result: Any, alpha: float | None = None) -> PixelMap | None:
    """The map of pixels of a result or of findings; None if its columns are not pixels."""
    if _are_findings(result):
        findings = result if isinstance(result, Findings) else Findings([result])
        return map_pixels(findings, *_level(alpha))
    pixels: PixelMap | None = result.pixel_map(*_level(alpha))
    return pixels


def findings_table(findings: Finding | Findings, alpha: float | None) -> TableBlock | None:
    """The table in the view of findings; None if there are none."""
    return next((block for block in findings.view(alpha).blocks if isinstance(block, TableBlock)), None)


def _are_findings(result: Any) -> bool:
    return isinstance(result, (Finding, Findings))


def _level(alpha: float | None) -> tuple[float, ...]:
    """The level as an argument; none for the default of a result."""
    return () if alpha is None else (alpha,)
