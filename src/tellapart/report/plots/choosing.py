"""Which plot says most about a result."""

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
from .effects import columns, find_pixels, pairs, pixel_map
from .several import k_samples, monitor, ranking
from .witnesses import weights

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot(result: Any, *, ax: Axes | None = None, **options: Any) -> Axes:
    """Draw the plot that says most about a result.

    Tests with a kernel: the null distribution. Default tests, findings and comparisons: columns with their effects, or
    a map of pixels for images. Several samples: p-values of each two of them.
    """
    for result_class, draw in _PLOTS:
        if isinstance(result, result_class):
            return draw(result, ax=ax, **options)
    raise InputTypeError("no-plot", f"There is no plot of {type(result).__name__}.")


def _findings(result: Any, *, ax: Axes | None, **options: Any) -> Axes:
    if isinstance(result, Finding):
        return (pairs if result.kind == "dependence" else columns)(result, ax=ax, **options)
    findings = result if isinstance(result, Findings) else result.columns
    if not findings and isinstance(result, Comparison) and result.weights is not None:
        return weights(result, ax=ax, **options)
    if not findings and not isinstance(result, Findings):
        return null_distribution(result, ax=ax, **options)
    return (columns if find_pixels(result) is None else pixel_map)(result, ax=ax, **options)


def _several(result: KSampleResult, *, ax: Axes | None, **options: Any) -> Axes:
    return (k_samples if result.pairwise else _findings)(result, ax=ax, **options)


def _pair(result: PairwiseTest, *, ax: Axes | None, **options: Any) -> Axes:
    return _findings(result.test, ax=ax, **options)


#: What `plot` draws for each class of results; the first that fits.
_PLOTS: tuple[tuple[type[Any], Callable[..., Axes]], ...] = (
    (KSampleResult, _several),
    (PairwiseTest, _pair),
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
