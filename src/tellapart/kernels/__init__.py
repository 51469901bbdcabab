"""Kernels: `nn.Module`s that compute a tile of kernel values from two blocks of points.

All bandwidths follow one convention: ``Gaussian(bandwidth)`` is exp(-|x - y|² / (2 bandwidth²)). See
`tellapart.kernels.registry` for how to add a kernel.
"""

from .._util import needs_torch  # noqa: F401
from .base import Kernel
from .combinations import Combination, Product, Sum
from .deep import MLP, Deep
from .files import load, save
from .gaussian import ARD, Gaussian
from .given import FromFunction, Precomputed, as_kernel
from .grid import Grid
from .hamming import Hamming
from .mixture import Mixture
from .plan import Features, Plan, leaves, map_leaves, merge_plans, probe_rows, take
from .products import Linear, Polynomial
from .registry import REGISTRY, Saved, register
from .stationary import Laplacian, Matern, RationalQuadratic, Stationary
from .witness import Witness

__all__ = [
    "ARD",
    "MLP",
    "REGISTRY",
    "Combination",
    "Deep",
    "Features",
    "FromFunction",
    "Gaussian",
    "Grid",
    "Hamming",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "Mixture",
    "Plan",
    "Polynomial",
    "Precomputed",
    "Product",
    "RationalQuadratic",
    "Saved",
    "Stationary",
    "Sum",
    "Witness",
    "as_kernel",
    "leaves",
    "load",
    "map_leaves",
    "merge_plans",
    "probe_rows",
    "register",
    "save",
    "take",
]
