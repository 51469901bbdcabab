"""Null distributions: how the statistic would be distributed if both samples came from one distribution.

Exact ones (`Permutation`, `Binned`, `Paired`) relabel the data in ways that change nothing if P = Q. They are exact at
every sample size and in every precision: rows are first brought into a random order, so that tiles, rounding errors and
all are the same for the labels observed as for those drawn. (Not rows of a `Precomputed` matrix, which would cost more
than the test; there, rounding errors are merely small.)

A null distribution of your own is a subclass of `Null`.
"""

from typing import TypeAlias

from ..._util import needs_torch  # noqa: F401
from ..._util.errors import InputError, InputTypeError
from .base import Null, NullDistribution, Problem
from .binned import Binned
from .gamma import Gamma
from .paired import Paired
from .permutation import Permutation
from .spectral import Spectral
from .wild import Wild

__all__ = [
    "Binned",
    "Gamma",
    "Null",
    "NullDistribution",
    "NullLike",
    "Paired",
    "Permutation",
    "Problem",
    "Spectral",
    "Wild",
    "as_null",
]

#: The nulls that can be named instead of made, with the options that they have by default.
NULLS: dict[str, type[Null]] = {null.name: null for null in (Permutation, Binned, Paired, Wild, Spectral, Gamma)}

#: A null distribution, or the name of one.
NullLike: TypeAlias = Null | str


def as_null(null: NullLike) -> Null:
    """The null distribution itself, or the one that is called so.

    >>> as_null("wild")
    Wild(lag=0.0)
    """
    if isinstance(null, Null):
        return null
    if not isinstance(null, str):
        raise InputTypeError(
            "wrong-type",
            f"null must be a null distribution such as 'permutation' or ta.nulls.Binned(), but is {null!r:.80}.",
        )
    if null not in NULLS:
        raise InputError("unknown-choice", f"null={null!r} is not known. Choose one of {', '.join(map(repr, NULLS))}.")
    return NULLS[null]()
