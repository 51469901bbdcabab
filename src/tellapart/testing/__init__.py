"""The calls that most people need."""

from .comparing import compare
from .comparison import Comparison
from .costs import compare_cost, mmd_test_cost
from .fixed import TestResult, mmd_test
from .learned import Half, LearnedTest, learned_test, witness_test

__all__ = [
    "Comparison",
    "Half",
    "LearnedTest",
    "TestResult",
    "compare",
    "compare_cost",
    "learned_test",
    "mmd_test",
    "mmd_test_cost",
    "witness_test",
]
