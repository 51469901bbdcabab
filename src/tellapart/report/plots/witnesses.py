"""Pictures of criticism: the witness function, what it tells apart, kinds of rows, and what a kernel weighs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..._util.errors import InputError
from ..._util.numbers import p_text
from ...criticism import Comparison, Weights
from ...data.arrays import Array
from .axes import ACCENT, GREY, X_COLOUR, Y_COLOUR, finish, new_axes, plain, say_empty
from .drawing import draw_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def witness(comparison: Comparison, *, bins: int | None = None, ax: Axes | None = None) -> Axes:
    """Draw the witness function in both samples: how far apart are they?"""
    return draw_figure(comparison.witness_figure(bins), ax)


def roc(comparison: Comparison, *, ax: Axes | None = None) -> Axes:
    """How well the witness function tells the samples apart: the ROC curve, whose area is the AUC."""
    ax = new_axes(ax, square=True)
    of_x, of_y = _witness_values(comparison)
    cuts = np.unique(np.concatenate([of_x, of_y]))[::-1]
    if len(cuts) > 2000:
        cuts = cuts[np.linspace(0, len(cuts) - 1, 2000).astype(int)]
    hits, alarms = (1 - np.searchsorted(np.sort(values), cuts, "left") / len(values) for values in (of_x, of_y))
    ax.plot([0, 1], [0, 1], color=GREY, ls="--", lw=1)
    ax.plot([0, *alarms, 1], [0, *hits, 1], color=ACCENT, lw=2, label=_auc_text(comparison))
    ax.set_xlabel(f"share of {plain(comparison.names[1])} above the cut")
    ax.set_ylabel(f"share of {plain(comparison.names[0])} above the cut")
    ax.set_aspect("equal")
    return finish(ax, legend=True)


def slices(comparison: Comparison, *, ax: Axes | None = None) -> Axes:
    """Kinds of rows that one sample has more of: their shares in both."""
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
    """The weights that a kernel learned: an image for pixels, else bars."""
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


def _witness_values(comparison: Comparison) -> tuple[Array, Array]:
    return np.asarray(comparison.witness_x, float), np.asarray(comparison.witness_y, float)


def _auc_text(comparison: Comparison) -> str:
    low, high = comparison.auc_interval
    return f"AUC {comparison.auc:.3f} [{low:.3f}, {high:.3f}]"
