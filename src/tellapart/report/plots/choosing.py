"""Which picture says most about a result."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..._util.errors import InputTypeError
from ...criticism import Comparison, Weights
from ...twosample.auto_result import AutoResult
from ...twosample.equivalence import EquivalenceResult
from ...twosample.findings import Finding, Findings
from ...twosample.k_sample_result import KSampleResult, PairwiseTest
from ...twosample.monitor import Monitor
from ...twosample.planning import PlanResult
from ...twosample.ranked import RankResult
from ...twosample.results import LearnedTest, SplitResult, TestResult
from .decisions import equivalence, null_distribution, power
from .effects import columns, columns_of, pairs, pixel_map, pixels_of
from .several import k_samples, monitor, ranking
from .witnesses import weights

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot(result: Any, *, ax: Axes | None = None, **options: Any) -> Axes:
    """The picture that says most about a result.

    Tests: the null distribution. Automatic tests, findings and comparisons: columns with their effects, or for images a
    map of pixels. Several samples: each two of them.
    """
    for kind, draw in _PICTURES:
        if isinstance(result, kind):
            return draw(result, ax=ax, **options)
    raise InputTypeError("no-plot", f"There is no picture of {type(result).__name__}.")


def _findings(result: Any, *, ax: Axes | None, **options: Any) -> Axes:
    found = columns_of(result)
    if found and found[0].kind == "dependence":
        return pairs(found, ax=ax, **options)
    if not found and isinstance(result, Comparison) and result.weights is not None:
        return weights(result, ax=ax, **options)
    if not found and not isinstance(result, Findings):
        return null_distribution(result, ax=ax, **options)
    return (columns if pixels_of(result, 0.05) is None else pixel_map)(result, ax=ax, **options)


def _several(result: KSampleResult, *, ax: Axes | None, **options: Any) -> Axes:
    return (k_samples if result.pairwise else _findings)(result, ax=ax, **options)


def _one_of_several(result: PairwiseTest, *, ax: Axes | None, **options: Any) -> Axes:
    return _findings(result.test, ax=ax, **options)


#: What `plot` draws for each class of results; the first that fits.
_PICTURES: tuple[tuple[type[Any], Callable[..., Axes]], ...] = (
    (KSampleResult, _several),
    (PairwiseTest, _one_of_several),
    (AutoResult, _findings),
    (Findings, _findings),
    (Finding, _findings),
    (Comparison, _findings),
    (Weights, weights),
    (EquivalenceResult, equivalence),
    (PlanResult, power),
    (RankResult, ranking),
    (Monitor, monitor),
    (TestResult, null_distribution),
    (SplitResult, null_distribution),
    (LearnedTest, null_distribution),
)
