"""The classes of results, for annotations and ``isinstance``; the functions of `tellapart` return them."""

from typing import TYPE_CHECKING

from ._util.lazy_names import import_name

if TYPE_CHECKING:
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


def __getattr__(name: str) -> type:
    homes = {
        "criticism": ("Comparison", "Exemplar", "NamedText", "Notice", "Slice", "Weights"),
        "learning": ("History", "Selection", "Split"),
        "stats.estimators": ("Estimate",),
    }
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = next((home for home, names in homes.items() if name in names), "twosample")
    found: type = import_name("tellapart", home, name)
    globals()[name] = found
    return found
