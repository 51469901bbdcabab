"""Sums of features and the quadratic forms of them, against dense matrices."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq

import tellapart as ta
from tellapart.engine import Compute
from tellapart.engine.rows import StratifiedSums, as_matrix
from tellapart.omnibus import Layout, pool_rows
from tellapart.omnibus.contrasts import Contrasts
from tellapart.omnibus.plan import FeaturePlan
from tellapart.omnibus.sketch import draw_sketch
from tellapart.omnibus.spectral import spectral_forms
from tellapart.omnibus.sums import sum_features, sum_leverages
from tellapart.stats.design import Design
from tellapart.stats.permutations import draw_permutations


def two(m, n):
    return np.repeat(np.array([0, 1], np.uint8), [m, n])


def problem(m=40, n=60, d=3, seed=0, **options):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(m + n, d))
    found = draw_permutations(two(m, n), 49, rng, Design(**options))
    pooled = pool_rows([Z], found, rng)
    plan = FeaturePlan.fit(draw_sketch(pooled.points, rng, Compute()), m + n, Layout(d), (), rng)
    return pooled, plan, Contrasts(pooled.permutations)


@pytest.mark.parametrize("stratified", [False, True])
def test_kernel_forms_are_those_of_the_dense_matrix(stratified):
    """q = wᵀ A w with A from the features themselves, and MMD² among them."""
    options = {"strata": np.random.default_rng(3).integers(0, 4, 100)} if stratified else {}
    pooled, plan, contrasts = problem(**options)
    sums = {one: part() for one, part in sum_features(plan, contrasts, pooled.points, Compute(threads=1))}
    W = contrasts(slice(0, 100)).astype(float)
    cells = pooled.permutations.strata if stratified else np.zeros(100, int)
    for block, family in plan.spectral.items():
        R = family.similarities.whitening(block.index)
        F = next(plan.features(as_matrix(pooled.points[:]), [block]))[1].astype(float)
        exact = StratifiedSums.of(F, W, cells, "full").close()
        for single, double in zip(sums[block], exact, strict=True):
            assert np.allclose(single, double, rtol=1e-4, atol=1e-4)
        forms = spectral_forms(*exact, 100, contrasts, R)
        F = np.linalg.solve(R, F.T).T
        for cell in np.unique(cells):
            F[cells == cell] -= F[cells == cell].mean(0)
        values, U = np.linalg.eigh(F @ F.T)
        spectrum = values.clip(0)
        K = F @ F.T / values[-1]
        assert np.allclose(forms.values[0], ((W.T @ K) * W.T).sum(1), rtol=1e-4)
        for row, name in zip(forms.values[1:], forms.names[1:], strict=True):
            filters = spectrum / (spectrum + ridge_with(spectrum, float(name.split()[0])))
            A = U @ np.diag(filters) @ U.T
            assert np.allclose(row, ((W.T @ A) * W.T).sum(1), rtol=1e-2)


def ridge_with(spectrum, degrees):
    """The ridge that leaves so many degrees of freedom."""
    return math.exp(brentq(lambda t: (spectrum / (spectrum + math.exp(t))).sum() - degrees, -25, 25))


def test_bandwidths_of_many_equal_rows():
    """Most rows are 0, and few are far away in units of the smallest bandwidth."""
    rng = np.random.default_rng([118, 14, 10, 5, 11])
    X, Y = (rng.exponential(size=(n, 5)) * (rng.random((n, 5)) < 0.1) for n in (14, 10))
    assert ta.two_sample_test(X, Y, 19, rng=118).pvalue > 0


def test_leverages_are_the_diagonal_of_the_form():
    pooled, plan, contrasts = problem(m=20, n=80)
    sums = {one: part() for one, part in sum_features(plan, contrasts, pooled.points, Compute(threads=1))}
    block, family = list(plan.spectral.items())[2]
    forms = family.form(block, sums[block], 100, contrasts, directions=True)
    found = sum_leverages(plan, contrasts, {block: forms}, pooled.points, Compute(threads=1))[block]
    F = next(plan.features(as_matrix(pooled.points[:]), [block]))[1].astype(float)
    A = (F @ forms.directions) ** 2 @ forms.filters.T
    W = contrasts(slice(0, 100)).astype(float)
    assert np.allclose(found, A.T @ (W**2 - 99 / 100), rtol=1e-2, atol=1e-2)
