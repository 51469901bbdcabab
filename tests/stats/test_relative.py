"""The covariance of two MMD² estimates that share a reference, over every possible triple of samples."""

from __future__ import annotations

import pytest
import torch
from test_enumeration import KERNELS, P, Q, all_samples, batched_sums

from tellapart.stats.formulas import mmd2_from
from tellapart.stats.relative import covariance_from, relative_from

R = {2: torch.tensor([0.5, 0.5], dtype=torch.float64), 3: torch.tensor([0.25, 0.5, 0.25], dtype=torch.float64)}
LAWS = {"all equal": (P, P, P), "models equal": (P, Q, Q), "all different": (P, Q, R), "one right": (P, P, R)}


def enumerate_triples(size, m, n, k, p, q, r):
    """The sums of every (X, A) and (X, B), and the probability of the triple."""
    (x, px), (a, pa), (b, pb) = all_samples(size, m, p), all_samples(size, n, q), all_samples(size, k, r)
    i, j, h = torch.cartesian_prod(*(torch.arange(len(part)) for part in (x, a, b))).T
    weights = px[i] * pa[j] * pb[h]
    return batched_sums(KERNELS[size], x[i], a[j]), batched_sums(KERNELS[size], x[i], b[h]), weights


@pytest.mark.parametrize("laws", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize(("size", "m", "n", "k"), [(2, 4, 4, 4), (2, 5, 4, 6), (2, 4, 6, 4), (3, 4, 4, 4)])
def test_the_covariance_is_exactly_unbiased(size, m, n, k, laws):
    to_a, to_b, weights = enumerate_triples(size, m, n, k, *(law[size] for law in laws))
    u, v = mmd2_from(to_a), mmd2_from(to_b)
    truth = weights @ ((u - weights @ u) * (v - weights @ v))
    assert (weights @ covariance_from(to_a, to_b)).item() == pytest.approx(truth.item(), rel=1e-10, abs=1e-14)
    found = relative_from(to_a, to_b)
    spread = weights @ (u - v - weights @ (u - v)) ** 2
    assert (weights @ found.variance).item() == pytest.approx(spread.item(), rel=1e-10)
    assert (found.positive_variance >= 0).all()
    assert torch.isfinite(found.z).all()
