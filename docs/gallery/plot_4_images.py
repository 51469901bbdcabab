"""
Pixels that give images away
============================

Handwritten digits, and the same with a row of pixels that is a little darker than it should be.
"""

import matplotlib.pyplot as plt
import numpy as np

import tellapart as ta

digits = ta.datasets.digits().reshape(-1, 8, 8)
order = np.random.default_rng(0).permutation(len(digits))
X, Y = digits[order[:600]].copy(), digits[order[600:1200]].copy()
Y[:, 3] *= 0.75

c = ta.compare(X, Y, rng=0)
print(c.verdict())

fig, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
axes[0].imshow(X[0], cmap="gray_r")
axes[0].set_title("X")
axes[1].imshow(Y[0], cmap="gray_r")
axes[1].set_title("Y: the fourth row is too dark")
ta.plots.pixel_map(c, ax=axes[2])
plt.show()
