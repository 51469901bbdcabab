"""How the kernel was learned or chosen."""

from __future__ import annotations

import math

import numpy as np

from ..learning import History
from .histograms import Figure, range_from_zero
from .svg import Axis, Plot, number

CRITERIA = {"t": "t", "power": "power", "mmd": "MMD²", "signal to noise": "signal-to-noise ratio"}
#: Lines of one plot that can be told apart.
_LINES = 4


def learning_figure(history: History) -> Figure | None:
    """The criterion while the kernel was learned, or for every choice there was."""
    if history.table is not None:
        return choice_figure(history)
    if len(history.step) < 2:
        return None
    finite = [v for v in (*history.training, *history.validation) if math.isfinite(v)]
    what = CRITERIA.get(history.criterion, history.criterion)
    y = Axis(*range_from_zero(finite))
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


def choice_figure(history: History) -> Figure | None:
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
    y = Axis(*range_from_zero(values.tolist()))
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
