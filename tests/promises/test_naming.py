"""Columns and pairs are named by mistake with probability at most α, whatever the columns around them do.

Each problem has two or more samples in which the columns (or pairs) that a run must not name have the same
distribution (the same correlation). A run is a mistake if it names one of them.
"""

from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd
import pytest

import tellapart as ta
from tellapart.omnibus.single import Blocks, SingleTests, number_features, single_pvalues
from tellapart.stats.design import Design

ALPHA = 0.05


def missing_values(r, law="normal", sizes=(150, 150), d=10, shares=(0.05, 0.5), groups=0, permutations=199):
    """All values have one distribution; only how many of them are missing differs."""
    g = np.random.default_rng(r)

    def draw(n, share):
        Z = g.normal(size=(n, d))
        if groups:
            Z = Z / 2 + np.repeat(g.normal(size=(n // groups, d)), groups, 0)
        Z = np.exp(Z) if law == "lognormal" else Z
        Z[g.random(Z.shape) < share] = np.nan
        return pd.DataFrame(Z, columns=[f"v{i}" for i in range(d)])

    options = {"missing": "indicator", "permutations": permutations, "rng": r}
    if groups:
        options["groups"] = np.arange(sum(sizes)) // groups
    samples = [draw(n, share) for n, share in zip(sizes, shares, strict=True)]
    return any("missing" not in name for name in run(samples, options).differing_columns(ALPHA).names)


def other_dependence(r, law="normal", copies=300, single=12, d=20, permutations=79, groups=0, strata=0, more=()):
    """Copies of one column in one sample, independent columns in the others: each has the same distribution in all."""
    g = np.random.default_rng(r)

    def draw(n, width):
        Z = g.normal(size=(n, width))
        if groups:
            Z = (Z / 2 + np.repeat(g.normal(size=(n // groups, width)), groups, 0)) / math.sqrt(1.25)
        return Z

    parts = [np.repeat(draw(copies, 1), d, 1) + 1e-6 * g.normal(size=(copies, d))]
    parts += [draw(n, d) for n in (single, *more)]
    if law == "lognormal":
        parts = [np.exp(part) for part in parts]
    options = {"permutations": permutations, "rng": r}
    rows = sum(map(len, parts))
    if groups:
        options["groups"] = np.arange(rows) // groups
    if strata:
        options["strata"] = np.concatenate([np.arange(len(part)) % strata for part in parts])
        parts = [part + 2.0 * (np.arange(len(part)) % strata)[:, None] for part in parts]
    return len(run(parts, options).differing_columns(ALPHA).names) > 0


def wider_column(r, law="normal", sizes=(200, 20), d=12, rho=0.5, groups=0, strata=0, permutations=199, wide=4.0):
    """Column 0 is wider in the last sample; all correlations are the same in all samples: no pair may be named."""
    g = np.random.default_rng(r)

    def noise(*shape):
        return g.standard_t(3, shape) if law == "t3" else g.normal(size=shape)

    def draw(n):
        if law == "t3":
            Z = math.sqrt(rho) * g.normal(size=(n, 1)) + math.sqrt(1 - rho) * g.normal(size=(n, d))
            return Z / np.sqrt(g.chisquare(3, (n, 1)) / 3)
        if groups:
            shared, own = (np.repeat(g.normal(size=(n // groups, k)), groups, 0) for k in (1, d))
            Z = math.sqrt(rho) * shared + math.sqrt(1 - rho) * own
            Z = Z + 0.5 * (math.sqrt(rho) * noise(n, 1) + math.sqrt(1 - rho) * noise(n, d))
        else:
            Z = math.sqrt(rho) * noise(n, 1) + math.sqrt(1 - rho) * noise(n, d)
        return np.exp(Z / 2) if law == "lognormal" else Z

    parts = [draw(n) for n in sizes]
    parts[-1] = parts[-1] * np.r_[wide, np.ones(d - 1)]
    options = {"permutations": permutations, "rng": r}
    if groups:
        options["groups"] = np.arange(sum(sizes)) // groups
    if strata:
        options["strata"] = np.concatenate([np.arange(n) % strata for n in sizes])
    return len(run(parts, options).differing_pairs(ALPHA)) > 0


def run(samples, options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if len(samples) == 2:
            return ta.two_sample_test(*samples, **options)
        return ta.k_sample_test(samples, pairwise=False, **options)


#: Each with the runs of the reduced test; 0 for those of the full one alone.
PROBLEMS = {
    "missing values": (missing_values, {}, 20),
    "missing values, lognormal": (missing_values, {"law": "lognormal", "sizes": (100, 100), "d": 6}, 0),
    "missing values, 300 and 20 rows": (missing_values, {"sizes": (300, 20), "d": 6}, 0),
    "missing values, 3 samples": (
        missing_values,
        {"sizes": (80, 80, 80), "d": 6, "shares": (0.05, 0.2, 0.5), "permutations": 99},
        8,
    ),
    "missing values, groups": (missing_values, {"sizes": (120, 120), "d": 6, "groups": 4}, 0),
    "dependence": (other_dependence, {}, 30),
    "dependence, lognormal": (other_dependence, {"law": "lognormal", "single": 20, "d": 10, "permutations": 199}, 0),
    "dependence, 50 columns": (other_dependence, {"copies": 400, "single": 20, "d": 50, "permutations": 199}, 0),
    "dependence, equal sizes": (other_dependence, {"copies": 50, "single": 50, "d": 50, "permutations": 199}, 0),
    "dependence, 3 samples": (other_dependence, {"more": (12,), "permutations": 199}, 0),
    "dependence, groups": (other_dependence, {"copies": 600, "single": 60, "groups": 4, "permutations": 199}, 0),
    "dependence, strata": (other_dependence, {"single": 16, "strata": 2, "permutations": 199}, 0),
    "pairs": (wider_column, {}, 30),
    "pairs, t with 3 degrees": (wider_column, {"law": "t3", "sizes": (200, 30)}, 0),
    "pairs, strongly correlated": (wider_column, {"rho": 0.8, "sizes": (200, 15)}, 0),
    "pairs, lognormal": (wider_column, {"law": "lognormal"}, 0),
    "pairs, groups": (wider_column, {"sizes": (400, 60), "d": 8, "groups": 4}, 0),
    "pairs, strata": (wider_column, {"d": 8, "strata": 2}, 0),
    "pairs, equal sizes": (wider_column, {"sizes": (60, 60), "d": 8}, 0),
    "pairs, 3 samples": (wider_column, {"sizes": (100, 100, 20), "d": 8}, 0),
}


def most(runs, level=ALPHA, errors=3.0):
    """Mistakes that may be: those of a rate of ``level``, and so many standard errors more."""
    return level * runs + errors * math.sqrt(level * (1 - level) * runs)


@pytest.mark.parametrize("name", [name for name, (_, _, runs) in PROBLEMS.items() if runs])
def test_nothing_is_named_by_mistake(name):
    problem, options, runs = PROBLEMS[name]
    assert sum(problem(r, **options) for r in range(runs)) <= most(runs)


@pytest.mark.full
@pytest.mark.parametrize("name", PROBLEMS)
def test_nothing_is_named_by_mistake_in_many_runs(name):
    problem, options, _ = PROBLEMS[name]
    mistakes, runs = sum(problem(1000 + r, **options) for r in range(300)), 300
    print(f"{name}: named by mistake in {mistakes} of {runs}")
    assert mistakes <= most(runs, errors=2.0)


def single_problem(g, design):
    """Labels and what may be exchanged, and three columns of one distribution."""
    sizes = {"unequal": (12, 120), "large": (600, 900), "three": (15, 30, 60), "tiny": (4, 5)}.get(design, (40, 80))
    labels = np.repeat(np.arange(len(sizes)), sizes)
    columns = [g.normal(size=len(labels)) for _ in range(3)]
    if design == "groups":
        numbers = np.arange(len(labels)) // 4
        return labels, [x / 2 + g.normal(size=len(labels))[numbers] for x in columns], {"groups": numbers}
    if design == "strata":
        strata = np.arange(len(labels)) % 3
        return labels, [x + 2 * strata for x in columns], {"strata": strata}
    if design == "pairs":
        labels, pairs = np.tile([0, 1], 60), np.repeat(np.arange(60), 2)
        return labels, [x + 2 * g.normal(size=60)[pairs] for x in columns], {"strata": pairs}
    if design == "categories":
        levels = [g.integers(4, size=len(labels)) for _ in range(3)]
        return labels, [(x[:, None] == np.arange(4)).astype(float) for x in levels], {}
    if design == "ties":
        return labels, [(x > 0.5).astype(float) for x in columns], {}
    return labels, columns, {}


@pytest.mark.parametrize(
    "design", ["unequal", "large", "three", "tiny", "groups", "strata", "pairs", "categories", "ties"]
)
def test_single_p_values_are_exact(design):
    g, pvalues = np.random.default_rng(0), []
    for _ in range(60):
        labels, columns, options = single_problem(g, design)
        pvalues += list(single_pvalues(columns, None, labels, 199, g, Design(**options)))
    for level in (0.05, 0.2, 0.5):
        assert sum(p <= level for p in pvalues) <= most(len(pvalues), level, 4.0)
    # And they are not all 1.
    assert np.mean(pvalues) < 0.75


def test_a_bound_certifies_only_what_permutations_do_not_reach():
    """Chernoff's bound is above the share of permutations that reach the observed score of some component."""
    g = np.random.default_rng(1)
    for sizes, shift in (((30, 30), 0.6), ((10, 200), 1.0), ((300, 300), 0.2)):
        labels = np.repeat([0, 1], sizes)
        test = SingleTests(
            Blocks.merge(labels, Design()),
            [number_features(g.normal(size=len(labels)) + shift * labels)],
            None,
            True,
        )
        U, at = test.parts[0][0], test.blocks.labels
        bound = float(test._bounds()[0])
        z = np.abs(U @ at)
        draws = np.stack([g.permutation(at) for _ in range(4000)], 1)
        reached = (np.abs(U @ draws) >= z[:, None] - 1e-9).mean(1)
        assert bound >= reached.min()


def test_missing_values_do_not_matter_to_a_single_p_value():
    g = np.random.default_rng(2)
    labels, x = np.repeat([0, 1], 100), g.normal(size=200)
    present = g.random(200) < np.where(labels == 0, 0.95, 0.5)
    some = single_pvalues([x[present]], None, labels[present], 999, np.random.default_rng(0))
    other = np.where(present, x, 100.0)
    assert single_pvalues([other], present, labels, 999, np.random.default_rng(0)) == some


def test_columns_that_differ_are_named():
    """Few and many rows, of which 2 of 12 columns differ: exact single p-values are small enough for Holm."""
    for sizes, shift in (((20, 30), 2.0), ((1500, 1500), 0.3)):
        g = np.random.default_rng(3)
        X, Y = (g.normal(size=(n, 12)) for n in sizes)
        Y[:, :2] += shift
        found = ta.two_sample_test(X, Y, 199, rng=0)
        assert set(found.differing_columns().names) == {"0", "1"}
        assert found.columns[0].pvalue == found.min_pvalue


def test_few_rows_have_all_permutations():
    labels, x = np.repeat([0, 1], 4), np.arange(8.0)
    assert single_pvalues([x], None, labels, 9_999, np.random.default_rng(0)) == [2 / 70]
    assert single_pvalues([x], labels == 0, labels, 9_999, np.random.default_rng(0)) == [1.0]
    assert single_pvalues([np.zeros(8)], None, labels, 9_999, np.random.default_rng(0)) == [1.0]
