"""The classes of results, for annotations and ``isinstance``; the functions of `tellapart` return them."""

from .criticism import Comparison, Exemplar, NamedText, Notice, Slice, Weights
from .learning import History, Selection, Split
from .stats.estimators import Estimate
from .twosample import (
    EquivalenceResult,
    KSampleResult,
    LearnedTest,
    Monitor,
    PlanResult,
    RankResult,
    SplitResult,
    TestResult,
    TwoSampleResult,
)

__all__ = [
    "Comparison",
    "EquivalenceResult",
    "Estimate",
    "Exemplar",
    "History",
    "KSampleResult",
    "LearnedTest",
    "Monitor",
    "NamedText",
    "Notice",
    "PlanResult",
    "RankResult",
    "Selection",
    "Slice",
    "Split",
    "SplitResult",
    "TestResult",
    "TwoSampleResult",
    "Weights",
]
