"""Quadratic forms in the labels, of features that never saw them: the exact test that needs no choice.

Pool the rows, make features of them without their labels, and regress the labels on the features: that is a quadratic
form in the labels. Every form is computed for the observed and for many other labellings by one matrix product; what
follows treats all labellings alike, so that the rank of the observed one is an exact p-value (MATHS §9).

    features F (label-free)  →  G = FᵀF, C = FᵀW (sums over rows)  →  forms  →  scores  →  one p-value

`labellings` draws, `contrasts` makes numbers of labels; `landmarks`, `ranks`, `components` and `patches` are features,
`members` makes families of them and `features` fits all; `spectral` has the forms, `scores` their tails and means,
`families` what they come to; `verdict` is the test. Every number that was chosen stands in `constants`.
"""

from ..labellings import Labellings, NothingToExchange, draw_labellings
from .families import Part
from .features import Layout
from .scores import tied_up_to
from .verdict import FamilyVerdict, Pooled, Verdict, judge_rows, pool_rows

__all__ = [
    "FamilyVerdict",
    "Labellings",
    "Layout",
    "NothingToExchange",
    "Part",
    "Pooled",
    "Verdict",
    "draw_labellings",
    "judge_rows",
    "pool_rows",
    "tied_up_to",
]
