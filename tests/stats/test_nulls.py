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

import numpy as np
import pytest
import torch

import tellapart as ta
from tellapart.engine import tiles
from tellapart.kernels import Gaussian, Grid, Precomputed
from tellapart.stats import nulls

pytestmark = pytest.mark.usefixtures("one_thread")


def draw(rng, m, n, kind="normal"):
    X, Y = rng.normal(size=(m, 2)), rng.normal(size=(n, 2))
    if kind == "binary":
        return (X > 0.5).astype(float), (Y > 0.5).astype(float)
    if kind == "ties":
        return X.round(), Y.round()
    return X, Y


def problem(X, Y, kernel=None, seed=0, **options):
    X, Y = torch.as_tensor(X), torch.as_tensor(Y)
    return nulls.Problem(kernel or Gaussian(1.0), X, Y, np.random.default_rng(seed), dtype=torch.float64, **options)


# --- against the truth --------------------------------------------------------------------------------------------


def test_drawn_subsets_are_uniform():
    for N, m in ((6, 3), (7, 2), (5, 4)):
        subsets = math.comb(N, m)
        drawn = nulls.draw_subsets(np.random.default_rng(N), N, m, 5000 * subsets)
        assert (drawn.sum(0) == m).all()
        _, counts = np.unique(2 ** np.arange(N) @ drawn, return_counts=True)
        assert len(counts) == subsets
        chi2 = ((counts - 5000) ** 2 / 5000).sum()
        assert abs(chi2 - (subsets - 1)) < 4 * math.sqrt(2 * (subsets - 1))


@pytest.mark.parametrize(("N", "m"), [(1, 1), (1, 0), (5, 0), (5, 5), (1000, 1), (1000, 999), (1000, 500), (999, 333)])
def test_drawn_subsets_have_their_size(N, m):
    drawn = nulls.draw_subsets(np.random.default_rng(0), N, m, 50)
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
        null = nulls.permutation(problem(X, Y, kernel), 7000)
    drawn = null.distribution.numpy()
    nearest = np.abs(drawn[:, None] - every).argmin(1)
    np.testing.assert_allclose(drawn, every[nearest], atol=1e-12)
    counts = np.bincount(nearest, minlength=len(every))
    assert abs(((counts - 200) ** 2 / 200).sum() - 34) < 4 * math.sqrt(68)
    assert null.statistic.item() == pytest.approx(every[0], abs=1e-12)


@pytest.mark.parametrize(("m", "n"), [(30, 20), (25, 25)])
def test_permuted_statistics_have_the_exact_variance(m, n):
    X, Y = draw(np.random.default_rng(2), m, n)
    with torch.no_grad():
        distribution = nulls.permutation(problem(X, Y), 40_000).distribution
    sums = ta.engine.sums(Gaussian(1.0), torch.as_tensor(X), torch.as_tensor(Y))
    exact = ta.estimators.permutation_variance_from(sums).item()
    assert distribution.var().item() == pytest.approx(exact, rel=0.05)
    assert abs(distribution.mean().item()) < 4 * math.sqrt(exact / 40_000)


@pytest.mark.parametrize(
    ("m", "n", "bins"), [(40, 40, None), (41, 83, None), (17, 90, None), (60, 60, 8), (7, 3, None)]
)
def test_binned_statistics_are_those_of_relabelled_bins(m, n, bins):
    """Every binned draw is the MMD² of some relabelling that keeps m and n, and the observed one is MMD² itself."""
    X, Y = draw(np.random.default_rng(3), m, n)
    kernel = Gaussian(1.0).requires_grad_(False)
    with torch.no_grad():
        null = nulls.binned(problem(X, Y, kernel, bins=bins), 500)
    assert null.statistic.item() == pytest.approx(ta.mmd2(X, Y, kernel), abs=1e-12)
    assert null.distribution.std() > 0
    # The spread over all relabellings of bins is near that over all relabellings of rows.
    with torch.no_grad():
        rows = nulls.permutation(problem(X, Y, kernel), 500).distribution
    assert null.distribution.std() < 3 * rows.std()


def test_swap_is_the_paired_statistic_of_swapped_pairs():
    X, Y = draw(np.random.default_rng(4), 5, 5)
    kernel = Gaussian(1.0).requires_grad_(False)
    every = []
    for flips in itertools.product((False, True), repeat=5):
        flip = np.array(flips)[:, None]
        every.append(ta.mmd2(np.where(flip, Y, X), np.where(flip, X, Y), kernel, estimator="paired"))
    with torch.no_grad():
        null = nulls.swap(problem(X, Y, kernel), 2000)
    assert null.statistic.item() == pytest.approx(every[0], abs=1e-12)
    gaps = np.abs(null.distribution.numpy()[:, None] - np.array(every)).min(1)
    assert gaps.max() < 1e-12
    assert len(np.unique(null.distribution.numpy().round(12))) == 16  # flipping all pairs changes nothing


def test_groups_move_as_a_whole():
    rng = np.random.default_rng(5)
    groups = np.repeat(np.arange(12), [3, 3, 2, 2, 1, 1, 3, 3, 2, 2, 1, 1])
    m = 12
    labels = nulls.draw_groups(rng, groups, m, 300)
    assert labels.shape == (24, 300)
    for group in range(12):
        assert (np.ptp(labels[groups == group], axis=0) == 0).all()
    assert (labels.sum(0) == m).all()
    assert 0.3 < labels[0].mean() < 0.7


def test_a_grid_of_bandwidths_in_one_pass():
    X, Y = draw(np.random.default_rng(6), 40, 50)
    grid = [0.1, 1.0, 10.0]
    with torch.no_grad():
        together = nulls.permutation(problem(X, Y, Grid(grid), seed=1), 200)
        assert together.distribution.shape == (3, 200)
        for k, bandwidth in enumerate(grid):
            alone = nulls.permutation(problem(X, Y, Gaussian(bandwidth), seed=1), 200)
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

REPETITIONS = 2000
EXACT = {
    "permutation": (20, 20, "normal", {}),
    "permutation, unequal": (23, 11, "normal", {}),
    "permutation, binary": (12, 18, "binary", {}),
    "permutation, ties": (20, 20, "ties", {}),
    "permutation, groups": (18, 14, "groups", {}),
    "permutation, auto": (15, 15, "normal", {"permutations": "auto"}),
    "binned": (40, 40, "normal", {"null": "binned"}),
    "binned, unequal": (47, 83, "normal", {"null": "binned"}),
    "binned, few": (9, 31, "binary", {"null": "binned"}),
    "swap": (20, 20, "normal", {"null": "swap"}),
    "swap, dependent pairs": (20, 20, "pairs", {"null": "swap"}),
    "swap, binary": (20, 20, "binary", {"null": "swap"}),
}


@pytest.mark.parametrize("name", EXACT)
def test_level_of_exact_tests(name):
    m, n, kind, options = EXACT[name]
    pvalues = np.empty(REPETITIONS)
    for r in range(REPETITIONS):
        rng = np.random.default_rng([r, m, n])
        X, Y = draw(rng, m, n, kind)
        settings = {"permutations": 199, "rng": r} | options
        if kind == "groups":  # rows of a group share a large effect: without groups the level would be far off
            groups = np.concatenate([np.repeat(np.arange(m // 2), 2), 100 + np.repeat(np.arange(n // 2), 2)])
            effects = 3 * rng.normal(size=(200, 2))[groups]
            X, Y = X + effects[:m], Y + effects[m:]
            settings["groups"] = groups
        if kind == "pairs":
            shared = 3 * rng.normal(size=(m, 2))
            X, Y = X + shared, Y + shared
        pvalues[r] = ta.mmd_test(X, Y, "median", **settings).pvalue
    assert pvalues.min() > 0
    for alpha in (0.05, 0.1):
        error = math.sqrt(alpha * (1 - alpha) / REPETITIONS)
        rate = (pvalues <= alpha + 1e-12).mean()
        assert rate <= alpha + 3 * error, f"level {rate} at {alpha}"
        if kind == "normal":
            assert rate >= alpha - 3 * error, f"level {rate} at {alpha}"


def test_rows_that_depend_on_each_other_would_be_caught():
    """The simulation above has teeth: rows that depend on each other break the plain permutation test."""
    rejected = 0
    for r in range(200):
        rng = np.random.default_rng(r)
        X, Y = (np.repeat(rng.normal(size=(9, 2)), 2, axis=0) for _ in range(2))
        rejected += ta.mmd_test(X, Y, permutations=199, rng=r).reject(0.05)
    assert rejected / 200 > 0.15


@pytest.mark.parametrize("null", ["gamma", "spectral", "wild"])
@pytest.mark.parametrize(("m", "repetitions"), [(120, 400), pytest.param(500, 1000, marks=pytest.mark.full)])
def test_level_of_asymptotic_tests(null, m, repetitions):
    rejected = 0
    for r in range(repetitions):
        X, Y = draw(np.random.default_rng([r, 5]), m, m)
        rejected += ta.mmd_test(X, Y, null=null, permutations=199, rng=r).reject(0.05)
    error = math.sqrt(0.05 * 0.95 / repetitions)
    assert abs(rejected / repetitions - 0.05) < (0.02 if m == 500 else 0.02 + 2 * error)


def test_power_of_binned_is_near_that_of_full_permutation():
    rejected = {"permutation": 0, "binned": 0}
    repetitions = 300
    for r in range(repetitions):
        rng = np.random.default_rng([r, 9])
        X, Y = rng.normal(size=(200, 2)), rng.normal([0.22, 0], size=(200, 2))
        for null, options in (("permutation", {}), ("binned", {"bins": 40})):
            rejected[null] += ta.mmd_test(X, Y, null=null, permutations=199, rng=r, **options).reject(0.05)
    power = {null: count / repetitions for null, count in rejected.items()}
    assert 0.3 < power["permutation"] < 0.9, "a problem that is neither trivial nor hopeless"
    assert power["binned"] > power["permutation"] - 0.05


# --- the call -----------------------------------------------------------------------------------------------------


def test_the_result():
    X, Y = draw(np.random.default_rng(8), 50, 40)
    result = ta.mmd_test(X, Y + 2, permutations=199, rng=5)
    statistic, pvalue = result
    assert (statistic, pvalue) == (result.statistic, result.pvalue)
    assert pvalue == result.pvalue_floor == 1 / 200
    assert statistic == pytest.approx(ta.mmd2(X, Y + 2, Gaussian(result.bandwidth)), rel=1e-5)
    assert result.null_distribution.shape == (199,)
    assert result.threshold(0.05) == np.sort(result.null_distribution)[-10] < statistic
    assert result.threshold(0.001) == math.inf
    assert result.reject(0.05)
    assert not result.reject(0.004)
    assert (result.m, result.n, result.null, result.exact, result.seed) == (50, 40, "permutation", True, 5)
    assert "p = 0.005 (the smallest possible)" in repr(result)
    assert json.loads(result.to_json())["pvalue"] == pvalue


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
    clean = ta.median_bandwidth(X, Y)
    for far in (1e5, 1e7):
        assert ta.median_bandwidth(np.vstack([X, [[far, 0]]]), Y) == pytest.approx(clean, rel=0.02)


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
    for null in ("permutation", "binned", "swap", "gamma", "wild", "spectral"):
        assert ta.mmd_test(np.ones((8, 2)), np.ones((8, 2)), null=null, rng=0).pvalue == 1


@pytest.mark.parametrize("null", ["permutation", "binned", "swap"])
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
        ({"lag": 3}, "lag is for null='wild'"),
        ({"lag": -1, "null": "wild"}, "lag must not be negative"),
        ({"bins": 10}, "bins are for null='binned'"),
        ({"alpha": 5}, "alpha must be between 0 and 1"),
        ({"null": "bootstrap"}, "null='bootstrap' is not known. Choose one of 'permutation', 'binned'"),
        ({"permutations": 0}, "permutations must be a whole number from 1 up or 'auto', but is 0"),
        ({"permutations": "auto", "null": "binned"}, "permutations='auto' is for null='permutation' or 'swap'"),
        ({"permutations": "auto", "alpha": 0.0001}, "1999 permutations cannot decide at alpha=0.0001"),
        ({"kernel": "gauss"}, "kernel='gauss' is not known to mmd_test"),
        ({"kernel": 3}, "kernel must be a kernel such as"),
        ({"rng": "seed"}, "rng must be a whole number from 0 up"),
        ({"rng": -1}, "rng must be a whole number from 0 up"),
        ({"groups": [1, 2, 3]}, "one label for each of the 24 rows"),
        ({"groups": np.zeros(24)}, "A group must lie in one sample"),
        ({"groups": np.repeat([0, 1, 2, 3], [6, 6, 4, 8])}, "No group of X has the size of a group of Y"),
        ({"groups": np.arange(24), "null": "swap"}, "groups are for null='permutation'"),
        ({"precision": "half"}, "precision must be 'single' or 'double'"),
        ({"null": "binned", "bins": 2}, "bins must be between 4 and the number of rows"),
    ],
)
def test_errors(options, message):
    X, Y = draw(np.random.default_rng(0), 12, 12)
    with pytest.raises((ValueError, TypeError), match=message.replace("(", r"\(")):
        ta.mmd_test(X, Y, **options)
    with pytest.raises(ValueError, match="X has 12 rows and Y has 11"):
        ta.mmd_test(X, Y[:11], null="swap")


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


SHORT = "import torch, tellapart as ta; X = torch.randn(6000, 5); ta.mmd_test(X, X + 1, permutations=500, rng=0)"


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
