"""
Where the median bandwidth is blind
===================================

Blobs on a grid (Gretton et al. 2012): in the second sample each is longer in one direction. The median distance is that
between blobs, and a kernel of that width does not see what happens within them.
"""

import matplotlib.pyplot as plt

import tellapart as ta
from tellapart.learning import median_bandwidth

X, Y = ta.datasets.blobs(1000, ratio=6, rng=0)
fig, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained", sharex=True, sharey=True)
for ax, sample, name in zip(axes, (X, Y), "XY", strict=True):
    ax.plot(*sample.T, ".", markersize=2)
    ax.set_title(name)
    ax.set_aspect("equal")
plt.show()

print("median bandwidth:", ta.mmd_test(X, Y, rng=0).pvalue)
print("default test:    ", ta.two_sample_test(X, Y, rng=0).pvalue)

# %%
# On half of the rows, t for a grid of bandwidths: it is largest where blobs are resolved.

choice = ta.select_bandwidth(X[:500], Y[:500], criterion="t", rng=0)
print(f"bandwidth with the largest t: {choice.bandwidth:.2f}; median distance: {median_bandwidth(X, Y):.2f}")
print("tested on the other half:     ", ta.mmd_test(X[500:], Y[500:], choice.kernel, rng=0).pvalue)
