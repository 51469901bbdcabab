"""The evidence: the statistic among relabellings, and the witness values of the two samples."""

from __future__ import annotations

import math

import numpy as np

from ..criticism import Comparison
from .histograms import Figure, bin_edges, paired_histograms, shared_edges, widen_range
from .svg import Axis, Plot, number


def evidence(c: Comparison, names: tuple[str, str]) -> list[Figure]:
    """The figure of the null distribution, and that of the witness values."""
    return [null_figure(c), witness_figure(c, names)]


def null_figure(c: Comparison) -> Figure:
    """The statistic against what it would be if the labels meant nothing."""
    test = c.test.leading.test
    draws = test.null_distribution
    level = c.alpha / len(c.test.halves)
    threshold = test.threshold(level)
    shown = [c.statistic] if math.isinf(threshold) else [c.statistic, threshold]
    x = Axis(*widen_range(min(draws.min(), *shown), max(draws.max(), *shown)), c.kernel.statistic_name)
    # Bins of the draws alone: the statistic may lie far away from them.
    counts, edges = np.histogram(draws, bins=bin_edges(draws))
    plot = Plot(x, Axis(0, counts.max() * 1.05), top=44)
    plot.histogram(edges, counts, "null")
    plot.hover(
        edges, (f"{number(a)} to {number(b)}: {n} draws" for a, b, n in zip(edges[:-1], edges[1:], counts, strict=True))
    )
    if not math.isinf(threshold):
        plot.vertical(threshold, "threshold", f"threshold at level {level:g}")
    plot.vertical(c.statistic, "observed", f"observed {number(c.statistic)}", row=1)
    reach = int((draws >= c.statistic).sum())
    caption = (
        f"Grey: {c.kernel.statistic_name} for {len(draws):,} relabellings of the tested rows, that is, if the labels "
        f"meant nothing. {f'{reach:,}' if reach else 'None'} of them reached the observed value."
    )
    if len(c.test.halves) > 1:
        caption += " Shown is the half with the smaller p-value; the level is halved, since two are tested."
    return Figure("Could it be chance?", plot.svg(f"Null distribution; observed {number(c.statistic)}"), (), caption)


def witness_figure(c: Comparison, names: tuple[str, str]) -> Figure:
    """The values of the witness function in the two samples."""
    of_x, of_y = (np.asarray(values, float) for values in (c.witness_x, c.witness_y))
    edges = shared_edges(of_x, of_y)
    plot = paired_histograms(
        of_x, of_y, edges, Axis(edges[0], edges[-1], "witness function"), names, width=440, height=230
    )
    plot.vertical(float(of_x.mean()), "x mean")
    plot.vertical(float(of_y.mean()), "y mean")
    caption = (
        f"The witness function is high where {names[0]} has more rows and low where {names[1]} has. It was learned "
        "from other rows than these. Dashed: the means."
    )
    description = f"Witness values: mean {number(float(of_x.mean()))} and {number(float(of_y.mean()))}"
    return Figure("How far apart are they?", plot.svg(description), ((names[0], "x"), (names[1], "y")), caption)
