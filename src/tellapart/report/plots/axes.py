"""Axes of matplotlib that pictures are drawn on, and their colours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._util.extras import extra
from ..words import clip

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The samples, what was observed, and what is only there for comparison; told apart without seeing red from green.
X_COLOUR, Y_COLOUR, ACCENT, GREY = "#0072b2", "#c85200", "#5b4bb7", "#9a9da3"
#: Characters of a name.
_NAME = 40


def plain(text: object) -> str:
    """A name to be drawn: short, and never read as a formula."""
    return clip(str(text), _NAME).replace("$", r"\$")


def new_axes(ax: Axes | None, *, square: bool = False, height: float = 3.2) -> Axes:
    """Those that were given, or new ones."""
    if ax is not None:
        return ax
    pyplot = extra("matplotlib.pyplot", group="plots", what="A picture")
    _, made = pyplot.subplots(figsize=(4.4, 3.8) if square else (6.4, height), layout="constrained")
    found: Axes = made
    return found


def finish(ax: Axes, legend: bool = False) -> Axes:
    """Without a frame, and perhaps with a legend."""
    ax.spines[["top", "right"]].set_visible(False)
    if legend:
        ax.legend(frameon=False, fontsize="small")
    return ax


def say_empty(ax: Axes, text: str) -> Axes:
    """A text where there is nothing to draw."""
    ax.text(0.5, 0.5, text, ha="center", va="center", transform=ax.transAxes, color="0.4")
    ax.set_axis_off()
    return ax


def far_arrow(ax: Axes, colour: str, label: str, before: bool) -> None:
    """An arrow to what lies beyond the right end of the axis, or before the left one."""
    end, start = (0.0, 0.12) if before else (1.0, 0.88)
    ax.annotate(
        "",
        xy=(end, 0.3),
        xytext=(start, 0.3),
        xycoords="axes fraction",
        arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 2},
    )
    ax.plot([], [], color=colour, lw=2, marker="<" if before else ">", label=label)
