"""Tell two samples apart: is there a difference, how sure are we, and where is it?"""

from importlib.metadata import version as _version

from . import datasets, kernels
from .estimators import (
    BlockEstimate,
    Estimate,
    asymptotic_power,
    block_estimate,
    estimate,
    mmd2,
    mmd2_variance,
    t_statistic,
)
from .learning import History, fit_kernel
from .samples import Sample
from .selection import Selection, default_bandwidths, median_bandwidth, select_bandwidth
from .testing import TestResult, mmd_test

__version__ = _version("tellapart")

__all__ = [
    "BlockEstimate",
    "Estimate",
    "History",
    "Sample",
    "Selection",
    "TestResult",
    "__version__",
    "asymptotic_power",
    "block_estimate",
    "datasets",
    "default_bandwidths",
    "estimate",
    "fit_kernel",
    "kernels",
    "median_bandwidth",
    "mmd2",
    "mmd2_variance",
    "mmd_test",
    "select_bandwidth",
    "t_statistic",
]
