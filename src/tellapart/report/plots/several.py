"""Plots of several samples: pairs of samples, ranked models, the batches of a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._util.view import Matrix
from ...twosample.history import evidence_figure, pvalue_figure
from ...twosample.k_sample_result import KSampleResult
from ...twosample.monitor import Monitor
from ...twosample.ranked import RankResult
from .axes import new_axes, write_empty
from .drawing import draw_figure, draw_matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def k_samples(result: KSampleResult, *, ax: Axes | None = None) -> Axes:
    """Draw the adjusted p-values of each two of several samples."""
    matrix = next((block for block in result.view().blocks if isinstance(block, Matrix)), None)
    if matrix is None:
        return write_empty(new_axes(ax, square=True), "no tests of two samples")
    ax = draw_matrix(matrix, result.names, ax)
    ax.set_title("p-values, two samples at a time", fontsize="medium")
    return ax


def ranking(result: RankResult, *, ax: Axes | None = None) -> Axes:
    """Draw the models by their distance from the reference, with two standard errors to each side."""
    return draw_figure(result.distance_figure(), ax)


def monitor(result: Monitor, *, ax: Axes | None = None) -> Axes:
    """Draw the evidence after each batch and its limit; with other controls than "anytime", the p-values."""
    if not result.records:
        return write_empty(new_axes(ax), "no batches yet")
    return draw_figure((evidence_figure if result.control == "anytime" else pvalue_figure)(result), ax)
