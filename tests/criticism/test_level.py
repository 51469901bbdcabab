"""compare rejects a true null no more often than it may."""

from __future__ import annotations

import math

import numpy as np
import pytest
from two_tables import tables

import tellapart as ta

# A witness that was learned from the rows it is tested on would be found significant every time, so that few
# repetitions tell. Learning by gradient is slower and sees less: here without its scan, in full with it.
QUICK = [("witness", 40, {}), ("ard", 15, {"steps": 5, "scan": False})]
FULL = [pytest.param(kernel, 600, {"steps": 20}, marks=pytest.mark.full) for kernel in ("ard", "witness")]


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize(("kernel", "repetitions", "learning"), [*QUICK, *FULL])
def test_level(kernel, repetitions, learning):
    pvalues = []
    for r in range(repetitions):
        X, Y = tables(n=40, seed=r)
        c = ta.compare(X, Y, kernel, rng=r, permutations=99, stability=0, learning=learning)
        pvalues.append(c.pvalue)
    rates = [float(np.mean(np.array(pvalues) <= alpha + 1e-12)) for alpha in (0.01, 0.05, 0.1)]
    print(f"\n{kernel}: rejection rates {rates} of {repetitions}")
    for alpha, rate in zip((0.01, 0.05, 0.1), rates, strict=True):
        assert abs(rate - alpha) <= 3 * math.sqrt(alpha * (1 - alpha) / repetitions) + 1e-12
