"""The tile engine: against plain formulas, whatever the tiles, the threads, the memory and the numbers."""

from __future__ import annotations

import gc
import math
import subprocess
import sys
import threading
import weakref

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import tellapart as ta
from tellapart import engine
from tellapart._util import workers
from tellapart.engine import tiles
from tellapart.kernels import ARD, MLP, Deep, FromFunction, Gaussian, Grid, Laplacian, Linear, Mixture
from tellapart.stats import formulas
from tellapart.stats.estimators import asymptotic_power, block_estimate


def normal(n, d=3, seed=0, dtype=torch.float64, shift=0.0):
    return torch.randn(n, d, dtype=dtype, generator=torch.Generator().manual_seed(seed)) + shift


@pytest.fixture
def threads(monkeypatch):
    """Sets torch's number of threads, which all have something to do, and puts it back."""
    monkeypatch.setattr(tiles, "SECONDS_PER_THREAD", 1e-9)
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.fixture
def small_tiles(monkeypatch):
    """Cuts 100 points into many tiles, some of them odd."""

    def cut(height, width):
        monkeypatch.setattr(tiles, "TILE_OF_FEW", (height, width))

    return cut


def statistics(X, Y, kernel):
    """MMD², V and t of both estimators, as one vector."""
    found = [ta.estimate(X, Y, kernel, estimator=e) for e in ("full", "paired")[: 1 + (len(X) == len(Y))]]
    return torch.stack([v for e in found for v in (e.mmd2, e.variance, e.second_order, e.t)])


def plain_mmd2(X, Y, kernel):
    """By the definition, from the whole matrix."""
    K = kernel(torch.cat([X, Y]))
    K = K - torch.diag(K.diagonal())
    m, n = len(X), len(Y)
    w = torch.cat([torch.full((m,), 1 / m), torch.full((n,), -1 / n)]).to(K)
    x, y = (w > 0).to(K), (w < 0).to(K)
    return x @ K @ x / (m * (m - 1)) + y @ K @ y / (n * (n - 1)) - 2 * x @ K @ y / (m * n)


# --- truth ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("shift", "scale"), [(0.0, 1.0), (0.5, 1.0), (0.0, 2.0), (0.3, 0.7)])
def test_gaussian_kernel_between_gaussians_has_a_closed_form(shift, scale):
    """For N(a, A²I), N(b, B²I): E k(x, y) = Π_j (1 + (A² + B²)/σ²)^-½ exp(-(a_j - b_j)² / (2 (σ² + A² + B²)))."""
    d, bandwidth, m = 2, 1.3, 4000
    expected = {}
    for name, a, b, variance in (("xx", 0, 0, 2.0), ("yy", 0, 0, 2 * scale**2), ("xy", 0, shift, 1 + scale**2)):
        spread = (1 + variance / bandwidth**2) ** (-d / 2)
        expected[name] = spread * math.exp(-d * (a - b) ** 2 / (2 * (bandwidth**2 + variance)))
    truth = expected["xx"] + expected["yy"] - 2 * expected["xy"]
    X, Y = normal(m, d, 1), normal(m, d, 2) * scale + shift
    for estimator in ("full", "paired"):
        found = ta.estimate(X, Y, Gaussian(bandwidth), estimator=estimator)
        assert abs(found.mmd2.item() - truth) < 3 * found.positive_variance.sqrt().item()


@pytest.mark.parametrize(("m", "n"), [(2011, 1600), (700, 2500), (1500, 1500)])
def test_many_points_against_the_stored_matrix(m, n):
    """At sizes where tiles are cut as they are for users, not as tests cut them."""
    X, Y, kernel = normal(m, seed=1), normal(n, seed=2, shift=0.1), Gaussian(1.0).requires_grad_(False)
    K = kernel(torch.cat([X, Y])).fill_diagonal_(0)
    s = engine.sums(kernel, X, Y, additive=False)
    torch.testing.assert_close(torch.cat([s.rx + s.rho, s.kap + s.ry]), K.sum(1))
    torch.testing.assert_close(s.rho, K[:m, m:].sum(1))
    torch.testing.assert_close(
        torch.stack([s.fxx, s.fyy, s.fxy]),
        torch.stack([K[:m, :m].square().sum(), K[m:, m:].square().sum(), K[:m, m:].square().sum()]),
    )
    if m == n:
        torch.testing.assert_close(s.dxy, K[:m, m:].diagonal().sum())
    S = (torch.rand(m + n, 20, generator=torch.Generator().manual_seed(0)) < 0.3).double()
    got = engine.quadratic_forms(kernel, [X, Y], S)
    torch.testing.assert_close(got.forms, torch.einsum("ib,ib->b", S, K @ S))
    torch.testing.assert_close(got.crosses, S.T @ K.sum(1))


def test_block_estimates_agree_with_the_definition():
    X, Y, kernel = normal(101, seed=1), normal(103, seed=2), Gaussian(1.0)
    got = block_estimate(X, Y, kernel, block_size=2)
    h = [
        kernel(X[i : i + 1], X[i + 1 : i + 2])
        + kernel(Y[i : i + 1], Y[i + 1 : i + 2])
        - kernel(X[i : i + 1], Y[i + 1 : i + 2])
        - kernel(X[i + 1 : i + 2], Y[i : i + 1])
        for i in range(0, 100, 2)
    ]
    h = torch.cat(h).flatten()
    assert got.blocks == 50
    torch.testing.assert_close(got.mmd2, h.mean())
    torch.testing.assert_close(got.variance, h.var() / 50)
    torch.testing.assert_close(got.ratio, h.mean() / (h.var() / 50).sqrt())
    blocks = block_estimate(X, Y, kernel, block_size=20)
    each = [ta.mmd2(X[i : i + 20], Y[i : i + 20], kernel, estimator="paired") for i in range(0, 100, 20)]
    torch.testing.assert_close(blocks.mmd2, torch.stack(each).mean())


def test_power_follows_its_formula():
    X, Y, kernel = normal(200, seed=1), normal(150, seed=2, shift=0.2), Gaussian(1.5)
    found = ta.estimate(X, Y, kernel)
    expected = torch.special.ndtr((found.mmd2 - 0.01) / found.positive_variance.sqrt())
    torch.testing.assert_close(asymptotic_power(X, Y, kernel, threshold=0.01), expected)
    assert asymptotic_power(X, Y, kernel, alpha=0.01) < asymptotic_power(X, Y, kernel, alpha=0.1)


# --- properties -------------------------------------------------------------------------------------------------

sizes = st.integers(4, 60)
seeds = st.integers(0, 10**6)
log_bandwidths = st.floats(-1.5, 3.0)


@settings(max_examples=30, deadline=None)
@given(m=sizes, n=sizes, seed=seeds, log_bandwidth=log_bandwidths)
def test_invariances(m, n, seed, log_bandwidth):
    X, Y, kernel = normal(m, seed=seed), normal(n, seed=seed + 1, shift=0.5), Gaussian(math.exp(log_bandwidth))
    generator = torch.Generator().manual_seed(seed)
    tolerance = {"rtol": 1e-9, "atol": 1e-12}
    base = statistics(X, Y, kernel)[:4]
    shuffled = statistics(X[torch.randperm(m, generator=generator)], Y[torch.randperm(n, generator=generator)], kernel)
    torch.testing.assert_close(shuffled[:4], base, **tolerance)
    torch.testing.assert_close(statistics(Y, X, kernel)[:4], base, **tolerance)
    torch.testing.assert_close(
        statistics(X, Y, FromFunction(lambda a, b: Gaussian(math.exp(log_bandwidth))(a, b) + 1))[:4],
        base,
        rtol=1e-7,
        atol=1e-10,
    )


@settings(max_examples=30, deadline=None)
@given(m=sizes, n=sizes, seed=seeds, height=st.integers(3, 70), width=st.integers(3, 70), count=st.integers(1, 3))
def test_tiles_and_threads_change_nothing(m, n, seed, height, width, count):
    X, Y, kernel = normal(m, seed=seed), normal(n, seed=seed + 1, shift=0.5), Gaussian(1.0)
    base = statistics(X, Y, kernel)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiles, "SECONDS_PER_THREAD", 1e-9)
        patch.setattr(tiles, "TILE_OF_FEW", (height, width))
        patch.setenv("TELLAPART_THREADS", str(count))
        torch.testing.assert_close(statistics(X, Y, kernel), base, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_threads_do_not_change_a_bit(threads, dtype):
    X, Y, kernel = normal(1500, dtype=dtype), normal(1200, seed=1, dtype=dtype), Gaussian(1.0)
    S = (torch.rand(2700, 30, generator=torch.Generator().manual_seed(0)) < 0.5).to(torch.uint8)
    results = []
    for count in (1, 2, 3):
        threads(count)
        scale = ARD(3)
        t = ta.t_statistic(X, Y, scale)
        (slope,) = torch.autograd.grad(t, scale.log_scales)
        results.append((statistics(X, Y, kernel), engine.quadratic_forms(kernel, [X, Y], S).forms, slope))
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))


# --- reductions -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Gaussian(50.0), Laplacian(2.0), Mixture([0.5, 2])], ids=repr)
def test_products_and_bins_against_the_matrix(kernel, small_tiles):
    small_tiles(24, 33)
    X, Y = normal(57), normal(44, seed=1)
    Z = torch.cat([X, Y])
    with torch.no_grad():
        K = kernel(Z)
    K.fill_diagonal_(0)
    S = torch.randn(101, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    got = engine.quadratic_forms(kernel, [X, Y], S)
    # The engine may leave a constant out of the kernel. It is the same for all entries, and known from the total.
    K += (got.total - K.sum()) / (101 * 100) * (1 - torch.eye(101))
    torch.testing.assert_close(got.forms, torch.einsum("ib,ij,jb->b", S, K, S))
    torch.testing.assert_close(got.crosses, S.T @ K.sum(1))
    bins = torch.arange(101) * 10 // 101
    indicator = torch.nn.functional.one_hot(bins, 10).double()
    torch.testing.assert_close(
        engine.bin_sums(kernel, [X, Y], bins, 10), indicator.T @ K @ indicator, rtol=1e-9, atol=1e-9
    )
    torch.testing.assert_close(engine.product(kernel, X, Z, S), kernel(X, Z).detach() @ S)


def test_a_grid_is_its_members():
    X, Y = normal(120), normal(90, seed=1, shift=1.0)
    S = (torch.rand(210, 5, generator=torch.Generator().manual_seed(0)) < 0.5).double()
    grid = [0.01, 0.3, 1.0, 5.0, 400.0]
    together = engine.sums(Grid(grid), X, Y)
    forms = engine.quadratic_forms(Grid(grid), [X, Y], S).forms
    bins = engine.bin_sums(Grid(grid), [X, Y], torch.arange(210) // 70, 3)
    for k, bandwidth in enumerate(grid):
        alone = engine.sums(Gaussian(bandwidth), X, Y)
        torch.testing.assert_close(together.rx[k], alone.rx.detach(), rtol=1e-9, atol=1e-12)
        torch.testing.assert_close(together.fxy[k], alone.fxy.detach(), rtol=1e-9, atol=1e-12)
        torch.testing.assert_close(forms[k], engine.quadratic_forms(Gaussian(bandwidth), [X, Y], S).forms.detach())
        torch.testing.assert_close(
            bins[k], engine.bin_sums(Gaussian(bandwidth), [X, Y], torch.arange(210) // 70, 3), rtol=1e-9, atol=1e-9
        )


# --- gradients --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize(
    "make",
    [
        lambda: Gaussian(1.2),
        lambda: ARD(3, scales=[0.5, 1.0, 2.0]),
        lambda: Mixture([0.5, 1.0, 4.0]),
        lambda: Laplacian(1.0) * Gaussian(2.0) + 0.5 * Linear(),
        lambda: Deep(MLP([3, 5, 2]).double(), Gaussian(0.7), original=Gaussian(2.0)),
    ],
    ids=["gaussian", "ard", "mixture", "combined", "deep"],
)
def test_two_passes_give_the_gradient_of_the_stored_matrix(make, keep, small_tiles, monkeypatch):
    small_tiles(16, 40)
    monkeypatch.setattr(tiles, "KEEP_BYTES", 2**30 if keep else 0)
    torch.manual_seed(0)
    kernel = make()
    X, Y = normal(70).requires_grad_(), normal(53, seed=1, shift=0.5).requires_grad_()
    parameters = [X, Y, *(p for p in kernel.parameters() if p.requires_grad)]
    got = torch.autograd.grad(ta.mmd2(X, Y, kernel), parameters)
    expected = torch.autograd.grad(plain_mmd2(X, Y, kernel), parameters)
    for a, b in zip(got, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-8, atol=1e-11)


def test_gradient_of_t_is_that_of_maths_section_3():
    """dt/dK_ij = a_i + b_j + c + γ K_ij, with the coefficients written out."""
    m, n = 12, 9
    torch.manual_seed(0)
    A = torch.randn(m + n, 5, dtype=torch.float64)
    K = (A @ A.T).clone()
    xx, yy, xy = (K[:m, :m].clone().fill_diagonal_(0), K[m:, m:].clone().fill_diagonal_(0), K[:m, m:].clone())
    blocks = [block.requires_grad_() for block in (xx, yy, xy)]
    s = engine.Sums(
        m, n, xx.sum(1), yy.sum(1), xy.sum(1), xy.sum(0), xx.square().sum(), yy.square().sum(), xy.square().sum(),
        torch.zeros(()), torch.zeros(()), None,
    )  # fmt: skip
    of_xx, _, of_xy = torch.autograd.grad(formulas.variance_from(s), blocks)

    def falling(m, r):
        return math.prod(range(m - r + 1, m + 1))

    am, bm, gm = 4 / falling(m, 4), 2 * (2 * m - 3) / (falling(m, 2) * falling(m, 4)), 2 / falling(m, 4)
    em, en = 8 / (n * falling(m, 3)), 8 / (m * falling(n, 3))
    dR = 4 / (falling(m, 2) * falling(n, 2))
    dS = dR * (m + n - 1) / (m * n)
    a = am * s.rx - em * s.rho / 2
    expected = a[:, None] + a - 2 * bm * s.sxx + em * s.sxy / m - 2 * gm * xx
    # Autograd does not know that K_ij and K_ji are one number: its two derivatives add up to those of MATHS.
    off = ~torch.eye(m, dtype=torch.bool)
    torch.testing.assert_close(((of_xx + of_xx.T) / 2)[off], expected[off].detach())
    expected = 2 * dR * (s.rho[:, None] + s.kap) - em * (s.rx - s.sxx / m)[:, None] - en * (s.ry - s.syy / n)
    torch.testing.assert_close(of_xy, (expected - 2 * dS * s.sxy - 2 * dR * xy).detach())


def test_gradient_of_quadratic_forms(small_tiles):
    small_tiles(16, 24)
    X, Y = normal(40).requires_grad_(), normal(30, seed=1)
    kernel = Gaussian(1.0)
    S = (torch.rand(70, 4, generator=torch.Generator().manual_seed(0)) < 0.5).double()
    weights = torch.tensor([0.0, 1.0, -2.0, 0.5], dtype=torch.float64)
    got = engine.quadratic_forms(kernel, [X, Y], S)
    loss = got.forms @ weights + 0.3 * got.crosses.sum() + 0.1 * got.total
    K = kernel(torch.cat([X, Y]))
    K = K - torch.diag(K.diagonal())
    plain = torch.einsum("ib,ij,jb->b", S, K, S) @ weights + 0.3 * (S.T @ K).sum() + 0.1 * K.sum()
    inputs = [X, kernel.log_bandwidth]
    for a, b in zip(torch.autograd.grad(loss, inputs), torch.autograd.grad(plain, inputs), strict=True):
        torch.testing.assert_close(a, b)


def test_only_what_asks_for_a_gradient_gets_one():
    X, Y = normal(20), normal(20, seed=1).requires_grad_()
    kernel = Gaussian(1.0).requires_grad_(False)
    ta.mmd2(X, Y, kernel).backward()
    assert X.grad is None
    assert kernel.log_bandwidth.grad is None
    assert Y.grad.abs().sum() > 0
    assert not ta.mmd2(X, Y.detach(), kernel).requires_grad


def test_backward_twice_through_one_graph():
    X, Y = normal(20), normal(20, seed=1).requires_grad_()
    t = ta.t_statistic(X, Y, Gaussian(1.0))
    (once,) = torch.autograd.grad(t, Y, retain_graph=True)
    (again,) = torch.autograd.grad(t, Y)
    assert torch.equal(once, again)


def test_identical_points_have_t_zero_and_a_finite_gradient():
    X = torch.ones(6, 2, requires_grad=True)
    t = ta.t_statistic(X, torch.ones(5, 2), Gaussian(1.0))
    t.backward()
    assert t == 0
    assert torch.isfinite(X.grad).all()


# --- precision --------------------------------------------------------------------------------------------------

HARD = {
    "far": (lambda X: X + 1e5, 1.0),
    "very far": (lambda X: X + 1e6, 3.0),
    "huge bandwidth": (lambda X: X, 3000.0),
    "far and huge": (lambda X: X + 1e5, 3000.0),
    "duplicates": (lambda X: X.repeat_interleave(2, 0), 1.0),
    "clusters far apart": (lambda X: X + 1e4 * (torch.arange(len(X)) % 3)[:, None], 1.0),
    "tiny bandwidth": (lambda X: X * 1000, 30.0),
    "many coordinates": (lambda X: X.repeat(1, 60), 1000.0),
}


@pytest.mark.parametrize("estimator", ["full", "paired"])
@pytest.mark.parametrize("name", HARD)
def test_float32_is_accurate(name, estimator):
    change, bandwidth = HARD[name]
    X = change(normal(300, dtype=torch.float32))
    Y = change(normal(300, seed=1, dtype=torch.float32) * 1.1 + 0.3)
    got = ta.estimate(X, Y, Gaussian(bandwidth), estimator=estimator)
    truth = ta.estimate(X.double(), Y.double(), Gaussian(bandwidth), estimator=estimator)
    for value in ("mmd2", "variance", "t"):
        assert getattr(got, value).item() == pytest.approx(getattr(truth, value).item(), rel=1e-3), value


@pytest.mark.parametrize("bandwidth", [1e-3, 1.0, 1e3])
def test_float64_keeps_its_digits(bandwidth):
    """Against the same points in units of the bandwidth, and against exact symmetry under k → k - 1."""
    X, Y = normal(100) * bandwidth, normal(80, seed=1, shift=0.3) * bandwidth
    unit = statistics(X / bandwidth, Y / bandwidth, Gaussian(1.0))
    torch.testing.assert_close(statistics(X, Y, Gaussian(bandwidth)), unit, rtol=1e-10, atol=1e-13)


# --- resources --------------------------------------------------------------------------------------------------


def test_settings_of_the_process_are_left_alone(threads):
    for count in (1, 2):
        threads(count)
        dtype, live = torch.get_default_dtype(), threading.active_count()
        statistics(normal(600), normal(600, seed=1), Gaussian(1.0))
        with pytest.raises(RuntimeError, match="no"):
            ta.mmd2(normal(600), normal(600), FromFunction(Failing()))
        assert torch.get_num_threads() == count
        assert torch.get_default_dtype() == dtype
        assert threading.active_count() == live
        assert (torch.tensor([2.0**-130]) * 1).item() > 0, "denormal numbers are flushed"


class Failing:
    """A kernel function that fails in the middle of the work."""

    def __init__(self):
        self.calls = 0

    def __call__(self, a, b):
        self.calls += 1
        if self.calls > 4:
            raise RuntimeError("no")
        return a @ b.T


def test_small_work_takes_one_thread(monkeypatch, threads):
    """Counted where pools are opened; by how long the work takes, not by how many rows there are."""
    monkeypatch.undo()
    opened = []
    pool = workers.pool
    monkeypatch.setattr(workers, "pool", lambda count: opened.append(count) or pool(count))
    X, Y = normal(128), normal(128, seed=1)
    ta.mmd_test(X, Y, permutations=99, rng=0, threads=4)
    ta.t_statistic(X, Y, ARD(3), threads=4).backward()
    ta.fit_kernel(X, Y, "deep", steps=2, rng=0, threads=4)
    assert set(opened) == {1}
    X, Y = normal(2000), normal(2000, seed=1)
    ta.mmd_test(X, Y, Gaussian(1.0), permutations=999, rng=0, threads=3)
    assert max(opened) == 3
    ta.mmd_test(X, Y, Gaussian(1.0), permutations=999, rng=0, threads=1)
    assert opened[-1] == 1


def test_threads_can_be_said(monkeypatch):
    monkeypatch.setenv("TELLAPART_THREADS", "3")
    with engine.computing() as compute:
        assert (compute.threads, torch.get_num_threads()) == (3, 1)
    with engine.computing(threads=2) as compute:
        assert compute.threads == 2
    monkeypatch.setenv("TELLAPART_THREADS", "many")
    with pytest.raises(ValueError, match="TELLAPART_THREADS must be a whole number from 1 up, but is 'many'"):
        ta.mmd2(normal(5), normal(5), Gaussian(1.0))
    for wrong in (0, 1.5, True):
        with pytest.raises(ValueError, match="threads must be a whole number from 1 up"):
            ta.mmd2(normal(5), normal(5), Gaussian(1.0), threads=wrong)


def test_max_memory_caps_the_tiles():
    X, Y = normal(600), normal(500, seed=1)
    base = statistics(X, Y, Gaussian(1.0))
    for memory in ("2MB", 10**7, "1GiB"):
        found = ta.estimate(X, Y, Gaussian(1.0), max_memory=memory)
        torch.testing.assert_close(found.t, base[3], rtol=1e-12, atol=1e-12)
    with pytest.raises(MemoryError, match="but 1,000 are allowed"):
        ta.mmd2(X, Y, Gaussian(1.0), max_memory=1000)


def test_progress_ends_at_the_whole():
    steps = []
    compute = engine.Compute(progress=lambda *step: steps.append(step))
    engine.sums(Gaussian(1.0), normal(900), normal(700, seed=1), compute=compute)
    assert steps == sorted(steps)
    assert steps[-1][0] == steps[-1][1]


MEMORY = """
import resource, torch, tellapart as ta
X, Y = (torch.randn(10_000, 20, generator=torch.Generator().manual_seed(s)) for s in (0, 1))
kernel = ta.kernels.ARD(20)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
ta.t_statistic(X.requires_grad_(), Y, kernel).backward()
assert torch.isfinite(X.grad).all() and torch.isfinite(kernel.log_scales.grad).all()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.serial
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peak memory is read in kilobytes as Linux gives it")
def test_gradient_of_t_on_20_000_points_in_little_memory():
    run = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 300_000, "more than 300 MB (a stored matrix would be 1,600)"


def test_import_is_light():
    code = "import sys, torch, tellapart; print(*sorted(m for m in sys.modules if '.' not in m))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"matplotlib", "pandas", "sklearn", "scipy", "PIL", "jinja2"} & set(run.stdout.split())


def test_gradient_steps_leave_nothing_behind():
    """A reference from a result back to its computation would keep the tiles of every step."""
    X, Y = normal(50, 5), normal(50, 5, seed=1)
    freed = []
    for _ in range(3):
        kernel = ARD(5)
        weakref.finalize(kernel, freed.append, True)
        sums = engine.sums(kernel, X, Y, squares=True)
        (sums.sxx + sums.syy - sums.sxy).backward()
        forms = engine.quadratic_forms(kernel, [X, Y], torch.ones(100, 3))
        forms.forms.sum().backward()
        del kernel, sums, forms
    gc.collect()
    assert len(freed) == 3
