"""Tell two samples apart: is there a difference, how sure are we, and where is it?"""

from importlib.metadata import version as _version

from . import kernels
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
from .samples import Sample

__version__ = _version("tellapart")

__all__ = [
    "BlockEstimate",
    "Estimate",
    "Sample",
    "__version__",
    "asymptotic_power",
    "block_estimate",
    "estimate",
    "kernels",
    "mmd2",
    "mmd2_variance",
    "t_statistic",
]
