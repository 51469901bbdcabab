"""Two-sample tests with a kernel that is given or learned, and their results."""

from .costs import mmd_test_cost
from .fixed import TestResult, mmd_test
from .learned import LearnedTest, SplitResult, learned_test, witness_test

__all__ = [
    "LearnedTest",
    "SplitResult",
    "TestResult",
    "learned_test",
    "mmd_test",
    "mmd_test_cost",
    "witness_test",
]
