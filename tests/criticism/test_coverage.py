"""Intervals cover what they say, and the equivalence test holds its level at the margin."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import tellapart as ta
from tellapart.criticism.crossfit import cross_fit
from tellapart.criticism.folds import find_units
from tellapart.criticism.separability import separability
from tellapart.data.hashing import hash_blocks
from tellapart.data.open import open_samples
from tellapart.data.options import ReadOptions
from tellapart.engine import computing
from tellapart.omnibus import ColumnScore, Layout, pool_rows
from tellapart.omnibus.regression import predict
from tellapart.stats.design import Design
from tellapart.stats.permutations import draw_permutations
from tellapart.twosample.effects import Effects

pytestmark = pytest.mark.usefixtures("one_thread")


def sizes(few):
    """Repetitions: few, and the 1,000 of `make test-full`."""
    return [few, pytest.param(1000, marks=pytest.mark.full)]


def check(rate, repetitions):
    """Within 93 to 99 %, and as much more as chance allows where repetitions are few.

    Intervals of columns hold for location and scale together, so that each alone covers in some 97.5 %.
    """
    print(f"covered {rate:.3f} of {repetitions}")
    chance = 0 if repetitions >= 1000 else 3 * math.sqrt(0.95 * 0.05 / repetitions)
    assert 0.93 - chance <= rate <= 0.99 + chance, rate


def draw(rng, n, heavy):
    """Rows of four columns, the first two dependent: normal, or with tails and skewed."""
    Z = rng.normal(size=(n, 4))
    Z[:, 1] = 0.5 * Z[:, 0] + math.sqrt(0.75) * Z[:, 1]
    if heavy:
        Z[:, 2] = rng.standard_t(9, n)
        Z[:, 3] = rng.gamma(4, size=n)
    return Z


@pytest.mark.parametrize("repetitions", sizes(150))
@pytest.mark.parametrize("grouped", [False, True])
def test_effects(repetitions, grouped):
    kinds = ("location", "scale", "dependence", "share")
    hits = dict.fromkeys(kinds, 0)
    with computing(None, None, False, 1) as compute:
        for r in range(repetitions):
            rng = np.random.default_rng([5, r])
            X, Y = draw(rng, 200, True), draw(rng, 150, True)
            Y[:, 0] = rng.normal(size=150)  # the dependence is gone
            Y[:, 2] = 1.5 * Y[:, 2] + 0.5
            X[:, 3], Y[:, 3] = X[:, 3] > 4, Y[:, 3] > 3
            units = None
            if grouped:  # every row twice: half as much evidence
                X, Y = np.repeat(X[:100], 2, 0), np.repeat(Y[:75], 2, 0)
                units = np.repeat(np.arange(175), 2)
            mixed = open_samples([X, Y], "XY", ReadOptions()).encode()
            mixed = type(mixed)(**vars(mixed) | {"variables": tuple(_as_boolean(unit) for unit in mixed.variables)})
            labels = np.repeat(np.arange(2, dtype=np.uint8), [len(X), len(Y)])
            pooled = pool_rows(mixed.points, draw_permutations(labels, 9, rng), rng)
            parts = [ColumnScore(c, k, 1, 0.01, 0.01) for k, c in zip(kinds, ((2,), (2,), (0, 1), (3,)), strict=True)]
            effects = Effects(mixed, pooled, [parts[2]], compute, Design(groups=units))
            deviation = math.sqrt(9 / 7)
            n = np.array([len(X), len(Y)])
            within = math.sqrt((n * [1, 2.25]).sum() / n.sum()) * deviation
            upper = [_gamma_tail(4), _gamma_tail(3)]
            truth = (0.5 / within, math.log(1.5), -0.5, upper[1] - upper[0])
            for part, value in zip(parts, truth, strict=True):
                low, high = effects.describe(part).interval
                hits[part.kind] += low <= value <= high
    for kind in kinds:
        check(hits[kind] / repetitions, repetitions)


def _as_boolean(unit):
    return type(unit)(unit.name, "boolean", unit.coordinates) if unit.coordinates == (3,) else unit


def _gamma_tail(x):
    return float(torch.special.gammaincc(torch.tensor(4.0, dtype=torch.float64), torch.tensor(float(x)).double()))


def gaussian_mmd(shift, scale, bandwidth):
    """The MMD of two normal laws of standard deviation ``scale`` in each column, with a Gaussian kernel."""
    width = bandwidth**2 + 2 * scale**2
    same = np.prod(bandwidth / np.sqrt(width))
    return math.sqrt(2 * same * (1 - math.exp(-(shift**2 / (2 * width)).sum())))


@pytest.mark.parametrize("repetitions", sizes(80))
def test_mmd_and_equivalence_at_the_margin(repetitions):
    hits = equivalent = 0
    for r in range(repetitions):
        rng = np.random.default_rng([6, r])
        X, Y = rng.normal(size=(150, 4)), rng.normal(size=(150, 4)) + np.array([0.6, 0, 0, 0])
        deviation = np.concatenate([X, Y]).std(0)
        truth = gaussian_mmd(np.array([0.6, 0, 0, 0]) / deviation, 1 / deviation, 2.5)
        found = ta.equivalence_test(X, Y, margin=truth, bandwidth=2.5, rng=r)
        hits += found.interval[0] <= truth <= found.interval[1]
        equivalent += found.equivalent(0.05)
    check(hits / repetitions, repetitions)
    rate = equivalent / repetitions
    print(f"equivalent at the margin {rate:.3f} of {repetitions}")
    assert rate <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / repetitions), rate


@pytest.mark.parametrize("repetitions", sizes(25))
@pytest.mark.parametrize("shift", [0.0, 0.8])
def test_auc_out_of_fold(repetitions, shift):
    rng = np.random.default_rng(1)
    many = [torch.from_numpy(rng.normal(size=(3000, 5)) + k * np.array([shift, 0, 0, 0, 0])) for k in (0, 1)]
    hits = 0
    with computing(None, None, False, 1) as compute:
        for r in range(repetitions):
            rng = np.random.default_rng([7, r])
            X, Y = (torch.from_numpy(rng.normal(size=(150, 5)) + k * np.array([shift, 0, 0, 0, 0])) for k in (0, 1))
            units = find_units(hash_blocks(torch.cat([X, Y])), None)
            fit = cross_fit((X, Y), Layout(5), [], units, rng, compute)
            of_x, of_y = (predict(fit.features, part, fit.coefficients[:, :-1], compute) for part in many)
            truth = np.mean([separability(of_x[:, k], of_y[:, k]) for k in range(of_x.shape[1])])
            hits += fit.auc_interval[0] <= truth <= fit.auc_interval[1]
    check(hits / repetitions, repetitions)


def test_what_a_study_needs():
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(150, 2)), rng.normal(size=(150, 2)) + np.array([0.5, 0])
    found = ta.plan(X, Y, rng=0, repetitions=12, permutations=59)
    assert 60 < found.rows < 400
    assert found.power_at(found.rows) == pytest.approx(0.9)
    assert found.power_at(50) < found.power_at(300)
    low, high = found.rows_interval
    assert low < found.rows < high
    assert "For a power of 90 % a study needs about" in found.summary()
    assert "80 % interval" in found.summary()
    clear = ta.plan(X, Y + 5, rng=0, repetitions=6, permutations=39)
    assert clear.summary().startswith("For a power of 90 % a study needs fewer than 22 + 22 rows.")
    none = ta.plan(X, rng.normal(size=(150, 2)), rng=0, repetitions=6, permutations=39)
    assert none.pilot_pvalue > 0.05
    assert none.rows == none.rows_interval[1] == math.inf
    assert not none.established
    assert "does not establish a difference" in none.summary()
    with pytest.raises(ValueError, match="at least 24 rows"):
        ta.plan(X[:10], Y)
