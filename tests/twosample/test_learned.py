"""Tests with learned kernels: they hold their level, see only what they may see, and find what is there."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch

import tellapart as ta
from tellapart.kernels import Gaussian, Witness
from tellapart.learning import discriminant, split_rows
from tellapart.nulls import Permutation
from tellapart.stats.pvalues import bonferroni, cauchy
from tellapart.twosample import witness_test

ALPHAS = (0.01, 0.05, 0.1)


def normal(n, seed, d=2, shift=0.0):
    g = torch.Generator().manual_seed(seed)
    X, Y = (torch.randn(n, d, generator=g) for _ in range(2))
    Y[:, 0] += shift
    return X, Y


# --- Level


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("repetitions", [100, pytest.param(1000, marks=pytest.mark.full)])
@pytest.mark.parametrize("kernel", ["witness", "rbf", pytest.param("ard", marks=pytest.mark.full)])
def test_level_of_a_half_and_of_swapped_halves(kernel, repetitions):
    """One half: exact, so that its rate is α. Swapped: at most α by Bonferroni, and close to it by Cauchy."""
    options = {"cross_fit": True, "permutations": 199, "learning": {"steps": 20} if kernel == "ard" else {}}
    halves = np.array(
        [
            [half.test.pvalue for half in ta.learned_test(*normal(40, r), kernel, **options, rng=r).halves]
            for r in range(repetitions)
        ]
    )
    pvalues = {
        "half": halves[:, 0],
        "bonferroni": np.array([bonferroni(pair.tolist()) for pair in halves]),
        "cauchy": np.array([cauchy(pair.tolist()) for pair in halves]),
    }
    rates = {name: [float(np.mean(p <= alpha + 1e-12)) for alpha in ALPHAS] for name, p in pvalues.items()}
    print(f"\n{kernel}, {repetitions} repetitions, rejection rates at {ALPHAS}: {rates}")
    for alpha, half, both, mean in zip(ALPHAS, *rates.values(), strict=True):
        error = 3 * math.sqrt(alpha * (1 - alpha) / repetitions)
        assert abs(half - alpha) <= error + 1e-12
        assert both <= alpha + error
        assert mean <= alpha + error


# --- What is learned and what is tested


@pytest.mark.parametrize("kernel", ["witness", "rbf", "ard", "full", "deep"])
def test_learning_never_sees_tested_rows(kernel):
    X, Y = normal(60, 0)
    split = split_rows(60, 60, rng=0)
    options = {} if kernel in ("witness", "rbf") else {"steps": 5}
    kernels = []
    for noise in (0.0, 100.0):
        x, y = X.clone(), Y.clone()
        x[split.test_x] += noise
        y[split.test_y] -= noise
        kernels.append(ta.learned_test(x, y, kernel, train_size=split, permutations=19, rng=0, learning=options).kernel)
    first, second = (kernel.state_dict() for kernel in kernels)
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_the_split_is_part_of_the_result_and_the_result_is_repeatable():
    X, Y = normal(50, 1, shift=0.7)
    result = ta.learned_test(X, Y, train_size=0.6, rng=5)
    assert len(result.split.train_x) == 30
    assert len(result.split.test_y) == 20
    again = ta.learned_test(X, Y, train_size=result.split, rng=result.seed)
    assert again.pvalue == result.pvalue
    assert tuple(result) == (result.statistic, result.pvalue)
    stored = json.loads(result.to_json())
    assert stored["halves"][0]["split"]["test_x"] == result.split.test_x.tolist()
    assert stored["pvalue"] == result.pvalue


def test_swapped_halves_test_every_row():
    X, Y = normal(60, 2, shift=0.8)
    result = ta.learned_test(X, Y, cross_fit=True, rng=0)
    assert sorted(np.concatenate([half.split.test_x for half in result.halves])) == list(range(60))
    assert result.pvalue == min(1, 2 * min(half.test.pvalue for half in result.halves))
    assert result.exact
    assert not ta.learned_test(X, Y, cross_fit=True, combination="cauchy", rng=0).exact
    assert result.reject(0.05)


def test_groups_are_learned_from_and_permuted_as_a_whole():
    X, Y = normal(80, 3)
    groups = (np.arange(80) // 4, 100 + np.arange(80) // 4)
    result = ta.learned_test(X, Y, groups=groups, rng=0)
    assert not set(groups[0][result.split.train_x]) & set(groups[0][result.split.test_x])
    # Rows repeated four times are no evidence: without groups almost every test would reject.
    rejected = 0
    for r in range(40):
        x, y = (Z.repeat_interleave(4, 0) for Z in normal(20, 100 + r))
        rejected += ta.learned_test(x, y, groups=groups, permutations=99, rng=r).reject(0.1)
    assert rejected <= 4 + 3 * math.sqrt(40 * 0.1 * 0.9)


@pytest.mark.usefixtures("one_thread")
def test_strata_are_split_in_shares_and_are_no_evidence():
    """X is mostly of one site and Y of the other: only the plain test takes that for a difference."""
    sites = np.repeat([0, 1, 0, 1], [60, 20, 20, 60])
    rejected = {"plain": 0, "strata": 0}
    for r in range(60):
        Z = np.random.default_rng(r).normal(size=(160, 2)) + 2 * sites[:, None]
        for name, strata in (("plain", None), ("strata", sites)):
            result = ta.learned_test(Z[:80], Z[80:], strata=strata, permutations=99, rng=r)
            rejected[name] += result.reject(0.1)
    assert [int((sites[result.split.train_x] == site).sum()) for site in (0, 1)] == [30, 10]
    assert rejected["plain"] > 50
    assert rejected["strata"] <= 6 + 3 * math.sqrt(60 * 0.1 * 0.9)


def test_strata_of_single_rows_stay_together():
    """One row of each sample for a prompt: both are learned from, or both are tested, or nothing could be exchanged."""
    X, Y = normal(40, 3)
    prompts = np.concatenate([np.arange(40), np.arange(40)])
    split = ta.learned_test(X, Y, strata=prompts, permutations=99, rng=0).split
    assert len(split.train_x) == 20
    assert set(split.train_x.tolist()) == set(split.train_y.tolist())


@pytest.mark.parametrize("cross_fit", [False, True])
def test_threads_do_not_matter(cross_fit):
    X, Y = ta.datasets.blobs(300, rng=0)
    before = torch.get_num_threads()
    found = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        try:
            found += [
                ta.learned_test(X, Y, cross_fit=cross_fit, rng=0),
                ta.learned_test(X, Y, cross_fit=cross_fit, rng=0, threads=3),
            ]
        finally:
            torch.set_num_threads(before)
    assert len({result.pvalue for result in found}) == 1
    assert len({result.null_distribution.tobytes() for result in found}) == 1


def test_combinations():
    assert bonferroni([0.02, 0.7]) == 0.04
    assert bonferroni([0.7, 0.8]) == 1
    assert cauchy([0.03, 0.03]) == pytest.approx(0.03)
    assert cauchy([0.001, 0.9]) < 0.01
    assert 0 < cauchy([1.0, 1.0]) <= 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "best"}, "got 'best'"),
        ({"combination": "fisher"}, "combination must be 'bonferroni' or 'cauchy'"),
        ({"null": "gamma"}, "null must be 'permutation' or 'binned'"),
        ({"null": "binned", "strata": np.zeros(100)}, "strata are for null='permutation'"),
        ({"learning": {"stepps": 3}}, "learning has no option 'stepps'. It takes alpha, batch_size, steps"),
        ({"permutations": 0}, "permutations must be a whole number"),
        ({"standardise": "maybe"}, "standardise must be 'auto', True or False"),
        ({"train_size": 0.99}, "0 to test, but 8 and 2 are needed"),
    ],
)
def test_errors(options, message):
    with pytest.raises(ValueError, match=message):
        ta.learned_test(*normal(50, 0), **options)


# --- The witness


def test_the_witness_is_the_ridge_regression_of_labels():
    """Against the normal equations with an intercept, solved in double precision."""
    X, Y = normal(30, 4, shift=1.0)
    Z, labels = torch.cat([X, Y]), (torch.arange(60) < 30).float()
    K = Gaussian(1.5)(Z).detach()
    (found,) = discriminant._coefficients(K.clone(), labels, [0.3]).T
    system = torch.ones(61, 61, dtype=torch.float64)
    system[:60, :60] = K.double() + 0.3 * torch.eye(60)
    system[60, 60] = 0
    solution = torch.linalg.solve(system, torch.cat([labels.double(), torch.zeros(1)]))[:60]
    assert torch.allclose(found.double(), solution, atol=1e-5)
    assert abs(float(found.sum())) < 1e-4


def test_no_function_in_the_space_has_a_better_ratio():
    """The discriminant with a small ridge maximises the ratio on the rows it was learned from."""
    X, Y = normal(25, 5, shift=0.5)
    Z, labels = torch.cat([X, Y]), (torch.arange(50) < 25).float()
    K = Gaussian(2.0)(Z).detach()
    best = float(discriminant.signal_to_noise(K @ discriminant._coefficients(K.clone(), labels, [1e-2]), labels))
    g = torch.Generator().manual_seed(0)
    others = torch.randn(50, 300, generator=g)
    assert best > float(discriminant.signal_to_noise(K @ others, labels).abs().max())


def test_a_witness_test_is_the_permutation_test_of_means():
    from scipy.stats import permutation_test

    X, Y = normal(30, 6, shift=0.4)
    kernel = Witness(Gaussian(1.0), torch.tensor([[1.0, 0.0]]), torch.tensor([-1.0]))
    result = witness_test(X, Y, kernel, permutations=4999, rng=0)
    values = [kernel.values(Z).numpy() for Z in (X, Y)]
    theirs = permutation_test(
        values, lambda a, b: a.mean() - b.mean(), alternative="greater", n_resamples=4999, rng=np.random.default_rng(0)
    )
    assert result.statistic == pytest.approx(theirs.statistic)
    assert abs(result.pvalue - theirs.pvalue) < 4 * math.sqrt(2 * theirs.pvalue * (1 - theirs.pvalue) / 5000)


def test_a_learned_witness_is_a_kernel_like_others(tmp_path):
    X, Y = normal(60, 7, shift=1.0)
    kernel, history = ta.fit_kernel(X[:30], Y[:30], "witness", rng=0)
    assert history.table is not None
    assert len(history.table["ratio"]) == 32
    ta.kernels.save(kernel, tmp_path / "k.safetensors")
    again = ta.kernels.load(tmp_path / "k.safetensors")
    assert torch.equal(again.values(X), kernel.values(X))
    assert ta.mmd_test(X[30:], Y[30:], kernel, rng=0).reject(0.05)


def test_many_rows_are_thinned(monkeypatch):
    monkeypatch.setattr(discriminant, "CHOICE_ROWS", 60)
    monkeypatch.setattr(discriminant, "ROWS", 100)
    X, Y = normal(200, 8, shift=1.0)
    kernel, _ = ta.fit_kernel(X, Y[:100], "witness", rng=0)
    assert len(kernel.points) == 100
    assert witness_test(*normal(100, 9, shift=1.0), kernel, rng=0).reject(0.05)


# --- Power


BLOBS, BLOB_D, HDGM = (
    (lambda r: ta.datasets.blobs(1000, ratio=4, rng=r), 0.9),
    (lambda r: ta.datasets.blob_d(270, rng=r), 0.85),
    (lambda r: ta.datasets.hdgm(4000, rng=r), 0.9),
)


@pytest.mark.parametrize(
    ("draw", "least", "repetitions"),
    [
        pytest.param(*BLOBS, 10, id="blobs"),
        pytest.param(*BLOB_D, 10, id="blob-d"),
        pytest.param(*BLOBS, 100, id="blobs-full", marks=pytest.mark.full),
        pytest.param(*BLOB_D, 100, id="blob-d-full", marks=pytest.mark.full),
        pytest.param(*HDGM, 100, id="hdgm-full", marks=pytest.mark.full),
    ],
)
def test_power_of_the_witness(draw, least, repetitions):
    rejected = sum(ta.learned_test(*draw(r), cross_fit=True, rng=r).reject(0.05) for r in range(repetitions))
    print(f"\nrejected {rejected} of {repetitions}")
    allowed = 0 if repetitions >= 100 else 3 * math.sqrt(repetitions * least * (1 - least))
    assert rejected >= least * repetitions - allowed


# --- Rows that occur in both samples


@pytest.mark.parametrize("kernel", ["witness", "ard", "deep"])
def test_a_sample_does_not_differ_from_itself(kernel):
    """Equal rows on both sides of a split would be learned from as X and tested as Y."""
    x = np.random.default_rng(0).normal(size=(80, 30))
    for seed in range(3):
        y = np.random.default_rng(seed).permutation(x)
        with pytest.warns(UserWarning, match="80 of 80 rows of X also occur in Y"):
            found = ta.learned_test(x, y, kernel, permutations=99, learning={"steps": 20}, rng=seed)
        assert found.pvalue > 0.05
        learned = {row.tobytes() for row in np.concatenate([x[found.split.train_x], y[found.split.train_y]])}
        tested = {row.tobytes() for row in np.concatenate([x[found.split.test_x], y[found.split.test_y]])}
        assert not learned & tested


def test_groups_and_shared_rows_stay_together():
    x = np.random.default_rng(0).normal(size=(60, 2))
    y = np.concatenate([x[:20], np.random.default_rng(1).normal(size=(40, 2))])
    groups = np.concatenate([np.arange(60) // 2, 100 + np.arange(60) // 2])
    with pytest.warns(UserWarning, match="20 of 60 rows of X also occur in Y, 20 of 60 rows of Y in X"):
        split = ta.learned_test(x, y, permutations=19, groups=groups, rng=0).split
    for parts in (groups, np.concatenate([np.arange(60), np.arange(20), 100 + np.arange(40)])):
        learned = set(parts[np.concatenate([split.train_x, 60 + split.train_y])])
        assert not learned & set(parts[np.concatenate([split.test_x, 60 + split.test_y])])


@pytest.mark.filterwarnings("error")
def test_coarse_data_share_no_rows():
    x, y = (np.random.default_rng(k).integers(0, 12, size=(200, 1)).astype(float) for k in range(2))
    assert len(ta.learned_test(x, y, permutations=19, rng=0).split.train_x) == 100


@pytest.mark.parametrize(
    ("options", "id"),
    [
        ({"permutations": "auto"}, "conflicting-arguments"),
        ({"permutations": "auto", "kernel": "rbf"}, "conflicting-arguments"),
        ({"permutations": "many"}, "out-of-range"),
        ({"equal_groups": True, "null": "binned"}, "conflicting-arguments"),
        ({"equal_groups": True}, "conflicting-arguments"),
        ({"equal_groups": "no", "groups": np.arange(40) // 2}, "wrong-type"),
        ({"null": Permutation(equal_groups=True)}, "conflicting-arguments"),
        ({"null": Permutation(equal_groups="no"), "groups": np.arange(40) // 2}, "wrong-type"),
    ],
)
def test_options_without_effect_are_refused(options, id):
    X = np.random.default_rng(0).normal(size=(40, 2))
    with pytest.raises(ta.InputError) as caught:
        ta.learned_test(X[:20], X[20:], rng=0, **options)
    assert caught.value.id == id


def test_equal_groups_may_be_an_option_of_the_null():
    X, groups = np.random.default_rng(0).normal(size=(60, 2)), np.repeat(np.arange(30), [1, 3] * 15)
    given = ({"equal_groups": True}, {"null": Permutation(equal_groups=True)}, {})
    found = [ta.learned_test(X[:30], X[30:], groups=groups + 100 * (np.arange(60) > 29), rng=0, **one) for one in given]
    equal, of_null, any_size = (one.halves[0].test.null_distribution.tolist() for one in found)
    assert equal == of_null != any_size
