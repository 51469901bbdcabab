"""Plots of criticism: the witness function, its ROC curve, kinds of rows, and the weights of a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..._util.errors import InputError
from ..._util.numbers import p_text
from ...criticism import Comparison, Weights
from .axes import ACCENT, X_COLOUR, Y_COLOUR, finish, new_axes, plain, say_empty
from .drawing import draw_figure

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
    found = comparison.slices
    ax = new_axes(ax, height=max(1.6, 0.7 * len(found) + 0.9))
    if not found:
        return say_empty(ax, "no slices")
    places = np.arange(len(found))[::-1]
    for offset, shares, colour, name in (
        (0.19, [100 * one.share_x for one in found], X_COLOUR, comparison.names[0]),
        (-0.19, [100 * one.share_y for one in found], Y_COLOUR, comparison.names[1]),
    ):
        ax.barh(places + offset, shares, height=0.36, color=colour, label=plain(name))
    ax.set_yticks(places, [f"{plain(one.text)}\np = {p_text(one.pvalue)}" for one in found])
    ax.set_xlabel("rows, %")
    return finish(ax, legend=True)


def weights(result: Comparison | Weights, *, count: int = 20, ax: Axes | None = None) -> Axes:
    """Draw the weights that a kernel learned: an image for pixels, else bars."""
    found = result if isinstance(result, Weights) else result.weights
    if found is None:
        raise InputError("no-weights", "This comparison learned no weights.", "Ask for them with {test}.", test="ard")
    if found.image_shape is not None:
        ax = new_axes(ax, square=True)
        height, width = found.image_shape[:2]
        drawn = ax.imshow(np.asarray(found.values, float).reshape(height, width, -1).sum(-1), cmap="magma")
        ax.figure.colorbar(drawn, ax=ax, label="weight", fraction=0.046, pad=0.04)
        ax.set_xticks([])
        ax.set_yticks([])
        return ax
    order = np.argsort(-found.values, kind="stable")[:count][::-1]
    ax = new_axes(ax, height=max(1.6, 0.3 * len(order) + 0.9))
    spread = None
    if found.low is not None and found.high is not None:
        spread = np.abs(np.array([found.values - found.low, found.high - found.values])[:, order])
    ax.barh(range(len(order)), found.values[order], xerr=spread, color=ACCENT, alpha=0.75, ecolor="0.3", capsize=2)
    ax.set_yticks(range(len(order)), [plain(found.names[k]) for k in order])
    ax.set_xlabel("weight")
    return finish(ax)
