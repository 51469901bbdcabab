"""Where two samples differ, one file a view, and `compare`, which tests and criticises in one call."""

from typing import TYPE_CHECKING

from .._util.lazy_names import lazy_names
from ..data.arrays import Array
from ..data.notices import Notice
from ..twosample.rules import Condition
from .comparing import compare
from .comparison import Comparison
from .exemplars import Exemplar, exemplars
from .separability import separability
from .settings import ComparisonSettings
from .slices import Slice
from .texts import NamedText
from .weights import Weights

if TYPE_CHECKING:
    from .costs import compare_cost
    from .kernel_witness import witness, witness_values
    from .learned_weights import find_weights

__all__ = [
    "Array",
    "Comparison",
    "ComparisonSettings",
    "Condition",
    "Exemplar",
    "NamedText",
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

#: What needs kernels comes with torch, when it is first used.
__getattr__ = lazy_names(
    __name__,
    {
        "compare_cost": "costs",
        "find_weights": "learned_weights",
        "witness": "kernel_witness",
        "witness_values": "kernel_witness",
    },
)
