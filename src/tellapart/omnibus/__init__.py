"""The default test: statistics of label-free features, compared over permutations of the labels.

Features are computed from the pooled rows without their labels, and the labels are regressed on them: that is a
quadratic form in the labels. Every form is computed for the observed and for many permuted labels by one matrix
product, and all permutations are treated alike, so that the rank of the observed score is an exact p-value (MATHS §9).

    features F (label-free)  →  G = FᵀF, C = FᵀW (sums over rows)  →  scores of families  →  one p-value

A family of features is a file in `families`, and an entry of `families.FAMILIES`. `rows`, `sketch` and `plan` are what
families are fitted on and with; `contrasts` turns labels into numbers; `sums` are over rows; `scores`, `scoring` and
`spectral` are what families compute their scores with; `combination` makes one p-value of all; `test` is the test, and
`fixed` the same against a reference. `single` has exact p-values of single columns; `joint` and `regression` predict
the label of a row; `distance` is the MMD with an interval.
"""

from .bins import draw_bins
from .combination import FamilyPValue, OmnibusResult
from .families import FAMILIES, Family
from .rows import Layout
from .scores import tie_adjusted_threshold
from .scoring import CellScores, ColumnScore, StrongestStatistic
from .test import Pooled, omnibus_test, pool_rows

__all__ = [
    "FAMILIES",
    "CellScores",
    "ColumnScore",
    "Family",
    "FamilyPValue",
    "Layout",
    "OmnibusResult",
    "Pooled",
    "StrongestStatistic",
    "draw_bins",
    "omnibus_test",
    "pool_rows",
    "tie_adjusted_threshold",
]
