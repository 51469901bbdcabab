"""
A p-value, looked at
====================

The statistic of the labels observed among those of 999 permutations: once where nothing differs, once where
something does.
"""

import matplotlib.pyplot as plt
import numpy as np

import tellapart as ta

rng = np.random.default_rng(0)
X, same, other = (rng.normal(size=(300, 2)) for _ in range(3))
other = other * [1.0, 1.3]

fig, axes = plt.subplots(1, 2, figsize=(10, 3), layout="constrained", sharey=True)
for ax, Y, title in zip(axes, (same, other), ("nothing differs", "column 1 is 1.3 times as wide"), strict=True):
    result = ta.two_sample_test(X, Y, rng=0)
    ta.plots.null_distribution(result, ax=ax)
    ax.set_title(f"{title}: p = {result.pvalue:.3g}")
plt.show()
