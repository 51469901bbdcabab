"""P-values, thresholds and levels: the rules of MATHS §6, each in one place."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy.special import ndtri

from .._util.errors import InputError, InputTypeError, Note

if TYPE_CHECKING:
    from torch import Tensor

Array: TypeAlias = "np.ndarray[Any, Any]"

#: Draws from a null distribution at the most. All are kept, and what is below 1e-7 is no matter of counting.
MOST_DRAWS = 10**7
#: A test whose smallest p-value is above this level is warned about.
USUAL_LEVEL = 0.05
#: The normal quantile of intervals with 95 % confidence.
Z_95 = 1.959964


def check_level(alpha: Any) -> float:
    """The level itself, if it is one."""
    if not isinstance(alpha, (int, float, np.integer, np.floating)):
        raise InputTypeError("wrong-type", f"alpha must be a number between 0 and 1, but is {alpha!r:.60}.")
    if not 0 < alpha < 1:
        raise InputError("out-of-range", f"alpha must be between 0 and 1, but is {alpha!r}.")
    return float(alpha)


def check_draws(count: Any, name: str = "permutations", otherwise: str = "") -> None:
    """Raise `InputError` unless ``count`` is a number of draws that can be kept."""
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
        raise InputError("out-of-range", f"{name} must be a whole number from 1 up{otherwise}, but is {count!r}.")
    if count > MOST_DRAWS:
        raise InputError("out-of-range", f"{name} must be at most {MOST_DRAWS:,}, but is {count}.")


def check_reach(permutations: Any, alpha: float, tests: int = 1) -> None:
    """Raise `InputError` unless so many permutations can reject, with p-values adjusted for some tests."""
    check_draws(permutations)
    if permutations < tests / alpha - 1 - 1e-9:
        raise InputError(
            "level-not-attainable",
            f"With {permutations} permutations p is at least {tests / (permutations + 1):.3g}, so nothing can "
            f"be found at level {alpha:g}.",
            "Give at least {permutations}.",
            permutations=math.ceil(tests / alpha) - 1,
        )


def min_pvalue(count: int, distinct: float = math.inf, alike: int = 1) -> float:
    """The smallest p-value that the rank of the observed one among ``count`` labellings can be.

    Parameters
    ----------
    count
        Labellings that are looked at, the observed one among them.
    distinct, alike
        How many different ones there are, and how many of these have the observed statistic whatever the data are.

    Examples
    --------
    >>> min_pvalue(1000), min_pvalue(20, 20, 2)
    (0.001, 0.1)
    """
    return max(1 / count, alike / distinct)


def describe_floor(floor: float) -> str:
    """That a test cannot find anything."""
    return (
        f"The smallest attainable p-value is {floor:.3g} (too few distinct permutations, or too few were asked for), "
        f"so the test cannot reject at level {USUAL_LEVEL:g}."
    )


def note_floor(floor: float) -> tuple[str, ...]:
    """The same as a note, where it is so."""
    return (Note("level-not-attainable", describe_floor(floor)),) if floor > USUAL_LEVEL else ()


def warn_of_floor(floor: float, stacklevel: int = 3) -> None:
    """Warn of a test that cannot find anything."""
    if floor > USUAL_LEVEL:
        warnings.warn(describe_floor(floor), stacklevel=stacklevel)


def rejects(pvalue: float, alpha: float) -> bool:
    """Whether a p-value is at most ``alpha``, rounding aside."""
    return pvalue <= check_level(alpha) + 1e-12


def reaches(statistic: Tensor, distribution: Tensor, tolerance: float) -> Tensor:
    """Which draws are at least as large as the statistic, up to rounding: ties count."""
    observed = statistic[..., None]
    largest = distribution.abs().amax(-1, keepdim=True).maximum(observed.abs())
    return distribution >= observed - tolerance * largest


def permutation_pvalue(statistic: Tensor, distribution: Tensor, tolerance: float) -> Tensor:
    """(1 + #{T_b ≥ T}) / (B + 1): never 0."""
    return (1 + reaches(statistic, distribution, tolerance).sum(-1).double()) / (distribution.shape[-1] + 1)


def critical_rank(alpha: float, draws: int) -> int:
    """⌊α (B + 1)⌋: the test rejects where fewer draws than this reach the statistic. 0 where B is too small.

    The product is a whole number in all good cases, and just below it in floating point in many of them.

    >>> critical_rank(0.05, 199), critical_rank(0.29, 99), critical_rank(0.001, 99)
    (10, 29, 0)
    """
    return math.floor(check_level(alpha) * (draws + 1) + 1e-9)


def critical_value(distribution: Tensor, alpha: float) -> Tensor:
    """What a statistic must exceed to be rejected at level ``alpha``, along the last dimension; differentiable.

    With too few draws for ``alpha`` nothing is rejected, and it is infinite.
    """
    rank = critical_rank(alpha, distribution.shape[-1])
    if rank < 1:
        return distribution.new_full(distribution.shape[:-1], math.inf)
    return distribution.sort(-1).values[..., -rank]


def threshold_of(draws: Array, alpha: float) -> float:
    """`critical_value` of one null distribution, as a number.

    >>> threshold_of(np.arange(19.0), 0.1), threshold_of(np.arange(19.0), 0.01)
    (17.0, inf)
    """
    rank = critical_rank(alpha, len(draws))
    return math.inf if rank < 1 else float(np.sort(draws)[-rank])


def attainable_level(alpha: float, draws: int) -> float:
    """The level itself, or the smallest that so many draws can decide at if that is larger."""
    return max(alpha, 1 / (draws + 1))


def normal_quantile(alpha: float) -> float:
    """What a standard normal variable exceeds with probability ``alpha``."""
    return -float(ndtri(alpha))


def bonferroni(pvalues: list[float]) -> float:
    """The smallest p-value times their number: valid however they depend on each other."""
    return min(1.0, len(pvalues) * min(pvalues))


def holm(pvalues: Sequence[float]) -> list[float]:
    """Adjusted p-values (Holm 1979): valid however the tests depend on each other.

    >>> holm([0.01, 0.04, 0.02])
    [0.03, 0.04, 0.04]
    """
    order = np.argsort(pvalues, kind="stable")
    scaled = np.asarray(pvalues, dtype=float)[order] * np.arange(len(pvalues), 0, -1)
    found = np.empty(len(pvalues))
    found[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return [float(p) for p in found]


def cauchy(pvalues: list[float]) -> float:
    """The mean of Cauchy quantiles, which is nearly Cauchy in its tail however the p-values depend on each other."""
    mean = float(np.mean([math.tan((0.5 - min(p, 1 - 1e-9)) * math.pi) for p in pvalues]))
    return 0.5 - math.atan(mean) / math.pi


#: Ways to make one p-value of several, by name.
COMBINATIONS = {"bonferroni": bonferroni, "cauchy": cauchy}
