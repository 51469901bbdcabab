"""Cells, against sets of rows that are made one by one."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, ward
from scipy.spatial.distance import cdist, pdist

from tellapart.engine import Compute
from tellapart.omnibus import Layout, pool_rows
from tellapart.omnibus.bins import draw_bins
from tellapart.omnibus.contrasts import Contrasts
from tellapart.omnibus.families import cells
from tellapart.omnibus.families.cells import CellFamily, Cells
from tellapart.omnibus.plan import FeaturePlan
from tellapart.omnibus.scores import calibrate_tail, square_tail
from tellapart.omnibus.scoring import FamilyScorer
from tellapart.omnibus.sums import sum_features
from tellapart.stats.design import Design
from tellapart.stats.permutations import draw_permutations


def fit(rows, scale=1.0):
    width = rows.shape[1]
    return Cells.fit(rows, np.zeros(width), np.full(width, scale))


def normal(seed, *size):
    """Rows that scaling and rounding leaves as they are: multiples of 2**-8."""
    return np.rint(256 * np.random.default_rng(seed).normal(size=size)) / 256


def sets(F):
    """Columns of 0 and 1 as sets of rows."""
    assert set(np.unique(F)) <= {0.0, 1.0}
    return [frozenset(np.flatnonzero(column)) for column in F.T]


def test_nodes_are_the_clusters_of_scipy():
    """With no more rows than leaves every row is a leaf, and nodes are all clusters of at least six rows."""
    rows = normal(0, 100, 3)
    made = fit(rows)
    tree = ward(pdist(rows))
    expected = set()
    for count in range(2, 101):
        number = fcluster(tree, count, "maxclust")
        expected |= {frozenset(np.flatnonzero(number == k)) for k in range(1, number.max() + 1)}
    expected = {one for one in expected if 6 <= len(one) <= 94}
    assert set(sets(made(rows)[:, : len(made.nodes)])) == expected


def test_rows_are_in_the_leaf_with_the_nearest_center(monkeypatch):
    monkeypatch.setattr(cells, "_LEAVES", 10)
    rng = np.random.default_rng(0)
    rows = normal(0, 150, 2) + 4 * rng.integers(0, 3, size=(150, 2))
    made = fit(rows)
    number = fcluster(ward(pdist(rows)), 10, "maxclust")
    centers = np.stack([rows[number == k].mean(0) for k in range(1, 11)])
    assert np.allclose(np.sort(made.centers / made.scale, axis=0), np.sort(centers, axis=0), atol=1 / made.scale[0])
    leaf = cdist(rows, made.centers / made.scale).argmin(1)
    for (start, stop), inside in zip(made.nodes, sets(made(rows)), strict=False):
        assert inside == set(np.flatnonzero((leaf >= start) & (leaf < stop)))


def test_balls_have_the_nearest_rows():
    rows = normal(0, 100, 3)
    made = fit(rows)
    balls = made(rows)[:, len(made.nodes) :].reshape(100, 2, 100)
    distances = cdist(rows, made.centers / made.scale)
    for size, inside in zip((8, 32), balls.transpose(1, 0, 2), strict=True):
        assert np.array_equal(
            np.sort(np.argsort(distances, axis=0)[:size], axis=0), np.nonzero(inside.T)[1].reshape(-1, size).T
        )


def test_shares_are_those_of_the_sketch():
    rows = np.random.default_rng(0).normal(size=(80, 2))
    made = fit(rows)
    assert np.allclose(made.shares, made(rows).mean(0))


def test_rounding_errors_of_rows_change_no_cell():
    """As between processors, single and double precision: distances are exact, so clusters and balls are the same."""
    rng = np.random.default_rng(0)
    for rows in (rng.normal(size=(400, 5)), rng.integers(0, 4, size=(400, 5)) / 10, rng.exponential(size=(300, 700))):
        scale = 1 / rows.std()
        made = Cells.fit(rows, rows.mean(0), np.full(rows.shape[1], scale))
        near = rows * (1 + 1e-13 * rng.normal(size=rows.shape))
        other = Cells.fit(near, near.mean(0), np.full(rows.shape[1], scale * (1 + 1e-13)))
        assert np.array_equal(made.centers, other.centers)
        assert np.array_equal(made(rows), other(near))
        order = rng.permutation(rows.shape[1])  # of sums
        turned = Cells.fit(rows[:, order], rows.mean(0)[order], np.full(rows.shape[1], scale))
        assert np.array_equal(made(rows), turned(rows[:, order]))


def test_few_or_equal_rows_have_no_cells():
    assert fit(np.random.default_rng(0).normal(size=(11, 2))) is None
    assert fit(np.ones((50, 2))) is None
    assert fit(np.random.default_rng(0).normal(size=(12, 2))).width


def test_equal_rows_are_in_the_same_cells():
    rows = np.random.default_rng(0).integers(0, 2, size=(300, 4)).astype(float)
    F = fit(rows)(rows)
    for one in np.unique(rows, axis=0):
        assert len(np.unique(F[(rows == one).all(1)], axis=0)) == 1


def test_units_of_columns_do_not_matter():
    """To the last bit for factors that are powers of two."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(100, 3))
    found = []
    for scales in ([1, 1, 1], [1024, 1, 0.25]):
        plan = FeaturePlan.fit(values * scales, 100, Layout(3), (), np.random.default_rng(0))
        (family,) = (one for one in plan.families if isinstance(one, CellFamily))
        found.append(family.cells[0](values * scales))
    assert np.array_equal(*found)


def prepare(values, labels, permutations=49, seed=0, binned=False, **design):
    """The sums of cells, and the permuted labels of the rows in the order of ``values``."""
    rng = np.random.default_rng(seed)
    bins = draw_bins(labels, Design(**design), rng) if binned else None
    units, allowed = (labels, Design(**design)) if bins is None else (bins.labels, bins.design)
    pooled = pool_rows([values], draw_permutations(units, permutations, rng, allowed), rng, bins)
    plan = FeaturePlan.fit(values[:2048], len(values), Layout(values.shape[1]), (), np.random.default_rng(0))
    (family,) = (one for one in plan.families if isinstance(one, CellFamily))
    plan = FeaturePlan(plan.rows, plan.transform, (family,))
    scorer = FamilyScorer(Contrasts(pooled.permutations), len(values), plan.transform)
    pending = sum_features(plan, scorer.contrasts, pooled.points, Compute(threads=1), bins)
    sums = {block: finish() for block, finish in pending}
    codes = pooled.permutations.codes()
    if bins is not None:
        codes = np.repeat(codes, np.r_[np.full(bins.whole, bins.rows), np.ones(len(bins.labels) - bins.whole, int)], 0)
    return {block.index: part for block, part in sums.items()}, codes[np.argsort(pooled.order)], family, scorer


def score(values, labels, permutations=49, **options):
    """The score of the family, and what it is made from."""
    sums, codes, family, scorer = prepare(values, labels, permutations, **options)
    return family.score(scorer, sums), codes, family, scorer


def test_scores_are_those_of_counts():
    """Two by two tables of all cells and permutations, one by one."""
    n = 120
    values = np.random.default_rng(0).normal(size=(n, 2)).round(2)
    labels = (np.random.default_rng(1).random(n) < 0.4).astype(np.uint8)
    found, codes, family, _ = score(values, labels, 19)
    (view,) = family.cells
    F = view(values).astype(bool)
    m = labels.sum()
    parts = []
    for inside in (F[:, : len(view.nodes)], F[:, len(view.nodes) :]):
        size = inside.sum(0)
        inverse = np.zeros(20)
        for b in range(20):
            z = inside[codes[:, b] == 1].sum(0) - size * m / n
            variance = size * (n - size) * m * (n - m) / (n**2 * (n - 1))
            inverse[b] = np.exp(square_tail(z**2 / variance, 1)).mean()
        parts.append(calibrate_tail(np.log(inverse)))
    assert np.allclose(found.scores, np.log(np.exp(parts).mean(0)), atol=1e-3)


def test_rows_in_bins_are_counted_too():
    """With many rows, cells are fixed on a sketch, bins are permuted, and variances are those over bins."""
    n = 21_000
    values = np.random.default_rng(0).normal(size=(n, 2))
    labels = (np.random.default_rng(1).random(n) < 0.4).astype(np.uint8)
    sums, codes, family, scorer = prepare(values, labels, 19, binned=True)
    (view,) = family.cells
    F = view(values)
    m, size = labels.sum(), F.sum(0)
    assert len(view.centers) == 128
    expected = np.stack([F[codes[:, b] == 1].sum(0) for b in range(20)], 1) - (size * m / n)[:, None]
    variance, C = sums[0]
    assert np.allclose(C / scorer.contrasts._scale.ravel(), expected, atol=2)  # of sums up to 150
    assert np.allclose(variance / (size * (1 - size / n)), 1, atol=0.2)


def test_a_rare_kind_is_seen():
    """One of ten clusters is missing in one sample; and all rows of a cluster are one cell."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 200).astype(np.uint8)
    cluster = np.where(labels == 1, rng.integers(0, 9, 400), rng.integers(0, 10, 400))
    centers = 8 * rng.normal(size=(10, 5))
    values = centers[cluster] + rng.normal(size=(400, 5))
    found, _, family, scorer = score(values, labels, 199)
    assert found.scores[scorer.observed] == found.scores.max()
    assert found.strongest.description.startswith("a kind of row")
    members = {frozenset(np.flatnonzero(cluster == k)) for k in range(10)}
    assert members <= {one for view in family.cells for one in sets(view(values))}


def test_every_permutation_is_scored_alike_by_enumeration():
    """Over all labels with these sizes, the rank of the score is uniform: no labels enter the cells."""
    values = np.random.default_rng(3).normal(size=(16, 2))
    scores = {}
    for ones in ((0, 1), (4, 9)):
        labels = np.isin(np.arange(16), ones).astype(np.uint8)
        found, codes, _, scorer = score(values, labels, 200)
        assert scorer.permutations.count == math.comb(16, 2)
        scores[ones] = {tuple(np.flatnonzero(column)): s for column, s in zip(codes.T, found.scores, strict=True)}
    assert set(scores[0, 1]) == set(combinations(range(16), 2))
    assert all(scores[0, 1][key] == pytest.approx(value, abs=1e-4) for key, value in scores[4, 9].items())
