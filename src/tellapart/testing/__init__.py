"""The calls that most people need."""

from .fixed import TestResult, mmd_test
from .learned import Half, LearnedTest, learned_test, witness_test

__all__ = ["Half", "LearnedTest", "TestResult", "learned_test", "mmd_test", "witness_test"]
