"""How a kernel was learned or chosen, as a figure."""

from __future__ import annotations

import math

import numpy as np

from .._util.bins import range_from_zero
from .._util.numbers import number
from .._util.view import Axis, Figure, Role, Series
from ..learning import History

CRITERIA = {"t": "t", "power": "power", "mmd": "MMD²", "signal to noise": "signal-to-noise ratio"}
#: Lines of one figure that can be distinguished.
_LINES: tuple[Role, ...] = ("line0", "line1", "line2", "line3")


def learning_figure(history: History) -> Figure | None:
    """The criterion while the kernel was learned, or for every choice there was; None if there is nothing to draw."""
    if history.table is not None:
        return choice_figure(history)
    if len(history.step) < 2:
        return None
    finite = [value for value in (*history.training, *history.validation) if math.isfinite(value)]
    what = CRITERIA.get(history.criterion, history.criterion)
    steps, training, held_out = (
        tuple(map(float, part)) for part in (history.step, history.training, history.validation)
    )
    hints = tuple(f"step {s:g}: {number(v)} on held-out rows" for s, v in zip(steps, held_out, strict=True))
    return Figure(
        title="How the kernel was learned",
        x=Axis("step", 0.0, max(steps)),
        y=Axis(what, *range_from_zero(finite)),
        series=(
            Series("rule", "limit", "kept", (float(history.best_step),)),
            Series("line", "training", "learned from", steps, training),
            Series("line", "validation", "held out", steps, held_out),
            Series("dots", "validation", "", steps, held_out, hints),
        ),
        caption=f"The criterion, {what}, on the rows learned from and on rows held out of them. The kernel is kept as "
        f"it was at step {history.best_step}, where the held-out rows promise the most power. The tested rows are not "
        "used.",
        description=f"{what} by step",
    )


def choice_figure(history: History) -> Figure | None:
    """A criterion by bandwidth, with a line for each ridge if there are several; None if there is nothing to draw."""
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
    best = int(np.argmax(values))
    series = [Series("rule", "limit", "chosen", (float(bandwidths[best]),))]
    lines = np.unique(ridges).tolist()[: len(_LINES)]
    for line, ridge in zip(_LINES, lines, strict=False):
        rows = np.flatnonzero(ridges == ridge)
        rows = rows[np.argsort(bandwidths[rows])]
        role: Role = line if len(lines) > 1 else "validation"
        x, y = tuple(bandwidths[rows].tolist()), tuple(values[rows].tolist())
        hints = tuple(f"bandwidth {number(a)}: {number(b)}" for a, b in zip(x, y, strict=True))
        series.append(Series("line", role, f"ridge {ridge:g}" if len(lines) > 1 else "", x, y))
        series.append(Series("dots", role, "", x, y, hints))
    return Figure(
        title="How the kernel was chosen",
        x=Axis("bandwidth", float(bandwidths.min()) / 1.15, float(bandwidths.max()) * 1.15, log=True),
        y=Axis(what, *range_from_zero(values.tolist())),
        series=tuple(series),
        caption=f"The criterion, {what}, for each bandwidth, on rows that were not tested. The best one is "
        f"{number(float(bandwidths[best]))}.",
        description=f"{what} by bandwidth",
    )
