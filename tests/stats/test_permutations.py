"""Permutations of labels: uniform, within strata, of whole groups, all of them where there are few."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from tellapart.stats.design import Design
from tellapart.stats.permutations import NothingToExchange, draw_permutations, draw_subsets


def two(m, n):
    return np.repeat(np.array([0, 1], np.uint8), [m, n])


def test_the_observed_labelling_is_at_its_place():
    labels = two(30, 20)
    places = set()
    for seed in range(20):
        found = draw_permutations(labels, 99, np.random.default_rng(seed))
        codes = found.codes()
        assert np.array_equal(codes[:, found.observed], labels)
        assert (codes.sum(0) == 20).all()
        assert found.min_pvalue == 0.01
        places.add(found.observed)
    assert len(places) > 10


def test_all_labellings_where_there_are_few():
    found = draw_permutations(two(3, 3), 999, np.random.default_rng(0))
    codes = found.codes()
    assert found.complete
    assert found.count == 20
    assert len({tuple(column) for column in codes.T}) == 20
    assert found.min_pvalue == 2 / 20  # no form tells X from Y
    assert draw_permutations(two(2, 4), 999, np.random.default_rng(0)).min_pvalue == 1 / 15


def test_groups_of_any_size_and_of_equal_size():
    sizes = np.arange(1, 25)
    groups = np.repeat(np.arange(24), sizes)
    labels = (groups >= 12).astype(np.uint8)
    found = draw_permutations(labels, 199, np.random.default_rng(0), Design(groups=groups))
    codes = found.codes()
    for group in range(24):
        assert (np.ptp(codes[groups == group], axis=0) == 0).all()
    assert len(np.unique(found.sizes[:, 0])) > 10
    assert np.array_equal(found.sizes[:, 1], codes.sum(0))
    assert found.distinct == math.comb(24, 12)
    with pytest.raises(ValueError, match="nothing to exchange"):
        draw_permutations(labels, 199, np.random.default_rng(0), Design(groups=groups, equal_groups=True))
    even = np.repeat(np.arange(8), [1, 1, 2, 2, 1, 1, 2, 2])
    found = draw_permutations(
        (even >= 4).astype(np.uint8), 999, np.random.default_rng(0), Design(groups=even, equal_groups=True)
    )
    assert found.count == 36
    assert (found.sizes == 6).all()


@pytest.mark.parametrize("samples", [2, 3])
def test_labels_stay_within_strata(samples):
    rng = np.random.default_rng(1)
    strata = rng.integers(0, 12, 200)
    labels = rng.integers(0, samples, 200).astype(np.uint8)
    found = draw_permutations(labels, 99, rng, Design(strata=strata))
    codes = found.codes()
    for stratum in range(12):
        for k in range(samples):
            counts = (codes[strata == stratum] == k).sum(0)
            assert (counts == counts[0]).all()


def test_pairs_are_exchanged_each_by_itself():
    strata = np.tile(np.arange(40), 2)
    found = draw_permutations(two(40, 40), 999, np.random.default_rng(0), Design(strata=strata))
    codes = found.codes().astype(int)
    assert (codes[:40] + codes[40:] == 1).all()
    assert abs(codes[:40].mean() - 0.5) < 0.02
    few = draw_permutations(two(4, 4), 999, np.random.default_rng(0), Design(strata=np.tile(np.arange(4), 2)))
    assert few.count == 16
    assert few.min_pvalue == 2 / 16


@pytest.mark.parametrize("cells", [1, 7])
def test_labellings_are_uniform(cells):
    """Each of the six ways to choose two of four, in every stratum."""
    strata = np.repeat(np.arange(cells), 4)
    labels = np.tile(np.array([0, 0, 1, 1], np.uint8), cells)
    counts = np.zeros(6)
    ways = {way: k for k, way in enumerate(itertools.combinations(range(4), 2))}
    for seed in range(60):
        found = draw_permutations(
            np.r_[labels, labels], 99, np.random.default_rng(seed), Design(strata=np.r_[strata, strata + cells])
        )
        codes = np.delete(found.codes(slice(0, 4)), found.observed, axis=1)
        for column in codes.T:
            counts[ways[tuple(np.flatnonzero(column))]] += 1
    assert stats.chisquare(counts).pvalue > 1e-4


def test_what_allows_no_exchange_is_refused():
    with pytest.raises(NothingToExchange, match="no stratum has rows of two samples"):
        draw_permutations(two(2, 2), 9, np.random.default_rng(0), Design(strata=np.array([0, 0, 1, 1])))


def test_restrictions_that_restrict_nothing_change_no_bit():
    """Neither in the permutations nor in the state that the generator is left in."""
    for place_last in (True, False):
        found = []
        for design in (Design(), Design(np.arange(50)), Design(strata=np.full(50, 3))):
            rng = np.random.default_rng(0)
            drawn = draw_permutations(two(30, 20), 99, rng, design, place_last=place_last)
            found.append((drawn.packed.tobytes(), drawn.observed, drawn.restricted, rng.integers(2**40)))
        assert found[0] == found[1] == found[2]


def test_the_place_of_the_observed_labels_may_leave_the_generator_alone():
    """What is drawn later depends on how many permutations were drawn, and not on the place."""
    first, second = np.random.default_rng(0), np.random.default_rng(0)
    drawn = draw_permutations(two(30, 20), 99, first, place_last=True)
    draw_subsets(second, 50, 20, 99)
    assert first.integers(2**40) == second.integers(2**40)
    assert np.array_equal(drawn.codes()[:, drawn.observed], two(30, 20))
