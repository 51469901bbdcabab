"""Kernels: `nn.Module`s that make a tile of kernel values from two blocks of points.

One convention for all: ``Gaussian(bandwidth)`` is exp(-|x - y|² / (2 bandwidth²)).
"""

from .base import Combination, Features, Kernel, Plan, Product, Sum, leaves, map_leaves, merge_plans, probe_rows, take
from .deep import MLP, Deep
from .files import load, save
from .gaussian import ARD, Gaussian, Mixture
from .given import FromFunction, Precomputed, as_kernel
from .grid import Grid
from .products import Linear, Polynomial
from .stationary import Laplacian, Matern, RationalQuadratic, Stationary
from .witness import Witness

__all__ = [
    "ARD",
    "MLP",
    "Combination",
    "Deep",
    "Features",
    "FromFunction",
    "Gaussian",
    "Grid",
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
    "Stationary",
    "Sum",
    "Witness",
    "as_kernel",
    "leaves",
    "load",
    "map_leaves",
    "merge_plans",
    "probe_rows",
    "save",
    "take",
]
