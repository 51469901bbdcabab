"""Pictures of decisions: a statistic and its null distribution, a distance and its margin, the power of a study."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...criticism import Comparison
from ...twosample.equivalence import EquivalenceResult
from ...twosample.planning import Plan
from ...twosample.results import LearnedTest, SplitResult
from ..histograms import bin_edges, range_of_null
from ..words import number, p_sentence
from .axes import ACCENT, GREY, Y_COLOUR, far_arrow, finish, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def null_distribution(result: Any, *, alpha: float = 0.05, bins: int | None = None, ax: Axes | None = None) -> Axes:
    """The statistic against its values for other labellings: could it be chance?

    Parameters
    ----------
    result
        Any test, or a comparison.
    alpha
        The level at which the threshold is drawn.
    bins
        How many; by default by the number of draws.
    ax
        Where to draw; by default a new figure.

    Examples
    --------
    >>> import numpy as np, tellapart as ta
    >>> result = ta.mmd_test(np.zeros((20, 2)), np.ones((20, 2)), rng=0)
    >>> ta.plots.null_distribution(result).get_xlabel()
    'MMD²'
    """
    ax = new_axes(ax)
    test = result.test if isinstance(result, (Comparison, SplitResult)) else result
    halves = len(test.halves) if isinstance(test, LearnedTest) else 1
    one = test.leading.test if isinstance(test, LearnedTest) else test
    draws = np.asarray(one.null_distribution, float)
    ax.hist(draws, bins=bins or bin_edges(draws).tolist(), color=GREY, alpha=0.75, label="other labellings")
    threshold = one.threshold(alpha / halves)
    if math.isfinite(threshold):
        ax.axvline(threshold, color="0.45", ls="--", lw=1.2, label=f"threshold at level {alpha / halves:g}")
    low, high, beyond = range_of_null(draws, threshold, one.statistic)
    p = p_sentence(test.pvalue, test.min_pvalue)
    if beyond:
        ax.set_xlim(low, high)
        far_arrow(ax, ACCENT, f"observed {number(one.statistic)}, far beyond, {p}", one.statistic < low)
    else:
        ax.axvline(one.statistic, color=ACCENT, lw=2, label=f"observed, {p}")
    ax.set_xlabel(one.statistic_name)
    ax.set_ylabel("labellings")
    return finish(ax, legend=True)


def equivalence(result: EquivalenceResult, *, ax: Axes | None = None) -> Axes:
    """The distance of two samples with its interval, and the margin that it is compared with."""
    ax = new_axes(ax, height=1.8)
    low, high = result.interval
    ax.plot([low, high], [0, 0], color=ACCENT, lw=2, solid_capstyle="butt")
    ax.plot([result.distance], [0], "o", color=ACCENT, label="MMD, 95 % interval")
    ax.axvline(result.margin, color="0.45", ls="--", lw=1.2, label=f"margin, {p_sentence(result.pvalue)}")
    ax.set_xlim(0, 1.15 * max(high, result.margin))
    ax.set_ylim(-1, 1)
    ax.set_yticks([])
    ax.set_xlabel("MMD")
    return finish(ax, legend=True)


def power(result: Plan, *, ax: Axes | None = None) -> Axes:
    """How often a study finds the difference, by its rows: as drawn from the pilot, and as foretold."""
    ax = new_axes(ax)
    pilot = result.pilot_rows[0]
    most = 1.5 * (min(result.rows, 100 * pilot) if math.isfinite(result.rows) else pilot)
    rows = np.geomspace(min(result.sizes), max(most, 1.5 * pilot), 100)
    ax.plot(rows, [100 * result.power_at(float(n)) for n in rows], color=ACCENT, label="foretold")
    ax.plot(result.sizes, [100 * rate for rate in result.rates], "o", color=GREY, label="drawn from the pilot")
    ax.axvline(pilot, color="0.6", lw=1, label="the pilot")
    if math.isfinite(result.rows):
        ax.plot([result.rows], [100 * result.power], "D", color=Y_COLOUR, label=f"{math.ceil(result.rows):,} rows")
    ax.set_xscale("log")
    ax.set_ylim(0, 102)
    ax.set_xlabel("rows of the first sample")
    ax.set_ylabel("power, %")
    return finish(ax, legend=True)
