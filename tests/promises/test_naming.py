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
    return any("missing" not in name for name in run(samples, options).named(ALPHA))


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
    if law == "exponential":
        parts = [-np.log(1 - np.clip(_uniform(Z), 0, 1 - 1e-12)) for Z in parts]
    options = {"permutations": permutations, "rng": r}
    rows = sum(map(len, parts))
    if groups:
        options["groups"] = np.arange(rows) // groups
    if strata:
        options["strata"] = np.concatenate([np.arange(len(part)) % strata for part in parts])
        parts = [part + 2.0 * (np.arange(len(part)) % strata)[:, None] for part in parts]
    return len(run(parts, options).named(ALPHA)) > 0


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
    return len(run(parts, options).named_pairs(ALPHA)) > 0


def _uniform(Z):
    from scipy.stats import norm

    return norm.cdf(Z)


def run(samples, options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if len(samples) == 2:
            return ta.two_sample_test(*samples, **options)
        return ta.k_sample_test(samples, pairwise=False, **options)
