"""Choosing a kernel by a grid of bandwidths, gradient ascent or a closed-form witness; splits of rows."""

from .ascent import Criterion, History
from .bandwidths import Selection, default_bandwidths, median_bandwidth, select_bandwidth
from .fitting import LearningSettings, fit_kernel
from .splits import Split, split_rows
from .starts import NAMES

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
