"""Bins of rows: which rows they have, that permuting them is exact, and that results do not depend on blocks."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest

import tellapart as ta
from tellapart.engine import Compute
from tellapart.omnibus import Layout, bins, pool_rows, sums
from tellapart.omnibus.contrasts import Contrasts
from tellapart.omnibus.plan import FeaturePlan
from tellapart.omnibus.sketch import draw_sketch
from tellapart.stats.design import Design
from tellapart.stats.permutations import draw_permutations


@pytest.fixture
def small(monkeypatch):
    """Bins of few rows for small samples."""
    monkeypatch.setattr(bins, "MANY_ROWS", 40)
    monkeypatch.setattr(bins, "BINS", 20)
    monkeypatch.setattr(bins, "MIN_BINS", 4)


def pairs(count):
    return Design(strata=np.tile(np.arange(count), 2), paired=True)


DESIGNS = {
    "rows": (np.repeat([0, 1], [103, 80]), Design()),
    "three samples": (np.repeat([0, 1, 2], [103, 81, 50]), Design()),
    "strata": (np.repeat([0, 1], 150), Design(strata=np.arange(300) % 3)),
    "pairs": (np.repeat([0, 1], 101), pairs(101)),
}


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", DESIGNS)
def test_bins_are_of_one_sample_and_stratum_and_have_each_row_once(name):
    labels, design = DESIGNS[name]
    made = bins.draw_bins(labels, design, np.random.default_rng(0))
    assert sorted(made.members) == list(range(len(labels)))
    whole = made.members[: made.whole * made.rows].reshape(-1, made.rows)
    units = [*whole, *made.members[made.whole * made.rows :, None]]
    assert len(units) == len(made.labels)
    for rows, label in zip(units, made.labels, strict=True):
        assert set(labels[rows]) == {label}
        if design.strata is not None and not design.paired:
            assert len(set(design.strata[rows])) == 1
    if design.paired:
        # Exchanged bins have the same pairs, in the same order.
        for stratum in set(made.design.strata):
            first, second = np.flatnonzero(made.design.strata == stratum)
            assert np.array_equal(units[first] % 101, units[second] % 101)
    elif made.design.strata is not None:
        # Only bins of the same size are exchanged, within strata.
        for stratum in set(made.design.strata):
            same = np.flatnonzero(made.design.strata == stratum)
            assert len({len(units[k]) for k in same}) == 1
    order = np.concatenate([np.random.default_rng(1).permutation(made.whole), np.arange(made.whole, len(units))])
    assert np.array_equal(made.take(order), np.concatenate([units[k] for k in order]))


@pytest.mark.usefixtures("small")
def test_groups_few_rows_and_very_unequal_samples_have_no_bins():
    rng = np.random.default_rng(0)
    assert bins.draw_bins(np.repeat([0, 1], 15), Design(), rng) is None
    assert bins.draw_bins(np.repeat([0, 1], 60), Design(groups=np.arange(120) // 2), rng) is None
    assert bins.draw_bins(np.repeat([0, 1], [500, 7]), Design(), rng) is None
    assert bins.draw_bins(np.repeat([0, 1], 60), Design(groups=np.arange(120)), rng) is not None


def matched_sets(count):
    """Sets of three rows: one of X and two of Y, or two of X and one of Y; their labels and numbers."""
    sets = np.arange(count)
    of_x, of_y = np.concatenate([sets, sets[::2]]), np.concatenate([sets, sets[1::2]])
    return np.repeat([0, 1], [len(of_x), len(of_y)]), np.concatenate([of_x, of_y])


@pytest.mark.usefixtures("small")
def test_matched_sets_have_no_bins(monkeypatch):
    """A bin of two rows would have nothing in its set to change places with, and so would the row that is left over."""
    monkeypatch.setattr(bins, "BINS", 40)
    labels, sets = matched_sets(50)
    assert bins.draw_bins(labels, Design(strata=sets), np.random.default_rng(0)) is None
    X = np.random.default_rng(1).normal(size=(150, 2)) + 2.0 * labels[:, None]
    result = ta.two_sample_test(X[labels == 0], X[labels == 1], 99, strata=sets, rng=0)
    assert result.permuted_unit == "rows within strata"
    assert result.pvalue == result.min_pvalue


@pytest.mark.parametrize("rows_of_stratum", [3, 5, 8, 12, 20, 40, 100])
def test_bins_keep_the_information_within_strata(rows_of_stratum):
    """Bins, and rows that are left over, have others of their stratum that they are exchanged with."""
    rng = np.random.default_rng(2)
    labels, strata = (
        np.sort(rng.random(20_001) < 0.4).astype(np.uint8),
        rng.integers(0, 20_001 // rows_of_stratum, 20_001),
    )

    def information(labels, strata):
        count = np.zeros((strata.max() + 1, 2))
        np.add.at(count, (strata, labels), 1)
        return 2 * (count.prod(1) / np.maximum(count.sum(1), 1)).sum()

    made = bins.draw_bins(labels, Design(strata=strata), rng)
    if made is None:
        assert rows_of_stratum <= 20
        return
    whole, left = slice(None, made.whole), slice(made.whole, None)
    kept = made.rows * information(made.labels[whole], made.design.strata[whole])
    kept += information(made.labels[left], made.design.strata[left])
    assert kept >= 0.95 * information(labels, strata)


def test_many_strata_take_no_memory():
    labels, strata = np.repeat([0, 1], 150_000), np.tile(np.arange(75_000), 4)
    tracemalloc.start()
    try:
        assert bins.draw_bins(labels, Design(strata=strata), np.random.default_rng(0)) is None
        assert tracemalloc.get_traced_memory()[1] < 100 * len(labels)
    finally:
        tracemalloc.stop()


def fit(X, Y, design, permutations, *, binned):
    labels, rng = np.repeat([0, 1], [len(X), len(Y)]), np.random.default_rng(0)
    made = bins.draw_bins(labels, design, rng) if binned else None
    of = (labels, design) if made is None else (made.labels, made.design)
    samples = [X, Y]
    pooled = pool_rows(samples, draw_permutations(of[0], permutations, rng, of[1]), rng, made)
    sketch = draw_sketch(pooled.points, rng, Compute())
    plan = FeaturePlan.fit(sketch, len(pooled.points), Layout(X.shape[1]), [], rng)
    return pooled, plan, labels


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", ["rows", "strata", "pairs"])
def test_sums_by_bin_are_those_of_all_rows(name):
    """C is FᵀW with one label for all rows of a bin, and G is that of the sums of the bins."""
    labels, design = DESIGNS[name]
    Z = np.random.default_rng(2).normal(size=(len(labels), 3)).astype(np.float32)
    pooled, plan, _ = fit(Z[labels == 0], Z[labels == 1], design, 19, binned=True)
    contrasts, made = Contrasts(pooled.permutations), pooled.bins
    W = contrasts(slice(0, len(made.labels))).astype(np.float64)
    size = np.where(np.arange(len(W)) < made.whole, made.rows, 1)
    unit = np.repeat(np.arange(len(W)), size)
    strata = contrasts.strata(slice(0, len(W)))
    for block, pending in sums.sum_features(plan, contrasts, pooled.points, Compute(), made):
        G, C = pending()
        ((_, F),) = plan.features(pooled.points[:], [block])
        totals = np.zeros((len(W), block.width))
        np.add.at(totals, unit, F.reshape(len(F), -1).astype(np.float64))
        for k in range(1) if strata is None else np.unique(strata):
            same = slice(None) if strata is None else strata == k
            totals[same] -= totals[same].mean(0)
        assert np.allclose(C, totals.T @ W, atol=1e-3)
        full = totals.T @ totals
        if block.gram == "diagonal":
            full = np.diagonal(full)
        assert np.allclose(G, full, atol=1e-2, rtol=1e-4)


@pytest.mark.usefixtures("small")
def test_all_permutations_of_few_bins_are_enumerated(monkeypatch):
    """8 bins of 10 rows: the p-value is the rank among all 70 ways to call 4 of them X, of which 2 are alike."""
    monkeypatch.setattr(bins, "BINS", 8)
    X, Y = np.random.default_rng(3).normal(size=(2, 40, 2))
    made = bins.draw_bins(np.repeat([0, 1], 40), Design(), np.random.default_rng(0))
    assert (made.rows, len(made.labels)) == (10, 8)
    result = ta.two_sample_test(X, Y + 3, 999, rng=0)
    assert result.permutations == 69
    assert result.pvalue == result.min_pvalue == pytest.approx(2 / 70)
    assert result.permuted_unit == "bins of rows"
    assert "permutations of bins of rows" in result.summary()


def draw(rng, name, sizes):
    if name == "ties":
        return [rng.integers(0, 3, (n, 2)) * 1.0 for n in sizes]
    if name == "heavy tails":
        return [rng.standard_t(1, (n, 3)) for n in sizes]
    return [rng.normal(size=(n, 3)) for n in sizes]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", ["normal", "ties", "heavy tails", "three samples", "strata", "pairs", "unequal"])
@pytest.mark.parametrize("repetitions", [120, pytest.param(2000, marks=pytest.mark.full)])
def test_the_level_with_bins(name, repetitions):
    sizes = {"three samples": (50, 45, 48), "unequal": (41, 117), "pairs": (60, 60)}.get(name, (53, 61))
    rejected = 0
    for k in range(repetitions):
        rng = np.random.default_rng([k, 5])
        samples = draw(rng, name, sizes)
        if len(sizes) > 2:
            result = ta.k_sample_test(samples, permutations=19, pairwise=False, rng=k)
        elif name == "strata":
            strata = [np.arange(n) % 2 for n in sizes]
            samples = [part + 2.0 * of[:, None] for part, of in zip(samples, strata, strict=True)]
            result = ta.two_sample_test(*samples, 19, strata=np.concatenate(strata), rng=k)
        else:
            result = ta.two_sample_test(*samples, 19, paired=name == "pairs", rng=k)
        assert result.permuted_unit.startswith("bins of ")
        rejected += result.pvalue <= 0.05
    errors = 3 if repetitions > 1000 else 4
    assert rejected / repetitions <= 0.05 + errors * math.sqrt(0.05 * 0.95 / repetitions)


@pytest.mark.usefixtures("small")
def test_a_difference_is_detected_with_bins():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(200, 3)), rng.normal(size=(200, 3))
    Y[:, 1] += 0.6
    result = ta.two_sample_test(X, Y, 199, rng=0)
    assert result.permuted_unit == "bins of rows"
    assert result.pvalue == result.min_pvalue
    assert result.differing_columns().names == ("1",)


@pytest.mark.parametrize("rows", [7, 300, 1500])
def test_threads_files_and_memory_do_not_change_a_bit(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(bins, "MANY_ROWS", 40)
    monkeypatch.setattr(bins, "BINS", 12_000 // rows)
    monkeypatch.setattr(bins, "MIN_BINS", 3)
    X, Y = np.random.default_rng(4).normal(size=(2, 6001, 4)).astype(np.float32)
    for name, part in (("x", X), ("y", Y)):
        np.save(tmp_path / f"{name}.npy", part)
    files = [tmp_path / "x.npy", tmp_path / "y.npy"]
    calls = [
        ta.two_sample_test(*data, 49, rng=0, **options)
        for data, options in (
            ((X, Y), {"threads": 1}),
            ((X, Y), {"threads": 2}),
            (files, {"threads": 2}),
            ((X, Y), {"max_memory": "140MB"}),
        )
    ]
    for other in calls[1:]:
        assert np.array_equal(other.null_distribution, calls[0].null_distribution)
        assert other.statistic == calls[0].statistic
