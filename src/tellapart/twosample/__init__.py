"""Two-sample tests that need no choice, or with a kernel that is given or learned, and their results."""

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
