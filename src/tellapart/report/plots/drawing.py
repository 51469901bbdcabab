"""Figures of views drawn with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..._util.view import Figure, Matrix, Role, Series
from .axes import ACCENT, GRAY, X_COLOR, Y_COLOR, draw_arrow, finish, new_axes, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The color of each role.
COLORS: dict[Role, str] = {
    "x": X_COLOR,
    "y": Y_COLOR,
    "null": GRAY,
    "estimate": ACCENT,
    "limit": "0.45",
    "alarm": Y_COLOR,
    "quiet": X_COLOR,
    "training": GRAY,
    "validation": ACCENT,
    "line0": X_COLOR,
    "line1": Y_COLOR,
    "line2": ACCENT,
    "line3": GRAY,
}
#: Positions that are named on an axis.
_NAMED = 6
#: Cells of a matrix with a larger share have white text.
_DARK = 0.6


def draw_figure(figure: Figure, ax: Axes | None = None) -> Axes:
    """Draw a figure on the given axes, or on new ones."""
    lines = len(figure.y.names)
    ax = new_axes(ax, height=max(1.8, 0.4 * lines + 0.9) if lines else 3.2)
    ax.set_xscale("log" if figure.x.log else "linear")
    ax.set_yscale("log" if figure.y.log else "linear")
    ax.set_xlim(figure.x.low, figure.x.high)
    ax.set_ylim(figure.y.low, figure.y.high)
    for series in figure.series:
        _draw(ax, figure, series)
    if figure.x.names:
        step = -(-len(figure.x.names) // _NAMED)
        places = range(0, len(figure.x.names), step)
        ax.set_xticks(places, [plain(figure.x.names[k]) for k in places], fontsize="small")
    if figure.y.names:
        ax.set_yticks(range(lines), [plain(name) for name in figure.y.names])
    ax.set_xlabel(figure.x.label)
    ax.set_ylabel(f"{figure.y.label}, %" if figure.y.percent else figure.y.label)
    return finish(ax, legend=any(series.name for series in figure.series))


def draw_matrix(matrix: Matrix, columns: Sequence[str], ax: Axes | None = None) -> Axes:
    """Draw a matrix with the texts of its cells, colored as on a page, under the given names of its columns."""
    ax = new_axes(ax, square=True)
    shares = np.array([[np.nan if cell is None else cell.share for cell in row] for row in matrix.cells])
    ax.imshow(np.ma.masked_invalid(shares), cmap="Purples", vmin=0, vmax=1)
    for i, row in enumerate(matrix.cells):
        for j, cell in enumerate(row):
            if cell is not None:
                color, weight = "white" if cell.share > _DARK else "black", "bold" if cell.strong else "normal"
                ax.text(j, i, plain(cell.text), ha="center", va="center", color=color, fontweight=weight)
    ax.set_xticks(range(len(columns)), [plain(name) for name in columns], rotation=45 if len(columns) > 4 else 0)
    ax.set_yticks(range(len(matrix.names)), [plain(name) for name in matrix.names])
    ax.spines[:].set_visible(False)
    return ax


def _draw(ax: Axes, figure: Figure, series: Series) -> None:
    color, label = COLORS[series.role], plain(series.name) if series.name else None
    if series.shape == "steps":
        ax.stairs(series.y, series.x, fill=True, color=color, alpha=0.75 if series.role == "null" else 0.3)
        ax.stairs(series.y, series.x, color=color, label=label)
    elif series.shape == "line":
        style = "--" if series.role == "limit" else "-"
        ax.plot(series.x, series.y, style, color=color, lw=1.2 if series.role == "limit" else 1.8, label=label)
    elif series.shape == "dots":
        ax.plot(series.x, series.y, "o", color=color, ms=5, zorder=3, label=label)
    elif series.shape == "interval":
        for k, place in enumerate(series.y):
            ends = series.x[2 * k : 2 * k + 2]
            ax.plot(ends, [place, place], color=color, lw=1.8, solid_capstyle="butt", label=None if k else label)
    elif figure.x.low <= series.x[0] <= figure.x.high:
        main = series.role == "estimate"
        ax.axvline(series.x[0], color=color, ls="-" if main else "--", lw=2 if main else 1.2, label=label)
    else:
        draw_arrow(ax, color, series.name, series.x[0] < figure.x.low)
