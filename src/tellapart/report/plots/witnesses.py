"""Plots of criticism: the witness function, its ROC curve, kinds of rows, and the weights of a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._util.errors import InputError
from ...criticism import Comparison, Weights
from ...twosample.views import distinct_names
from .axes import new_axes, write_empty
from .drawing import draw_figure
from .tables import draw_image, draw_share_pairs, draw_shares

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def witness(comparison: Comparison, *, bins: int | None = None, ax: Axes | None = None) -> Axes:
    """Draw the witness function in both samples: how far apart are they?"""
    return draw_figure(comparison.witness_figure(bins), ax)


def roc(comparison: Comparison, *, ax: Axes | None = None) -> Axes:
    """Draw the ROC curve of the witness function: how well it tells the samples apart. Its area is the AUC."""
    ax = draw_figure(comparison.roc_figure(), new_axes(ax, square=True))
    ax.set_aspect("equal")
    return ax


def slices(comparison: Comparison, *, ax: Axes | None = None) -> Axes:
    """Draw the kinds of rows that one sample has more of, with their proportions in both."""
    table = comparison.slices_table()
    if table is None:
        return write_empty(new_axes(ax), "no slices")
    return draw_share_pairs(table, distinct_names(comparison.names), ax)


def weights(result: Comparison | Weights, *, count: int = 20, ax: Axes | None = None) -> Axes:
    """Draw the weights that a kernel learned: as an image for pixels, else as bars."""
    learned = result if isinstance(result, Weights) else result.weights
    if learned is None:
        raise InputError("no-weights", "This comparison learned no weights.", "Ask for them with {test}.", test="ard")
    if learned.pixels is not None:
        return draw_image(learned.pixels, "weight", ax, cmap="magma")
    return draw_shares(learned.table(), count, "weight", ax)
