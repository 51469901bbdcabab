"""Choosing a kernel: bandwidths from a grid, gradient ascent, a closed-form witness; and which rows to learn from."""

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
