"""Forms in the labels: against dense computations, enumeration, SciPy, and each other."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from scipy import special, stats
from scipy.optimize import brentq

import tellapart as ta
from tellapart.engine import Compute
from tellapart.engine.executors import tree
from tellapart.engine.rows import Rows, Size, StratifiedSums, branches, fitting, reduce_rows
from tellapart.stats.forms import Layout, draw_labellings, judge_rows, pool_rows
from tellapart.stats.forms.components import ComponentFeatures
from tellapart.stats.forms.contrasts import Contrasts
from tellapart.stats.forms.distance import Distance, Tail
from tellapart.stats.forms.features import FeaturePlan, draw_sketch
from tellapart.stats.forms.ranks import Ranks, in_order, rank_cosines
from tellapart.stats.forms.scores import align, chi2_tail, gamma_tail, power_mean, rank_pvalue, step_down, upper_tail
from tellapart.stats.forms.spectral import spectral_forms
from tellapart.stats.forms.verdict import sum_features, sum_leverages


def two(m, n):
    return np.repeat(np.array([0, 1], np.uint8), [m, n])


# --- labellings ---------------------------------------------------------------------------------------------------


def test_the_observed_labelling_is_at_its_place():
    labels = two(30, 20)
    places = set()
    for seed in range(20):
        found = draw_labellings(labels, 99, np.random.default_rng(seed))
        codes = found.codes(slice(None))
        assert np.array_equal(codes[:, found.observed], labels)
        assert (codes.sum(0) == 20).all()
        assert found.floor == 0.01
        places.add(found.observed)
    assert len(places) > 10


def test_all_labellings_where_there_are_few():
    found = draw_labellings(two(3, 3), 999, np.random.default_rng(0))
    codes = found.codes(slice(None))
    assert found.complete
    assert found.count == 20
    assert len({tuple(column) for column in codes.T}) == 20
    assert found.floor == 2 / 20  # no form tells X from Y
    assert draw_labellings(two(2, 4), 999, np.random.default_rng(0)).floor == 1 / 15


def test_groups_of_any_size_and_of_equal_size():
    sizes = np.arange(1, 25)
    groups = np.repeat(np.arange(24), sizes)
    labels = (groups >= 12).astype(np.uint8)
    found = draw_labellings(labels, 199, np.random.default_rng(0), groups=groups)
    codes = found.codes(slice(None))
    for group in range(24):
        assert (np.ptp(codes[groups == group], axis=0) == 0).all()
    assert len(np.unique(found.sizes[:, 0])) > 10
    assert np.array_equal(found.sizes[:, 1], codes.sum(0))
    assert found.distinct == math.comb(24, 12)
    with pytest.raises(ValueError, match="nothing to exchange"):
        draw_labellings(labels, 199, np.random.default_rng(0), groups=groups, equal_groups=True)
    even = np.repeat(np.arange(8), [1, 1, 2, 2, 1, 1, 2, 2])
    found = draw_labellings((even >= 4).astype(np.uint8), 999, np.random.default_rng(0), groups=even, equal_groups=True)
    assert found.count == 36
    assert (found.sizes == 6).all()


@pytest.mark.parametrize("samples", [2, 3])
def test_labels_stay_within_strata(samples):
    rng = np.random.default_rng(1)
    strata = rng.integers(0, 12, 200)
    labels = rng.integers(0, samples, 200).astype(np.uint8)
    found = draw_labellings(labels, 99, rng, strata=strata)
    codes = found.codes(slice(None))
    for stratum in range(12):
        for k in range(samples):
            counts = (codes[strata == stratum] == k).sum(0)
            assert (counts == counts[0]).all()


def test_pairs_are_exchanged_each_by_itself():
    strata = np.tile(np.arange(40), 2)
    found = draw_labellings(two(40, 40), 999, np.random.default_rng(0), strata=strata)
    codes = found.codes(slice(None)).astype(int)
    assert (codes[:40] + codes[40:] == 1).all()
    assert abs(codes[:40].mean() - 0.5) < 0.02
    few = draw_labellings(two(4, 4), 999, np.random.default_rng(0), strata=np.tile(np.arange(4), 2))
    assert few.count == 16
    assert few.floor == 2 / 16


@pytest.mark.parametrize("cells", [1, 7])
def test_labellings_are_uniform(cells):
    """Each of the six ways to choose two of four, in every stratum."""
    strata = np.repeat(np.arange(cells), 4)
    labels = np.tile(np.array([0, 0, 1, 1], np.uint8), cells)
    counts = np.zeros(6)
    ways = {way: k for k, way in enumerate(itertools.combinations(range(4), 2))}
    for seed in range(60):
        found = draw_labellings(
            np.r_[labels, labels], 99, np.random.default_rng(seed), strata=np.r_[strata, strata + cells]
        )
        codes = np.delete(found.codes(slice(0, 4)), found.observed, axis=1)
        for column in codes.T:
            counts[ways[tuple(np.flatnonzero(column))]] += 1
    assert stats.chisquare(counts).pvalue > 1e-4


def test_groups_that_cannot_be():
    with pytest.raises(ValueError, match="A group must lie in one sample"):
        draw_labellings(two(2, 2), 9, np.random.default_rng(0), groups=np.array([0, 1, 1, 2]))
    with pytest.raises(ValueError, match="A group must lie in one stratum"):
        draw_labellings(
            two(2, 2), 9, np.random.default_rng(0), groups=np.array([0, 0, 1, 1]), strata=np.array([0, 1, 0, 0])
        )
    with pytest.raises(ValueError, match="no stratum has rows of two samples"):
        draw_labellings(two(2, 2), 9, np.random.default_rng(0), strata=np.array([0, 0, 1, 1]))


# --- contrasts and sums -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("design", ["plain", "strata", "groups", "both", "three"])
def test_contrasts_are_centred_and_of_one_size(design):
    rng = np.random.default_rng(0)
    N = 60
    groups = np.repeat(np.arange(20), 3)
    strata = groups // 5
    labels = (groups % (3 if design == "three" else 2)).astype(np.uint8)
    options = {"groups": groups} if design in ("groups", "both") else {}
    options |= {"strata": strata} if design in ("strata", "both") else {}
    found = draw_labellings(labels, 199, rng, **options)
    contrasts = Contrasts(found)
    W = contrasts(slice(0, N)).double()
    cells = strata if design in ("strata", "both") else np.zeros(N, int)
    for cell in np.unique(cells):
        assert W[cells == cell].sum(0).abs().max() < 1e-4
    if design != "three":
        norms = (W**2).sum(0)
        assert torch.allclose(norms, torch.full_like(norms, N - len(np.unique(cells))), rtol=1e-4)


@pytest.mark.parametrize("gram", ["full", "diagonal", "blocks"])
@pytest.mark.parametrize("cells", [1, 3, 40])
def test_sums_do_not_depend_on_how_rows_are_cut(gram, cells):
    rng = torch.Generator().manual_seed(0)
    F = torch.randn(101, *((4, 3) if gram == "blocks" else (6,)), generator=rng)
    W = torch.randn(101, 5, generator=rng)
    strata = torch.sort(torch.randint(cells, (101,), generator=rng)).values
    centred = F.double().clone()
    for cell in strata.unique():
        centred[strata == cell] -= centred[strata == cell].mean(0)
        W[strata == cell] -= W[strata == cell].mean(0)  # as contrasts are
    dense = {
        "full": lambda: centred.T @ centred,
        "diagonal": lambda: (centred**2).sum(0),
        "blocks": lambda: torch.einsum("ndk,ndl->dkl", centred, centred),
    }[gram]()
    for cuts in ([0, 101], [0, 1, 2, 50, 101], [0, 30, 31, 60, 61, 90, 101]):
        parts = [
            StratifiedSums.of(F[a:b], W[a:b], strata[a:b] if cells > 1 else None, gram)
            for a, b in itertools.pairwise(cuts)
        ]
        for joined in (tree(lambda a, b: a.join(b, gram), parts), parts[0]):
            if joined is parts[0]:
                for part in parts[1:]:
                    joined = joined.join(part, gram)
            G, C = joined.close(gram)
            assert torch.allclose(G, dense, atol=1e-4)
            assert torch.allclose(C, F.flatten(1).double().T @ W.double(), atol=1e-4)


class Count:
    def start(self):
        return []

    def add(self, sums, rows, block):
        return [*sums, (rows.start, rows.stop, len(block))]

    def join(self, left, right):
        return left + right


def test_every_row_is_read_once_and_in_order():
    points = torch.zeros(70_001, 3)
    found = reduce_rows(Count(), points, Size(8, 8, 1e6), Compute(threads=2))
    assert found[0][0] == 0
    assert found[-1][1] == 70_001
    assert all(a[1] == b[0] for a, b in itertools.pairwise(found))
    assert sum(size for _, _, size in found) == 70_001


def test_memory_bounds_blocks_threads_and_how_much_is_summed_together():
    points = torch.zeros(50_000, 10)
    tight = Rows(Count(), points, Size(1000, 8000, 1e6), Compute(max_memory=2**22, automatic=False, threads=8))
    assert tight.block * tight.needs.row * tight.threads <= 2**22
    assert Rows(Count(), points[:100], Size(8, 8, 1.0), Compute()).threads == 1
    with pytest.raises(MemoryError, match="but 10,000 are allowed"):
        Rows(Count(), points, Size(1000, 8000, 1e6), Compute(max_memory=10_000, automatic=False))
    assert fitting([Size(100, 1)] * 5, Compute(max_memory=2**30)) == [[0, 1, 2, 3, 4]]
    assert fitting([Size(2**20, 1)] * 3, Compute(max_memory=2**22)) == [[0], [1], [2]]
    assert fitting([Size(2**24, 1)] * 3, Compute(max_memory=2**40)) == [[0], [1], [2]]
    assert branches(3, 9) == [range(1), range(1, 2), range(2, 3)]


# --- forms --------------------------------------------------------------------------------------------------------


def problem(m=40, n=60, d=3, seed=0, **options):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(m + n, d))
    found = draw_labellings(two(m, n), 49, rng, **options)
    pooled = pool_rows([torch.from_numpy(Z)], found, rng)
    plan = FeaturePlan.fit(draw_sketch(pooled.points, rng, Compute()), m + n, Layout(d), (), rng)
    return pooled, plan, Contrasts(pooled.labellings)


@pytest.mark.parametrize("stratified", [False, True])
def test_kernel_forms_are_those_of_the_dense_matrix(stratified):
    """q = wᵀ A w with A from the features themselves, and MMD² among them."""
    options = {"strata": np.random.default_rng(3).integers(0, 4, 100)} if stratified else {}
    pooled, plan, contrasts = problem(**options)
    sums = dict(sum_features(plan, contrasts, pooled.points, Compute(threads=1)))
    W = contrasts(slice(0, 100)).double()
    cells = pooled.labellings.strata if stratified else np.zeros(100, int)
    for member in plan.members:
        if member.family != "kernel":
            continue
        R = plan.similarities["kernel"].whitening(member.index)
        F = next(plan.features(pooled.points[:], [member]))[1].double()
        exact = StratifiedSums.of(F, W, torch.from_numpy(cells), "full").close("full")
        for single, double in zip(sums[member], exact, strict=True):
            assert torch.allclose(single, double, rtol=1e-4, atol=1e-4)
        forms = spectral_forms(*exact, 100, contrasts, R)
        F = torch.linalg.solve_triangular(R, F.T, upper=False).T
        for cell in np.unique(cells):
            F[cells == cell] -= F[cells == cell].mean(0)
        values, U = torch.linalg.eigh(F @ F.T)
        spectrum = values.clamp(min=0).numpy()
        K = F @ F.T / values[-1]
        assert np.allclose(forms.values[0], ((W.T @ K) * W.T).sum(1), rtol=1e-4)
        for row, name in zip(forms.values[1:], forms.names[1:], strict=True):
            filters = spectrum / (spectrum + ridge_with(spectrum, float(name.split()[0])))
            A = U @ torch.diag(torch.from_numpy(filters)) @ U.T
            assert np.allclose(row, ((W.T @ A) * W.T).sum(1), rtol=1e-2)


def ridge_with(spectrum, degrees):
    """The ridge that leaves so many degrees of freedom."""
    return math.exp(brentq(lambda t: (spectrum / (spectrum + math.exp(t))).sum() - degrees, -25, 25))


def test_bandwidths_of_many_equal_rows():
    """Most rows are 0, and few are far away in units of the smallest bandwidth."""
    rng = np.random.default_rng([118, 14, 10, 5, 11])
    X, Y = (rng.exponential(size=(n, 5)) * (rng.random((n, 5)) < 0.1) for n in (14, 10))
    assert ta.two_sample_test(X, Y, 19, rng=118).pvalue > 0


def test_leverages_are_the_diagonal_of_the_form():
    pooled, plan, contrasts = problem(m=20, n=80)
    sums = dict(sum_features(plan, contrasts, pooled.points, Compute(threads=1)))
    member = plan.members[2]
    R = plan.similarities["kernel"].whitening(member.index)
    forms = spectral_forms(*sums[member], 100, contrasts, R)
    found = sum_leverages(plan, contrasts, {member: forms}, pooled.points, Compute(threads=1))[member]
    F = next(plan.features(pooled.points[:], [member]))[1].double()
    A = (F @ forms.directions) ** 2 @ forms.filters.T
    W = contrasts(slice(0, 100)).double()
    assert np.allclose(found, (A.T @ (W**2 - 99 / 100)).numpy(), rtol=1e-2, atol=1e-2)


def test_ranks_are_mid_ranks():
    rng = np.random.default_rng(0)
    Z = rng.integers(0, 5, (50, 2)).astype(float)
    expected = (stats.rankdata(Z, axis=0) - 0.5) / 50
    assert np.allclose(Ranks.fit(Z)(Z), expected)
    U = rng.random((10, 3))
    cosines = math.sqrt(2) * np.cos(math.pi * U[..., None] * np.arange(1, 7))
    assert np.allclose(rank_cosines(U).numpy(), cosines, atol=1e-6)


@pytest.mark.parametrize("zeros", [0.0, 0.3, 0.6, 0.9, 0.99])
def test_components_of_columns_have_unit_variance_whatever_the_ties(zeros):
    """In single precision, as the features are summed, against exact sums: what is left of a cosine is not rounding."""
    rng = np.random.default_rng(0)
    Z = rng.exponential(size=(1024, 40)) * (rng.random((1024, 40)) >= zeros)
    ranks = Ranks.fit(Z)
    F = ranks.cosines(ranks(Z))
    centred = F.double() - F.double().mean(0)
    G, C = StratifiedSums.of(F, torch.zeros(1024, 1), None, "blocks").close("blocks")
    _, used = in_order(G.numpy(), C.reshape(40, 6, 1).numpy(), 1024)
    assert used[:, 0].all()
    if zeros < 0.9:
        assert used[:, :4].all()
    # What `in_order` makes of the features themselves are orthonormal components.
    P, _ = in_order(G.numpy(), centred.permute(1, 2, 0).numpy(), 1024)
    products = np.einsum("din,djn->dij", P, P)
    assert np.allclose(products, np.eye(6) * used[:, :, None], atol=2e-3)
    if zeros == 0:
        assert torch.equal(F, rank_cosines(ranks(Z)))


def test_functions_of_tied_ranks_stay_in_their_range():
    """A value that the sketch has not seen is no outlier of a combination of cosines."""
    rng = np.random.default_rng(0)
    ranks = Ranks.fit(rng.exponential(size=(1000, 1)) * (rng.random((1000, 1)) < 0.3))
    seen, new = (ranks.cosines(ranks(values)) for values in (ranks.values[0][:, None], rng.normal(size=(500, 1))))
    assert len(ranks.tied.columns) == 1
    assert (new.amax(0) <= seen.amax(0) + 1e-4).all()
    assert (new.amin(0) >= seen.amin(0) - 1e-4).all()


# --- scores -------------------------------------------------------------------------------------------------------


def test_tails_are_those_of_scipy():
    for shape in (0.5, 1.0, 3.7, 40.0, 2000.0):
        y = np.geomspace(1e-3, 600, 50)
        p = special.gammaincc(shape, y)
        assert np.allclose(gamma_tail(shape, y)[p > 1e-250], -np.log(p[p > 1e-250]), rtol=1e-6, atol=1e-9)
    assert gamma_tail(1.0, np.array([1e4]))[0] == pytest.approx(1e4)
    q = np.linspace(0.01, 60, 30)
    for degrees in (1, 2, 5):
        assert np.allclose(chi2_tail(q, degrees), -stats.chi2.logsf(q, degrees), rtol=1e-6)
    many = np.random.default_rng(0).chisquare(3, (5, 5000))
    assert np.allclose(upper_tail(many, 3, 6, math.sqrt(8 / 3)), -stats.chi2.logsf(many, 3), atol=1e-3)


@pytest.mark.parametrize("value", [0.0004, 0.001, 0.004, 0.01])
def test_small_lower_tails_are_those_of_scipy(value):
    tail = Tail(1e-5, 1e-5, (1e-3, 5e-8, 2.5e-12), math.inf)
    variance = 2 * tail.traces[1] + 4 * tail.along * value
    skewness = (8 * tail.traces[2] + 24 * tail.along**2 * value) / variance**1.5
    law = stats.pearson3(skewness, loc=value, scale=math.sqrt(variance))
    below = Distance(0.003, (0.0, 0.01), 1.0, tail).below(math.sqrt(value))
    assert 0 < below == pytest.approx(law.cdf(tail.squared), rel=1e-6)
    assert tail(value) == pytest.approx(law.sf(tail.squared), rel=1e-9)


def test_tails_of_an_estimate_without_variance():
    tail = Tail(0.5, 0.0, (0.0, 0.0, 0.0), math.inf)
    assert [(tail(value), tail.lower(value)) for value in (0.4, 0.6)] == [(0.0, 1.0), (1.0, pytest.approx(0.0))]


def test_means_of_scores():
    scores = np.random.default_rng(0).exponential(size=(7, 100))
    harmonic = -np.log(1 / np.mean(np.exp(scores), axis=0))
    assert np.allclose(power_mean(scores, 1.0), harmonic)
    assert np.allclose(power_mean(scores, 1e4), scores.max(0), atol=1e-3)
    assert np.allclose(np.quantile(align(scores[0]), 0.85), -math.log(0.15))


def test_step_down_names_no_more_than_single_p_values_do():
    rng = np.random.default_rng(0)
    scores = rng.exponential(size=(6, 200))
    scores[0, 17] = 50
    adjusted, alone = step_down(scores, 17), rank_pvalue(scores, 17)
    assert (adjusted >= alone - 1e-12).all()
    assert adjusted[0] == 1 / 200
    order = np.argsort(-scores[:, 17])
    assert (np.diff(adjusted[order]) >= 0).all()


# --- the whole ----------------------------------------------------------------------------------------------------


def test_enumeration_gives_the_exact_rank():
    """All labellings of few rows: whichever is the observed one, p is its rank, so that p-values are uniform."""
    rng = np.random.default_rng(5)
    Z = torch.from_numpy(rng.normal(size=(8, 2)))
    pvalues = []
    for ones in itertools.combinations(range(8), 3):
        labels = np.zeros(8, np.uint8)
        labels[list(ones)] = 1
        # The draws are all there are, and what is random otherwise is the same each time.
        found = draw_labellings(labels, 999, np.random.default_rng(0))
        pooled = pool_rows([Z], found, np.random.default_rng(1))
        pvalues.append(judge_rows(pooled, Layout(2), (), np.random.default_rng(2), Compute(threads=1)).pvalue)
    assert found.count == 56
    assert np.allclose(np.sort(pvalues), np.arange(1, 57) / 56, atol=1.5 / 56)
    assert all((np.array(pvalues) <= alpha + 1e-9).mean() <= alpha + 1e-9 for alpha in np.arange(1, 57) / 56)


def test_constant_columns_and_nothing_at_all():
    rng = np.random.default_rng(0)
    found = draw_labellings(two(20, 20), 99, rng)
    pooled = pool_rows([torch.zeros(40, 3)], found, rng)
    verdict = judge_rows(pooled, Layout(3), (), rng, Compute(threads=1))
    assert verdict.pvalue == 1
    assert not verdict.families


# --- principal components -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "d"), [(400, 70), (60, 90)])
def test_components_are_those_of_the_singular_value_decomposition(rows, d):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(rows, d)) @ np.diag(np.geomspace(3, 0.1, d)) @ rng.normal(size=(d, d))
    Z = (Z - Z.mean(0)) / Z.std(0)
    found = ComponentFeatures.fit(torch.from_numpy(Z).float())
    count = len(found.variances)
    assert count == (63 if rows > d else 30)
    columns = found(torch.from_numpy(Z).float()) / 2.0**14
    assert columns.shape == (rows, len(found.names))
    U, s, _ = np.linalg.svd(Z, full_matrices=False)
    expected = U[:, :count] * math.sqrt(rows)
    signs = np.sign((columns[:, :count] * expected).sum(0))
    assert np.abs(columns[:, :count] * signs - expected).max() < 2e-3
    energy = (U * s) ** 2
    band = columns[:, found.names.index("the size of principal components 4 to 7")]
    assert np.allclose(band, energy[:, 3:7].sum(1) / (s[3:7] ** 2).mean() / 4 * rows, atol=2e-3)
    assert np.allclose(
        columns[:, -1], energy[:, count:].sum(1) / energy[:, count:].sum() * rows, atol=2e-2
    )  # of floats


def test_components_that_are_rounding_are_left_out():
    rng = np.random.default_rng(0)
    Z = torch.from_numpy(rng.normal(size=(500, 4)) @ rng.normal(size=(4, 70))).float()
    found = ComponentFeatures.fit(Z)
    assert len(found.variances) == 4
    assert found.rest == 0
    assert found.names[4:] == ["the size of principal components 2 to 3"]
    assert ComponentFeatures.fit(torch.zeros(20, 70)) is None
