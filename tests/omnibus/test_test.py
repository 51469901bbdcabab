"""The omnibus test as a whole."""

from __future__ import annotations

import itertools

import numpy as np

from tellapart.engine import Compute
from tellapart.omnibus import Layout, omnibus_test, pool_rows
from tellapart.stats.permutations import draw_permutations


def two(m, n):
    return np.repeat(np.array([0, 1], np.uint8), [m, n])


def test_enumeration_gives_the_exact_rank():
    """All labellings of few rows: whichever is the observed one, p is its rank, so that p-values are uniform."""
    rng = np.random.default_rng(5)
    Z = rng.normal(size=(8, 2))
    pvalues = []
    for ones in itertools.combinations(range(8), 3):
        labels = np.zeros(8, np.uint8)
        labels[list(ones)] = 1
        # The draws are all there are, and what is random otherwise is the same each time.
        found = draw_permutations(labels, 999, np.random.default_rng(0))
        pooled = pool_rows([Z], found, np.random.default_rng(1))
        pvalues.append(omnibus_test(pooled, Layout(2), (), np.random.default_rng(2), Compute(threads=1)).pvalue)
    assert found.count == 56
    assert np.allclose(np.sort(pvalues), np.arange(1, 57) / 56, atol=1.5 / 56)
    assert all((np.array(pvalues) <= alpha + 1e-9).mean() <= alpha + 1e-9 for alpha in np.arange(1, 57) / 56)


def test_constant_columns_and_nothing_at_all():
    rng = np.random.default_rng(0)
    found = draw_permutations(two(20, 20), 99, rng)
    pooled = pool_rows([np.zeros((40, 3))], found, rng)
    verdict = omnibus_test(pooled, Layout(3), (), rng, Compute(threads=1))
    assert verdict.pvalue == 1
    assert not verdict.families
