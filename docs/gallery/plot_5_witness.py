"""
The witness function
====================

Where does X have more than Y? The witness function says so: positive where X is denser, negative where Y is.
"""

import matplotlib.pyplot as plt
import numpy as np

import tellapart as ta
from tellapart.criticism import witness

rng = np.random.default_rng(0)
X = rng.normal(size=(800, 2))
Y = np.concatenate([rng.normal(size=(720, 2)), rng.normal(size=(80, 2)) * 0.2 + [1.5, 1.5]])

grid = np.stack(np.meshgrid(np.linspace(-3, 3, 80), np.linspace(-3, 3, 80)), -1).reshape(-1, 2)
values = np.asarray(witness(ta.kernels.Gaussian(0.5), X, Y, grid)).reshape(80, 80)

fig, ax = plt.subplots(figsize=(5.4, 4.4), layout="constrained")
limit = np.abs(values).max()
shown = ax.imshow(values, extent=(-3, 3, -3, 3), origin="lower", cmap="RdBu", vmin=-limit, vmax=limit)
ax.plot(*Y.T, "k.", markersize=1.5)
ax.set_title("More of X (blue), more of Y (red)")
fig.colorbar(shown, ax=ax)
plt.show()

print(ta.two_sample_test(X, Y, rng=0).pvalue)
