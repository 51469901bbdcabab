"""Choosing the bandwidth of a kernel without a gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ._rng import RNG, seed_of
from .samples import as_pair

#: Rows looked at: the median of a hundred thousand distances is known well enough.
_ROWS = 500


def median_bandwidth(X: Any, Y: Any, *, rng: RNG = 0) -> float:
    """The median distance between two different points of the pooled sample: the usual first guess.

    Parameters
    ----------
    X, Y
        The samples.
    rng
        Of more than 500 rows, that many are drawn with it. The draw does not look at labels, so a permutation
        test with this bandwidth stays exact.

    Examples
    --------
    >>> median_bandwidth([0.0, 3.0], [4.0])
    3.0
    """
    x, y = as_pair(X, Y)
    pooled = torch.cat([x.values.detach(), y.values.detach()]).flatten(1)
    if len(pooled) > _ROWS:
        chosen = np.random.default_rng(seed_of(rng)).permutation(len(pooled))[:_ROWS]
        pooled = pooled[torch.from_numpy(chosen).to(pooled.device)]
    points = pooled.cpu().double().numpy()
    points = points - points.mean(0)
    norms = (points**2).sum(1)
    squares = (norms[:, None] + norms - 2 * points @ points.T)[np.tri(len(points), k=-1, dtype=bool)]
    # Equal rows are at distance 0, or nearly so by this formula.
    squares = squares[squares > 1e-12 * norms.max()]
    return float(np.sqrt(np.median(squares))) if len(squares) else 1.0
