"""The distribution of an estimated distance."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from tellapart.omnibus.distance import Distance, Tail


@pytest.mark.parametrize("value", [0.0004, 0.001, 0.004, 0.01])
def test_small_lower_tails_are_those_of_scipy(value):
    tail = Tail(1e-5, 1e-5, (1e-3, 5e-8, 2.5e-12), math.inf)
    variance = 2 * tail.traces[1] + 4 * tail.along * value
    skewness = (8 * tail.traces[2] + 24 * tail.along**2 * value) / variance**1.5
    law = stats.pearson3(skewness, loc=value, scale=math.sqrt(variance))
    below = Distance(0.003, (0.0, 0.01), 1.0, tail).below(math.sqrt(value))
    assert 0 < below == pytest.approx(law.cdf(tail.squared), rel=1e-6)
    assert tail(value) == pytest.approx(law.sf(tail.squared), rel=1e-9)


def test_tails_of_an_estimate_without_variance():
    tail = Tail(0.5, 0.0, (0.0, 0.0, 0.0), math.inf)
    assert [(tail(value), tail.lower(value)) for value in (0.4, 0.6)] == [(0.0, 1.0), (1.0, pytest.approx(0.0))]
