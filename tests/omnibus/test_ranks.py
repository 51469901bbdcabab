"""Ranks of columns and their cosines, with and without ties."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tellapart.engine.rows import StratifiedSums
from tellapart.omnibus.ranks import Ranks, orthonormalize_sequentially, rank_cosines


def test_ranks_are_mid_ranks():
    rng = np.random.default_rng(0)
    Z = rng.integers(0, 5, (50, 2)).astype(float)
    expected = (stats.rankdata(Z, axis=0) - 0.5) / 50
    assert np.allclose(Ranks.fit(Z)(Z), expected)
    U = rng.random((10, 3))
    cosines = math.sqrt(2) * np.cos(math.pi * U[..., None] * np.arange(1, 7))
    assert np.allclose(rank_cosines(U), cosines, atol=1e-6)


@pytest.mark.parametrize("zeros", [0.0, 0.3, 0.6, 0.9, 0.99])
def test_components_of_columns_have_unit_variance_whatever_the_ties(zeros):
    """In single precision, as the features are summed, against exact sums: what is left of a cosine is not rounding."""
    rng = np.random.default_rng(0)
    Z = rng.exponential(size=(1024, 40)) * (rng.random((1024, 40)) >= zeros)
    ranks = Ranks.fit(Z)
    F = ranks.cosines(ranks(Z))
    centred = F - F.mean(0, dtype=float)
    G, C = StratifiedSums.of(F, np.zeros((1024, 1), np.float32), None, "blocks").close()
    _, used = orthonormalize_sequentially(G, C.reshape(40, 6, 1), 1024)
    assert used[:, 0].all()
    if zeros < 0.9:
        assert used[:, :4].all()
    # What `orthonormalize_sequentially` makes of the features themselves are orthonormal components.
    P, _ = orthonormalize_sequentially(G, centred.transpose(1, 2, 0), 1024)
    products = np.einsum("din,djn->dij", P, P)
    assert np.allclose(products, np.eye(6) * used[:, :, None], atol=2e-3)
    if zeros == 0:
        assert np.array_equal(F, rank_cosines(ranks(Z)))


def test_functions_of_tied_ranks_stay_in_their_range():
    """A value that the sketch has not seen is no outlier of a combination of cosines."""
    rng = np.random.default_rng(0)
    ranks = Ranks.fit(rng.exponential(size=(1000, 1)) * (rng.random((1000, 1)) < 0.3))
    seen, new = (ranks.cosines(ranks(values)) for values in (ranks.values[0][:, None], rng.normal(size=(500, 1))))
    assert len(ranks.tied.columns) == 1
    assert (new.max(0) <= seen.max(0) + 1e-4).all()
    assert (new.min(0) >= seen.min(0) - 1e-4).all()


@pytest.mark.parametrize("change", ["falling values", "not finite", "falling shares", "shares above 1", "too few"])
def test_ranks_of_a_damaged_file_are_not_consistent(change):
    ranks = Ranks.fit(np.random.default_rng(0).normal(size=(20, 1)))
    assert ranks.is_consistent(1)
    values, below = ranks.values[0].copy(), ranks.below[0].copy()
    if change == "falling values":
        values[3] = values[2] - 1e-9
    elif change == "not finite":
        values[3] = np.nan
    elif change == "falling shares":
        below[3] = 0.0
    elif change == "shares above 1":
        below *= 1e267
    else:
        below = below[1:]
    assert not Ranks((values,), (below,), ranks.rows).is_consistent(1)
