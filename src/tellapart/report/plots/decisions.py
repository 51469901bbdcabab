"""Plots of decisions: a statistic and its null distribution, a distance and its margin, the power of a study."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..._util.view import Figure
from ...twosample.equivalence import EquivalenceResult
from ...twosample.planning import PlanResult
from ...twosample.result import Displayed
from .drawing import draw_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def null_distribution(result: Any, *, alpha: float = 0.05, bins: int | None = None, ax: Axes | None = None) -> Axes:
    """Draw the statistic and its values for random permutations: could it be chance?

    Parameters
    ----------
    result : Result
        Any test, or a comparison.
    alpha : float, default 0.05
        The level at which the threshold is drawn.
    bins : int, optional
        The number of bins. By default it depends on the number of permutations.
    ax : matplotlib.axes.Axes, optional
        Where to draw. By default a new figure is created.

    Examples
    --------
    >>> import numpy as np, tellapart as ta
    >>> result = ta.mmd_test(np.zeros((20, 2)), np.ones((20, 2)), rng=0)
    >>> ta.plots.null_distribution(result).get_xlabel()
    'MMD²'
    """
    return draw_figure(result.null_figure(alpha, bins), ax)


def equivalence(result: EquivalenceResult, *, ax: Axes | None = None) -> Axes:
    """Draw the distance of two samples with its interval, and the margin that it is compared with."""
    return draw_figure(only_figure(result), ax)


def power(result: PlanResult, *, ax: Axes | None = None) -> Axes:
    """Draw the power of a study by its number of rows: as drawn from the pilot, and as predicted."""
    return draw_figure(result.power_figure(), ax)


def only_figure(result: Displayed) -> Figure:
    """The first figure of a view."""
    return next(block for block in result.view().blocks if isinstance(block, Figure))
