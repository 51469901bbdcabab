"""The calls that most people need."""

from .comparison import Comparison, compare
from .fixed import TestResult, mmd_test
from .learned import Half, LearnedTest, learned_test, witness_test

__all__ = ["Comparison", "Half", "LearnedTest", "TestResult", "compare", "learned_test", "mmd_test", "witness_test"]
