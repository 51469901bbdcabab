"""
Which columns differ?
=====================

Two tables of 500 rows. In the second, one column is wider and two depend on each other more. Neither changes a mean.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import tellapart as ta

rng = np.random.default_rng(1)
names = ["age", "pay", "rent", "km"]
X = pd.DataFrame(rng.normal(size=(500, 4)), columns=names)
Y = pd.DataFrame(rng.normal(size=(500, 4)), columns=names)
Y["age"] *= 1.4
Y["rent"] = 0.6 * Y["pay"] + 0.8 * Y["rent"]

result = ta.two_sample_test(X, Y, rng=0)
print(result.summary())

# %%
# Each column with its effect and adjusted p-value. The width of ``age`` is seen; the dependence is a matter of pairs.

fig, axes = plt.subplots(1, 2, figsize=(10, 3.2), layout="constrained")
ta.plots.columns(result, ax=axes[0])
ta.plots.pairs(result, ax=axes[1])
plt.show()
