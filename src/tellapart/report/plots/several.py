"""Pictures of several samples: each two of them, models from the nearest to the farthest, batches of a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...twosample.findings import KSampleResult
from ...twosample.monitor import Monitor
from ...twosample.ranked import RankResult
from ..words import p_text, short_names
from .axes import ACCENT, Y_COLOUR, finish, new_axes, plain, say_empty

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Batches that are named on an axis.
_NAMED = 6


def k_samples(result: KSampleResult, *, ax: Axes | None = None) -> Axes:
    """Several samples: the adjusted p-value of each two of them."""
    names = list(result.names)
    size = len(names)
    ax = new_axes(ax, square=True)
    table = np.full((size, size), np.nan)
    for one in result.pairwise:
        i, j = (names.index(name) for name in one.names)
        table[i, j] = table[j, i] = one.pvalue
    shade = np.ma.masked_invalid(-np.log10(table))
    drawn = ax.imshow(shade, cmap="Purples", vmin=0, vmax=max(3.0, float(shade.max() or 0)))
    for i, j in np.ndindex(size, size):
        if np.isfinite(table[i, j]):
            dark = shade[i, j] > 0.6 * drawn.get_clim()[1]
            ax.text(j, i, p_text(table[i, j]), ha="center", va="center", color="white" if dark else "black")
    ax.set_xticks(range(size), [plain(name) for name in names], rotation=45 if size > 4 else 0)
    ax.set_yticks(range(size), [plain(name) for name in names])
    ax.set_title("p-values, two samples at a time", fontsize="medium")
    ax.spines[:].set_visible(False)
    return ax


def ranking(result: RankResult, *, ax: Axes | None = None) -> Axes:
    """Models by their distance from the reference, with two standard errors to each side."""
    models = result.models[::-1]
    ax = new_axes(ax, height=max(1.6, 0.4 * len(models) + 0.9))
    errors = [2 * model.error for model in models]
    ax.errorbar(
        [model.mmd2 for model in models], range(len(models)), xerr=errors, fmt="o", color=ACCENT, elinewidth=1.6
    )
    ax.axvline(0, color="0.6", lw=1, zorder=0)
    ax.set_yticks(range(len(models)), [plain(model.name) for model in models])
    ax.set_ylim(-0.7, len(models) - 0.3)
    ax.set_xlabel("MMD² from the reference")
    return finish(ax)


def monitor(result: Monitor, *, ax: Axes | None = None) -> Axes:
    """A stream of batches: the evidence of the bets and its limit, or with other controls the p-values."""
    ax = new_axes(ax)
    if not result.records:
        return say_empty(ax, "no batches yet")
    betting = result.control == "anytime"
    values = [one.evidence if betting else one.pvalue for one in result.records]
    places = [one.number for one in result.records]
    ax.plot(places, values, "-" if betting else "o", color=ACCENT, label="evidence" if betting else "p-value")
    if betting:
        ax.axhline(1 / result.alpha, color="0.45", ls="--", lw=1.2, label=f"alarm at {1 / result.alpha:g}")
    alarms = result.alarms
    heights = [one.evidence if betting else one.pvalue for one in alarms]
    ax.scatter([one.number for one in alarms], heights, color=Y_COLOUR, zorder=3, label="alarm" if alarms else None)
    ax.set_yscale("log")
    names = short_names([one.name for one in result.records])
    step = -(-len(places) // _NAMED)
    ax.set_xticks(places[::step], [plain(name) for name in names[::step]], fontsize="small")
    ax.set_xlabel("batch")
    return finish(ax, legend=True)
