"""The plots of a report: null distribution, witness values, and how the kernel was chosen."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..criticism import Array, Comparison
from ..kernels import Witness
from ..learning import History
from .svg import Axis, Markup, Plot, number

CRITERIA = {"t": "t", "power": "power", "mmd": "MMD²", "signal to noise": "signal-to-noise ratio"}
#: Lines of one plot that can be told apart.
_LINES = 4


@dataclass(frozen=True)
class Figure:
    """A plot, its title, the names of what is drawn (with the style of each), and a sentence below."""

    title: str
    plot: Markup
    legend: tuple[tuple[str, str], ...] = ()
    caption: str = ""


def null_figure(c: Comparison) -> Figure:
    """The statistic against what it would be if the labels meant nothing."""
    test = c.test.leading.test
    draws = test.null_distribution
    level = c.alpha / len(c.test.halves)
    threshold = test.threshold(level)
    shown = [c.statistic] if math.isinf(threshold) else [c.statistic, threshold]
    x = Axis(*_widened(min(draws.min(), *shown), max(draws.max(), *shown)), _statistic(c))
    # Bins of the draws alone: the statistic may lie far away from them.
    counts, edges = np.histogram(draws, bins=_bins(draws))
    plot = Plot(x, Axis(0, counts.max() * 1.05), top=44)
    plot.histogram(edges, counts, "null")
    plot.hover(edges, (f"{number(a)} to {number(b)}: {n} draws" for a, b, n in _triples(edges, counts)))
    if not math.isinf(threshold):
        plot.vertical(threshold, "threshold", f"threshold at level {level:g}")
    plot.vertical(c.statistic, "observed", f"observed {number(c.statistic)}", row=1)
    reach = int((draws >= c.statistic).sum())
    caption = (
        f"Grey: {_statistic(c)} for {len(draws):,} relabellings of the tested rows, that is, if the labels meant "
        f"nothing. {f'{reach:,}' if reach else 'None'} of them reached the observed value."
    )
    if len(c.test.halves) > 1:
        caption += " Shown is the half with the smaller p-value; the level is halved, since two are tested."
    return Figure("Could it be chance?", plot.svg(f"Null distribution; observed {number(c.statistic)}"), (), caption)


def witness_figure(c: Comparison, names: tuple[str, str]) -> Figure:
    """The values of the witness function in the two samples."""
    of_x, of_y = (np.asarray(values, float) for values in (c.witness_x, c.witness_y))
    edges = shared_edges(of_x, of_y)
    plot = compared(of_x, of_y, edges, Axis(edges[0], edges[-1], "witness function"), names, width=440, height=230)
    plot.vertical(float(of_x.mean()), "x mean")
    plot.vertical(float(of_y.mean()), "y mean")
    caption = (
        f"The witness function is high where {names[0]} has more rows and low where {names[1]} has. It was learned "
        "from other rows than these. Dashed: the means."
    )
    description = f"Witness values: mean {number(float(of_x.mean()))} and {number(float(of_y.mean()))}"
    return Figure("How far apart are they?", plot.svg(description), ((names[0], "x"), (names[1], "y")), caption)


def compared(of_x: Array, of_y: Array, edges: Array, x: Axis, names: tuple[str, str], width: int, height: int) -> Plot:
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


def learning_figure(history: History) -> Figure | None:
    """The criterion while the kernel was learned, or for every choice there was."""
    if history.table is not None:
        return _choices(history)
    if len(history.step) < 2:
        return None
    finite = [v for v in (*history.training, *history.validation) if math.isfinite(v)]
    what = CRITERIA.get(history.criterion, history.criterion)
    y = Axis(*_from_zero(finite))
    plot = Plot(Axis(0, max(history.step), "step"), y, top=26)
    plot.vertical(history.best_step, "best", "kept")
    plot.line(history.step, history.training, "training")
    plot.line(history.step, history.validation, "validation")
    titles = (f"step {s}: {number(v)} on held-out rows" for s, v in zip(history.step, history.validation, strict=True))
    plot.dots(history.step, history.validation, "validation", titles)
    caption = (
        f"The criterion, {what}, on the rows learned from and on rows held out of them. The kernel is kept as it was "
        f"at step {history.best_step}, where the held-out rows promise the most power. The tested rows stay unseen."
    )
    legend = (("learned from", "training"), ("held out", "validation"))
    return Figure("How the kernel was learned", plot.svg(f"{what} by step"), legend, caption)


def _choices(history: History) -> Figure | None:
    """A criterion by bandwidth, with a line for each ridge where there are several."""
    table = {name: np.asarray(column, float) for name, column in (history.table or {}).items()}
    column = {"signal to noise": "ratio", "mmd": "mmd2"}.get(history.criterion, history.criterion)
    if "bandwidth" not in table or column not in table:
        return None
    good = np.isfinite(table[column]) & (table["bandwidth"] > 0)
    bandwidths, values = table["bandwidth"][good], table[column][good]
    if len(np.unique(bandwidths)) < 2:
        return None
    ridges = table["ridge"][good] if "ridge" in table else np.zeros(len(values))
    what = CRITERIA.get(history.criterion, history.criterion)
    y = Axis(*_from_zero(values.tolist()))
    plot = Plot(Axis(bandwidths.min() / 1.15, bandwidths.max() * 1.15, "bandwidth", log=True), y, top=26)
    best = int(np.argmax(values))
    plot.vertical(bandwidths[best], "best", "chosen")
    lines = list(np.unique(ridges))[:_LINES]
    legend = []
    for k, ridge in enumerate(lines):
        rows = np.flatnonzero(ridges == ridge)
        rows = rows[np.argsort(bandwidths[rows])]
        style = f"line{k}" if len(lines) > 1 else "validation"
        titles = [f"bandwidth {number(bandwidths[i])}: {number(values[i])}" for i in rows]
        plot.line(bandwidths[rows].tolist(), values[rows].tolist(), style)
        plot.dots(bandwidths[rows].tolist(), values[rows].tolist(), style, titles)
        legend += [(f"ridge {ridge:g}", style)] if len(lines) > 1 else []
    caption = (
        f"The criterion, {what}, for each bandwidth, on rows that were not tested. "
        f"The best one is {number(float(bandwidths[best]))}."
    )
    return Figure("How the kernel was chosen", plot.svg(f"{what} by bandwidth"), tuple(legend), caption)


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
    edges = _bins(np.clip(pooled, low, high))
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


def _bins(values: Array) -> Array:
    """Edges of 12 to 40 bins, more of them for more values."""
    count = int(np.clip(3 * len(values) ** (1 / 3), 12, 40))
    low, high = _widened(float(values.min()), float(values.max()), 0.0)
    return np.linspace(low, high, count + 1)


def _widened(low: float, high: float, share: float = 0.04) -> tuple[float, float]:
    """A range with some room at both ends, which is never empty."""
    if not high > low:
        reach = abs(low) / 2 or 1.0
        return low - reach, high + reach
    return low - share * (high - low), high + share * (high - low)


def _from_zero(values: list[float]) -> tuple[float, float]:
    """A range with 0 in it, and room where there are values."""
    low, high = min([0.0, *values]), max([0.0, *values])
    return (1.06 * low, 1.06 * high) if high > low else (0.0, 1.0)


def _statistic(c: Comparison) -> str:
    return "difference of means" if isinstance(c.kernel, Witness) else "MMD²"


def _triples(edges: Array, counts: Array) -> list[tuple[float, float, int]]:
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True))
