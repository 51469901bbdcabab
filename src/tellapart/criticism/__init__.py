"""Where two samples differ, one file a view, and `compare`, which tests and criticises in one call."""

from ..data.arrays import Array
from ..data.notices import Notice
from ..twosample.rules import Condition
from .comparing import compare
from .comparison import Comparison
from .costs import compare_cost
from .exemplars import Exemplar, exemplars
from .separability import separability
from .settings import ComparisonSettings
from .slices import Slice
from .weights import Weights, find_weights
from .witness import witness, witness_values

__all__ = [
    "Array",
    "Comparison",
    "ComparisonSettings",
    "Condition",
    "Exemplar",
    "Notice",
    "Slice",
    "Weights",
    "compare",
    "compare_cost",
    "exemplars",
    "find_weights",
    "separability",
    "witness",
    "witness_values",
]
