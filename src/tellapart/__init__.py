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
from .splits import Split, split_rows
from .testing import Half, LearnedTest, TestResult, learned_test, mmd_test, witness_test

__version__ = _version("tellapart")

__all__ = [
    "BlockEstimate",
    "Estimate",
    "Half",
    "History",
    "LearnedTest",
    "Sample",
    "Selection",
    "Split",
    "TestResult",
    "__version__",
    "asymptotic_power",
    "block_estimate",
    "datasets",
    "default_bandwidths",
    "estimate",
    "fit_kernel",
    "kernels",
    "learned_test",
    "median_bandwidth",
    "mmd2",
    "mmd2_variance",
    "mmd_test",
    "select_bandwidth",
    "split_rows",
    "t_statistic",
    "witness_test",
]
