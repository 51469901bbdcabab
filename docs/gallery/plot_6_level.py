"""
Exact at ten rows
=================

Two samples of 10 and 8 rows from one distribution with many ties, 600 times. The p-values of an exact test are never
too small too often: their distribution function stays below the diagonal, but for noise.
"""

import matplotlib.pyplot as plt
import numpy as np

import tellapart as ta

rng = np.random.default_rng(0)
pvalues = [
    ta.mmd_test(
        rng.poisson(1, (10, 2)), rng.poisson(1, (8, 2)), ta.kernels.Gaussian(1.0), permutations=99, rng=k
    ).pvalue
    for k in range(600)
]

levels = np.linspace(0, 1, 101)
rates = [(np.array(pvalues) <= level).mean() for level in levels]
fig, ax = plt.subplots(figsize=(4.6, 4.2), layout="constrained")
ax.plot(levels, rates, label="simulated")
ax.plot([0, 1], [0, 1], "k--", linewidth=1, label="α")
ax.set_xlabel("level α")
ax.set_ylabel("share of p-values ≤ α")
ax.legend()
plt.show()

for alpha in (0.01, 0.05, 0.1):
    rate = (np.array(pvalues) <= alpha).mean()
    print(f"α = {alpha}: {rate:.3f} ± {np.sqrt(alpha * (1 - alpha) / 600):.3f}")
