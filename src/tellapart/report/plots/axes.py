"""Axes of matplotlib for plots, and their colors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._util.extras import extra
from ..words import clip

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Colors of the samples, of what was observed, and of what is shown for comparison. They can be told apart without
#: seeing red from green.
X_COLOR, Y_COLOR, ACCENT, GRAY = "#0072b2", "#c85200", "#5b4bb7", "#9a9da3"
#: Characters of a name.
_NAME = 40


def plain(text: object) -> str:
    """A name to be drawn: short, and never read as a formula."""
    return clip(str(text), _NAME).replace("$", r"\$")


def new_axes(ax: Axes | None, *, square: bool = False, height: float = 3.2) -> Axes:
    """The axes that were given, or new ones."""
    if ax is not None:
        return ax
    pyplot = extra("matplotlib.pyplot", group="plots", what="A plot")
    axes: Axes = pyplot.subplots(figsize=(4.4, 3.8) if square else (6.4, height), layout="constrained")[1]
    return axes


def line_axes(ax: Axes | None, lines: int, height: float = 0.3) -> Axes:
    """The axes that were given, or new ones with room for a number of lines."""
    return new_axes(ax, height=max(1.6, height * lines + 1.0))


def finish(ax: Axes, legend: bool = False) -> Axes:
    """Remove the frame, and add a legend if asked for."""
    ax.spines[["top", "right"]].set_visible(False)
    if legend:
        ax.legend(frameon=False, fontsize="small")
    return ax


def write_empty(ax: Axes, text: str) -> Axes:
    """Write a text where there is nothing to draw."""
    ax.text(0.5, 0.5, text, ha="center", va="center", transform=ax.transAxes, color="0.4")
    ax.set_axis_off()
    return ax


def draw_arrow(ax: Axes, color: str, label: str, before: bool) -> None:
    """Draw an arrow to what lies beyond the right end of the axis, or before the left one."""
    end, start = (0.0, 0.12) if before else (1.0, 0.88)
    ax.annotate(
        "",
        xy=(end, 0.3),
        xytext=(start, 0.3),
        xycoords="axes fraction",
        arrowprops={"arrowstyle": "-|>", "color": color, "lw": 2},
    )
    ax.plot([], [], color=color, lw=2, marker="<" if before else ">", label=label)
