"""Tell two samples apart: is there a difference, how sure are we, and where is it?"""

from importlib.metadata import version as _version

from . import datasets, kernels, losses
from .criticism import Exemplar, Weights, witness
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
from .reductions import Cost
from .samples import Sample
from .selection import Selection, default_bandwidths, median_bandwidth, select_bandwidth
from .splits import Split, split_rows
from .testing import (
    Comparison,
    Half,
    LearnedTest,
    TestResult,
    compare,
    compare_cost,
    learned_test,
    mmd_test,
    mmd_test_cost,
    witness_test,
)

__version__ = _version("tellapart")

__all__ = [
    "BlockEstimate",
    "Comparison",
    "Cost",
    "Estimate",
    "Exemplar",
    "Half",
    "History",
    "LearnedTest",
    "Sample",
    "Selection",
    "Split",
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
    "select_bandwidth",
    "split_rows",
    "t_statistic",
    "witness",
    "witness_test",
]
