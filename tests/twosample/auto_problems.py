"""Problems without a difference, of every kind that the automatic test must hold its level on."""

from __future__ import annotations

import numpy as np
import pandas as pd

import tellapart as ta

#: So few that 100 repetitions are quick; enough for the levels 0.01, 0.05 and 0.1.
DRAWS = 99


def continuous(rng):
    return ta.two_sample_test(rng.normal(size=(25, 3)), rng.normal(size=(25, 3)), DRAWS, rng=rng)


def ties(rng):
    X, Y = (rng.integers(0, 3, (25, 3)).astype(float) for _ in range(2))
    return ta.two_sample_test(X, Y, DRAWS, rng=rng)


def binary(rng):
    X, Y = ((rng.random((30, 4)) < 0.2).astype(float) for _ in range(2))
    return ta.two_sample_test(X, Y, DRAWS, rng=rng)


def mixed_table(rng):
    def frame(n):
        day = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 9, n), unit="D")
        columns = {"x": rng.exponential(size=n), "town": rng.choice(["a", "b", "c"], n), "day": day}
        found = pd.DataFrame(columns | {"yes": rng.random(n) < 0.3})
        found.loc[rng.random(n) < 0.15, "x"] = np.nan
        return found

    return ta.two_sample_test(frame(25), frame(20), DRAWS, missing="indicator", rng=rng)


def binary_images(rng):
    """Pixels that are hardly ever set, and some that never are."""
    rate = np.array([0.0, 0.02, 0.3, 0.6, 1.0, 0.01])
    X, Y = ((rng.random((20, 6, 6)) < rate).astype(np.uint8) for _ in range(2))
    return ta.two_sample_test(X, Y, DRAWS, rng=rng)


def unequal(rng):
    return ta.two_sample_test(rng.exponential(size=(8, 2)), rng.exponential(size=(60, 2)), DRAWS, rng=rng)


def thirty_and_three_hundred(rng):
    return ta.two_sample_test(rng.exponential(size=(30, 2)), rng.exponential(size=(300, 2)), DRAWS, rng=rng)


def ten_and_ten(rng):
    return ta.two_sample_test(rng.normal(size=(10, 2)), rng.normal(size=(10, 2)), DRAWS, rng=rng)


def embeddings(rng):
    """So many columns that principal components are looked at, of which five are not noise."""
    X, Y = (rng.normal(size=(n, 5)) @ np.eye(5, 70) * 3 + rng.normal(size=(n, 70)) for n in (15, 25))
    return ta.two_sample_test(X, Y, DRAWS, rng=rng)


def wide_counts(rng):
    """Ties, constant columns, and fewer rows than columns."""
    X, Y = (rng.poisson(np.r_[0, 0.1, np.ones(78)], size=(10, 80)).astype(float) for _ in range(2))
    return ta.two_sample_test(X, Y, DRAWS, rng=rng)


def groups(rng):
    """Groups of any size, each with an effect of its own."""
    label = np.repeat(np.arange(20), rng.integers(1, 5, 20))
    Z = rng.normal(size=(len(label), 2)) + 2 * rng.normal(size=(20, 2))[label]
    X = label < 10
    return ta.two_sample_test(Z[X], Z[~X], DRAWS, groups=np.r_[label[X], label[~X]], rng=rng)


def strata(rng):
    """Strata that differ, and of which the samples have different shares."""
    site = np.r_[rng.random(30) < 0.2, rng.random(30) < 0.8].astype(int)
    Z = rng.normal(size=(60, 2)) + 3 * site[:, None]
    return ta.two_sample_test(Z[:30], Z[30:], DRAWS, strata=site, rng=rng)


def pairs(rng):
    centre = 3 * rng.normal(size=(25, 2))
    X, Y = (centre + rng.normal(size=(25, 2)) for _ in range(2))
    return ta.two_sample_test(X, Y, DRAWS, paired=True, rng=rng)


def three_samples(rng):
    samples = [rng.normal(size=(n, 2)) for n in (15, 20, 25)]
    return ta.k_sample_test(samples, permutations=DRAWS, pairwise=False, rng=rng)


QUICK = [
    continuous,
    ties,
    binary,
    mixed_table,
    binary_images,
    unequal,
    ten_and_ten,
    embeddings,
    wide_counts,
    groups,
    strata,
    pairs,
    three_samples,
]
ALL = [*QUICK, thirty_and_three_hundred]
