"""Figures that the views of several results have in common: null distributions, witness functions, ROC curves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from .._util.bins import bin_edges, range_of_null, shared_edges, shares_in
from .._util.numbers import number
from .._util.view import Axis, Figure, Series

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Maximum number of points of a ROC curve.
_CUTS = 2_000


def null_figure(
    draws: Array,
    statistic: float,
    threshold: float,
    pvalue: float,
    *,
    name: str,
    alpha: float,
    unit: str | None,
    bins: int | None = None,
    remark: str = "",
) -> Figure:
    """The statistic and its null distribution.

    Parameters
    ----------
    draws : array
        The null distribution.
    statistic, threshold, pvalue : float
        The observed statistic, what it must exceed to be significant at level `alpha`, and its p-value.
    name : str
        What the statistic is called.
    alpha : float
        The level of the threshold.
    unit : str or None
        What was permuted: rows, pairs, groups, …; None for draws that are not permutations.
    bins : int, optional
        The number of bins. By default it depends on the number of draws.
    remark : str
        What the caption ends with.
    """
    draws = np.asarray(draws, float)
    low, high, beyond = range_of_null(draws, threshold, statistic)
    counts, edges = np.histogram(draws, bins=bin_edges(draws) if bins is None else bins)
    reach = round(pvalue * (len(draws) + 1)) - 1
    observed = f"observed {number(statistic)}{', far beyond' if beyond else ''}"
    what = "draws" if unit is None else "permutations"
    hints = (
        f"{number(a)} to {number(b)}: {count} {what}" for a, b, count in zip(edges[:-1], edges[1:], counts, strict=True)
    )
    series = [Series("steps", "null", what, tuple(edges.tolist()), tuple(counts.tolist()), tuple(hints))]
    if math.isfinite(threshold):
        series.append(Series("rule", "limit", f"threshold at level {alpha:g}", (float(threshold),)))
    series.append(Series("rule", "estimate", observed, (float(statistic),)))
    gray = (
        f"{len(draws):,} draws of the {name} from its approximate distribution if the samples do not differ."
        if unit is None
        else f"the {name} of {len(draws):,} random permutations of the {unit}, that is, if it did not matter which "
        "sample a row belongs to."
    )
    caption = f"Gray: {gray} {f'{reach:,}' if reach else 'None'} of them reached the observed value."
    if beyond:
        caption += " It is so large that the axis ends before it." if statistic > high else " The axis begins after it."
    return Figure(
        title="Could it be chance?",
        x=Axis(f"{name}, which has no unit" if name == "score" else name, low, high),
        y=Axis(what, 0.0, float(counts.max()) * 1.05),
        series=tuple(series),
        caption=f"{caption} {remark}".rstrip(),
        description=f"Null distribution; observed {number(statistic)}",
    )


def witness_figure(of_x: Array, of_y: Array, names: Sequence[str], bins: int | None = None, **others: Any) -> Figure:
    """Histograms of the witness function in two samples.

    Parameters
    ----------
    of_x, of_y : array
        The values of the function.
    names : sequence of str
        The names of the samples.
    bins : int, optional
        The number of bins. By default it depends on the number of values.
    **others
        Further fields of the figure.
    """
    of_x, of_y = np.asarray(of_x, float), np.asarray(of_y, float)
    edges = shared_edges(of_x, of_y, bins)
    shares = [100 * shares_in(values, edges) for values in (of_x, of_y)]
    hints = tuple(
        f"{number(a)} to {number(b)}\n{names[0]}: {p:.1f} %\n{names[1]}: {q:.1f} %"
        for a, b, p, q in zip(edges[:-1], edges[1:], *shares, strict=True)
    )
    means = float(of_x.mean()), float(of_y.mean())
    return Figure(
        x=Axis("witness function", float(edges[0]), float(edges[-1])),
        y=Axis("rows", 0.0, 1.05 * float(max(share.max() for share in shares)), percent=True),
        series=(
            Series("steps", "x", names[0], tuple(edges.tolist()), tuple(shares[0].tolist()), hints),
            Series("steps", "y", names[1], tuple(edges.tolist()), tuple(shares[1].tolist())),
            Series("rule", "x", "", (means[0],)),
            Series("rule", "y", "", (means[1],)),
        ),
        description=f"Witness function: mean {number(means[0])} in {names[0]} and {number(means[1])} in {names[1]}",
        **others,
    )


def roc_figure(of_x: Array, of_y: Array, names: Sequence[str], area: str) -> Figure:
    """The ROC curve of the witness function.

    Parameters
    ----------
    of_x, of_y : array
        The values of the function.
    names : sequence of str
        The names of the samples.
    area : str
        The area under the curve, for the legend.
    """
    of_x, of_y = np.asarray(of_x, float), np.asarray(of_y, float)
    cuts = np.unique(np.concatenate([of_x, of_y]))[::-1]
    if len(cuts) > _CUTS:
        cuts = cuts[np.linspace(0, len(cuts) - 1, _CUTS).astype(int)]
    hits, alarms = (1 - np.searchsorted(np.sort(values), cuts, "left") / len(values) for values in (of_x, of_y))
    return Figure(
        x=Axis(f"share of {names[1]} above the cut", 0.0, 1.0),
        y=Axis(f"share of {names[0]} above the cut", 0.0, 1.0),
        series=(
            Series("line", "limit", "", (0.0, 1.0), (0.0, 1.0)),
            Series("line", "estimate", area, (0.0, *alarms.tolist(), 1.0), (0.0, *hits.tolist(), 1.0)),
        ),
        description=f"ROC curve of the witness function: {area}",
    )
