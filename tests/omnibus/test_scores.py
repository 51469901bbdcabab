"""Scores of statistics, against SciPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

from tellapart.omnibus.scores import (
    calibrate_tail,
    chi2_tail,
    gamma_tail,
    harmonic_mean,
    rank_pvalue,
    square_tail,
    step_down,
    upper_tail,
)


def test_tails_are_those_of_scipy():
    for shape in (0.5, 1.0, 3.7, 40.0, 2000.0):
        y = np.geomspace(1e-3, 600, 50)
        p = special.gammaincc(shape, y)
        assert np.allclose(gamma_tail(shape, y)[p > 1e-250], -np.log(p[p > 1e-250]), rtol=1e-6, atol=1e-9)
    assert gamma_tail(1.0, np.array([1e4]))[0] == pytest.approx(1e4)
    q = np.linspace(0.01, 60, 30)
    for degrees in (1, 2, 5):
        assert np.allclose(chi2_tail(q, degrees), -stats.chi2.logsf(q, degrees), rtol=1e-6)
    assert np.abs(square_tail(q, 1) - chi2_tail(q, 1)).max() < 0.25
    assert np.array_equal(square_tail(q, 2), chi2_tail(q, 2))
    many = np.random.default_rng(0).chisquare(3, (5, 5000))
    assert np.allclose(upper_tail(many, 3, 6, math.sqrt(8 / 3)), -stats.chi2.logsf(many, 3), atol=1e-3)


def test_means_of_scores():
    scores = np.random.default_rng(0).exponential(size=(7, 100))
    harmonic = -np.log(1 / np.mean(np.exp(scores), axis=0))
    assert np.allclose(harmonic_mean(scores), harmonic)
    assert np.allclose(np.quantile(calibrate_tail(scores[0]), 0.85), -math.log(0.15))


def test_step_down_names_no_more_than_single_p_values_do():
    rng = np.random.default_rng(0)
    scores = rng.exponential(size=(6, 200))
    scores[0, 17] = 50
    adjusted, alone = step_down(scores, 17), rank_pvalue(scores, 17)
    assert (adjusted >= alone - 1e-12).all()
    assert adjusted[0] == 1 / 200
    order = np.argsort(-scores[:, 17])
    assert (np.diff(adjusted[order]) >= 0).all()
