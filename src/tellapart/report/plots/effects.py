"""Pictures of effects: columns and pairs of columns with their intervals, or a map of pixels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._util.errors import InputError
from ..._util.numbers import p_sentence
from ...criticism import Comparison
from ...stats.pvalues import rejects
from ...twosample.findings import Finding, Findings
from ..pixels import PixelMap
from ..pixels import pixel_map as map_pixels
from .axes import ACCENT, GREY, finish, new_axes, plain, say_empty

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: What the effect of each kind of finding is measured in, and its marker.
_KINDS = {
    "location": ("difference of means, SD", "o"),
    "scale": ("log ratio of SDs", "s"),
    "shape": ("difference of means, SD", "D"),
    "share": ("difference of shares", "^"),
    "dependence": ("difference of correlations", "o"),
}


def columns(result: Any, *, alpha: float = 0.05, count: int = 20, ax: Axes | None = None) -> Axes:
    """The columns that differ most: their effects, with intervals where there are any.

    Filled marks are columns that differ, all of them together at level ``alpha``.

    Parameters
    ----------
    result
        A `TwoSampleResult`, `KSampleResult`, `Comparison`, or its `Findings`.
    alpha
        The level at which columns are named.
    count
        How many to draw.
    ax
        Where to draw; by default a new figure.
    """
    return _forest(columns_of(result), alpha, count, ax, _may_name(result, alpha), "columns")


def pairs(result: Any, *, alpha: float = 0.05, count: int = 20, ax: Axes | None = None) -> Axes:
    """The pairs of columns whose dependence differs most; as `columns`."""
    found = result if isinstance(result, Findings) else result.pairs
    return _forest(found, alpha, count, ax, _may_name(result, alpha), "pairs of columns")


def pixel_map(result: Any, *, alpha: float = 0.05, ax: Axes | None = None) -> Axes:
    """Images: how each pixel differs. Pixels that do not differ, all of them together at level ``alpha``, are faint."""
    found = pixels_of(result, alpha)
    if found is None:
        raise InputError("not-images", "A map of pixels is of images, but these findings are not about pixels.")
    second = "the second" if isinstance(result, Findings) else plain(result.names[1])
    ax = new_axes(ax, square=True)
    largest = float(np.nanmax(np.abs(found.effects))) or 1.0
    shades = np.where(found.named, 1.0, 0.15)
    drawn = ax.imshow(found.effects, cmap="PuOr_r", vmin=-largest, vmax=largest, alpha=shades, interpolation="nearest")
    ax.figure.colorbar(drawn, ax=ax, label=f"brighter in {second}, SD", fraction=0.046, pad=0.04)
    ax.set_title(f"{int(found.named.sum()):,} of {found.named.size:,} pixels differ", fontsize="medium")
    ax.set_xticks([])
    ax.set_yticks([])
    return ax


def columns_of(result: Any) -> Findings:
    """The columns of a result; findings are what they are."""
    if isinstance(result, (Findings, Finding)):
        return result if isinstance(result, Findings) else Findings([result])
    columns: Findings = result.columns
    return columns


def pixels_of(result: Any, alpha: float) -> PixelMap | None:
    """The columns of a result as an image; None where they are no pixels."""
    shape = result.x.image_shape if isinstance(result, Comparison) else None
    return map_pixels(columns_of(result), alpha, _may_name(result, alpha), shape)


def _may_name(result: Any, alpha: float) -> bool:
    """Nothing is named where the whole test finds nothing."""
    return True if isinstance(result, (Findings, Finding)) else bool(result.reject(alpha))


def _forest(found: Findings, alpha: float, count: int, ax: Axes | None, may_name: bool, what: str) -> Axes:
    shown = [one for one in found[:count] if math.isfinite(one.effect)]
    ax = new_axes(ax, height=max(1.6, 0.3 * len(shown) + 1.1))
    if not shown:
        return say_empty(ax, f"no {what}")
    for kind in dict.fromkeys(one.kind for one in shown):
        unit, marker = _KINDS.get(kind, ("effect", "o"))
        rows = [(len(shown) - 1 - k, one) for k, one in enumerate(shown) if one.kind == kind]
        named = [may_name and rejects(one.pvalue, alpha) for _, one in rows]
        for (place, one), known in zip(rows, named, strict=True):
            low, high = _interval(one)
            ax.plot([low, high], [place, place], color=ACCENT if known else GREY, lw=1.6, solid_capstyle="butt")
        ax.scatter(
            [one.effect for _, one in rows],
            [place for place, _ in rows],
            marker=marker,
            s=34,
            facecolors=[ACCENT if known else "white" for known in named],
            edgecolors=[ACCENT if known else GREY for known in named],
            zorder=3,
            label=f"{kind}: {unit}",
        )
    ax.axvline(0, color="0.6", lw=1, zorder=0)
    ax.set_yticks(range(len(shown)), [f"{plain(one.name)}  ({p_sentence(one.pvalue)})" for one in reversed(shown)])
    ax.set_ylim(-0.7, len(shown) - 0.3)
    kinds = list(dict.fromkeys(_KINDS.get(one.kind, ("effect", ""))[0] for one in shown))
    ax.set_xlabel("effect" if len(kinds) > 1 else kinds[0])
    if len(kinds) > 1:
        # Above: below are the numbers and the name of the axis.
        ax.legend(frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(kinds))
    return finish(ax)


def _interval(one: Finding) -> tuple[float, float]:
    """The interval of an effect; the effect alone where there is none."""
    interval = one.interval
    return (one.effect, one.effect) if interval is None else (float(interval[0]), float(interval[1]))
