"""What every null distribution must do. A new one is tried as soon as it is listed in `NULLS`."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import tellapart as ta
from tellapart.kernels import Gaussian
from tellapart.stats.nulls import NULLS, Null, as_null

pytestmark = pytest.mark.usefixtures("one_thread")
ALL = pytest.mark.parametrize("name", NULLS)


def draw(m, seed, shift=0.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, 2)), rng.normal(size=(m, 2)) + shift


def run(name, X, Y, **options):
    return ta.mmd_test(X, Y, Gaussian(1.0), **{"null": name, "permutations": 99, "rng": 0} | options)


@ALL
def test_it_is_known_by_its_name_and_by_its_class(name):
    null = as_null(name)
    assert isinstance(null, Null)
    assert type(null).name == name
    assert isinstance(null.exact, bool)
    assert isinstance(null.sequential, bool)
    kind = type(null).__name__
    assert hasattr(ta.nulls, kind), f"add {kind} to __all__ of stats/nulls/__init__.py"
    assert getattr(ta.nulls, kind) is NULLS[name]
    X, Y = draw(30, 0)
    assert run(null, X, Y).pvalue == run(name, X, Y).pvalue


@ALL
def test_it_gives_draws_a_pvalue_and_what_it_promises(name):
    result = run(name, *draw(30, 0))
    assert len(result.null_distribution) == 99
    assert np.isfinite(np.asarray(result.null_distribution)).all()
    assert 0 < result.pvalue <= 1
    assert result.exact == NULLS[name].exact
    assert result.reject(1 - 1e-9) or result.pvalue > 1 - 1e-9


@ALL
def test_the_same_seed_gives_the_same_result_whatever_computes(name):
    X, Y = draw(150, 0)
    expected = run(name, X, Y)
    for options in ({}, {"threads": 2}):
        found = run(name, X, Y, **options)
        assert found.statistic == expected.statistic
        assert np.array_equal(found.null_distribution, expected.null_distribution)
    small = run(name, X, Y, max_memory="20MB")
    assert small.pvalue == expected.pvalue
    np.testing.assert_allclose(small.null_distribution, expected.null_distribution, rtol=1e-9, atol=1e-15)
    assert torch.get_num_threads() == 1


@ALL
def test_a_difference_is_seen(name):
    assert run(name, *draw(60, 0, shift=2.0)).reject(0.05)


@ALL
def test_the_level_is_kept(name):
    """Exact ones at every size, and they are not conservative either; the others for samples that are not small."""
    repetitions, alpha = 200, 0.1
    m, slack = (10, 0.0) if NULLS[name].exact else (60, 0.04)
    rejected = [run(name, *draw(m, seed), permutations=19, rng=seed).reject(alpha) for seed in range(repetitions)]
    error = math.sqrt(alpha * (1 - alpha) / repetitions)
    assert np.mean(rejected) < alpha + slack + 3.5 * error, "the level is exceeded: too many rejections of P = Q"
    if NULLS[name].exact and as_null(name).distinct_permutations(m, m)[0] >= 1_000:
        assert np.mean(rejected) > alpha - 3 * error, "too few rejections of P = Q: draws are not distributed as MMD²"
