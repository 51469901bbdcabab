"""Pictures of results with matplotlib: one function each, which draws on ``ax`` and returns it.

``result.plot()`` draws the one that says most about a result.
"""

from .choosing import plot
from .decisions import equivalence, null_distribution, power
from .effects import columns, pairs, pixel_map
from .several import k_samples, monitor, ranking
from .witnesses import roc, slices, weights, witness

__all__ = [
    "columns",
    "equivalence",
    "k_samples",
    "monitor",
    "null_distribution",
    "pairs",
    "pixel_map",
    "plot",
    "power",
    "ranking",
    "roc",
    "slices",
    "weights",
    "witness",
]
