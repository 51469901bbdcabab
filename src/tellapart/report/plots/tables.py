"""Tables and maps of views drawn with matplotlib: effects with their intervals, shares, pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..._util.numbers import with_sign
from ..._util.view import EffectBar, PixelMap, Row, ShareBar, TableBlock
from .axes import ACCENT, GRAY, X_COLOR, Y_COLOR, finish, line_axes, new_axes, plain, write_empty

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...data.arrays import Array

#: The marker of each kind of effect.
_MARKERS = {"scale": "s", "shape": "D", "share": "^"}


def draw_effects(table: TableBlock | None, count: int, ax: Axes | None) -> Axes:
    """Draw the effects in the first rows of a table, with their intervals. Strong rows have filled markers."""
    rows = () if table is None else table.rows[:count]
    shown = [(row, bar) for row in rows if (bar := _effect(row)) is not None]
    ax = line_axes(ax, len(shown))
    if not shown:
        return write_empty(ax, "no columns" if table is None else f"no {table.title.lower()}")
    places = range(len(shown) - 1, -1, -1)
    for kind in dict.fromkeys(bar.kind for _, bar in shown):
        drawn = [(place, row, bar) for place, (row, bar) in zip(places, shown, strict=True) if bar.kind == kind]
        colors = [ACCENT if row.strong else GRAY for _, row, _ in drawn]
        for (place, _, bar), color in zip(drawn, colors, strict=True):
            ax.plot([bar.low, bar.high], [place, place], color=color, lw=1.6, solid_capstyle="butt")
        ax.scatter(
            [bar.value for _, _, bar in drawn],
            [place for place, _, _ in drawn],
            marker=_MARKERS.get(kind, "o"),
            s=34,
            facecolors=[ACCENT if row.strong else "white" for _, row, _ in drawn],
            edgecolors=colors,
            zorder=3,
            label=f"{kind}: {drawn[0][2].measure}",
        )
    ax.axvline(0, color="0.6", lw=1, zorder=0)
    ax.set_yticks(places, [f"{plain(row.cells[0])}  ({with_sign(row.cells[-1].text)})" for row, _ in shown])
    ax.set_ylim(-0.7, len(shown) - 0.3)
    measures = list(dict.fromkeys(bar.measure for _, bar in shown))
    ax.set_xlabel("effect" if len(measures) > 1 else measures[0])
    if len(measures) > 1:
        # Above: below are the numbers and the name of the axis.
        ax.legend(frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(measures))
    return finish(ax)


def draw_share_pairs(table: TableBlock, names: tuple[str, str], ax: Axes | None) -> Axes:
    """Draw a bar for each of two samples and each row of a table."""
    ax = line_axes(ax, len(table.rows), 0.7)
    places = np.arange(len(table.rows))[::-1]
    shares = [_shares(row) for row in table.rows]
    for k, (offset, color) in enumerate(((0.19, X_COLOR), (-0.19, Y_COLOR))):
        percentages = [100 * pair[k].value for pair in shares]
        ax.barh(places + offset, percentages, height=0.36, color=color, label=plain(names[k]))
    labels = [f"{plain(row.cells[0])}\n{with_sign(row.cells[-1].text)}" for row in table.rows]
    ax.set_yticks(places, labels)
    ax.set_xlabel("rows, %")
    return finish(ax, legend=True)


def draw_shares(table: TableBlock, count: int, label: str, ax: Axes | None) -> Axes:
    """Draw a bar for each of the first rows of a table, with its range if that is known."""
    rows = table.rows[:count][::-1]
    ax = line_axes(ax, len(rows))
    for place, row in enumerate(rows):
        share = _shares(row)[0]
        spread = None
        if share.low is not None and share.high is not None:
            spread = [[share.value - share.low], [share.high - share.value]]
        ax.barh(place, share.value, xerr=spread, color=ACCENT, alpha=0.75, ecolor="0.3", capsize=2)
    ax.set_yticks(range(len(rows)), [plain(row.cells[0]) for row in rows])
    ax.set_xlabel(label)
    return finish(ax)


def draw_pixels(pixels: PixelMap, ax: Axes | None) -> Axes:
    """Draw effects as an image. Pixels that do not differ are faint."""
    largest = float(np.nanmax(np.abs(pixels.effects))) or 1.0
    shades = np.where(pixels.named, 1.0, 0.15)
    ax = draw_image(pixels.effects, pixels.label, ax, cmap="PuOr_r", vmin=-largest, vmax=largest, alpha=shades)
    ax.set_title(f"{int(pixels.named.sum()):,} of {pixels.named.size:,} pixels differ", fontsize="medium")
    return ax


def draw_image(values: Array, label: str, ax: Axes | None, **options: object) -> Axes:
    """Draw numbers as an image with a color bar; ``options`` are those of ``imshow``."""
    ax = new_axes(ax, square=True)
    image = ax.imshow(values, interpolation="nearest", **options)  # type: ignore[arg-type]
    ax.figure.colorbar(image, ax=ax, label=plain(label), fraction=0.046, pad=0.04)
    ax.set_xticks([])
    ax.set_yticks([])
    return ax


def _effect(row: Row) -> EffectBar | None:
    return next((cell.bar for cell in row.cells if cell.bar is not None), None)


def _shares(row: Row) -> tuple[ShareBar, ...]:
    return next(cell.shares for cell in row.cells if cell.shares)
