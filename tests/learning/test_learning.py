"""Learning a kernel: what it finds, what it reports, and that the test on other rows stays exact."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import tellapart as ta
from tellapart.engine import Compute
from tellapart.kernels import ARD, MLP, Deep, Gaussian, Laplacian, Linear, Mixture
from tellapart.learning import ascent, fitting, starts

pytestmark = pytest.mark.usefixtures("one_thread")


def one_differs(n, seed, d=10, which=3, factor=1.8):
    """Two normal samples; one coordinate of the second is wider."""
    g = torch.Generator().manual_seed(seed)
    X, Y = (torch.randn(n, d, generator=g) for _ in range(2))
    Y[:, which] *= factor
    return X, Y


@pytest.mark.parametrize("seeds", [5, pytest.param(100, marks=pytest.mark.full)])
def test_ard_finds_one_coordinate_of_fifty(seeds):
    """Where the median heuristic, with all rows and no split, has a power of about 0.3."""
    found = learned = median = 0
    for seed in range(1000, 1000 + seeds):
        X, Y = one_differs(400, seed, d=50, which=7, factor=2.0)
        kernel, _ = ta.fit_kernel(X[:200], Y[:200], rng=seed)
        found += int(kernel.scales.argmax()) == 7
        learned += ta.mmd_test(X[200:], Y[200:], kernel, permutations=199, rng=seed).reject(0.05)
        median += ta.mmd_test(X, Y, permutations=199, rng=seed).reject(0.05)
    print(f"\nfound in {found} of {seeds}; rejected {learned} learned, {median} by the median heuristic")
    assert found >= 0.95 * seeds - (0 if seeds >= 100 else 1)
    assert learned >= 2 * median
    assert learned >= 0.6 * seeds


def test_coordinates_alone_are_measured_in_deviations_of_the_null():
    """Against MMD² and the permutation variance of the estimators."""
    from tellapart import engine
    from tellapart.stats.formulas import permutation_variance_from

    X, Y = one_differs(40, 6, d=3, which=0)
    X[:, 2] = Y[:, 2] = 5.0
    found = starts.marginal_z_scores(torch.cat([X, Y]), 40, Compute())
    for j in (0, 1):
        x, y = X[:, j : j + 1].double(), Y[:, j : j + 1].double()
        values = []
        for factor in (0.25, 1.0):
            kernel = Gaussian(factor * float(torch.cat([x, y]).std())).requires_grad_(False)
            s = engine.sums(kernel, x, y, squares=True)
            values.append(ta.mmd2(x, y, kernel).item() / math.sqrt(permutation_variance_from(s)))
        assert found[j].item() == pytest.approx(max(values), rel=1e-3)
    assert found[2] == 0


@pytest.mark.parametrize("criterion", ["t", "power", "mmd"])
@pytest.mark.parametrize(
    "make",
    [
        lambda: Gaussian(1.0),
        lambda: ARD(10),
        lambda: Mixture([0.5, 2.0, 8.0]),
        lambda: Gaussian(9.0) * Laplacian(30.0) + Gaussian(12.0),
        lambda: Deep(torch.nn.Linear(10, 4, bias=False), Gaussian(2.0)),
        lambda: Deep(MLP([10, 16, 4]), Gaussian(1.0), original=Gaussian(5.0)),
    ],
    ids=["gaussian", "ard", "mixture", "combined", "mahalanobis", "deep"],
)
def test_every_kernel_gets_better(make, criterion):
    torch.manual_seed(0)
    X, Y = one_differs(300, 1)
    start = make()
    before = {name: value.clone() for name, value in start.state_dict().items()}
    kernel, history = ta.fit_kernel(X, Y, start, criterion, steps=40, rng=0)
    _, held_out = fitting._split(X, Y, 0.4, np.random.default_rng(0))
    assert all(torch.equal(before[name], value) for name, value in start.state_dict().items()), "the start was changed"
    if history.best_step:
        assert any(not torch.equal(before[name], value) for name, value in kernel.state_dict().items())
    # What is returned is the kernel of the best score, not the last one, and it is better than the first on other rows.
    again = ascent.Ascent(kernel, criterion, 0.05, np.random.default_rng(0), Compute())
    fresh = one_differs(600, 99)
    scores = []
    with torch.no_grad():
        assert float(again.evaluate(*held_out).score) == pytest.approx(max(history.score), rel=1e-6)
        for again.kernel in (start, kernel):
            scores.append(float(again.evaluate(*fresh).score))
    assert scores[1] > scores[0]
    assert history.best_step == history.step[int(np.argmax(history.score))]
    assert history.criterion == criterion
    assert len(history.step) == len(history.training) == len(history.validation) == len(history.score)
    assert all(math.isfinite(v) for v in history.validation + history.training[1:])
    assert all(0 <= share <= 1 for share in history.replaced)


def test_the_scan_finds_a_bandwidth_that_was_far_off():
    X, Y = one_differs(300, 2, d=2, which=0, factor=2.5)
    for bandwidth in (0.02, 50.0):
        kernel, _ = ta.fit_kernel(X, Y, Gaussian(bandwidth), steps=60, rng=0)
        assert 0.1 < kernel.bandwidth < 10


def test_the_seed_decides():
    X, Y = one_differs(200, 3)
    runs = [ta.fit_kernel(X, Y, steps=30, rng=seed, restarts=2)[0].scales for seed in (1, 1, 2)]
    assert torch.equal(runs[0], runs[1])
    assert not torch.equal(runs[0], runs[2])


def test_full_batches_and_early_stopping():
    X, Y = one_differs(100, 4)
    _, history = ta.fit_kernel(X, Y, batch_size=None, steps=400, patience=1, learning_rate=0.5, rng=0)
    assert history.step[-1] < 400
    assert history.best_step in history.step


def test_gradient_of_power_follows_the_permutation_at_the_quantile():
    """dJ = (dU - dU_b*)/√V - J dV/(2V), against finite differences (MATHS §7)."""
    X, Y = (Z.double() for Z in one_differs(40, 5, d=3, which=0))
    run = ascent.Ascent(ARD(3, bandwidth=2.0), "power", 0.05, np.random.default_rng(0), Compute())
    run.evaluate(X, Y).value.backward()
    slopes = run.kernel.log_scales.grad.clone()
    for k in range(3):
        values = []
        for step in (1e-5, -1e-5):
            with torch.no_grad():
                run.kernel.log_scales[k] += step
                values.append(run.evaluate(X, Y).value.item())
                run.kernel.log_scales[k] -= step
        assert slopes[k].item() == pytest.approx((values[0] - values[1]) / 2e-5, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("criterion", ["t", "power"])
def test_constant_samples_end_learning(criterion):
    X = torch.zeros(60, 3)
    for Y, differ in ((X, False), (X + 1, True)):
        kernel, _ = ta.fit_kernel(X, Y, "ard", criterion, steps=5)
        assert all(bool(torch.isfinite(p).all()) for p in kernel.parameters())
        assert (ta.learned_test(X, Y, "ard", criterion, rng=0, learning={"steps": 5}).pvalue < 0.01) == differ


def test_samples_that_come_apart_while_learning_end_it(monkeypatch):

    X, Y = torch.randn(80, 3, generator=torch.Generator().manual_seed(0)), torch.zeros(80, 3)
    evaluate, seen = ascent.Ascent.evaluate, []

    def flat_after_a_while(self, *rows):
        found = evaluate(self, *rows)
        seen.append(found)
        return found._replace(flat=len(seen) > 30)

    monkeypatch.setattr(ascent.Ascent, "evaluate", flat_after_a_while)
    kernel, history = ta.fit_kernel(X, Y, "ard", steps=500, batch_size=None)
    assert history.step[-1] < 40
    assert kernel.scales.isfinite().all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"criterion": "best"}, "got 'best'"),
        ({"steps": 0}, "steps must be a whole number from 1 up"),
        ({"batch_size": 2}, "batch_size must be at least 4"),
        ({"validation": 1.0}, "validation must be a share between 0 and 1"),
        ({"kernel": Linear()}, "nothing to learn"),
    ],
)
def test_errors(options, message):
    with pytest.raises(ValueError, match=message):
        ta.fit_kernel(torch.randn(20, 2), torch.randn(20, 2), **options)


@pytest.mark.parametrize("repetitions", [80, pytest.param(1000, marks=pytest.mark.full)])
def test_learning_on_one_half_and_testing_on_the_other_holds_the_level(repetitions):
    pvalues = []
    for r in range(repetitions):
        g = torch.Generator().manual_seed(r)
        X, Y = (torch.randn(60, 4, generator=g) for _ in range(2))
        kernel, _ = ta.fit_kernel(X[:30], Y[:30], Gaussian(1.0), steps=10, scan=False, rng=r)
        pvalues.append(ta.mmd_test(X[30:], Y[30:], kernel, permutations=99, rng=r).pvalue)
    for alpha in (0.01, 0.05, 0.1):
        rate = np.mean(np.array(pvalues) <= alpha + 1e-12)
        assert abs(rate - alpha) <= 3 * math.sqrt(alpha * (1 - alpha) / repetitions) + 1e-12
