"""Assertions about distributions, for tests; the pytest plugin adds `distribution_snapshot` and `tellapart_rng`."""

from .integrations.assertions import DistributionError, assert_different, assert_same_distribution

__all__ = ["DistributionError", "assert_different", "assert_same_distribution"]
