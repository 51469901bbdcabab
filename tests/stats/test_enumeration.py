"""The strongest oracle: every possible sample of a small discrete space.

Over all of them, weighted with their probabilities, E[U] = MMD² and E[V] = Var(U) must hold exactly (in float64: to
twelve digits), not nearly. All samples go through the formulas of `tellapart.stats.formulas` as one batch of `Sums`.
"""

from __future__ import annotations

from itertools import product

import pytest
import torch

from tellapart.engine import Sums, sums
from tellapart.kernels import Precomputed
from tellapart.stats.formulas import mmd2_from, permutation_variance_from, second_order_from, variance_from

# Unequal diagonals, so that nothing can hide in k(x, x) = 1.
KERNELS = {
    2: torch.tensor([[3.0, 1.0], [1.0, 2.0]], dtype=torch.float64),
    3: torch.tensor([[3.0, 1.0, 0.5], [1.0, 2.0, -0.375], [0.5, -0.375, 4.0]], dtype=torch.float64),
}
P = {2: torch.tensor([0.25, 0.75], dtype=torch.float64), 3: torch.tensor([0.5, 0.25, 0.25], dtype=torch.float64)}
Q = {2: torch.tensor([0.625, 0.375], dtype=torch.float64), 3: torch.tensor([0.125, 0.125, 0.75], dtype=torch.float64)}
EQUAL = [(2, 4, 4), (2, 5, 5), (3, 4, 4), (3, 5, 5)]
UNEQUAL = [(2, 4, 5), (2, 6, 4), (3, 5, 4)]


def all_samples(size: int, m: int, weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Every sample of m points, and its probability."""
    points = torch.tensor(list(product(range(size), repeat=m)))
    return points, weights[points].prod(1)


def batched_sums(K: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> Sums:
    """MATHS §0 by its definition, for a batch of samples."""
    m, n = x.shape[1], y.shape[1]
    xx, yy, xy = (K[a[:, :, None], b[:, None, :]] for a, b in ((x, x), (y, y), (x, y)))
    trace_x, trace_y = (block.diagonal(dim1=1, dim2=2).sum(1) for block in (xx, yy))
    xx, yy = (block * (1 - torch.eye(block.shape[1])) for block in (xx, yy))
    return Sums(
        m=m,
        n=n,
        rx=xx.sum(2),
        ry=yy.sum(2),
        rho=xy.sum(2),
        kap=xy.sum(1),
        fxx=xx.square().sum((1, 2)),
        fyy=yy.square().sum((1, 2)),
        fxy=xy.square().sum((1, 2)),
        trace_x=trace_x,
        trace_y=trace_y,
        dxy=xy.diagonal(dim1=1, dim2=2).sum(1) if m == n else None,
    )


def enumerate_pairs(size: int, m: int, n: int, p: torch.Tensor, q: torch.Tensor) -> tuple[Sums, torch.Tensor]:
    """The sums of every pair of samples, and the probability of the pair."""
    (x, px), (y, py) = all_samples(size, m, p), all_samples(size, n, q)
    weights = (px[:, None] * py).flatten()
    x, y = x.repeat_interleave(len(y), 0), y.repeat(len(x), 1)
    return batched_sums(KERNELS[size], x, y), weights


def as_printed(s: Sums) -> torch.Tensor:
    """V as the paper prints it: (m - 1)² for (m - 1)³ before |Kxy e|² + |Kxyᵀ e|², + for - before |Kxy|²."""
    m = s.m
    within = variance_from(s, "paired")
    cross = 4 * (m * m - m - 1) / (m**3 * (m - 1) ** 3) * (s.rxy + s.cxy)
    frobenius = 4 * (m - 2) / (m**2 * (m - 1) ** 3) * s.fxy
    return within + (m - 2) * cross + 2 * frobenius


def both(cases):
    return [(*case, p, q) for case in cases for p, q in ((P, P), (P, Q))]


@pytest.mark.parametrize(
    ("estimator", "size", "m", "n", "p", "q"),
    [("full", *case) for case in both(EQUAL + UNEQUAL)] + [("paired", *case) for case in both(EQUAL)],
)
def test_mmd2_and_its_variance_are_exactly_unbiased(estimator, size, m, n, p, q):
    p, q = p[size], q[size]
    s, weights = enumerate_pairs(size, m, n, p, q)
    truth = (p - q) @ KERNELS[size] @ (p - q)
    u = mmd2_from(s, estimator)
    mean = weights @ u
    variance = weights @ (u - mean) ** 2
    assert mean.item() == pytest.approx(truth.item(), abs=1e-13)
    assert (weights @ variance_from(s, estimator)).item() == pytest.approx(variance.item(), rel=1e-12)


@pytest.mark.parametrize(("size", "m", "n"), EQUAL)
def test_the_constants_that_the_paper_prints_are_wrong(size, m, n):
    s, weights = enumerate_pairs(size, m, n, P[size], Q[size])
    u = mmd2_from(s, "paired")
    variance = weights @ (u - weights @ u) ** 2
    assert weights @ as_printed(s) > 5 * variance


@pytest.mark.parametrize(("m", "n"), [(4, 4), (5, 4), (5, 5)])
def test_the_second_order_part_is_never_negative_and_v_often_is(m, n):
    s, weights = enumerate_pairs(3, m, n, P[3], P[3])
    assert second_order_from(s).min() >= 0
    assert weights @ (variance_from(s) < 0).double() > 0.1


@pytest.mark.parametrize(("size", "m", "n"), [(3, 4, 4), (3, 5, 4), (2, 6, 4)])
def test_the_permutation_variance_is_that_of_all_relabellings(size, m, n):
    generator = torch.Generator().manual_seed(m * n)
    pooled = torch.randint(size, (m + n,), generator=generator)
    labels = torch.tensor([s for s in product((0, 1), repeat=m + n) if sum(s) == m]).bool()
    x = torch.stack([pooled[chosen] for chosen in labels])
    y = torch.stack([pooled[~chosen] for chosen in labels])
    s = batched_sums(KERNELS[size], x, y)
    u = mmd2_from(s)
    assert u.mean().item() == pytest.approx(0, abs=1e-13)
    assert permutation_variance_from(s)[0].item() == pytest.approx(u.var(unbiased=False).item(), rel=1e-12)


@pytest.mark.parametrize(("m", "n"), [(4, 4), (5, 4)])
def test_the_engine_computes_the_sums_of_the_enumeration(m, n):
    generator = torch.Generator().manual_seed(0)
    x, y = (torch.randint(3, (20, k), generator=generator) for k in (m, n))
    expected = batched_sums(KERNELS[3], x, y)
    for i in range(20):
        got = sums(Precomputed(KERNELS[3]), x[i][:, None].double(), y[i][:, None].double())
        for name in ("rx", "ry", "rho", "kap", "fxx", "fyy", "fxy", "trace_x", "trace_y", "dxy"):
            if getattr(expected, name) is not None:
                torch.testing.assert_close(getattr(got, name), getattr(expected, name)[i], rtol=1e-14, atol=1e-14)
