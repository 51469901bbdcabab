"""Two-sample tests with a kernel that is given or learned, and their results."""

from .costs import learned_test_cost, mmd_test_cost
from .fixed import mmd_test, witness_test
from .learned import learned_test
from .results import LearnedTest, SplitResult, TestResult

__all__ = [
    "LearnedTest",
    "SplitResult",
    "TestResult",
    "learned_test",
    "learned_test_cost",
    "mmd_test",
    "mmd_test_cost",
    "witness_test",
]
