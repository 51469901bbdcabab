"""Pictures of several samples: each two of them, models from the nearest to the farthest, batches of a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..._util.numbers import p_text
from ...twosample.history import evidence_figure, pvalue_figure
from ...twosample.k_sample_result import KSampleResult
from ...twosample.monitor import Monitor
from ...twosample.ranked import RankResult
from .axes import new_axes, plain, say_empty
from .drawing import draw_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    """Draw the models by their distance from the reference, with two standard errors to each side."""
    return draw_figure(result.distance_figure(), ax)


def monitor(result: Monitor, *, ax: Axes | None = None) -> Axes:
    """Draw the evidence after each batch and its limit; with other controls than "anytime", the p-values."""
    if not result.records:
        return say_empty(new_axes(ax), "no batches yet")
    return draw_figure((evidence_figure if result.control == "anytime" else pvalue_figure)(result), ax)
