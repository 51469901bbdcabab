"""Null distributions: exact where they say so, against enumeration, and by simulation of the level."""

from __future__ import annotations

import fcntl
import itertools
import json
import math
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import time
import warnings

import numpy as np
import pandas as pd
import pytest
import torch

import tellapart as ta
from tellapart import engine
from tellapart.engine import Compute, tiles
from tellapart.kernels import Gaussian, Grid, Precomputed
from tellapart.learning import median_bandwidth
from tellapart.stats import formulas, nulls
from tellapart.stats.formulas import mmd2_of_labels
from tellapart.stats.nulls import NULLS, Binned, Null, NullDistribution, Paired, Permutation, Wild
from tellapart.stats.nulls.permuted import first_sample
from tellapart.stats.permutations import draw_permutations, draw_subsets
from tellapart.twosample import mmd_test_cost

pytestmark = pytest.mark.usefixtures("one_thread")


def draw(rng, m, n, kind="normal"):
    X, Y = rng.normal(size=(m, 2)), rng.normal(size=(n, 2))
    if kind == "binary":
        return (X > 0.5).astype(float), (Y > 0.5).astype(float)
    if kind == "ties":
        return X.round(), Y.round()
    return X, Y


def problem(X, Y, kernel=None, seed=0):
    X, Y = torch.as_tensor(X), torch.as_tensor(Y)
    return nulls.Problem(kernel or Gaussian(1.0), X, Y, np.random.default_rng(seed), Compute(), torch.float64)


# --- against the truth --------------------------------------------------------------------------------------------


def test_drawn_subsets_are_uniform():
    for N, m in ((6, 3), (7, 2), (5, 4)):
        subsets = math.comb(N, m)
        drawn = draw_subsets(np.random.default_rng(N), N, m, 5000 * subsets)
        assert (drawn.sum(0) == m).all()
        _, counts = np.unique(2 ** np.arange(N) @ drawn, return_counts=True)
        assert len(counts) == subsets
        chi2 = ((counts - 5000) ** 2 / 5000).sum()
        assert abs(chi2 - (subsets - 1)) < 4 * math.sqrt(2 * (subsets - 1))


@pytest.mark.parametrize(("N", "m"), [(1, 1), (1, 0), (5, 0), (5, 5), (1000, 1), (1000, 999), (1000, 500), (999, 333)])
def test_drawn_subsets_have_their_size(N, m):
    drawn = draw_subsets(np.random.default_rng(0), N, m, 50)
    assert drawn.shape == (N, 50)
    assert (drawn.sum(0) == m).all()
    assert set(np.unique(drawn)) <= {0, 1}


def enumerate_statistics(X, Y, kernel):
    """MMD² for every relabelling."""
    Z, m = torch.as_tensor(np.concatenate([X, Y])), len(X)
    values = []
    for chosen in itertools.combinations(range(len(Z)), m):
        mask = torch.zeros(len(Z), dtype=torch.bool)
        mask[list(chosen)] = True
        values.append(float(ta.mmd2(Z[mask], Z[~mask], kernel).detach()))
    return np.array(values)


def test_permutation_draws_from_all_relabellings():
    X, Y = draw(np.random.default_rng(1), 4, 3)
    kernel = Gaussian(1.0).requires_grad_(False)
    every = enumerate_statistics(X, Y, kernel)
    with torch.no_grad():
        null = Permutation().draw(problem(X, Y, kernel), 7000)
        some = [Permutation().draw(problem(X, Y, kernel, seed), 20).distribution for seed in range(350)]
    np.testing.assert_allclose(np.sort([*null.distribution, null.statistic]), np.sort(every), atol=1e-12)
    drawn = torch.cat(some).numpy()
    nearest = np.abs(drawn[:, None] - every).argmin(1)
    np.testing.assert_allclose(drawn, every[nearest], atol=1e-12)
    counts = np.bincount(nearest, minlength=len(every))
    assert abs(((counts - 200) ** 2 / 200).sum() - 34) < 4 * math.sqrt(68)


@pytest.mark.parametrize(("m", "n"), [(30, 20), (25, 25)])
def test_permuted_statistics_have_the_exact_variance(m, n):
    X, Y = draw(np.random.default_rng(2), m, n)
    with torch.no_grad():
        distribution = Permutation().draw(problem(X, Y), 40_000).distribution
    sums = engine.sums(Gaussian(1.0), torch.as_tensor(X), torch.as_tensor(Y))
    exact = formulas.permutation_variance_from(sums).item()
    assert distribution.var().item() == pytest.approx(exact, rel=0.05)
    assert abs(distribution.mean().item()) < 4 * math.sqrt(exact / 40_000)


@pytest.mark.parametrize(
    ("m", "n", "bins"), [(4, 4, None), (6, 3, None), (5, 6, None), (8, 8, 8), (11, 7, 6), (9, 4, 4)]
)
def test_binned_statistics_are_those_of_relabelled_bins(m, n, bins):
    """Every draw is MMD² of a relabelling of equal bins; all of those are listed, or drawn equally often."""
    X, Y = draw(np.random.default_rng(3), m, n)
    kernel = Gaussian(1.0).requires_grad_(False)
    seed, count = 7, 10_000
    null = Binned(bins)
    with torch.no_grad():
        found = null.draw(problem(X, Y, kernel, seed), count)
    assert found.statistic.item() == pytest.approx(ta.mmd2(X, Y, kernel), abs=1e-12)
    # The bins by the rule of MATHS §5, drawn again from the same seed.
    rng, q = np.random.default_rng(seed), null._rows_per_bin(m, n)
    in_x, in_y = rng.permutation(m)[: m // q * q].reshape(-1, q), m + rng.permutation(n)[: n // q * q].reshape(-1, q)
    of_bins = np.concatenate([in_x, in_y])
    Z = np.concatenate([X, Y])
    fixed = set(range(m)) - set(in_x.ravel())
    every = []
    for chosen in itertools.combinations(range(len(of_bins)), len(in_x)):
        first = sorted(fixed | set(of_bins[list(chosen)].ravel()))
        every.append(ta.mmd2(Z[first], np.delete(Z, first, 0), kernel))
    every = np.array(every)
    drawn = found.distribution.numpy()
    assert null.distinct_permutations(m, n)[0] == len(every)
    if len(every) <= count + 1:  # all of them, once
        np.testing.assert_allclose(np.sort([*drawn, found.statistic.item()]), np.sort(every), atol=1e-12)
        return
    nearest = np.abs(drawn[:, None] - every).argmin(1)
    np.testing.assert_allclose(drawn, every[nearest], atol=1e-12)
    values, times = np.unique(every.round(10), return_counts=True)
    _, counts = np.unique(every[nearest].round(10), return_counts=True)
    assert len(counts) == len(values), "some relabelling is never drawn"
    expected = count * times / len(every)
    degrees = len(values) - 1
    assert abs(((counts - expected) ** 2 / expected).sum() - degrees) < 4.5 * math.sqrt(2 * degrees)


def test_paired_is_the_paired_statistic_of_swapped_pairs():
    X, Y = draw(np.random.default_rng(4), 5, 5)
    kernel = Gaussian(1.0).requires_grad_(False)
    every = []
    for flips in itertools.product((False, True), repeat=5):
        flip = np.array(flips)[:, None]
        every.append(ta.mmd2(np.where(flip, Y, X), np.where(flip, X, Y), kernel, estimator="paired"))
    with torch.no_grad():
        null, few = (Paired().draw(problem(X, Y, kernel), count) for count in (2000, 25))
    assert null.statistic.item() == pytest.approx(every[0], abs=1e-12)
    assert few.statistic.item() == pytest.approx(every[0], abs=1e-12)
    np.testing.assert_allclose(np.sort([*null.distribution, null.statistic]), np.sort(every), atol=1e-12)
    assert len(few.distribution) == 25
    assert np.abs(few.distribution.numpy()[:, None] - np.array(every)).min(1).max() < 1e-12
    assert Paired().distinct_permutations(5, 5) == (32, 2)  # exchanging all pairs changes nothing


@pytest.mark.parametrize("equal_groups", [True, False])
def test_groups_move_as_a_whole(equal_groups):
    groups = np.repeat(np.arange(12), [3, 3, 2, 2, 1, 1, 3, 3, 2, 2, 1, 1])
    m = 12
    design = Permutation(groups, equal_groups=equal_groups).design(m, m)
    drawn = draw_permutations(first_sample(m, m), 150, np.random.default_rng(5), design, place_last=True)
    columns = drawn.codes()
    assert columns.shape == (24, 151)
    for group in range(12):
        assert (np.ptp(columns[groups == group], axis=0) == 0).all()
    assert (columns[:, drawn.observed] == (np.arange(24) < m)).all()
    assert (drawn.sizes[:, 1] == m).all() == equal_groups
    assert 0.3 < columns[0].mean() < 0.7


@pytest.mark.parametrize(
    ("m", "groups", "strata", "equal_groups"),
    [
        (4, None, [0, 0, 1, 1, 0, 0, 0, 1, 1], False),
        (5, None, ["b", "a", "a", "c", "c", "a", "b", "b", "a"], False),
        (5, [0, 0, 1, 1, 2, 3, 3, 4, 5, 6, 6], None, True),
        (5, [0, 0, 1, 1, 2, 3, 3, 4, 5, 6, 6], None, False),
        (6, [0, 0, 1, 2, 2, 3, 4, 4, 5, 6, 6, 7], [0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1], True),
        (6, [0, 0, 1, 2, 2, 3, 4, 4, 5, 6, 6, 7], [0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1], False),
    ],
    ids=["strata", "named strata", "equal groups", "groups", "equal groups within strata", "groups within strata"],
)
@pytest.mark.parametrize("place_last", [True, False])
def test_permutations_are_all_of_those_allowed_or_uniform_over_them(m, groups, strata, equal_groups, place_last):
    """Against all subsets of groups with as many groups as observed in each stratum (and of each size)."""
    N = len(groups or strata)
    groups = np.arange(N) if groups is None else np.array(groups)
    strata = np.zeros(N, dtype=int) if strata is None else np.array(strata)
    first = np.unique(groups, return_index=True)[1]
    sizes = np.bincount(groups) if equal_groups else np.zeros(len(first), int)

    def kind(units):
        return sorted((str(strata[first[unit]]), int(sizes[unit])) for unit in units)

    observed = [unit for unit in range(len(first)) if first[unit] < m]
    allowed = {
        int(2 ** np.arange(N) @ np.isin(groups, chosen))
        for chosen in itertools.combinations(range(len(first)), len(observed))
        if kind(chosen) == kind(observed)
    }
    null = Permutation(None if len(first) == N else groups, strata, equal_groups)
    labels, design = first_sample(m, N - m), null.design(m, N - m)
    assert null.distinct_permutations(m, N - m)[0] == len(allowed) > 3
    every = draw_permutations(labels, 10_000, np.random.default_rng(0), design, place_last=place_last)
    assert sorted(2 ** np.arange(N) @ every.codes()) == sorted(allowed)
    rng, drawn, places = np.random.default_rng(0), [], []
    for _ in range(2000):
        some = draw_permutations(labels, len(allowed) - 2, rng, design, place_last=place_last)
        codes = 2 ** np.arange(N) @ some.codes()
        assert codes[some.observed] == 2**m - 1
        drawn.append(np.delete(codes, some.observed))
        places.append(some.observed)
    values, counts = np.unique(np.concatenate(drawn), return_counts=True)
    assert set(values.tolist()) == allowed
    each, degrees = 2000 * (len(allowed) - 2) / len(allowed), len(allowed) - 1
    assert abs(((counts - each) ** 2 / each).sum() - degrees) < 4.5 * math.sqrt(2 * degrees)
    # The observed labelling is at every place equally often.
    found = np.bincount(places, minlength=len(allowed) - 1)
    each, degrees = 2000 / len(found), len(found) - 1
    assert abs(((found - each) ** 2 / each).sum() - degrees) < 4.5 * math.sqrt(2 * degrees)


def test_statistics_of_groups_of_other_sizes_are_those_of_their_samples():
    """Every relabelling has MMD² of the samples it makes, on the scale of mn/(m + n); of one row, without its pairs."""
    rng = np.random.default_rng(2)
    groups, m = np.array([0, 0, 0, 1, 2, 2, 3, 4, 4]), 4
    X, Y = rng.normal(size=(m, 2)), rng.normal(size=(5, 2))
    Z, kernel = np.concatenate([X, Y]), Gaussian(1.0).requires_grad_(False)
    K = kernel(torch.as_tensor(Z)).numpy()
    mean = (K.sum() - 9) / 72

    def value(first):
        inside = np.isin(np.arange(9), first)
        parts = [K[np.ix_(side, side)] for side in (inside, ~inside)]
        within = [(part.sum() - len(part)) / (len(part) * (len(part) - 1)) if len(part) > 1 else mean for part in parts]
        balance = inside.sum() * (~inside).sum() / 20
        return balance * (sum(within) - 2 * K[np.ix_(inside, ~inside)].mean())

    chosen = list(itertools.combinations(range(5), 2))
    every = [value(np.flatnonzero(np.isin(groups, pair))) for pair in chosen]
    with torch.no_grad():
        found = Permutation(groups).draw(problem(X, Y, kernel), 999)
    assert found.statistic.item() == pytest.approx(ta.mmd2(X, Y, kernel), abs=1e-12)
    np.testing.assert_allclose(np.sort([*found.distribution, found.statistic]), np.sort(every), atol=1e-12)
    # A group of a single row against all others: nothing is divided by 0.
    alone = Permutation([0, 0, 1, 2, 2, 3, 3, 3, 3]).draw(problem(Z[:2], Z[2:], kernel), 999)
    assert torch.isfinite(alone.distribution).all()


def test_a_permutation_test_draws_within_strata():
    """The labels that reach the statistic are those drawn, in the order of the rows."""
    rng = np.random.default_rng(3)
    strata = np.array([0, 0, 0, 1, 1, 0, 0, 1, 1, 1])
    X, Y = rng.normal(size=(5, 2)), rng.normal(size=(5, 2))
    Z, kernel = np.concatenate([X, Y]), Gaussian(1.0).requires_grad_(False)
    every = []
    for chosen in itertools.combinations(range(10), 5):
        if sum(strata[list(chosen)]) == 2:
            every.append(ta.mmd2(Z[list(chosen)], np.delete(Z, chosen, 0), kernel))
    with torch.no_grad():
        found, some = (
            Permutation(strata=(strata[:5], strata[5:])).draw(problem(X, Y, kernel), count) for count in (3000, 60)
        )
    np.testing.assert_allclose(np.sort([*found.distribution, found.statistic]), np.sort(every), atol=1e-12)
    assert len(some.distribution) == 60 < len(every) - 1
    assert np.abs(some.distribution.numpy()[:, None] - np.array(every)).min(1).max() < 1e-12


class Halves(Null):
    """A null of a user: relabels the first half of both samples only. Exact, since that is a group of relabellings."""

    name, exact, sequential = "halves", True, True

    def draw(self, problem, count):
        m, n = problem.sizes
        S = np.repeat((np.arange(m + n) < m)[:, None], count + 1, axis=1).astype(float)
        rows = np.concatenate([np.arange(m // 2), m + np.arange(n // 2)])
        S[rows, 1:] = draw_subsets(problem.rng, len(rows), m // 2, count)
        forms = engine.quadratic_forms(
            problem.kernel, [problem.X, problem.Y], torch.from_numpy(S), dtype=problem.dtype, compute=problem.compute
        )
        values = mmd2_of_labels(forms.forms, forms.crosses, forms.total, m, n)
        return NullDistribution(values[0], values[1:])


def test_a_null_of_ones_own():
    X, Y = draw(np.random.default_rng(0), 40, 30)
    for permutations in (199, "auto"):
        result = ta.mmd_test(X, Y + 2, null=Halves(), permutations=permutations, rng=0)
        assert (result.null, result.exact) == ("halves", True)
        assert result.reject(0.05)
    assert ta.mmd_test(X, Y, null=Halves(), rng=0).pvalue > 0.01
    with pytest.raises(ValueError, match="null='halves' is not a single pass over tiles"):
        mmd_test_cost(X, Y, null=Halves())


def test_the_cost_of_a_test_of_pairs_drops_the_rows_that_the_test_drops():
    X, Y = draw(np.random.default_rng(0), 40, 40)
    X[3, 0] = np.nan
    assert ta.mmd_test(X, Y, null="paired", missing="drop", permutations=19, rng=0).m == 39
    assert mmd_test_cost(X, Y, null="paired", missing="drop", permutations=19, rng=0).tiles > 0


def test_lag_must_not_be_negative():
    with pytest.raises(ValueError, match="lag must not be negative"):
        Wild(lag=-1)


def test_a_grid_of_bandwidths_in_one_pass():
    X, Y = draw(np.random.default_rng(6), 40, 50)
    grid = [0.1, 1.0, 10.0]
    with torch.no_grad():
        together = Permutation().draw(problem(X, Y, Grid(grid), seed=1), 200)
        assert together.distribution.shape == (3, 200)
        for k, bandwidth in enumerate(grid):
            alone = Permutation().draw(problem(X, Y, Gaussian(bandwidth), seed=1), 200)
            torch.testing.assert_close(together.distribution[k], alone.distribution, rtol=1e-9, atol=1e-12)
            assert together.pvalue(1e-12)[k] == alone.pvalue(1e-12)


def test_precomputed_matrix():
    X, Y = draw(np.random.default_rng(7), 30, 20)
    kernel = Gaussian(1.0).requires_grad_(False)
    K = Precomputed(kernel(torch.as_tensor(np.concatenate([X, Y]))))
    given = ta.mmd_test(np.arange(30), np.arange(30, 50), K, permutations=9999, rng=3)
    computed = ta.mmd_test(X, Y, kernel, permutations=9999, rng=3)
    # Rows of a matrix keep their order, so that the permutations are not the same ones.
    assert given.pvalue == pytest.approx(computed.pvalue, abs=0.03)
    assert given.statistic == pytest.approx(computed.statistic, rel=1e-4)
    shuffled = np.random.default_rng(0).permutation(30)
    assert ta.mmd_test(shuffled, np.arange(30, 50), K, rng=3).statistic == pytest.approx(given.statistic, rel=1e-4)
    assert torch.equal(K.matrix, kernel(torch.as_tensor(np.concatenate([X, Y]))))


# --- the level ----------------------------------------------------------------------------------------------------

EXACT = {
    "permutation": (20, 20, "normal", {}),
    "permutation, unequal": (23, 11, "normal", {}),
    "permutation, binary": (12, 18, "binary", {}),
    "permutation, ties": (20, 20, "ties", {}),
    "permutation, groups": (18, 14, "groups", {}),
    "permutation, strata": (24, 20, "strata", {}),
    "permutation, groups and strata": (24, 24, "groups and strata", {}),
    "permutation, auto": (15, 15, "normal", {"permutations": "auto"}),
    "binned": (40, 40, "normal", {"null": "binned"}),
    "binned, unequal": (47, 83, "normal", {"null": "binned"}),
    "binned, few": (9, 31, "binary", {"null": "binned"}),
    "paired": (20, 20, "normal", {"null": "paired"}),
    "paired, dependent pairs": (20, 20, "pairs", {"null": "paired"}),
    "paired, binary": (20, 20, "binary", {"null": "paired"}),
}


@pytest.mark.parametrize("repetitions", [400, pytest.param(4000, marks=pytest.mark.full)])
@pytest.mark.parametrize("name", EXACT)
def test_level_of_exact_tests(name, repetitions):
    m, n, kind, options = EXACT[name]
    pvalues = np.empty(repetitions)
    for r in range(repetitions):
        rng = np.random.default_rng([r, m, n])
        X, Y = draw(rng, m, n, kind)
        settings = {"permutations": 99, "rng": r} | options
        if kind == "groups":  # rows of a group share a large effect: without groups the level would be far off
            groups = np.concatenate([np.repeat(np.arange(m // 2), 2), 100 + np.repeat(np.arange(n // 2), 2)])
            effects = 3 * rng.normal(size=(200, 2))[groups]
            X, Y = X + effects[:m], Y + effects[m:]
            settings["null"] = Permutation(groups)
        if kind == "strata":  # rows of a stratum share a large effect, and the samples have other shares of strata
            strata = np.concatenate([np.arange(m) >= 3 * m // 4, np.arange(n) >= n // 4]).astype(int)
            X, Y = X + 3 * strata[:m, None], Y + 3 * strata[m:, None]
            settings["null"] = Permutation(strata=strata)
        if kind == "groups and strata":
            groups = np.concatenate([np.repeat(np.arange(m // 2), 2), 100 + np.repeat(np.arange(n // 2), 2)])
            strata = np.concatenate([np.arange(m) >= m // 2, np.arange(n) >= n // 4 // 2 * 2]).astype(int)
            effects = 2 * rng.normal(size=(200, 2))[groups] + 3 * strata[:, None]
            X, Y = X + effects[:m], Y + effects[m:]
            settings["null"] = Permutation(groups, strata)
        if kind == "pairs":
            shared = 3 * rng.normal(size=(m, 2))
            X, Y = X + shared, Y + shared
        pvalues[r] = ta.mmd_test(X, Y, "median", **settings).pvalue
    assert pvalues.min() > 0
    for alpha in (0.05, 0.1):
        error = math.sqrt(alpha * (1 - alpha) / repetitions)
        rate = (pvalues <= alpha + 1e-12).mean()
        assert rate <= alpha + 3 * error, f"level {rate} at {alpha}"
        if kind in ("normal", "strata"):
            assert rate >= alpha - 3 * error, f"level {rate} at {alpha}"


@pytest.mark.parametrize("kind", ["pairs of rows", "strata"])
def test_what_breaks_the_plain_test_would_be_caught(kind):
    """The simulation above has teeth: rows that depend on each other, or strata, break the plain permutation test."""
    rejected = 0
    for r in range(100):
        rng = np.random.default_rng(r)
        if kind == "strata":
            X, Y = draw(rng, 24, 20)
            X, Y = X + 3 * (np.arange(24) >= 18)[:, None], Y + 3 * (np.arange(20) >= 5)[:, None]
        else:
            X, Y = (np.repeat(rng.normal(size=(9, 2)), 2, axis=0) for _ in range(2))
        rejected += ta.mmd_test(X, Y, permutations=99, rng=r).reject(0.05)
    assert rejected / 100 > 0.15


@pytest.mark.parametrize("null", ["gamma", "spectral", "wild"])
@pytest.mark.parametrize(("m", "repetitions"), [(120, 200), pytest.param(500, 1000, marks=pytest.mark.full)])
def test_level_of_asymptotic_tests(null, m, repetitions):
    rejected = 0
    for r in range(repetitions):
        X, Y = draw(np.random.default_rng([r, 5]), m, m)
        rejected += ta.mmd_test(X, Y, null=null, permutations=199, rng=r).reject(0.05)
    error = math.sqrt(0.05 * 0.95 / repetitions)
    assert abs(rejected / repetitions - 0.05) < (0.02 if m == 500 else 0.02 + 2 * error)


def test_power_of_binned_is_near_that_of_full_permutation():
    rejected = {"permutation": 0, "binned": 0}
    repetitions = 120
    for r in range(repetitions):
        rng = np.random.default_rng([r, 9])
        X, Y = rng.normal(size=(200, 2)), rng.normal([0.22, 0], size=(200, 2))
        for null in (Permutation(), Binned(bins=40)):
            rejected[null.name] += ta.mmd_test(X, Y, null=null, permutations=199, rng=r).reject(0.05)
    power = {null: count / repetitions for null, count in rejected.items()}
    assert 0.3 < power["permutation"] < 0.9, "a problem that is neither trivial nor hopeless"
    assert power["binned"] > power["permutation"] - 0.07


# --- the call -----------------------------------------------------------------------------------------------------


def test_the_result():
    X, Y = draw(np.random.default_rng(8), 50, 40)
    result = ta.mmd_test(X, Y + 2, permutations=199, rng=5)
    statistic, pvalue = result
    assert (statistic, pvalue) == (result.statistic, result.pvalue)
    assert pvalue == result.min_pvalue == 1 / 200
    assert statistic == pytest.approx(ta.mmd2(X, Y + 2, Gaussian(result.bandwidth)), rel=1e-5)
    assert result.null_distribution.shape == (199,)
    assert result.threshold(0.05) == np.sort(result.null_distribution)[-10] < statistic
    assert result.threshold(0.001) == math.inf
    assert result.reject(0.05)
    assert not result.reject(0.004)
    assert (result.m, result.n, result.null, result.exact, result.seed) == (50, 40, "permutation", True, 5)
    assert "p = 0.005 (the smallest possible)" in repr(result)
    assert json.loads(result.to_json())["pvalue"] == pvalue


@pytest.mark.parametrize(
    ("m", "n", "options", "floor", "draws"),
    [
        (3, 3, {}, 2 / 20, 19),
        (3, 4, {}, 1 / 35, 34),
        (3, 4, {"permutations": 19}, 1 / 20, 19),
        (3, 3, {"permutations": "auto"}, 2 / 20, 19),
        (30, 30, {"permutations": "auto"}, 1 / 2000, None),
        (4, 4, {"null": "paired"}, 2 / 16, 15),
        (12, 12, {"null": Binned(bins=4)}, 2 / 6, 5),
        (13, 12, {"null": Binned(bins=4)}, 1 / 6, 5),
        (12, 12, {"null": Permutation(np.repeat(np.arange(6), 4))}, 2 / 20, 19),
        (8, 4, {"null": Permutation(np.repeat([0, 1, 2, 3], [6, 2, 1, 3]))}, 2 / 6, 5),
        (8, 4, {"null": Permutation(np.repeat([0, 1, 2, 3], [6, 2, 2, 2]), equal_groups=True)}, 1 / 3, 2),
        (6, 6, {"null": Permutation(strata=np.tile([0, 1, 2], 4))}, 2 / 216, 215),
        (20, 20, {"null": "gamma", "permutations": 199}, 1 / 200, 199),
    ],
)
def test_the_smallest_pvalue_is_that_of_the_distinct_relabellings(m, n, options, floor, draws):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(m, 2)), rng.normal(size=(n, 2)) + 50
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = ta.mmd_test(X, Y, rng=0, **options)
    assert result.min_pvalue == pytest.approx(floor, rel=1e-12)
    assert result.pvalue >= floor - 1e-12
    assert draws is None or result.permutations == draws
    if floor > 0.05:
        assert [w.category for w in caught] == [UserWarning]
        assert result.notes == (str(caught[0].message),)
        assert caught[0].filename == __file__
    else:
        assert not caught
        assert result.notes == ()
    if options.get("null") is None:
        assert result.pvalue == pytest.approx(floor)
        assert "the smallest possible" in repr(result)


def test_all_relabellings_give_the_exact_pvalue():
    """By counting all samples of three of seven rows, ties included."""
    rng = np.random.default_rng(1)
    Z, kernel = rng.normal(size=(7, 2)).round(1), Gaussian(1.0)
    every = [ta.mmd2(Z[list(c)], np.delete(Z, c, 0), kernel) for c in itertools.combinations(range(7), 3)]
    expected = np.mean(np.array(every) >= every[0] - 1e-12)
    for permutations in (34, 999, "auto"):
        for seed in range(3):
            found = ta.mmd_test(Z[:3], Z[3:], kernel, permutations=permutations, rng=seed, precision="double")
            assert found.pvalue == pytest.approx(expected, rel=1e-12)


def test_notes_on_the_samples_are_kept():
    rng = np.random.default_rng(0)
    X, Y = (pd.DataFrame({"id": np.arange(60), "x": rng.normal(size=60)}) for _ in range(2))
    found = ta.mmd_test(X, Y, rng=0)
    learned = ta.learned_test(X, Y, permutations=19, rng=0)
    for result in (found, learned):
        assert any("'id'" in note for note in result.notes)
        assert json.loads(result.to_json())["notes"] == [*result.notes]
        assert "Note: " in result._repr_html_()


def test_rejection_and_threshold_agree():
    for r in range(60):
        X, Y = draw(np.random.default_rng(r), 12, 12, ("normal", "binary")[r % 2])
        result = ta.mmd_test(X, Y + 0.5 * (r % 3), permutations=99, rng=r)
        for alpha in (0.05, 0.1, 0.5):
            clear = abs(result.statistic - result.threshold(alpha)) > 1e-5
            if clear:
                assert result.reject(alpha) == (result.statistic > result.threshold(alpha))


def test_few_against_many():
    """Bins of the smaller sample find bins to be exchanged with."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(10, 3)) + 3, rng.normal(size=(8000, 3))
    assert ta.mmd_test(X, Y, null="binned", permutations=199, rng=0).pvalue == 1 / 200
    assert ta.mmd_test(X - 3, Y, null="binned", permutations=199, rng=0).pvalue > 0.01


@pytest.mark.parametrize("scale", [1e-200, 1e-60, 1e60, 1e140])
def test_the_unit_of_the_data_does_not_matter(scale):
    X, Y = draw(np.random.default_rng(12), 60, 60)
    plain, scaled = (ta.mmd_test(X * s, (Y + 1) * s, rng=0) for s in (1.0, scale))
    assert scaled.pvalue == plain.pvalue
    assert scaled.statistic == pytest.approx(plain.statistic, rel=1e-4)


def test_an_outlier_spoils_the_bandwidth_of_nobody_else():
    X, Y = draw(np.random.default_rng(13), 200, 200)
    clean = median_bandwidth(X, Y)
    for far in (1e5, 1e7):
        assert median_bandwidth(np.vstack([X, [[far, 0]]]), Y) == pytest.approx(clean, rel=0.02)


def test_what_is_not_finite_is_no_pvalue():
    X, Y = draw(np.random.default_rng(14), 20, 20)
    broken = Gaussian(1.0)
    with torch.no_grad():
        broken.log_bandwidth.fill_(math.nan)
    for kernel, data in ((broken, X), (ta.kernels.Linear(), X * 1e100)):
        with pytest.raises(ValueError, match="The statistic is not finite"):
            ta.mmd_test(data, Y, kernel, rng=0)
    assert math.isnan(ta.t_statistic(X, Y, broken))


def test_identical_points_give_p_one():
    for null in NULLS:
        assert ta.mmd_test(np.ones((8, 2)), np.ones((8, 2)), null=null, rng=0).pvalue == 1


@pytest.mark.parametrize("null", ["permutation", "binned", "paired"])
def test_same_seed_same_pvalue_whatever_the_machine_does(null, monkeypatch):
    X, Y = draw(np.random.default_rng(10), 700, 700)
    Y = Y + 0.03
    results = []
    for threads, tile, memory in ((1, (256, 1024), None), (2, (256, 1024), "1GB"), (3, (100, 90), "20MB")):
        torch.set_num_threads(threads)
        monkeypatch.setattr(tiles, "TILE_OF_FEW", tile)
        results.append(ta.mmd_test(X, Y, null=null, rng=1, max_memory=memory))
    assert len({r.pvalue for r in results}) == 1
    assert np.array_equal(results[0].null_distribution, results[1].null_distribution)
    assert ta.mmd_test(X, Y, null=null, rng=1, precision="double").pvalue == results[0].pvalue


def test_every_kind_of_rng():
    X, Y = draw(np.random.default_rng(11), 30, 30)
    for make in (lambda: 4, lambda: np.random.default_rng(4), lambda: torch.Generator().manual_seed(4)):
        a, b = (ta.mmd_test(X, Y, rng=make()) for _ in range(2))
        assert a.seed == b.seed
        assert np.array_equal(a.null_distribution, b.null_distribution)
        assert ta.mmd_test(X, Y, rng=a.seed).pvalue == a.pvalue
    assert ta.mmd_test(X, Y).seed != ta.mmd_test(X, Y).seed
    state = torch.random.get_rng_state()
    ta.mmd_test(X, Y)
    assert torch.equal(state, torch.random.get_rng_state())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lag": 3}, "lag is an option of a null distribution: give null=ta.nulls.Wild"),
        ({"bins": 10}, "bins is an option of a null distribution: give null=ta.nulls.Binned"),
        ({"groups": np.arange(24)}, "groups is an option of a null distribution: give null=ta.nulls.Permutation"),
        ({"colour": 3}, "Unknown option 'colour'"),
        ({"alpha": 5}, "alpha must be between 0 and 1"),
        ({"null": "bootstrap"}, "null='bootstrap' is not known. Choose one of 'permutation', 'binned'"),
        ({"permutations": 0}, "permutations must be a whole number from 1 up or 'auto', but is 0"),
        ({"permutations": "auto", "null": "binned"}, "permutations='auto' is for null='permutation' or 'paired'"),
        ({"permutations": "auto", "alpha": 0.0001}, "1999 permutations cannot decide at alpha=0.0001"),
        ({"kernel": "gauss"}, "kernel='gauss' is not known to mmd_test"),
        ({"kernel": 3}, "`kernel` must be a kernel such as"),
        ({"rng": "seed"}, "rng must be a whole number from 0 up"),
        ({"rng": -1}, "rng must be a whole number from 0 up"),
        ({"null": Permutation([1, 2, 3])}, "groups must have one label for each of the 24 rows"),
        ({"null": Permutation(strata=[1, 2, 3])}, "strata must have one label for each of the 24 rows"),
        ({"null": Permutation(np.zeros(24))}, "A group must lie in one sample"),
        (
            {"null": Permutation(np.repeat([0, 1, 2, 3], [6, 6, 4, 8]), equal_groups=True)},
            "There is nothing to exchange: no group may change places",
        ),
        ({"null": Permutation(np.repeat([0, 1], 12), np.arange(24))}, "A group must lie in one stratum"),
        (
            {"null": Permutation(strata=np.repeat([0, 1], 12))},
            "There is nothing to exchange: no stratum has rows of two samples",
        ),
        ({"null": Permutation}, "null must be a null distribution such as"),
        ({"precision": "half"}, "precision must be 'single' or 'double'"),
        ({"null": Binned(bins=2)}, "bins must be between 4 and the number of rows"),
    ],
)
def test_errors(options, message):
    X, Y = draw(np.random.default_rng(0), 12, 12)
    with pytest.raises((ValueError, TypeError), match=message.replace("(", r"\(")):
        ta.mmd_test(X, Y, **options)
    with pytest.raises(ValueError, match="X has 12 rows and Y has 11"):
        ta.mmd_test(X, Y[:11], null="paired")


LONG = """
import signal, sys, threading, torch, tellapart as ta
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job may have inherited that it is ignored
torch.set_num_threads(2)
X, Y = (torch.randn(20_000, 10, generator=torch.Generator().manual_seed(s)) for s in (0, 1))
print("ready", flush=True)
try:
    ta.mmd_test(X, Y, permutations=2000, rng=0)
except KeyboardInterrupt:
    print("left:", [t.name for t in threading.enumerate() if t is not threading.main_thread()], torch.get_num_threads())
"""


def test_interrupting_leaves_no_threads():
    with subprocess.Popen([sys.executable, "-c", LONG], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            time.sleep(2)
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=30)
        finally:
            process.kill()
    assert out == "left: [] 2\n"


SHORT = """
import time, torch, tellapart as ta

def slow(a, b):
    time.sleep(0.08)
    return a @ b.T

X = torch.randn(1500, 2)
ta.mmd_test(X, X + 1, slow, permutations=19, rng=0)
"""


def test_progress_on_a_terminal_and_not_in_a_pipe():
    piped = subprocess.run([sys.executable, "-c", SHORT], capture_output=True, text=True, check=True)
    assert piped.stderr == piped.stdout == ""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen([sys.executable, "-c", SHORT], stderr=follower, stdout=subprocess.DEVNULL)
    os.close(follower)
    shown = b""
    try:
        while chunk := os.read(leader, 4096):
            shown += chunk
    except OSError:  # how a pseudo-terminal says that nobody writes any more
        pass
    assert process.wait() == 0
    assert b"mmd_test" in shown
    assert b"%" in shown
