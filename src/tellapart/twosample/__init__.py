"""Two-sample tests that need no choice, or with a kernel that is given or learned, and their results."""

from typing import TYPE_CHECKING

from .._util.lazy_names import lazy_names

if TYPE_CHECKING:
    from .auto import k_sample_test, two_sample_test
    from .batches import BatchRecord
    from .costs import mmd_test_cost
    from .equivalence import EquivalenceResult, equivalence_test
    from .findings import Finding, Findings
    from .fixed import mmd_test, witness_test
    from .k_sample_result import KSampleResult
    from .learned import learned_test
    from .monitor import Monitor
    from .planning import PlanResult, plan
    from .ranked import RankedModel, RankResult, RelativeTest
    from .ranking import rank
    from .reference import Reference
    from .results import LearnedTest, SplitResult, TestResult
    from .two_sample_result import TwoSampleResult

__all__ = [
    "BatchRecord",
    "EquivalenceResult",
    "Finding",
    "Findings",
    "KSampleResult",
    "LearnedTest",
    "Monitor",
    "PlanResult",
    "RankResult",
    "RankedModel",
    "Reference",
    "RelativeTest",
    "SplitResult",
    "TestResult",
    "TwoSampleResult",
    "equivalence_test",
    "k_sample_test",
    "learned_test",
    "mmd_test",
    "mmd_test_cost",
    "plan",
    "rank",
    "two_sample_test",
    "witness_test",
]

#: Each comes with its module, and those that need kernels with torch, when it is first used.
_HOME = {
    "auto": ("k_sample_test", "two_sample_test"),
    "batches": ("BatchRecord",),
    "costs": ("mmd_test_cost",),
    "equivalence": ("EquivalenceResult", "equivalence_test"),
    "findings": ("Finding", "Findings"),
    "fixed": ("mmd_test", "witness_test"),
    "k_sample_result": ("KSampleResult",),
    "learned": ("learned_test",),
    "monitor": ("Monitor",),
    "planning": ("PlanResult", "plan"),
    "ranked": ("RankResult", "RankedModel", "RelativeTest"),
    "ranking": ("rank",),
    "reference": ("Reference",),
    "results": ("LearnedTest", "SplitResult", "TestResult"),
    "two_sample_result": ("TwoSampleResult",),
}
__getattr__ = lazy_names(__name__, {name: home for home, names in _HOME.items() for name in names})
