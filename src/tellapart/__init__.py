"""Tell two samples apart: is there a difference, how sure are we, and where is it?"""

from importlib.metadata import version as _version

from . import kernels
from .criticism import Comparison, Exemplar, Weights, compare, compare_cost, witness
from .data import Sample, datasets
from .engine import Cost
from .learning import (
    History,
    Selection,
    Split,
    default_bandwidths,
    fit_kernel,
    median_bandwidth,
    select_bandwidth,
    split_rows,
)
from .stats import losses, nulls
from .stats.estimators import (
    BlockEstimate,
    Estimate,
    asymptotic_power,
    block_estimate,
    estimate,
    mmd2,
    mmd2_variance,
    t_statistic,
)
from .twosample import LearnedTest, SplitResult, TestResult, learned_test, mmd_test, mmd_test_cost, witness_test

__version__ = _version("tellapart")

__all__ = [
    "BlockEstimate",
    "Comparison",
    "Cost",
    "Estimate",
    "Exemplar",
    "History",
    "LearnedTest",
    "Sample",
    "Selection",
    "Split",
    "SplitResult",
    "TestResult",
    "Weights",
    "__version__",
    "asymptotic_power",
    "block_estimate",
    "compare",
    "compare_cost",
    "datasets",
    "default_bandwidths",
    "estimate",
    "fit_kernel",
    "kernels",
    "learned_test",
    "losses",
    "median_bandwidth",
    "mmd2",
    "mmd2_variance",
    "mmd_test",
    "mmd_test_cost",
    "nulls",
    "select_bandwidth",
    "split_rows",
    "t_statistic",
    "witness",
    "witness_test",
]
