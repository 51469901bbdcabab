"""The interval of a ratio of proportions, against likelihoods on a grid."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tellapart.stats.proportions import ratio_interval, ratio_score

CASES = [((10, 20), (100, 100)), ((3, 0), (40, 60)), ((0, 5), (40, 60)), ((40, 100), (100, 100)), ((7, 7), (30, 900))]


@pytest.mark.parametrize(("counts", "rows"), CASES)
@pytest.mark.parametrize("log_ratio", [-1.0, 0.0, 0.7])
def test_the_variance_is_that_of_the_likeliest_proportions(counts, rows, log_ratio):
    (x, y), (m, n), ratio = counts, rows, math.exp(log_ratio)
    p = np.linspace(1e-7, min(1.0, 1 / ratio) - 1e-7, 400_001)
    log = x * np.log(p) + (m - x) * np.log1p(-p) + y * np.log(ratio * p) + (n - y) * np.log1p(-ratio * p)
    p = p[log.argmax()]
    q = ratio * p
    variance = (q * (1 - q) / n + ratio**2 * p * (1 - p) / m) * (m + n) / (m + n - 1)
    assert ratio_score(counts, rows, log_ratio) == pytest.approx(
        (y / n - ratio * x / m) / math.sqrt(variance), rel=1e-3
    )


@pytest.mark.parametrize(("counts", "rows"), CASES)
def test_the_ends_are_ratios_that_are_just_not_rejected(counts, rows):
    low, high = ratio_interval(counts, rows, 2.5)
    assert (low == 0) == (counts[1] == 0)
    assert math.isinf(high) == (counts[0] == 0)
    for end, sign in ((low, 1), (high, -1)):
        if 0 < end < math.inf:
            assert sign * ratio_score(counts, rows, math.log(end)) == pytest.approx(2.5, abs=1e-6)


def test_the_score_of_one_is_the_permutation_statistic():
    """Its variance is that of the hypergeometric distribution."""
    (x, y), (m, n) = (10, 20), (100, 70)
    share = (x + y) / (m + n)
    variance = share * (1 - share) * (m + n) ** 2 / ((m + n - 1) * m * n)
    assert ratio_score((x, y), (m, n), 0.0) == pytest.approx((y / n - x / m) / math.sqrt(variance))


def test_intervals_cover():
    rng = np.random.default_rng(0)
    p, q, m, n = 0.08, 0.04, 150, 250
    covered = 0
    for _ in range(1_000):
        low, high = ratio_interval((rng.binomial(m, p), rng.binomial(n, q)), (m, n), 1.96)
        covered += low <= q / p <= high
    assert 0.935 <= covered / 1_000 <= 0.975
