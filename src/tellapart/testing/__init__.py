"""The calls that most people need."""

from .comparing import compare
from .comparison import Comparison
from .fixed import TestResult, mmd_test
from .learned import Half, LearnedTest, learned_test, witness_test

__all__ = ["Comparison", "Half", "LearnedTest", "TestResult", "compare", "learned_test", "mmd_test", "witness_test"]
