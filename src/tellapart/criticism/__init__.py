"""Where two samples differ, and `compare`, which tests and criticises in one call."""

from .comparing import compare, compare_cost
from .comparison import Comparison
from .views import Array, Exemplar, Weights, coordinate_weights, exemplars, separability, witness

__all__ = [
    "Array",
    "Comparison",
    "Exemplar",
    "Weights",
    "compare",
    "compare_cost",
    "coordinate_weights",
    "exemplars",
    "separability",
    "witness",
]
