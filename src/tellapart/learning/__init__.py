"""Choosing a kernel by a grid of bandwidths, gradient ascent or a closed-form witness; splits of rows."""

from typing import TYPE_CHECKING

from .._util.lazy_names import lazy_names
from .history import NAMES, Criterion, History
from .splits import Split, split_rows

if TYPE_CHECKING:
    from .bandwidths import Selection, default_bandwidths, median_bandwidth, select_bandwidth
    from .fitting import LearningSettings, fit_kernel

__all__ = [
    "NAMES",
    "Criterion",
    "History",
    "LearningSettings",
    "Selection",
    "Split",
    "default_bandwidths",
    "fit_kernel",
    "median_bandwidth",
    "select_bandwidth",
    "split_rows",
]

#: What learns comes with torch, when it is first used.
__getattr__ = lazy_names(
    __name__,
    dict.fromkeys(("Selection", "default_bandwidths", "median_bandwidth", "select_bandwidth"), "bandwidths")
    | dict.fromkeys(("LearningSettings", "fit_kernel"), "fitting"),
)
